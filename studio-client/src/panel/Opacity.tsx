import { logScale } from "../lib/scale";
import { useStudio } from "../state/store";
import { Track } from "./Slider";

const scale = logScale(0.05, 20);

/** Opacity of volumes. */
export function Opacity() {
  const opacity = useStudio((s) => s.opacity);
  return (
    <div className="slider">
      <label htmlFor="opacity" title="Opacity of volumes, relative to the default">
        Opacity
      </label>
      <span />
      <output>{`${opacity} ×`}</output>
      <Track
        id="opacity"
        position={scale.toPosition(opacity)}
        text={`${opacity}`}
        onSlide={(p) => useStudio.setState({ opacity: Number(scale.toValue(p).toPrecision(3)) })}
      />
    </div>
  );
}
