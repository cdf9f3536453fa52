import { describe, expect, it } from "vitest";
import { filledPart, WHOLE } from "./filledPart";

describe("filledPart", () => {
  const cells = [10, 8, 5] as const;
  const filled = (...where: [number, number, number][]) => {
    const bytes = new Uint8Array(10 * 8 * 5);
    for (const [x, y, z] of where) bytes[x + 10 * (y + 8 * z)] = 7;
    return filledPart(bytes, cells);
  };

  it("contains all filled cells and one more around them", () => {
    expect(filled([3, 2, 2])).toEqual([[0.2, 0.125, 0.2], [0.5, 0.5, 0.8]]);
    expect(filled([6, 2, 1], [3, 5, 2])).toEqual([[0.2, 0.125, 0], [0.8, 0.875, 0.8]]);
  });

  it("ends at the grid, and is empty without filled cells", () => {
    expect(filled([0, 0, 0], [9, 7, 4])).toEqual(WHOLE);
    expect(filled()).toEqual([[0, 0, 0], [0, 0, 0]]);
  });
});
