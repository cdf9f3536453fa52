import { PerspectiveCamera } from "three";
import { describe, expect, it } from "vitest";
import { combineSelection, nodeAt, nodesInside, rectOf } from "./picking";

const SIZE = { width: 400, height: 400 };
const camera = new PerspectiveCamera(90, 1, 0.1, 100); // at the origin, looking along -z
camera.updateMatrixWorld();

// A node in the middle, one behind it, one to the right, one behind the camera.
const NODES = new Float32Array([0, 0, -2, 0, 0, -4, 1, 0, -2, 0, 0, 3]);

describe("picking nodes", () => {
  it("finds nodes inside a rectangle, including hidden ones", () => {
    for (const [ax, ay, bx, by] of [
      [150, 150, 250, 250],
      [250, 250, 150, 150],
      [250, 150, 150, 250],
      [150, 250, 250, 150],
    ])
      expect(nodesInside(NODES, camera, SIZE, rectOf(ax, ay, bx, by))).toEqual([0, 1]);
    expect(nodesInside(NODES, camera, SIZE, rectOf(0, 0, 400, 400))).toEqual([0, 1, 2]);
  });

  it("finds the front node under the mouse, and none far from it", () => {
    expect(nodeAt(NODES, camera, SIZE, 202, 199)).toBe(0);
    expect(nodeAt(NODES, camera, SIZE, 300, 200)).toBe(2);
    expect(nodeAt(NODES, camera, SIZE, 20, 20)).toBeNull();
  });

  it("replaces the selection, or toggles with Shift", () => {
    expect(combineSelection([1, 2], [5], false)).toEqual([5]);
    expect(combineSelection([1, 2], [2, 5], true)).toEqual([1, 5]);
  });
});
