import { useEffect, useId, useRef, useState } from "react";
import { formatValue } from "../lib/format";
import { roundTo, type Scale } from "../lib/scale";
import type { ParameterInfo } from "../net/messages";
import { Icon } from "./Icon";
import { FieldError, TypedValue } from "./TypedValue";

interface Props {
  parameter: ParameterInfo;
  value: number;
  initial: number;
  scale: Scale;
  onChange(value: number): void;
}

const STEPS = 1000;
const SEND_INTERVAL = 40; // ms between messages while sliding
const ECHO_DELAY = 400; // ms after the last change during which the server's echo is ignored

/** A slider with a number that can be typed, with or without a unit. */
export function Slider({ parameter, value, initial, scale, onChange }: Props) {
  const { key, label, unit, help, kind } = parameter;
  const id = useId();
  const { shown, change } = useLocalValue(value, onChange);
  const slide = (next: number) => change(kind === "count" ? Math.round(next) : roundTo(next));
  return (
    <div className="slider">
      <label htmlFor={id} title={help}>
        {label}
      </label>
      {differs(shown, initial) ? (
        <Restore label={label} initial={formatValue(initial, unit)} onClick={() => change(initial)} />
      ) : (
        <span />
      )}
      <TypedValue
        id={key}
        label={label}
        unit={unit}
        value={shown}
        limits={parameter}
        whole={kind === "count"}
        onChange={change}
      />
      <Track id={id} position={scale.toPosition(shown)} text={formatValue(shown, unit)} onSlide={(p) => slide(scale.toValue(p))} />
      <FieldError id={key} />
    </div>
  );
}

export const differs = (value: number, initial: number) => Math.abs(value - initial) > 1e-6 * Math.abs(initial || 1);

export function Restore({ label, initial, onClick }: { label: string; initial: string; onClick(): void }) {
  return (
    <button
      type="button"
      className="restore"
      aria-label={`${label}: back to ${initial}`}
      title={`Back to ${initial}`}
      onClick={onClick}
    >
      <Icon name="reset" size={13} />
    </button>
  );
}

interface TrackProps {
  id?: string;
  label?: string;
  position: number;
  text: string;
  onSlide(position: number): void;
}

export function Track({ id, label, position, text, onSlide }: TrackProps) {
  return (
    <input
      id={id}
      type="range"
      aria-label={label}
      min={0}
      max={STEPS}
      step={1}
      value={Math.round(position * STEPS)}
      style={{ "--fill": `${position * 100}%` } as React.CSSProperties}
      aria-valuetext={text}
      onChange={(event) => onSlide(Number(event.target.value) / STEPS)}
    />
  );
}

/**
 * The value to show and a function that changes it. While the user changes it, the local value is shown, and at most
 * one value per interval is sent, always including the last one.
 */
export function useLocalValue<T>(value: T, onChange: (value: T) => void): { shown: T; change(value: T): void } {
  const [local, setLocal] = useState<{ value: T } | null>(null);
  const state = useRef({ last: 0, timer: 0, onChange });
  state.current.onChange = onChange;
  useEffect(() => () => window.clearTimeout(state.current.timer), []);
  useEffect(() => {
    if (local === null) return undefined;
    const timer = window.setTimeout(() => setLocal(null), ECHO_DELAY);
    return () => window.clearTimeout(timer);
  }, [local]);
  const change = (next: T) => {
    setLocal({ value: next });
    window.clearTimeout(state.current.timer);
    const wait = state.current.last + SEND_INTERVAL - performance.now();
    const go = () => {
      state.current.last = performance.now();
      state.current.onChange(next);
    };
    if (wait <= 0) go();
    else state.current.timer = window.setTimeout(go, wait);
  };
  return { shown: local ? local.value : value, change };
}

/** A checkbox that shows the user's choice before the server confirms it. */
export function Check({ label, title, value, onChange }: { label: string; title?: string; value: boolean; onChange(value: boolean): void }) {
  const { shown, change } = useLocalValue(value, onChange);
  return (
    <label className="check row" title={title}>
      <input type="checkbox" checked={shown} onChange={(event) => change(event.target.checked)} />
      {label}
    </label>
  );
}
