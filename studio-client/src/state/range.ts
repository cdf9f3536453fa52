// The automatic colour range: it grows immediately and shrinks only after a while, so that the legend is steady.

import { niceCeiling } from "../lib/format";
import type { FieldInfo } from "../net/messages";

const MIN_DEVIATION = 1e-3; // smallest half width of a range about 1
/** Values below which there is only round-off, by unit. */
const NOISE: Record<string, number> = { Pa: 1e-3, "J/m³": 1e-6, m: 1e-9, "m/s": 1e-9 };
const ROUNDING = 1e-3; // part of a value that does not make a range larger: smoke of 1.0002 is shown up to 1
const SHRINK_DELAY = 1.5; // s that values must stay below half of the range before it shrinks

export class AutoRange {
  private range: [number, number] = [0, 0];
  private smallSince = NaN;
  private peak = 0;

  clear(): void {
    this.range = [0, 0];
    this.smallSince = NaN;
  }

  /** Update with the extent of the values at `now` [s] and return the range. */
  update(
    extent: [number, number] | null,
    now: number,
    { rangeMode, unit }: Pick<FieldInfo, "rangeMode" | "unit"> = { rangeMode: "zero", unit: "" },
  ): [number, number] {
    if (rangeMode === "flag") return [0, 1];
    if (!extent) return this.range;
    if (rangeMode === "zero") return this.follow([extent[0], Math.max(extent[1], NOISE[unit] ?? 0)], now);
    if (rangeMode === "signed") {
      const size = this.follow([0, Math.max(-extent[0], extent[1])], now)[1];
      return [-size, size];
    }
    const away = Math.max(Math.abs(extent[0] - 1), Math.abs(extent[1] - 1), MIN_DEVIATION);
    const reach = this.follow([0, away], now)[1];
    return [1 - reach, 1 + reach];
  }

  private follow(extent: [number, number], now: number): [number, number] {
    const low = extent[0] < 0 ? -niceCeiling(-extent[0]) : 0;
    const size = Math.max(extent[1], 0);
    const high = niceCeiling(size * (1 - ROUNDING));
    if (high > this.range[1] || low < this.range[0]) {
      this.range = [Math.min(low, this.range[0]), Math.max(high, this.range[1])];
      this.smallSince = NaN;
    } else if (size < 0.5 * this.range[1]) {
      if (Number.isNaN(this.smallSince)) {
        this.smallSince = now;
        this.peak = 0;
      }
      this.peak = Math.max(this.peak, size);
      if (now - this.smallSince > SHRINK_DELAY) {
        this.range = [low, niceCeiling(this.peak)];
        this.smallSince = NaN;
      }
    } else {
      this.smallSince = NaN;
    }
    return this.range;
  }
}
