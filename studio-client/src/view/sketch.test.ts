import { describe, expect, it } from "vitest";
import { isInside, resample, polygonAt } from "./sketch";

const square = [0, 0, 2, 0, 2, 2, 0, 2];

describe("drawn obstacles", () => {
  it("contain their inner points", () => {
    expect(isInside(square, 1, 1)).toBe(true);
    expect(isInside(square, 3, 1)).toBe(false);
    expect(polygonAt([square, [1, 1, 3, 1, 3, 3]], 2.5, 1.5)).toBe(1);
    expect(polygonAt([square], -1, 0)).toBe(-1);
  });

  it("are resampled at equal distances", () => {
    const points = resample([[0, 0], [2, 0], [2, 2], [0, 2]], 8);
    expect(points).toEqual([[0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [1, 2], [0, 2], [0, 1]]);
    expect(resample([[0, 0], [1, 0], [2, 0]], 8)).toBeNull();
  });
});
