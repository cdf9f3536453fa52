// Reads a JSON schema as a form: the kind of field of each value, and its default.

import type { Json, Limits, Schema } from "../net/messages";

export interface Choice {
  /** The `type` of the entry, or "word", "number" or "list" for plain values. */
  tag: string;
  label: string;
  schema: Schema;
}

export interface Field extends Limits {
  kind: "number" | "text" | "flag" | "color" | "choice" | "vector" | "object" | "union" | "list" | "other";
  help: string;
  unit: string;
  /** Whether it may be null. */
  nullable: boolean;
  whole: boolean;
  default: Json | undefined;
  options: (string | number)[];
  count: number;
  choices: Choice[];
  schema: Schema;
}

/** Resolve a reference; keys beside it take precedence. */
export function resolve(schema: Schema, root: Schema): Schema {
  if (!schema.$ref) return schema;
  const name = schema.$ref.split("/").pop() ?? "";
  const { $ref: _gone, ...beside } = schema;
  return { ...resolve(root.$defs?.[name] ?? {}, root), ...beside };
}

const isNull = (schema: Schema) => schema.type === "null";

export const labelOf = (name: string) => {
  const text = name.replace(/_/g, " ");
  return LABELS[name] ?? text.charAt(0).toUpperCase() + text.slice(1);
};

const LABELS: Record<string, string> = {
  young: "Young’s modulus",
  poisson: "Poisson’s ratio",
  dt: "Time step",
  fps: "Frames per second",
  seconds: "Duration",
  load_volume: "Body force",
  load_faces: "Traction",
  press: "Pressure",
  n: "Cells",
  max_volume: "Maximum volume",
  min_dihedral: "Minimum angle",
  max_radius_edge: "Radius-edge ratio",
};

function tagOf(schema: Schema): string {
  const type = schema.properties?.type;
  if (typeof type?.const === "string") return type.const;
  if (schema.enum) return "word";
  return schema.type === "array" ? "list" : (schema.type ?? "value");
}

/** Describe the form field of a value. */
export function fieldOf(given: Schema, root: Schema): Field {
  let schema = resolve(given, root);
  let nullable = false;
  if (schema.anyOf?.some(isNull)) {
    nullable = true;
    const others = schema.anyOf.filter((option) => !isNull(option));
    const { anyOf: _gone, ...beside } = schema;
    schema = others.length === 1 ? { ...resolve(others[0], root), ...beside } : { ...beside, oneOf: others };
  }
  const openMin = schema.exclusiveMinimum !== undefined;
  const openMax = schema.exclusiveMaximum !== undefined;
  const field: Field = {
    kind: "other",
    help: schema.description ?? "",
    unit: schema.unit ?? "",
    nullable,
    whole: schema.type === "integer",
    default: schema.default as Json | undefined,
    options: schema.enum ?? [],
    count: schema.prefixItems?.length ?? 0,
    choices: [],
    schema,
    min: schema.exclusiveMinimum ?? schema.minimum ?? null,
    max: schema.exclusiveMaximum ?? schema.maximum ?? null,
    openMin,
    openMax,
  };
  if (schema.oneOf) {
    field.kind = "union";
    field.choices = schema.oneOf.map((option) => {
      const inner = resolve(option, root);
      const tag = tagOf(inner);
      return { tag, schema: inner, label: CHOICES[tag] ?? labelOf(tag) };
    });
  } else if (schema.enum) field.kind = "choice";
  else if (schema.prefixItems?.every((item) => ["number", "integer"].includes(resolve(item, root).type ?? ""))) {
    field.kind = "vector";
    const item = resolve(schema.prefixItems[0], root);
    field.whole = item.type === "integer";
    field.min = item.minimum ?? null;
    field.max = item.maximum ?? null;
  } else if (schema.type === "number" || schema.type === "integer") field.kind = "number";
  else if (schema.type === "boolean") field.kind = "flag";
  else if (schema.type === "string") field.kind = schema.format === "color" ? "color" : "text";
  else if (schema.properties) field.kind = "object";
  else if (schema.type === "array") field.kind = "list";
  return field;
}

const CHOICES: Record<string, string> = { word: "By name", number: "A number", list: "A vector", half_space: "Half space" };

/** The variant of a union that a value belongs to; an entry without `type` has the variant whose `type` has a default. */
export function choiceOf(field: Field, value: Json | undefined): Choice | undefined {
  if (value && typeof value === "object" && !Array.isArray(value) && value.type === undefined) {
    return field.choices.find((choice) => choice.schema.properties?.type?.default === choice.tag);
  }
  const tag =
    value && typeof value === "object" && !Array.isArray(value)
      ? value.type
      : Array.isArray(value)
        ? "list"
        : typeof value === "string"
          ? "word"
          : typeof value;
  return field.choices.find((choice) => choice.tag === tag);
}

const DIRECTIONS = /normal|axis|direction/;

/** The simplest valid value; keys with a default are left out of entries. */
export function defaultValue(given: Schema, root: Schema, key = ""): Json {
  const field = fieldOf(given, root);
  if (field.default !== undefined && field.default !== null) return field.default;
  if (field.schema.examples?.length) return field.schema.examples[0];
  switch (field.kind) {
    case "number": {
      const low = field.min ?? 0;
      const start = field.openMin ? Math.max(low, 0) + 1 : Math.max(low, 0);
      return field.max !== null && start >= field.max ? (low + field.max) / 2 : start;
    }
    case "flag":
      return false;
    case "color":
      return "#6aa5e0";
    case "choice":
      return field.options[0];
    case "vector":
      return Array.from({ length: field.count }, (_, i) => (DIRECTIONS.test(key) && i === 1 ? 1 : Math.max(0, field.min ?? 0)));
    case "union":
      return field.choices.length ? defaultValue(field.choices[0].schema, root, key) : null;
    case "list":
      return (field.schema.minItems ?? 0) > 0 && field.schema.items ? [defaultValue(field.schema.items, root, key)] : [];
    case "object": {
      const made: { [name: string]: Json } = {};
      for (const [name, inner] of Object.entries(field.schema.properties ?? {})) {
        if (inner.const !== undefined) made[name] = inner.const as Json;
        else if (field.schema.required?.includes(name)) made[name] = defaultValue(inner, root, name);
      }
      return made;
    }
    case "text":
      return key === "name" ? "new" : "";
    default:
      return null;
  }
}

/** A short description of an entry of a list. */
export function summary(value: Json | undefined): string {
  if (value === null || value === undefined || typeof value !== "object") return String(value ?? "");
  if (Array.isArray(value)) return `${value.length}`;
  const { where, type, name } = value;
  if (typeof name === "string" && name) return name;
  if (typeof where === "string") return where;
  if (where && typeof where === "object" && !Array.isArray(where)) {
    const nodes = where.nodes ?? where.faces;
    if (Array.isArray(nodes)) return `${nodes.length} ${where.nodes ? "node" : "face"}${nodes.length === 1 ? "" : "s"}`;
    return `in a ${String(where.type).replace("_", " ")}`;
  }
  return typeof type === "string" ? labelOf(type) : "";
}
