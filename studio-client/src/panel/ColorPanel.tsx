import { useMemo } from "react";
import { formatValue } from "../lib/format";
import type { FieldInfo, FluidStyle } from "../net/messages";
import { isSigned, type LiveScene } from "../state/live";
import { editing } from "../state/document";
import { setField, setFluidStyle } from "../state/studio";
import { useStudio } from "../state/store";
import { Section } from "./Section";
import { FieldError, TypedValue } from "./TypedValue";

const PLAIN = "";

export function ColorPanel({ scene }: { scene: LiveScene }) {
  const field = useStudio((s) => s.field);
  const replay = useStudio((s) => Boolean(s.hello?.frames));
  const info = scene.fields.find(({ name }) => name === field);
  const groups = [...new Set(scene.fields.map(({ group }) => group))];
  return (
    <Section title="Colour">
      <select
        className="wide"
        aria-label="Colour by"
        value={field ?? PLAIN}
        onChange={(event) => setField(event.target.value === PLAIN ? null : event.target.value)}
      >
        <option value={PLAIN}>Plain</option>
        {groups.map((group) => (
          <optgroup key={group} label={group}>
            {scene.fields
              .filter((entry) => entry.group === group)
              .map(({ name, label }) => (
                <option key={name} value={name}>
                  {label}
                </option>
              ))}
          </optgroup>
        ))}
      </select>
      {info && info.rangeMode !== "flag" && <Range info={info} />}
      {!replay && scene.bodies.some(({ info }) => info.dynamicTopology) && <FluidStyleSelect />}
    </Section>
  );
}

/** Whether fluids are drawn as particles or as a surface. */
function FluidStyleSelect() {
  const style = useStudio((s) => s.fluidStyle);
  return (
    <select
      className="wide"
      aria-label="Draw fluids as"
      value={style}
      onChange={(event) => setFluidStyle(event.target.value as FluidStyle)}
    >
      <option value="points">Fluids as particles</option>
      <option value="surface">Fluids as a surface</option>
    </select>
  );
}

const LOW = "color/low";
const HIGH = "color/high";

function Range({ info: { unit } }: { info: FieldInfo }) {
  const fixed = useStudio((s) => s.rangeFixed);
  const [low, high] = useStudio((s) => s.range);
  return (
    <>
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
              id={LOW}
              label="Lowest value"
              unit={unit}
              value={low}
              limits={{ min: null, max: high, openMax: true }}
              onChange={(value) => useStudio.setState({ range: [value, high] })}
            />
            <span aria-hidden="true">–</span>
            <TypedValue
              id={HIGH}
              label="Highest value"
              unit={unit}
              value={high}
              limits={{ min: low, max: null, openMin: true }}
              onChange={(value) => useStudio.setState({ range: [low, value] })}
            />
          </span>
        )}
      </div>
      <FieldError id={LOW} />
      <FieldError id={HIGH} />
    </>
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

function ticksOf({ rangeMode, unit }: FieldInfo, low: number, high: number): string[] {
  if (rangeMode === "flag") return ["0: no", "1: yes"];
  const values = high > low ? [low, 0.5 * (low + high), high] : [low];
  return values.map((value, i) => (i === 0 && value === 0 ? "0" : formatValue(value, unit)));
}

/** The colour legend over the view. */
export function Legend({ scene }: { scene: LiveScene }) {
  const field = useStudio((s) => s.field);
  const colored = useStudio((s) => s.colored);
  const [low, high] = useStudio((s) => s.range);
  const signed = isSigned(scene, field);
  const background = useMemo(() => gradient(signed ? scene.divergingColormap : scene.colormap), [scene, signed]);
  const info = scene.fields.find(({ name }) => name === field);
  const isEditing = useStudio(editing);
  if (!info || isEditing) return null;
  const ticks = colored ? ticksOf(info, low, high) : ["computing …"];
  return (
    <figure className="legend" aria-label={`${info.label} from ${ticks[0]} to ${ticks[ticks.length - 1]}`}>
      <figcaption>{info.label}</figcaption>
      <div className="bar" style={{ background }} />
      <div className="ticks" aria-hidden="true">
        {ticks.map((text, i) => (
          <span key={i}>{text}</span>
        ))}
      </div>
    </figure>
  );
}
