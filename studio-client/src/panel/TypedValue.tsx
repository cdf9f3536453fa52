import { useState } from "react";
import { formatExact, formatValue, parseValue, plainNumber, validationError } from "../lib/format";
import type { Limits } from "../net/messages";
import { setFieldError, useStudio } from "../state/store";

interface Props {
  /** Key under which its errors are stored. */
  id: string;
  label: string;
  unit: string;
  value: number;
  limits: Limits;
  whole?: boolean;
  /** Show all digits of short numbers, as typed. */
  exact?: boolean;
  /** Without its unit. */
  bare?: boolean;
  onChange(value: number): void;
}

/** A number with its unit that turns into a text field when it is clicked. */
export function TypedValue({ id, label, unit, value, limits, whole, exact, bare, onChange }: Props) {
  const [text, setText] = useState<string | null>(null);
  const shown = whole ? String(value) : bare ? plainNumber(value) : exact ? formatExact(value, unit) : formatValue(value, unit);
  const wrong = text !== null && validationError(text, unit, limits, value, whole);
  const finish = () => {
    if (text === null) return;
    setFieldError(id, wrong || null);
    const parsed = parseValue(text, unit);
    if (!wrong && parsed !== null && text !== shown) onChange(parsed);
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
      aria-invalid={wrong ? true : undefined}
      value={text ?? shown}
      onFocus={(event) => {
        setFieldError(id, null);
        setText(shown);
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

/** The error of a value, below its field. */
export function FieldError({ id }: { id: string }) {
  const error = useStudio((s) => s.fieldErrors[id]);
  return error ? (
    <p className="field-error" role="alert">
      {error}
    </p>
  ) : null;
}
