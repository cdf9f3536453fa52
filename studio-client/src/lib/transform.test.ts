import { Quaternion, Vector3 } from "three";
import { describe, expect, it } from "vitest";
import type { Entry, Vector } from "../net/messages";
import { similarityAbout, applySimilarity, transformedEntry, type Similarity } from "./transform";

const STILL = new Quaternion();
const quarter = new Quaternion().setFromAxisAngle(new Vector3(0, 1, 0), Math.PI / 2);

/** Where a transform of the scene puts a point: scaled first, then turned, then moved. */
function put(transform: Entry, point: Vector3): Vector3 {
  const { scale = 1, rotate, translate } = transform as {
    scale?: number;
    rotate?: { axis: Vector; degrees: number };
    translate: Vector;
  };
  const turn = new Quaternion();
  if (rotate) turn.setFromAxisAngle(new Vector3(...rotate.axis), (rotate.degrees * Math.PI) / 180);
  return point.clone().multiplyScalar(scale).applyQuaternion(turn).add(new Vector3(...translate));
}

describe("transformedEntry", () => {
  const start: Entry = { translate: [1, 2, 3], rotate: { axis: [0, 0, 1], degrees: 30 }, scale: 2 };
  const cases: [string, Similarity][] = [
    ["a move", similarityAbout(new Vector3(1, 2, 3), new Vector3(0.5, -1, 0), STILL, 1)],
    ["a turn", similarityAbout(new Vector3(1, 0, 2), new Vector3(), quarter, 1)],
    ["growth", similarityAbout(new Vector3(0, 1, 0), new Vector3(), STILL, 1.5)],
    ["all of them", similarityAbout(new Vector3(3, 1, -2), new Vector3(0, 0, 4), quarter, 0.5)],
  ];
  it.each(cases)("carries every point of a body through %s", (_, map) => {
    const made = transformedEntry({ type: "soft", transform: start }, "bodies", map).transform as Entry;
    for (const point of [new Vector3(), new Vector3(1, 0, 0), new Vector3(0.3, -2, 1)]) {
      const wanted = applySimilarity(map, put(start, point));
      expect(put(made, point).distanceTo(wanted)).toBeLessThan(1e-4);
    }
  });

  it("keeps how a body is sized and placed", () => {
    const transform: Entry = { size: 0.4, place: "on_floor", translate: [1, 0, 0] };
    const map = similarityAbout(new Vector3(), new Vector3(0, 0.5, 0), STILL, 2);
    const made = transformedEntry({ type: "soft", transform }, "bodies", map).transform as Entry;
    expect(made).toEqual({ size: 0.8, place: "on_floor", translate: [2, 0.5, 0] });
  });

  it("keeps the centre of rotation and scaling fixed", () => {
    const center = new Vector3(1, 2, 3);
    expect(applySimilarity(similarityAbout(center, new Vector3(), quarter, 3), center.clone()).distanceTo(center)).toBeLessThan(1e-12);
  });

  it("moves colliders by their own keys, including defaults", () => {
    const map = similarityAbout(new Vector3(), new Vector3(1, 0, 0), STILL, 2);
    expect(transformedEntry({ type: "sphere", center: [1, 0, 0], radius: 0.5 }, "colliders", map)).toEqual({ center: [3, 0, 0], radius: 1 });
    expect(transformedEntry({ type: "box" }, "colliders", map)).toEqual({ center: [1, 0, 0], size: [2, 2, 2] });
    expect(transformedEntry({ type: "animated_mesh", path: "arm.glb", start: 1 }, "colliders", map)).toHaveProperty("transform.scale", 2);
    const turned = transformedEntry({ type: "plane" }, "colliders", similarityAbout(new Vector3(), new Vector3(), new Quaternion().setFromAxisAngle(new Vector3(0, 0, 1), Math.PI / 2), 1));
    expect(turned).toEqual({ point: [0, 0, 0], normal: [-1, 0, 0] });
  });

  it("moves a block of fluid and keeps it axis-aligned", () => {
    const block: Entry = { type: "fluid", block: { min: [0, 0, 0], max: [2, 1, 1] } };
    const made = transformedEntry(block, "bodies", similarityAbout(new Vector3(1, 0.5, 0.5), new Vector3(0, 1, 0), STILL, 1));
    expect(made).toEqual({ block: { min: [0, 1, 0], max: [2, 2, 1] } });
  });
});
