import { useMemo } from "react";
import { formatValue } from "../lib/format";
import type { LiveScene } from "../state/live";
import { chooseField } from "../state/studio";
import { useStudio } from "../state/store";
import { TypedValue } from "./Slider";

const SHORT: Record<string, string> = { von_mises: "Stress" };

export function ColorPanel({ scene }: { scene: LiveScene }) {
  const field = useStudio((s) => s.field);
  const fixed = useStudio((s) => s.rangeFixed);
  const range = useStudio((s) => s.range);
  const unit = scene.fields.find(({ name }) => name === field)?.unit ?? "";
  const options = [
    ...scene.fields.map(({ name, label }) => ({ name: name as string | null, label: SHORT[name] ?? label, title: label })),
    { name: null, label: "Plain", title: "Plain" },
  ];
  return (
    <section aria-labelledby="color-title">
      <h2 id="color-title">Colour</h2>
      <div className="segments" role="radiogroup" aria-label="Colour by">
        {options.map(({ name, label, title }) => (
          <button
            key={label}
            type="button"
            role="radio"
            aria-checked={name === field}
            title={title}
            onClick={() => chooseField(name)}
          >
            {label}
          </button>
        ))}
      </div>
      {field !== null && (
        <div className="range-row">
          <label className="check">
            <input
              type="checkbox"
              checked={!fixed}
              onChange={(event) => useStudio.setState({ rangeFixed: !event.target.checked })}
            />
            Automatic range
          </label>
          {fixed && (
            <span className="range-values">
              <TypedValue
                label="Lowest value"
                unit={unit}
                value={range[0]}
                limits={[-1e15, range[1]]}
                onChange={(low) => useStudio.setState({ range: [low, range[1]] })}
              />
              <span aria-hidden="true">–</span>
              <TypedValue
                label="Highest value"
                unit={unit}
                value={range[1]}
                limits={[range[0], 1e15]}
                onChange={(high) => useStudio.setState({ range: [range[0], high] })}
              />
            </span>
          )}
        </div>
      )}
    </section>
  );
}

function gradient(table: Uint8Array): string {
  const stops: string[] = [];
  const count = table.length / 3;
  for (let i = 0; i <= 16; i++) {
    const at = 3 * Math.round((i / 16) * (count - 1));
    stops.push(`rgb(${table[at]} ${table[at + 1]} ${table[at + 2]})`);
  }
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** The colour bar over the view. */
export function Legend({ scene }: { scene: LiveScene }) {
  const field = useStudio((s) => s.field);
  const [low, high] = useStudio((s) => s.range);
  const background = useMemo(() => gradient(scene.colormap), [scene]);
  const info = scene.fields.find(({ name }) => name === field);
  if (!info) return null;
  const ticks = high > low ? [low, 0.5 * (low + high), high] : [low];
  return (
    <figure className="legend" aria-label={`${info.label} from ${formatValue(low, info.unit)} to ${formatValue(high, info.unit)}`}>
      <figcaption>{info.label}</figcaption>
      <div className="bar" style={{ background }} />
      <div className="ticks" aria-hidden="true">
        {ticks.map((value, i) => (
          <span key={i}>{i === 0 && value === 0 ? "0" : formatValue(value, info.unit)}</span>
        ))}
      </div>
    </figure>
  );
}
