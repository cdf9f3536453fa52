// Formatting and parsing of numbers with units.

import type { Limits } from "../net/messages";

const PREFIXES: [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
  [1e-3, "m"],
  [1e-6, "µ"],
  [1e-9, "n"],
];

/** Units with SI prefixes; others are written with plain numbers. */
const PREFIXED = new Set(["Pa", "m", "m/s", "J", "J/m³", "W", "N", "N/m", "N/m³", "s"]);

function digits(value: number, significant: number): string {
  if (value === 0) return "0";
  const rounded = Math.abs(Number(value.toPrecision(significant))); // 9.999 has the digits of 10
  const magnitude = Math.floor(Math.log10(rounded) + 1e-9);
  const decimals = Math.max(0, Math.min(8, significant - 1 - magnitude));
  return value.toFixed(decimals);
}

/** Write a value with three significant digits: `12.3 mm`, `1.00 MPa`, `0.30`. */
export function formatValue(value: number, unit: string, significant = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (!PREFIXED.has(unit)) {
    const size = Math.abs(value);
    const text =
      size !== 0 && (size >= 1e6 || size < 1e-4)
        ? value.toExponential(significant - 1)
        : digits(value, significant);
    return unit ? `${text} ${unit}` : text;
  }
  const size = Math.abs(value);
  if (size < 1e-12) return `0 ${unit}`;
  const [factor, prefix] = PREFIXES.find(([f]) => size >= f * 0.9995) ?? PREFIXES[PREFIXES.length - 1];
  return `${digits(value / factor, significant)} ${prefix}${unit}`;
}

/** Write a count with its noun: `1 frame`, `1,200 frames`. */
export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** Write a number with up to six digits: `0.25`, `1e-7`. */
export function plainNumber(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** Write a value with its unit and prefix, with all its digits: `300 Pa`, `1.25 kPa`. */
export function formatExact(value: number, unit: string): string {
  if (!PREFIXED.has(unit) || !Number.isFinite(value) || value === 0) return unit ? `${plainNumber(value)} ${unit}` : plainNumber(value);
  const size = Math.abs(value);
  const [factor, prefix] = PREFIXES.find(([f]) => size >= f * 0.999999) ?? PREFIXES[PREFIXES.length - 1];
  return `${plainNumber(value / factor)} ${prefix}${unit}`;
}

/** Write a vector with the prefix of its magnitude: `(0.00, 2.28, 0.04) kN`. */
export function formatVector(vector: readonly number[], unit: string): string {
  const size = Math.hypot(...vector);
  const usable = PREFIXED.has(unit) && size >= 1e-12 && Number.isFinite(size);
  const [factor, prefix] = (usable && PREFIXES.find(([f]) => size >= f * 0.9995)) || [1, ""];
  const decimals = size / factor >= 99.95 ? 0 : size / factor >= 9.995 ? 1 : 2;
  const parts = vector.map((part) => (part / factor).toFixed(decimals).replace(/^-(0(\.0*)?)$/, "$1"));
  return `(${parts.join(", ")}) ${prefix}${unit}`;
}

/** Why a typed text is invalid, in a sentence, or null. */
export function validationError(text: string, unit: string, limits: Limits, example: number, whole = false): string | null {
  const value = parseValue(text, unit);
  if (value === null) return `“${text.trim()}” is not a number; for example, write ${formatValue(example, unit)}.`;
  const { min, max, openMin, openMax } = limits;
  if (min !== null && (value < min || (openMin && value === min)))
    return `Must be ${openMin ? "greater than" : "at least"} ${formatValue(min, unit)}.`;
  if (max !== null && (value > max || (openMax && value === max)))
    return `Must be ${openMax ? "less than" : "at most"} ${formatValue(max, unit)}.`;
  return whole && !Number.isInteger(value) ? "Must be an integer." : null;
}

/** Parse typed text: `2.5 MPa`, `2.5M`, `1e6`, `0,3`. Returns null if it is not a number. */
export function parseValue(text: string, unit: string): number | null {
  const match = /^\s*([-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*$/.exec(text);
  if (!match) return null;
  const number = Number(match[1].replace(",", "."));
  let rest = match[2].replace("^2", "²").replace("^3", "³").replace(/^u(?=[A-Za-z]?)/, "µ");
  if (rest === "" || rest === unit) return Number.isFinite(number) ? number : null;
  if (!PREFIXED.has(unit)) return null;
  if (rest.endsWith(unit)) rest = rest.slice(0, -unit.length);
  const prefix = PREFIXES.find(([, name]) => name === rest);
  return prefix && Number.isFinite(number) ? number * prefix[0] : null;
}

/** The smallest of 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten that is at least `value`. */
export function niceCeiling(value: number): number {
  if (!(value > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((s) => s * power >= value * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** Write a time left: `20 s`, `3 min`. */
export const formatTimeLeft = (seconds: number): string =>
  seconds < 99.5 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`;

const capital = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

/** Describe counted work: `Compiling 3 of 12, about 20 s left`. */
export function countedProgressText(text: string, done: number, total: number, secondsLeft: number | null): string {
  const left = secondsLeft === null ? "" : `, about ${formatTimeLeft(secondsLeft)} left`;
  return `${capital(text)} ${done} of ${total}${left}`;
}

/** Split a progress text, "building head (1 of 2): meshing: pass 1", into a title and the current step. */
export function splitProgressText(text: string): { body: string; step: string } {
  const at = text.indexOf(": ");
  return at < 0
    ? { body: `${capital(text)} …`, step: "" }
    : { body: `${capital(text.slice(0, at))} …`, step: capital(text.slice(at + 2)) };
}
