// How the way of a slider (0 to 1) maps to a value.

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

export function logScale(min: number, max: number): Scale {
  const span = Math.log(max / min);
  return {
    min,
    max,
    toValue: (p) => min * Math.exp(span * clamp(p)),
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

/** Round to `count` significant digits, so that sliders do not give 1.0372911e6. */
export function roundTo(value: number, count = 3): number {
  return value === 0 ? 0 : Number(value.toPrecision(count));
}
