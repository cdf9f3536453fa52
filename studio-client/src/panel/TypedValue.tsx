import { useState } from "react";
import { formatExact, formatValue, parseValue, plainNumber, refusal } from "../lib/format";
import type { Limits } from "../net/messages";
import { setProblem, useStudio } from "../state/store";

interface Props {
  /** Under which name problems with it are told. */
  id: string;
  label: string;
  unit: string;
  value: number;
  limits: Limits;
  whole?: boolean;
  /** Show all digits of numbers that are short, as they were typed. */
  exact?: boolean;
  /** Leave the unit to whoever is around. */
  bare?: boolean;
  onChange(value: number): void;
}

/** A number with its unit that turns into a text field when it is clicked. */
export function TypedValue({ id, label, unit, value, limits, whole, exact, bare, onChange }: Props) {
  const [text, setText] = useState<string | null>(null);
  const shown = whole ? String(value) : bare ? plainNumber(value) : exact ? formatExact(value, unit) : formatValue(value, unit);
  const wrong = text !== null && refusal(text, unit, limits, value, whole);
  const finish = () => {
    if (text === null) return;
    setProblem(id, wrong || null);
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
        setProblem(id, null);
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

/** What is wrong with a value, in a sentence below it. */
export function Problem({ id }: { id: string }) {
  const problem = useStudio((s) => s.problems[id]);
  return problem ? (
    <p className="problem" role="alert">
      {problem}
    </p>
  ) : null;
}
