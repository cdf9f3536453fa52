import { describe, expect, it } from "vitest";
import type { Schema } from "../net/messages";
import { choiceOf, fieldOf, labelOf, defaultValue, summary } from "./schema";

const number = (limits: Partial<Schema> = {}): Schema => ({ type: "number", ...limits });
const vector: Schema = { type: "array", prefixItems: [number(), number(), number()] };

const ROOT: Schema = {
  $defs: {
    Ball: {
      type: "object",
      properties: { type: { const: "ball", type: "string" }, radius: number({ exclusiveMinimum: 0, unit: "m" }) },
      required: ["type", "radius"],
    },
    Plane: {
      type: "object",
      properties: { type: { const: "plane", type: "string" }, normal: vector, offset: number({ default: 2 }) },
      required: ["type", "normal"],
    },
  },
};
const shape: Schema = { oneOf: [{ $ref: "#/$defs/Ball" }, { $ref: "#/$defs/Plane" }] };

describe("fieldOf", () => {
  it("reads limits and units of numbers", () => {
    const field = fieldOf(number({ exclusiveMinimum: -1, exclusiveMaximum: 0.5, unit: "Pa" }), ROOT);
    expect(field).toMatchObject({ kind: "number", min: -1, max: 0.5, openMin: true, openMax: true, unit: "Pa" });
  });

  it("detects nullable values behind anyOf", () => {
    const field = fieldOf({ anyOf: [number({ minimum: 0 }), { type: "null" }], default: null }, ROOT);
    expect(field).toMatchObject({ kind: "number", nullable: true, min: 0, openMin: false });
    expect(fieldOf({ anyOf: [{ $ref: "#/$defs/Ball" }, { type: "null" }] }, ROOT).kind).toBe("object");
  });

  it("recognises vectors, lists, names and unions", () => {
    expect(fieldOf(vector, ROOT)).toMatchObject({ kind: "vector", count: 3 });
    expect(fieldOf({ type: "array", items: shape }, ROOT).kind).toBe("list");
    expect(fieldOf({ enum: ["a", "b"], type: "string" }, ROOT)).toMatchObject({ kind: "choice", options: ["a", "b"] });
    const union = fieldOf(shape, ROOT);
    expect(union.choices.map(({ tag }) => tag)).toEqual(["ball", "plane"]);
    expect(choiceOf(union, { type: "plane" })?.tag).toBe("plane");
    expect(choiceOf(union, "left")).toBeUndefined();
    expect(choiceOf(union, { radius: 1 })).toBeUndefined();
  });

  it("takes an entry without a type for the variant whose type has a default", () => {
    const change = (tag: string, rest: object = {}) => ({ type: "object", properties: { type: { const: tag, ...rest } } });
    const union = fieldOf({ oneOf: [change("material", { default: "material" }), change("split")] } as Schema, ROOT);
    expect(choiceOf(union, { time: 1 })?.tag).toBe("material");
    expect(choiceOf(union, { type: "split" })?.tag).toBe("split");
  });
});

describe("defaultValue", () => {
  it("has the required keys within their limits, and nothing else", () => {
    expect(defaultValue({ $ref: "#/$defs/Ball" }, ROOT)).toEqual({ type: "ball", radius: 1 });
    expect(defaultValue({ $ref: "#/$defs/Plane" }, ROOT)).toEqual({ type: "plane", normal: [0, 1, 0] });
  });

  it("fills lists that must not be empty", () => {
    expect(defaultValue({ type: "array", items: shape, minItems: 1 }, ROOT)).toEqual([{ type: "ball", radius: 1 }]);
    expect(defaultValue({ type: "array", items: shape }, ROOT)).toEqual([]);
  });
});

describe("words", () => {
  it("are readable", () => {
    expect(labelOf("self_contact")).toBe("Self contact");
    expect(labelOf("young")).toBe("Young’s modulus");
    expect(summary({ where: { type: "nodes", nodes: [1, 2, 3] } })).toBe("3 nodes");
    expect(summary({ where: { type: "box" } })).toBe("in a box");
    expect(summary({ where: "left" })).toBe("left");
  });
});
