import { useEffect, useId, useRef, useState } from "react";
import { formatValue } from "../lib/format";
import { roundTo, type Scale } from "../lib/scale";
import type { KnobInfo } from "../net/messages";
import { Icon } from "./Icon";
import { Problem, TypedValue } from "./TypedValue";

interface Props {
  knob: KnobInfo;
  value: number;
  initial: number;
  scale: Scale;
  onChange(value: number): void;
}

const STEPS = 1000;
const SEND_INTERVAL = 40; // ms between messages while sliding
const HOLD = 400; // ms after the last move during which the server's echo is ignored

/** A slider with a number that can be typed, with or without a unit. */
export function Slider({ knob, value, initial, scale, onChange }: Props) {
  const { key, label, unit, help, kind } = knob;
  const id = useId();
  const { shown, change } = useOwn(value, onChange);
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
        limits={knob}
        whole={kind === "count"}
        onChange={change}
      />
      <Track id={id} position={scale.toPosition(shown)} text={formatValue(shown, unit)} onSlide={(p) => slide(scale.toValue(p))} />
      <Problem id={key} />
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
 * The value to show and a function that changes it. While a hand moves it, it is the hand's own, and at most one
 * value goes out in an interval, the last one always.
 */
export function useOwn<T>(value: T, onChange: (value: T) => void): { shown: T; change(value: T): void } {
  const [own, setOwn] = useState<{ value: T } | null>(null);
  const state = useRef({ last: 0, timer: 0, onChange });
  state.current.onChange = onChange;
  useEffect(() => () => window.clearTimeout(state.current.timer), []);
  useEffect(() => {
    if (own === null) return undefined;
    const timer = window.setTimeout(() => setOwn(null), HOLD);
    return () => window.clearTimeout(timer);
  }, [own]);
  const change = (next: T) => {
    setOwn({ value: next });
    window.clearTimeout(state.current.timer);
    const wait = state.current.last + SEND_INTERVAL - performance.now();
    const go = () => {
      state.current.last = performance.now();
      state.current.onChange(next);
    };
    if (wait <= 0) go();
    else state.current.timer = window.setTimeout(go, wait);
  };
  return { shown: own ? own.value : value, change };
}

/** A tick that shows at once what a click has chosen, before the server says so too. */
export function Check({ label, title, value, onChange }: { label: string; title?: string; value: boolean; onChange(value: boolean): void }) {
  const { shown, change } = useOwn(value, onChange);
  return (
    <label className="check row" title={title}>
      <input type="checkbox" checked={shown} onChange={(event) => change(event.target.checked)} />
      {label}
    </label>
  );
}
