// Applies a translation, rotation and scaling to an entry of the scene: a body or a collider.

import { Quaternion, Vector3 } from "three";
import type { Entry, Json, Vector } from "../net/messages";

/** The map x -> scale * rotation(x) + translation. */
export interface Similarity {
  scale: number;
  rotation: Quaternion;
  translation: Vector3;
}

const DEGREES = 180 / Math.PI;

/** Round to a number that is short to write; the mouse is not more precise. */
const round = (value: number) => {
  const rounded = Number(value.toPrecision(6));
  return Math.abs(rounded) < 1e-9 ? 0 : Number(rounded.toFixed(6));
};

const write = (v: Vector3): Vector => [round(v.x), round(v.y), round(v.z)];

const read = (value: Json | undefined, fallback: Vector): Vector3 =>
  new Vector3(...(Array.isArray(value) && value.length === 3 ? (value as Vector) : fallback));

/** Rotation and scaling about a point, then a translation, as one map. */
export function similarityAbout(center: Vector3, move: Vector3, rotation: Quaternion, scale: number): Similarity {
  const translation = center.clone().applyQuaternion(rotation).multiplyScalar(-scale).add(center).add(move);
  return { scale, rotation: rotation.clone(), translation };
}

export const applySimilarity = (s: Similarity, point: Vector3) =>
  point.applyQuaternion(s.rotation).multiplyScalar(s.scale).add(s.translation);

function readRotation(value: Json | undefined): Quaternion {
  if (!value || typeof value !== "object" || Array.isArray(value)) return new Quaternion();
  const axis = read(value.axis, [0, 1, 0]).normalize();
  return new Quaternion().setFromAxisAngle(axis, Number(value.degrees ?? 0) / DEGREES);
}

function writeRotation(rotation: Quaternion): Json {
  const q = rotation.w < 0 ? new Quaternion(-rotation.x, -rotation.y, -rotation.z, -rotation.w) : rotation;
  const angle = 2 * Math.acos(Math.min(1, q.w));
  if (angle < 1e-6) return null;
  return { axis: write(new Vector3(q.x, q.y, q.z).normalize()), degrees: round(angle * DEGREES) };
}

function composedTransform(value: Json | undefined, s: Similarity): Json {
  const old = value && typeof value === "object" && !Array.isArray(value) ? value : {};
  const made: Entry = { translate: write(applySimilarity(s, read(old.translate, [0, 0, 0]))) };
  const placed: Entry = old.place ? { place: old.place } : {}; // before the translation: a move keeps its meaning
  const rotation = writeRotation(s.rotation.clone().multiply(readRotation(old.rotate)));
  if (rotation) made.rotate = rotation;
  if (typeof old.size === "number") return { ...made, ...placed, size: round(old.size * s.scale) };
  const scale = round(Number(old.scale ?? 1) * s.scale);
  if (scale !== 1) made.scale = scale;
  return { ...made, ...placed };
}

const POINTS = ["center", "point", "start", "end"];
const DIRECTIONS = ["normal", "axis"];
const LENGTHS = ["radius", "height", "width", "depth", "rounding"];
const FALLBACK: Record<string, Vector> = { normal: [0, 1, 0], axis: [0, 1, 0] };
/** Default values of colliders. */
const DEFAULTS: Record<string, Record<string, Json>> = {
  box: { center: [0, 0, 0], size: [1, 1, 1] },
  cylinder: { center: [0, 0, 0], axis: [0, 1, 0], radius: 0.5, height: 1 },
  gear: { center: [0, 0, 0], axis: [0, 0, 1], radius: 1, width: 1, depth: 0.2 },
  plane: { point: [0, 0, 0], normal: [0, 1, 0] },
};

/** The changed keys of an entry, with their new values. */
export function transformedEntry(entry: Entry, list: string, s: Similarity): Entry {
  if (list === "bodies" && entry.block && typeof entry.block === "object" && !Array.isArray(entry.block)) {
    const corners = [read(entry.block.min, [0, 0, 0]), read(entry.block.max, [1, 1, 1])];
    const center = corners[0].clone().add(corners[1]).multiplyScalar(0.5);
    const half = corners[1].clone().sub(center).multiplyScalar(s.scale); // a block stays axis-aligned
    const to = applySimilarity(s, center);
    return { block: { min: write(to.clone().sub(half)), max: write(to.clone().add(half)) } };
  }
  if (list === "bodies" || entry.type === "mesh" || entry.type === "animated_mesh") return { transform: composedTransform(entry.transform, s) };
  const own: Entry = { ...DEFAULTS[String(entry.type)], ...entry };
  const made: Entry = {};
  for (const key of POINTS) if (own[key]) made[key] = write(applySimilarity(s, read(own[key], [0, 0, 0])));
  const rotated = Math.abs(s.rotation.w) < 1 - 1e-12;
  if (rotated) for (const key of DIRECTIONS) if (own[key]) made[key] = write(read(own[key], FALLBACK[key]).applyQuaternion(s.rotation));
  if (s.scale !== 1) {
    for (const key of LENGTHS) if (typeof own[key] === "number") made[key] = round((own[key] as number) * s.scale);
    if (own.size) made.size = write(read(own.size, [1, 1, 1]).multiplyScalar(s.scale));
  }
  if (entry.type === "box" && rotated) made.rotate = writeRotation(s.rotation.clone().multiply(readRotation(entry.rotate)));
  return made;
}
