import { useEffect } from "react";
import { formatValue } from "../lib/format";
import { linearScale } from "../lib/scale";
import { forces, gridStyle, type GridStyle, recordForce, useFlow } from "../state/flow";
import { send } from "../state/studio";
import { useStudio } from "../state/store";
import { Opacity } from "./Opacity";
import { Section, Tabs } from "./Section";
import { Check, Track } from "./Slider";

const STYLES: GridStyle[] = ["mesh", "slice", "volume"];
const slicePosition = linearScale(0, 1);

/** Grid fluids: obstacles, streamlines, drag and lift in 2D; slices and volumes in 3D. */
export function FlowPanel() {
  const flow = useStudio((s) => s.header?.planeFlow);
  const time = useStudio((s) => s.header?.time ?? 0);
  const hasVolume = useStudio((s) => Object.keys(s.header?.volumes ?? {}).length > 0);
  useEffect(() => {
    if (flow) recordForce(time, flow.force);
  }, [flow, time]);
  if (!flow && !hasVolume) return null;
  return (
    <Section title="Flow">
      {flow && <PlaneFlowControls streamlines={flow.streamlineCount > 0} force={flow.force} />}
      {hasVolume && <GridStyleControls />}
    </Section>
  );
}

function PlaneFlowControls({ streamlines, force }: { streamlines: boolean; force: [number, number] }) {
  const drawing = useFlow((s) => s.drawing);
  return (
    <>
      <div className="checks">
        <Check label="Draw obstacles" value={drawing} onChange={(on) => useFlow.setState({ drawing: on })} />
        <Check label="Streamlines" value={streamlines} onChange={(on) => send({ type: "streamlines", on })} />
      </div>
      {drawing && <p className="hint">Drag to draw, drag an obstacle to move it, Shift-click to remove it.</p>}
      <figure className="plot" data-testid="forces">
        <figcaption>
          <span className="plot-title">Force on obstacles</span>
          <span className="key"><i style={{ borderTopColor: "#2f6fde" }} />drag {formatValue(force[0], "N/m")}</span>
          <span className="key"><i style={{ borderTopColor: "#d9622b" }} />lift {formatValue(force[1], "N/m")}</span>
        </figcaption>
        <Curves />
      </figure>
    </>
  );
}

const WIDTH = 280;
const HEIGHT = 90;

/** Drag and lift over time; outliers may leave the plot. */
function Curves() {
  useStudio((s) => s.header); // redraw with every header
  const { time, drag, lift } = forces;
  const first = time[0] ?? 0;
  const span = Math.max((time[time.length - 1] ?? 1) - first, 1e-9);
  const sorted = [...drag, ...lift, 0].sort((a, b) => a - b);
  const low = sorted[Math.floor(0.02 * (sorted.length - 1))];
  const high = sorted[Math.ceil(0.98 * (sorted.length - 1))];
  const y = (value: number) => HEIGHT - 4 - ((value - low) / (high - low || 1)) * (HEIGHT - 8);
  const path = (values: number[]) => values.map((v, i) => `${(((time[i] - first) / span) * WIDTH).toFixed(1)},${y(v).toFixed(1)}`).join(" ");
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" role="img" aria-label="Plot of drag and lift over time">
      <line x1="0" x2={WIDTH} y1={y(0)} y2={y(0)} stroke="currentColor" strokeOpacity="0.25" />
      <polyline points={path(drag)} fill="none" stroke="#2f6fde" strokeWidth="1.5" />
      <polyline points={path(lift)} fill="none" stroke="#d9622b" strokeWidth="1.5" />
    </svg>
  );
}

/** How a 3D flow is drawn; slices and volumes replace its mesh. */
function GridStyleControls() {
  const { style: chosen, axis, position } = useFlow();
  const gas = useStudio((s) => Object.keys(s.header?.volumes ?? {}).some((n) => s.scene?.bodies[Number(n)]?.info.kind === "grid"));
  const style = gridStyle(gas ? "grid" : "liquid", chosen);
  return (
    <>
      <Tabs
        label="Draw as"
        names={[gas ? "Mid-plane" : "Surface", "Slice", "Volume"]}
        selected={STYLES.indexOf(style)}
        onSelect={(n) => useFlow.setState({ style: STYLES[n] })}
      />
      {style === "volume" && <Opacity />}
      {style === "slice" && (
        <>
          <Tabs label="Slice normal to" names={["x", "y", "z"]} selected={axis} onSelect={(n) => useFlow.setState({ axis: n as 0 | 1 | 2 })} />
          <div className="slider">
            <Track label="Slice position" position={slicePosition.toPosition(position)} text={`${Math.round(100 * position)} %`} onSlide={(p) => useFlow.setState({ position: p })} />
          </div>
        </>
      )}
    </>
  );
}
