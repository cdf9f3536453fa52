// What the simulation shows right now. These arrays change thirty times a second, so they live outside
// of React; the views read them when they draw.

import type { Packet, PackedArray } from "../net/decode";
import type { BodyInfo, CameraHints, Collider, FieldInfo, FrameHeader, ImageInfo, Poses } from "../net/messages";

export interface LiveBody {
  info: BodyInfo;
  triangles: Uint32Array;
  /** For each node of the surface, its number in the simulation. */
  nodes: Uint32Array;
  rest: Float32Array;
  positions: Float32Array;
  scalars: Float32Array | null;
  /** The field that `scalars` are of. */
  field?: string | null;
  /** Grows with every change of `positions` or `scalars`. */
  version: number;
  /** Surfaces of equal value inside: points, triangles, and the value at each point. */
  levels: { points: Float32Array; triangles: Uint32Array; values: Float32Array } | null;
  /** What is inside, if the page asked for it. */
  matter: Matter | null;
  /** A detailed surface that the body carries along; its nodes hang on those of the body. */
  skin: LiveBody | null;
}

/** The elements of a body and the 3-D image that it carries. */
export interface Matter {
  tets: Uint32Array;
  /** Faces that only one element has. */
  faces: Uint32Array;
  /** Half floats from 0 to 1 for values between the `ends`, x fastest. */
  image: (ImageInfo & { texels: Uint16Array }) | null;
}

/** What carries a surface: four nodes for each of its own, and their weights. */
interface Carrier {
  nodes: Uint32Array;
  weights: Float32Array;
}

const carriers = new WeakMap<LiveBody, Carrier>();

export interface Bounds {
  min: [number, number, number];
  max: [number, number, number];
}

export interface ColliderMesh {
  points: Float32Array;
  triangles: Uint32Array;
}

export interface LiveScene {
  epoch: number;
  view: number;
  bodies: LiveBody[];
  fields: FieldInfo[];
  colliders: Collider[];
  /** Meshes of colliders by number. */
  meshes: Map<number, ColliderMesh>;
  poses: Poses;
  /** For each hold and load, the surface nodes at which it is drawn. */
  marks: Map<string, Uint32Array>;
  /** Forces at those nodes, for loads. */
  arrows: Map<string, Float32Array>;
  /** Start and end of springs. */
  springs: Map<string, Float32Array>;
  /** Lines along a plane flow, x and y in turn. */
  lines: Float32Array | null;
  /** Quantities of fluids on grids in space as bytes, by the numbers of their bodies. */
  volumes: Map<number, Uint8Array>;
  /** Point and force [N] of each contact, and both ends of the lines of joints: six numbers each. */
  pressed: Float32Array;
  joints: Float32Array;
  colormap: Uint8Array;
  /** The colours of values with a sign, zero in the middle. */
  signed: Uint8Array;
  bounds: Bounds;
  camera: CameraHints;
}

/** A box around some points. */
function boundsOf(points: Float32Array[]): Bounds {
  const min: [number, number, number] = [Infinity, Infinity, Infinity];
  const max: [number, number, number] = [-Infinity, -Infinity, -Infinity];
  for (const list of points) {
    for (let i = 0; i < list.length; i++) {
      const axis = i % 3;
      if (list[i] < min[axis]) min[axis] = list[i];
      if (list[i] > max[axis]) max[axis] = list[i];
    }
  }
  return min[0] <= max[0] ? { min, max } : { min: [-1, 0, -1], max: [1, 1, 1] }; // nothing there yet
}

const grown = new WeakMap<LiveBody, { version: number; factor: number; values: Float32Array }>();

/** Where the nodes of a body are drawn: where they are, or with displacements times a factor. */
export function shownPositions(body: LiveBody, factor: number): Float32Array {
  const { positions, rest, version } = body;
  if (factor === 1 || body.info.kind !== "soft") return positions;
  const before = grown.get(body);
  if (before?.version === version && before.factor === factor) return before.values;
  const values = new Float32Array(positions.length);
  for (let i = 0; i < values.length; i++) values[i] = rest[i] + factor * (positions[i] - rest[i]);
  grown.set(body, { version, factor, values });
  return values;
}

/** A box around all bodies as they are, and as they are at rest, and around the obstacles from a number on. */
export const presentBounds = (scene: LiveScene, from = Infinity) =>
  boundsOf([
    ...scene.bodies.flatMap(({ rest, positions }) => [rest, positions]),
    ...scene.colliders.flatMap((collider, number) => (number < from ? [] : outline(collider, scene.meshes.get(number)))),
  ]);

/** Points that span an obstacle; none for a plane, which has no end. */
function outline(collider: Collider, mesh: ColliderMesh | undefined): Float32Array[] {
  if (collider.kind !== "sphere") return mesh ? [mesh.points] : [];
  const { center, radius } = collider;
  return [Float32Array.from([...center.map((c) => c - radius), ...center.map((c) => c + radius)])];
}

export function makeScene(packet: Extract<Packet, { kind: "topology" }>): LiveScene {
  const array = (name: string): PackedArray => {
    const found = packet.arrays.get(name);
    if (!found) throw new Error(`the scene lacks the array ${name}`);
    return found;
  };
  const bodies = packet.header.bodies.map((info, number): LiveBody => {
    const rest = array(`${number}/rest`) as Float32Array;
    return {
      info,
      rest,
      triangles: array(`${number}/triangles`) as Uint32Array,
      nodes: array(`${number}/nodes`) as Uint32Array,
      positions: rest,
      scalars: null,
      version: 0,
      levels: null,
      skin: makeCarried(packet, info, `${number}/skin`),
      matter: makeMatter(packet.arrays, info, `${number}/matter`),
    };
  });
  const meshes = new Map<number, ColliderMesh>();
  packet.header.colliders.forEach(({ kind }, number) => {
    if (kind !== "mesh") return;
    meshes.set(number, {
      points: array(`collider/${number}/points`) as Float32Array,
      triangles: array(`collider/${number}/triangles`) as Uint32Array,
    });
  });
  return {
    epoch: packet.header.epoch,
    view: packet.header.view,
    meshes,
    poses: packet.header.poses,
    marks: takeAll(packet.arrays, "/marks") as Map<string, Uint32Array>,
    arrows: new Map(),
    springs: new Map(),
    lines: null,
    volumes: new Map(),
    pressed: new Float32Array(),
    joints: new Float32Array(),
    bodies,
    fields: packet.header.fields,
    colliders: packet.header.colliders,
    colormap: array("colormap") as Uint8Array,
    signed: array("signed") as Uint8Array,
    bounds: packet.header.bounds ?? boundsOf(bodies.map(({ rest }) => rest)),
    camera: packet.header.camera,
  };
}

function makeCarried(packet: Extract<Packet, { kind: "topology" }>, info: BodyInfo, key: string): LiveBody | null {
  const part = (name: string) => packet.arrays.get(`${key}/${name}`);
  const rest = part("rest") as Float32Array | undefined;
  if (!rest) return null;
  const skin: LiveBody = {
    info,
    rest,
    triangles: (part("triangles") as Uint32Array | undefined) ?? new Uint32Array(),
    nodes: new Uint32Array(),
    positions: rest,
    scalars: null,
    version: -1,
    levels: null,
    skin: null,
    matter: null,
  };
  carriers.set(skin, {
    nodes: part("nodes") as Uint32Array,
    weights: part("weights") as Float32Array,
  });
  return skin;
}

function makeMatter(arrays: Map<string, PackedArray>, info: BodyInfo, key: string): Matter | null {
  const tets = arrays.get(`${key}/tets`) as Uint32Array | undefined;
  if (!tets) return null;
  const texels = arrays.get(`${key}/image`) as Uint16Array | undefined;
  return { tets, faces: arrays.get(`${key}/faces`) as Uint32Array, image: texels && info.image ? { ...info.image, texels } : null };
}

/** Bring the skin that hangs on a body to where the body is. */
export function carryAlong(body: LiveBody, what: LiveBody): void {
  const carrier = carriers.get(what);
  if (!carrier || what.version === body.version) return;
  what.positions = carried(carrier, body.positions, body.rest, what.rest);
  what.scalars = body.scalars && means(carrier, body.scalars);
  what.version = body.version;
}

/** Where the nodes of a surface are: at rest, plus the means of the displacements of what carries them. */
export function carried(
  { nodes, weights }: Carrier,
  positions: Float32Array,
  rest: Float32Array,
  own: Float32Array,
): Float32Array {
  const out = new Float32Array(own.length);
  for (let i = 0; i < own.length / 3; i++) {
    let x = own[3 * i];
    let y = own[3 * i + 1];
    let z = own[3 * i + 2];
    for (let k = 4 * i; k < 4 * i + 4; k++) {
      const w = weights[k];
      const n = 3 * nodes[k];
      x += w * (positions[n] - rest[n]);
      y += w * (positions[n + 1] - rest[n + 1]);
      z += w * (positions[n + 2] - rest[n + 2]);
    }
    out[3 * i] = x;
    out[3 * i + 1] = y;
    out[3 * i + 2] = z;
  }
  return out;
}

function means({ nodes, weights }: Carrier, values: Float32Array): Float32Array {
  const out = new Float32Array(nodes.length / 4);
  for (let k = 0; k < nodes.length; k++) out[k >> 2] += weights[k] * values[nodes[k]];
  return out;
}

/** The arrays whose names end so, by the rest of the name. */
function takeAll(arrays: Map<string, PackedArray>, end: string): Map<string, PackedArray> {
  const found = [...arrays].filter(([name]) => name.endsWith(end));
  return new Map(found.map(([name, values]) => [name.slice(0, -end.length), values]));
}

/** Take over the arrays of a frame; those that are missing have not changed. */
export function applyFrame(
  scene: LiveScene,
  header: FrameHeader,
  arrays: Map<string, PackedArray>,
): void {
  scene.bodies.forEach((body, number) => {
    const positions = arrays.get(`${number}/positions`) as Float32Array | undefined;
    const scalars = arrays.get(`${number}/${header.field}`) as Float32Array | undefined;
    const triangles = arrays.get(`${number}/triangles`) as Uint32Array | undefined;
    const volume = arrays.get(`${number}/volume`) as Uint8Array | undefined;
    if (volume) scene.volumes.set(number, volume);
    if (triangles) body.triangles = triangles;
    if (positions) body.positions = positions;
    const another = body.field !== header.field;
    body.field = header.field;
    if (scalars) body.scalars = scalars;
    else if (another) body.scalars = null; // it does not have this field and must not keep the colours of the last one
    const points = arrays.get(`${number}/iso/points`) as Float32Array | undefined;
    body.levels = points
      ? {
          points,
          triangles: arrays.get(`${number}/iso/triangles`) as Uint32Array,
          values: arrays.get(`${number}/iso/values`) as Float32Array,
        }
      : null;
    if (positions || scalars || triangles || points || another) body.version++;
  });
  scene.poses = header.poses;
  scene.lines = (arrays.get("streamlines") as Float32Array | undefined) ?? null;
  takeAll(arrays, "/arrows").forEach((values, key) => scene.arrows.set(key, values as Float32Array));
  scene.pressed = (arrays.get("contact_forces") as Float32Array | undefined) ?? scene.pressed;
  scene.joints = (arrays.get("joint_lines") as Float32Array | undefined) ?? scene.joints;
  takeAll(arrays, "/spring").forEach((values, key) => scene.springs.set(key, values as Float32Array));
}

const BINS = 256;
const SHARE = 0.99;

/**
 * The values that one in 100 nodes stays below and that 99 in 100 do not exceed; null if nothing is coloured.
 * The few nodes at a hard edge or under the mouse carry stresses that would hide all others.
 */
export function scalarExtent(scene: LiveScene): [number, number] | null {
  const images = scene.bodies.flatMap(({ field, matter }) => (field === "voxels" && matter?.image ? [matter.image.ends] : []));
  if (images.length > 0) return [Math.min(...images.map(([low]) => low)), Math.max(...images.map(([, high]) => high))];
  let low = Infinity;
  let high = -Infinity;
  let count = 0;
  for (const { scalars } of scene.bodies) {
    if (!scalars) continue;
    count += scalars.length;
    for (let i = 0; i < scalars.length; i++) {
      if (scalars[i] < low) low = scalars[i];
      if (scalars[i] > high) high = scalars[i];
    }
  }
  if (!(low < high)) return low === high ? [low, high] : null;
  const bins = new Uint32Array(BINS);
  const scale = (BINS - 1e-6) / (high - low);
  for (const { scalars } of scene.bodies) {
    if (!scalars) continue;
    for (let i = 0; i < scalars.length; i++) bins[Math.floor((scalars[i] - low) * scale)]++;
  }
  let first = 0;
  for (let below = bins[0]; below < (1 - SHARE) * count; below += bins[first]) first++;
  let last = 0;
  for (let below = bins[0]; below < SHARE * count && last < BINS - 1; below += bins[last]) last++;
  return [low + first / scale, Math.min(high, low + (last + 1) / scale)];
}

/** Whether a field has a sign, with zero in the middle of its range. */
export const hasSign = (scene: LiveScene, field: string | null): boolean =>
  scene.fields.some(({ name, start }) => name === field && start === "middle");
