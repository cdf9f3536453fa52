// What a move, a turn or another size means for an entry of the scene: a body or an obstacle, however it says where it is.

import { Quaternion, Vector3 } from "three";
import type { Entry, Json, Vector } from "../net/messages";

/** x goes to `scale` times the turned x, plus `shift`. */
export interface Similarity {
  scale: number;
  turn: Quaternion;
  shift: Vector3;
}

const DEGREES = 180 / Math.PI;

/** Round to what a person would write; a hand is not more exact than that. */
const tidy = (value: number) => {
  const rounded = Number(value.toPrecision(6));
  return Math.abs(rounded) < 1e-9 ? 0 : Number(rounded.toFixed(6));
};

const write = (v: Vector3): Vector => [tidy(v.x), tidy(v.y), tidy(v.z)];

const read = (value: Json | undefined, fallback: Vector): Vector3 =>
  new Vector3(...(Array.isArray(value) && value.length === 3 ? (value as Vector) : fallback));

/** The turn about a point, and the growth about it, as one map. */
export function about(center: Vector3, move: Vector3, turn: Quaternion, scale: number): Similarity {
  const shift = center.clone().applyQuaternion(turn).multiplyScalar(-scale).add(center).add(move);
  return { scale, turn: turn.clone(), shift };
}

export const carry = (s: Similarity, point: Vector3) =>
  point.applyQuaternion(s.turn).multiplyScalar(s.scale).add(s.shift);

function turnOf(value: Json | undefined): Quaternion {
  if (!value || typeof value !== "object" || Array.isArray(value)) return new Quaternion();
  const axis = read(value.axis, [0, 1, 0]).normalize();
  return new Quaternion().setFromAxisAngle(axis, Number(value.degrees ?? 0) / DEGREES);
}

function writeTurn(turn: Quaternion): Json {
  const q = turn.w < 0 ? new Quaternion(-turn.x, -turn.y, -turn.z, -turn.w) : turn;
  const angle = 2 * Math.acos(Math.min(1, q.w));
  if (angle < 1e-6) return null;
  return { axis: write(new Vector3(q.x, q.y, q.z).normalize()), degrees: tidy(angle * DEGREES) };
}

function placedTransform(value: Json | undefined, s: Similarity): Json {
  const old = value && typeof value === "object" && !Array.isArray(value) ? value : {};
  const made: Entry = { translate: write(carry(s, read(old.translate, [0, 0, 0]))) };
  const turn = writeTurn(s.turn.clone().multiply(turnOf(old.rotate)));
  if (turn) made.rotate = turn;
  const scale = tidy(Number(old.scale ?? 1) * s.scale);
  if (scale !== 1) made.scale = scale;
  return made;
}

const POINTS = ["center", "point", "start", "end"];
const DIRECTIONS = ["normal", "axis"];
const LENGTHS = ["radius", "height", "width", "depth", "rounding"];
const FALLBACK: Record<string, Vector> = { normal: [0, 1, 0], axis: [0, 1, 0] };
/** What obstacles are like where they do not say it. */
const UNSAID: Record<string, Record<string, Json>> = {
  box: { center: [0, 0, 0], size: [1, 1, 1] },
  cylinder: { center: [0, 0, 0], axis: [0, 1, 0], radius: 0.5, height: 1 },
  gear: { center: [0, 0, 0], axis: [0, 0, 1], radius: 1, width: 1, depth: 0.2 },
  plane: { point: [0, 0, 0], normal: [0, 1, 0] },
};

/** The keys of an entry that change, with their new values. */
export function placed(entry: Entry, list: string, s: Similarity): Entry {
  if (list === "bodies" && entry.block && typeof entry.block === "object" && !Array.isArray(entry.block)) {
    const corners = [read(entry.block.min, [0, 0, 0]), read(entry.block.max, [1, 1, 1])];
    const middle = corners[0].clone().add(corners[1]).multiplyScalar(0.5);
    const half = corners[1].clone().sub(middle).multiplyScalar(s.scale); // a block stays along the axes
    const to = carry(s, middle);
    return { block: { min: write(to.clone().sub(half)), max: write(to.clone().add(half)) } };
  }
  if (list === "bodies" || entry.type === "mesh") return { transform: placedTransform(entry.transform, s) };
  const own: Entry = { ...UNSAID[String(entry.type)], ...entry };
  const made: Entry = {};
  for (const key of POINTS) if (own[key]) made[key] = write(carry(s, read(own[key], [0, 0, 0])));
  const turned = Math.abs(s.turn.w) < 1 - 1e-12;
  if (turned) for (const key of DIRECTIONS) if (own[key]) made[key] = write(read(own[key], FALLBACK[key]).applyQuaternion(s.turn));
  if (s.scale !== 1) {
    for (const key of LENGTHS) if (typeof own[key] === "number") made[key] = tidy((own[key] as number) * s.scale);
    if (own.size) made.size = write(read(own.size, [1, 1, 1]).multiplyScalar(s.scale));
  }
  if (entry.type === "box" && turned) made.rotate = writeTurn(s.turn.clone().multiply(turnOf(entry.rotate)));
  return made;
}
