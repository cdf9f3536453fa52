import { useId } from "react";
import { formatValue, formatVector } from "../lib/format";
import { makeScale, roundTo } from "../lib/scale";
import type { Group, KnobInfo, Value, Vector } from "../net/messages";
import { change } from "../state/studio";
import { useStudio } from "../state/store";
import { differs, Restore, Slider, Track, useOwn } from "./Slider";
import { Problem, TypedValue } from "./TypedValue";

export const useValue = (key: string) => useStudio((s) => s.world?.values[key]);

/** One value that can be changed, whatever its kind. */
export function Knob({ knob }: { knob: KnobInfo }) {
  const value = useValue(knob.key);
  const initial = useStudio((s) => s.panel?.initial[knob.key]) ?? value;
  if (value === undefined || initial === undefined) return null;
  const put = (next: Value) => change(knob.key, next);
  switch (knob.kind) {
    case "number":
    case "count": {
      const scale = makeScale(knob.scale ?? { kind: "linear", low: 0, high: 1, zero: false });
      return <Slider knob={knob} value={value as number} initial={initial as number} scale={scale} onChange={put} />;
    }
    case "vector":
      return <VectorKnob knob={knob} value={value as Vector} initial={initial as Vector} onChange={put} />;
    case "choice":
      return <Choice knob={knob} value={value as string} onChange={put} />;
    case "switch":
      return (
        <div className="row">
          <Switch knob={knob} />
          <Problem id={knob.key} />
        </div>
      );
  }
}

export function Switch({ knob }: { knob: KnobInfo }) {
  const on = useValue(knob.key) === true;
  const { shown, change: put } = useOwn(on, (next) => change(knob.key, next));
  return (
    <label className="check" title={knob.help}>
      <input type="checkbox" checked={shown} onChange={(event) => put(event.target.checked)} />
      {knob.label}
    </label>
  );
}

function Choice({ knob, value, onChange }: { knob: KnobInfo; value: string; onChange(value: string): void }) {
  const id = useId();
  const { shown, change: put } = useOwn(value, onChange);
  return (
    <div className="row choice">
      <label htmlFor={id} title={knob.help}>
        {knob.label}
      </label>
      <select id={id} value={shown} onChange={(event) => put(event.target.value)}>
        {Object.entries(knob.options).map(([word, label]) => (
          <option key={word} value={word}>
            {label}
          </option>
        ))}
      </select>
      <Problem id={knob.key} />
    </div>
  );
}

const AXES = ["x", "y", "z"];

interface VectorProps {
  knob: KnobInfo;
  value: Vector;
  initial: Vector;
  onChange(value: Vector): void;
}

/** Three typed components, and a slider for the length. */
function VectorKnob({ knob, value, initial, onChange }: VectorProps) {
  const { key, label, unit, help } = knob;
  const { shown, change: put } = useOwn(value, onChange);
  const length = Math.hypot(...shown);
  const way = length > 0 ? shown : Math.hypot(...initial) > 0 ? initial : null;
  const scale = knob.scale && way && makeScale(knob.scale);
  const resize = (next: number) => {
    const factor = next / Math.hypot(...(way ?? [1, 0, 0]));
    put((way ?? [1, 0, 0]).map((part) => roundTo(part * factor, 4)) as Vector);
  };
  return (
    <div className="slider vector" role="group" aria-label={label}>
      <span className="knob-label" title={help}>
        {label}
      </span>
      {shown.some((part, i) => differs(part, initial[i])) ? (
        <Restore label={label} initial={formatVector(initial, unit)} onClick={() => put(initial)} />
      ) : (
        <span />
      )}
      <span className="length">{unit ? formatValue(length, unit) : ""}</span>
      {scale && (
        <Track
          label={`${label}, size`}
          position={scale.toPosition(length)}
          text={formatValue(length, unit)}
          onSlide={(p) => resize(scale.toValue(p))}
        />
      )}
      <span className="parts">
        {AXES.map((axis, i) => (
          <span key={axis} className="part">
            <i aria-hidden="true">{axis}</i>
            <TypedValue
              id={key}
              label={`${label} ${axis}`}
              unit={unit}
              value={shown[i]}
              limits={{ min: -1e15, max: 1e15 }}
              onChange={(part) => put(shown.map((old, j) => (j === i ? part : old)) as Vector)}
            />
          </span>
        ))}
      </span>
      <Problem id={key} />
    </div>
  );
}

/** The knobs of a group, below its title if it has one. */
export function Knobs({ group, titled = false }: { group: Group; titled?: boolean }) {
  return (
    <>
      {titled && group.title && <h3>{group.title}</h3>}
      {group.knobs.map((knob) => (
        <Knob key={knob.key} knob={knob} />
      ))}
    </>
  );
}
