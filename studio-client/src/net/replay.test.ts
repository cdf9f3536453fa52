import { describe, expect, it } from "vitest";
import { DeltaDecoder, decodeConnectivity, meshArrays } from "./replay";

/** Low bytes, then high bytes, as the writer stores them. */
function bytesOf(codes: number[]): Uint8Array {
  return Uint8Array.from([...codes.map((n) => n & 255), ...codes.map((n) => n >> 8)]);
}

describe("delta-encoded frames", () => {
  it("sums differences and scales them into the box", () => {
    // two frames of one point: 0, 65535, 100; then + 5, - 2, + 200
    const bytes = bytesOf([0, 1, 200, 10, 3, 400]); // 65535 = -1 modulo 65536, encoded as 1
    const frames = new DeltaDecoder(bytes, [1, 1], { low: [0, -1, 0], high: [65535, 1, 65535] });
    expect([...frames.frame(0)]).toEqual([0, 1, 100]);
    const [x, y, z] = frames.frame(1);
    expect([x, z]).toEqual([5, 300]);
    expect(y).toBeCloseTo(-1 + (2 / 65535) * 65533, 6);
  });

  it("restarts when the number of points changes", () => {
    const frames = new DeltaDecoder(bytesOf([8, 20, 2]), [1, 2], { low: [0], high: [65535] });
    expect([...frames.frame(0)]).toEqual([4]);
    expect([...frames.frame(1)]).toEqual([10, 1]);
  });

  it("sums rows for surfaces with changing connectivity", () => {
    const frames = new DeltaDecoder(bytesOf([8, 2, 1, 20]), [3, 1], { low: [0], high: [65535] }, false);
    expect([...frames.frame(0)]).toEqual([4, 5, 4]);
    expect([...frames.frame(1)]).toEqual([10]);
  });

  it("decodes triangles: 0 is a new point, others count back from the next new one", () => {
    const codes = [0, 0, 0, 1, 2, 0, 0, 0, 0]; // (0 1 2) (2 1 3), then (0 1 2)
    const bytes = Uint8Array.from([...codes, ...codes.map(() => 0), ...codes.map(() => 0)]);
    expect(decodeConnectivity(bytes, [6, 3]).map((frame) => [...frame])).toEqual([
      [0, 1, 2, 2, 1, 3],
      [0, 1, 2],
    ]);
  });
});

describe("meshes of a body", () => {
  const names = ["0/rest", "0/triangles", "0/positions", "0/values", "0/topology1/rest", "0/topology12/rest", "1/rest", "10/rest"];
  const arrays = new Map(names.map((name, i) => [name, Uint8Array.of(i)]));

  it("are found by topology", () => {
    expect([...meshArrays(arrays, 0, 0).keys()]).toEqual(["rest", "triangles"]);
    expect(meshArrays(arrays, 0, 1).get("rest")?.[0]).toBe(4);
    expect(meshArrays(arrays, 0, 12).get("rest")?.[0]).toBe(5);
    expect([...meshArrays(arrays, 1, 0).keys()]).toEqual(["rest"]);
  });
});
