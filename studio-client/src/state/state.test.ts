import { describe, expect, it } from "vitest";
import { History } from "./history";
import type { FrameHeader } from "../net/messages";
import { applyFrame, followNodes, type LiveBody, type LiveScene, makeScene, replaceMeshes, scalarExtent } from "./live";
import { WarningList, warningText } from "./warnings";
import { AutoRange } from "./range";

const scene = (scalars: Float32Array | null) => ({ bodies: [{ scalars }] }) as unknown as LiveScene;

describe("scalarExtent", () => {
  it("leaves out the top percent", () => {
    const values = Float32Array.from({ length: 1000 }, (_, i) => (i < 995 ? i / 995 : 1000));
    const [low, high] = scalarExtent(scene(values))!;
    expect(low).toBe(0);
    expect(high).toBeLessThan(5);
  });

  it("is exact for equal values and null without any", () => {
    const [low, high] = scalarExtent(scene(new Float32Array([2, 2, 2])))!;
    expect([low, high]).toEqual([2, 2]);
    expect(scalarExtent(scene(null))).toBeNull();
  });
});

describe("applyFrame", () => {
  const [soft, rigid] = [1, 2].map(() => ({ scalars: null as Float32Array | null, version: 0 }));
  const meshes = new Map([[2, { points: new Float32Array(3), version: 0 }]]);
  const live = { bodies: [soft, rigid], meshes, arrows: new Map(), springs: new Map(), volumes: new Map() } as unknown as LiveScene;
  const show = (field: string | null, arrays: Record<string, number[]>) =>
    applyFrame(live, { field, poses: {} } as unknown as FrameHeader, new Map(Object.entries(arrays).map(([name, values]) => [name, Float32Array.from(values)])));

  it("moves the points of colliders that deform", () => {
    show(null, { "collider/2/points": [1, 2, 3] });
    show(null, {});
    expect([...meshes.get(2)!.points]).toEqual([1, 2, 3]);
    expect(meshes.get(2)!.version).toBe(1);
  });

  it("keeps values that did not change, and forgets those of another field", () => {
    show("velocity", { "0/velocity": [1], "1/velocity": [2] });
    show("velocity", {});
    expect([soft.scalars?.[0], rigid.scalars?.[0]]).toEqual([1, 2]);
    const before = rigid.version;
    show("von_mises", { "0/von_mises": [3] }); // a rigid body has no stress
    expect([soft.scalars?.[0], rigid.scalars]).toEqual([3, null]);
    expect(rigid.version).toBeGreaterThan(before);
    show(null, {});
    expect([soft.scalars, rigid.scalars]).toEqual([null, null]);
  });
});

describe("new meshes", () => {
  const mesh = (nodes: number[], rest: number[], triangles: number[]) => ({
    "0/nodes": Uint32Array.from(nodes),
    "0/rest": Float32Array.from(rest),
    "0/triangles": Uint32Array.from(triangles),
  });
  const info = (topologyVersion: number) => ({ name: "block", kind: "soft", topologyVersion });
  const first = mesh([0, 1, 5], [0, 0, 0, 1, 0, 0, 0, 1, 0], [0, 1, 2]);
  const other = { "1/nodes": new Uint32Array(), "1/rest": new Float32Array(), "1/triangles": new Uint32Array() };
  const live = makeScene({
    kind: "topology",
    header: { bodies: [info(0), info(0)], colliders: [], fields: [], poses: {}, epoch: 3 },
    arrays: new Map(Object.entries({ ...first, ...other, colormap: new Uint8Array(3), divergingColormap: new Uint8Array(3), "a/markers": Uint32Array.of(2) })),
  } as never);
  const second = mesh([0, 5, 6, 7], [0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 0, 2, 3]);
  const header = { field: null, poses: {}, bodies: { 0: info(1) } } as unknown as FrameHeader;
  const arrays = new Map(Object.entries({ ...second, "0/positions": Float32Array.from({ length: 12 }, (_, i) => i), "a/markers": Uint32Array.of(1) }));

  it("replaces changed bodies only", () => {
    const next = replaceMeshes(live, header, arrays as never);
    applyFrame(next, header, arrays as never);
    expect(next.epoch).toBe(3);
    expect(next.bodies[1]).toBe(live.bodies[1]);
    expect(next.bodies[0].info.topologyVersion).toBe(1);
    expect([...next.bodies[0].triangles]).toEqual([0, 1, 2, 0, 2, 3]);
    expect(next.bodies[0].positions.length).toBe(12);
    expect([...(next.markers.get("a") ?? [])]).toEqual([1]);
    expect(live.bodies[0].triangles.length).toBe(3); // what is drawn stays whole until the page draws the new one
    expect(replaceMeshes(live, { ...header, bodies: {} }, arrays as never)).toBe(live);
  });

  it("keeps selected nodes that still exist, and drops the others", () => {
    const after = replaceMeshes(live, header, arrays as never).bodies[0];
    expect(followNodes([0, 1, 2], live.bodies[0], after)).toEqual([0, 1]); // node 1 is gone
    const moved = { ...after, rest: after.rest.map((x) => x + 1) } as LiveBody;
    expect(followNodes([0, 2], live.bodies[0], moved)).toEqual([]); // the numbers belong to other nodes now
  });
});

describe("AutoRange", () => {
  it("grows immediately and shrinks after a while", () => {
    const range = new AutoRange();
    expect(range.update([0, 4.2], 0)).toEqual([0, 5]);
    expect(range.update([0, 55], 0.1)).toEqual([0, 60]);
    expect(range.update([0, 3], 0.2)).toEqual([0, 60]);
    expect(range.update([0, 3], 3)).toEqual([0, 3]);
  });

  it("reaches below zero when values do", () => {
    const [low, high] = new AutoRange().update([-2.4, 1], 0);
    expect(low).toBeLessThanOrEqual(-2.4);
    expect(high).toBeGreaterThanOrEqual(1);
  });

  it("is centred on one for ratios, and 0 to 1 for flags", () => {
    const [low, high] = new AutoRange().update([0.93, 1.02], 0, { rangeMode: "one", unit: "" });
    expect(low).toBeCloseTo(0.92, 9);
    expect(high).toBeCloseTo(1.08, 9);
    expect(new AutoRange().update([1, 1], 0, { rangeMode: "one", unit: "" })[1]).toBeGreaterThan(1);
    expect(new AutoRange().update([0, 0], 0, { rangeMode: "flag", unit: "" })).toEqual([0, 1]);
    expect(new AutoRange().update([0, 1e-10], 0, { rangeMode: "zero", unit: "Pa" })).toEqual([0, 1e-3]);
  });
});

describe("WarningList", () => {
  it("forgets the warnings of a step whose scene was changed", () => {
    const warnings = new WarningList();
    const soft = { body: "bar", text: "too soft", count: 1, step: 3 };
    expect(warnings.update([soft], 0)).toEqual([soft]);
    warnings.clear(3);
    expect(warnings.update([soft], 0.1)).toEqual([]);
    expect(warnings.update([{ ...soft, step: 4 }], 0.2)).toEqual([{ ...soft, step: 4 }]);
  });

  it("keeps warnings for a while, and merges those that differ only in numbers", () => {
    const warnings = new WarningList();
    const first = { body: "bar 1", text: "3 of 80 elements are inverted", count: 1, step: 7 };
    const later = { body: "bar 1", text: "12 of 80 elements are inverted", count: 2, step: 8 };
    expect(warnings.update([first], 0)).toEqual([first]);
    expect(warnings.update([later], 0.1)).toEqual([later]);
    expect(warnings.update([later], 1)).toEqual([later]);
    expect(warnings.update([later], 5)).toEqual([]); // no step since has given it
    expect(warnings.update([{ ...later, step: 90 }, { ...later, body: "bar 2" }], 6)).toHaveLength(2);
  });

  it("says in how many steps a warning came", () => {
    const warning = { body: "bar", text: "too soft", count: 1, step: 7 };
    expect(warningText(warning)).toBe("bar: too soft (step 7)");
    expect(warningText({ ...warning, count: 5 })).toBe("bar: too soft (5 steps, the last was step 7)");
  });
});

describe("History", () => {
  it("sums energies, and restarts when time goes back", () => {
    const history = new History();
    history.add(new Float32Array([0, 1, 10, 20, -5, 1, 1, 11, 21, -6]));
    expect(history.time).toEqual([0, 1]);
    expect(history.energy[3]).toEqual([25, 26]);
    history.add(new Float32Array([0.5, 1, 1, 2, 3]));
    expect(history.time).toEqual([0.5]);
  });

  it("drops old samples", () => {
    const history = new History();
    for (let t = 0; t < 400; t++) history.add(new Float32Array([t / 10, 1, 0, 0, 0]));
    expect(history.time[0]).toBeGreaterThan(20);
    expect(history.energy[0].length).toBe(history.time.length);
  });
});
