// Mappings from the position of a slider (0 to 1) to a value.

import type { ScaleInfo } from "../net/messages";

export interface Scale {
  min: number;
  max: number;
  toValue(position: number): number;
  toPosition(value: number): number;
}

const clamp = (x: number) => Math.min(1, Math.max(0, x));

export function linearScale(min: number, max: number): Scale {
  return {
    min,
    max,
    toValue: (p) => min + (max - min) * clamp(p),
    toPosition: (v) => clamp((v - min) / (max - min)),
  };
}

/** Logarithmic; with `includesZero` the start of the slider is 0. */
export function logScale(min: number, max: number, includesZero = false): Scale {
  const span = Math.log(max / min);
  return {
    min,
    max,
    toValue: (p) => (includesZero && p <= 0 ? 0 : min * Math.exp(span * clamp(p))),
    toPosition: (v) => (v <= min ? 0 : clamp(Math.log(v / min) / span)),
  };
}

/** From zero to `max`, finer near zero. */
export function powerScale(max: number, power = 3): Scale {
  return {
    min: 0,
    max,
    toValue: (p) => max * clamp(p) ** power,
    toPosition: (v) => (v <= 0 ? 0 : clamp((v / max) ** (1 / power))),
  };
}

export function makeScale({ kind, low, high, includesZero }: ScaleInfo): Scale {
  if (kind === "log") return logScale(low, high, includesZero);
  return kind === "power" ? powerScale(high) : linearScale(low, high);
}

/** Round to `count` significant digits, so that sliders do not give 1.0372911e6. */
export function roundTo(value: number, count = 3): number {
  return value === 0 ? 0 : Number(value.toPrecision(count));
}
