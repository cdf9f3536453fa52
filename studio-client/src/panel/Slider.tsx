import { useEffect, useId, useRef, useState } from "react";
import { formatValue, parseValue } from "../lib/format";
import { roundTo, type Scale } from "../lib/scale";
import { Icon } from "./Icon";

interface Props {
  label: string;
  unit: string;
  help: string;
  value: number;
  initial: number;
  scale: Scale;
  /** Values that may be typed. */
  limits: [number, number];
  onChange(value: number): void;
}

const STEPS = 1000;
const SEND_INTERVAL = 40; // ms between messages while sliding
const HOLD = 400; // ms after the last move during which the server's echo is ignored

/** A slider with a number that can be typed, with or without a unit. */
export function Slider({ label, unit, help, value, initial, scale, limits, onChange }: Props) {
  const id = useId();
  const [own, setOwn] = useState<number | null>(null);
  const sender = useSender(onChange);
  const shown = own ?? value;

  useEffect(() => {
    if (own === null) return undefined;
    const timer = window.setTimeout(() => setOwn(null), HOLD);
    return () => window.clearTimeout(timer);
  }, [own]);

  const change = (next: number) => {
    const rounded = roundTo(next);
    setOwn(rounded);
    sender(rounded);
  };
  const position = scale.toPosition(shown);
  return (
    <div className="slider">
      <label htmlFor={id} title={help}>
        {label}
      </label>
      {Math.abs(shown - initial) > 1e-6 * Math.abs(initial || 1) ? (
        <button
          type="button"
          className="restore"
          aria-label={`${label}: back to ${formatValue(initial, unit)}`}
          title={`Back to ${formatValue(initial, unit)}`}
          onClick={() => change(initial)}
        >
          <Icon name="reset" size={13} />
        </button>
      ) : (
        <span />
      )}
      <TypedValue label={label} unit={unit} value={shown} limits={limits} onChange={change} />
      <input
        id={id}
        type="range"
        min={0}
        max={STEPS}
        step={1}
        value={Math.round(position * STEPS)}
        style={{ "--fill": `${position * 100}%` } as React.CSSProperties}
        aria-valuetext={formatValue(shown, unit)}
        onChange={(event) => change(scale.toValue(Number(event.target.value) / STEPS))}
      />
    </div>
  );
}

/** Sends at most one value in an interval, and the last one always. */
function useSender(onChange: (value: number) => void): (value: number) => void {
  const state = useRef({ last: 0, timer: 0, onChange });
  state.current.onChange = onChange;
  useEffect(() => () => window.clearTimeout(state.current.timer), []);
  return (value) => {
    const now = performance.now();
    window.clearTimeout(state.current.timer);
    const wait = state.current.last + SEND_INTERVAL - now;
    const go = () => {
      state.current.last = performance.now();
      state.current.onChange(value);
    };
    if (wait <= 0) go();
    else state.current.timer = window.setTimeout(go, wait);
  };
}

interface TypedProps {
  label: string;
  unit: string;
  value: number;
  limits: [number, number];
  onChange(value: number): void;
}

/** A number with its unit that turns into a text field when it is clicked. */
export function TypedValue({ label, unit, value, limits, onChange }: TypedProps) {
  const [text, setText] = useState<string | null>(null);
  const parsed = text === null ? value : parseValue(text, unit);
  const wrong = parsed === null || parsed < limits[0] || parsed > limits[1];
  const finish = () => {
    if (text !== null && !wrong && parsed !== null && parsed !== value) onChange(parsed);
    setText(null);
  };
  return (
    <input
      className="typed"
      type="text"
      inputMode="text"
      spellCheck={false}
      autoComplete="off"
      aria-label={unit ? `${label} in ${unit}` : label}
      aria-invalid={text !== null && wrong}
      title={`From ${formatValue(limits[0], unit)} to ${formatValue(limits[1], unit)}`}
      value={text ?? formatValue(value, unit)}
      onFocus={(event) => {
        setText(formatValue(value, unit));
        event.target.select();
      }}
      onChange={(event) => setText(event.target.value)}
      onBlur={finish}
      onKeyDown={(event) => {
        if (event.key === "Enter") event.currentTarget.blur();
        if (event.key === "Escape") {
          setText(null);
          requestAnimationFrame(() => (document.activeElement as HTMLElement | null)?.blur());
        }
      }}
    />
  );
}
