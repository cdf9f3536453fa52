import { useId } from "react";
import { formatValue, formatVector } from "../lib/format";
import { makeScale, roundTo } from "../lib/scale";
import type { Group, ParameterInfo, Value, Vector } from "../net/messages";
import { setParameter } from "../state/studio";
import { useStudio } from "../state/store";
import { differs, Restore, Slider, Track, useLocalValue } from "./Slider";
import { FieldError, TypedValue } from "./TypedValue";

export const useValue = (key: string) => useStudio((s) => s.world?.values[key]);

/** The input of a parameter of any kind. */
export function ParameterInput({ parameter }: { parameter: ParameterInfo }) {
  const value = useValue(parameter.key);
  const initial = useStudio((s) => s.panel?.initial[parameter.key]) ?? value;
  if (value === undefined || initial === undefined) return null;
  const put = (next: Value) => setParameter(parameter.key, next);
  switch (parameter.kind) {
    case "number":
    case "count": {
      const scale = makeScale(parameter.scale ?? { kind: "linear", low: 0, high: 1, includesZero: false });
      return <Slider parameter={parameter} value={value as number} initial={initial as number} scale={scale} onChange={put} />;
    }
    case "vector":
      return <VectorInput parameter={parameter} value={value as Vector} initial={initial as Vector} onChange={put} />;
    case "choice":
      return <Choice parameter={parameter} value={value as string} onChange={put} />;
    case "switch":
      return (
        <div className="row">
          <Switch parameter={parameter} />
          <FieldError id={parameter.key} />
        </div>
      );
  }
}

export function Switch({ parameter }: { parameter: ParameterInfo }) {
  const on = useValue(parameter.key) === true;
  const { shown, change: put } = useLocalValue(on, (next) => setParameter(parameter.key, next));
  return (
    <label className="check" title={parameter.help}>
      <input type="checkbox" checked={shown} onChange={(event) => put(event.target.checked)} />
      {parameter.label}
    </label>
  );
}

function Choice({ parameter, value, onChange }: { parameter: ParameterInfo; value: string; onChange(value: string): void }) {
  const id = useId();
  const { shown, change: put } = useLocalValue(value, onChange);
  return (
    <div className="row choice">
      <label htmlFor={id} title={parameter.help}>
        {parameter.label}
      </label>
      <select id={id} value={shown} onChange={(event) => put(event.target.value)}>
        {Object.entries(parameter.options).map(([word, label]) => (
          <option key={word} value={word}>
            {label}
          </option>
        ))}
      </select>
      <FieldError id={parameter.key} />
    </div>
  );
}

const AXES = ["x", "y", "z"];

interface VectorProps {
  parameter: ParameterInfo;
  value: Vector;
  initial: Vector;
  onChange(value: Vector): void;
}

/** Three typed components, and a slider for the magnitude. */
function VectorInput({ parameter, value, initial, onChange }: VectorProps) {
  const { key, label, unit, help } = parameter;
  const { shown, change: put } = useLocalValue(value, onChange);
  const length = Math.hypot(...shown);
  const direction = length > 0 ? shown : Math.hypot(...initial) > 0 ? initial : null;
  const scale = parameter.scale && direction && makeScale(parameter.scale);
  const resize = (next: number) => {
    const factor = next / Math.hypot(...(direction ?? [1, 0, 0]));
    put((direction ?? [1, 0, 0]).map((part) => roundTo(part * factor, 4)) as Vector);
  };
  return (
    <div className="slider vector" role="group" aria-label={label}>
      <span className="parameter-label" title={help}>
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
          label={`${label} magnitude`}
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
      <FieldError id={key} />
    </div>
  );
}

/** The parameters of a group, with its title if it has one. */
export function ParameterInputs({ group, titled = false }: { group: Group; titled?: boolean }) {
  return (
    <>
      {titled && group.title && <h3>{group.title}</h3>}
      {group.parameters.map((parameter) => (
        <ParameterInput key={parameter.key} parameter={parameter} />
      ))}
    </>
  );
}
