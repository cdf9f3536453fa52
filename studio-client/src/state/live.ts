// The current frame of the simulation. These arrays change thirty times per second, so they are kept outside
// of React; the views read them when they draw.

import type { Packet, PackedArray } from "../net/decode";
import type { BodyInfo, CameraHints, Collider, FieldInfo, FrameHeader, ImageInfo, Poses } from "../net/messages";

export interface LiveBody {
  info: BodyInfo;
  triangles: Uint32Array;
  /** Node numbers of the surface nodes in the simulation. */
  nodes: Uint32Array;
  rest: Float32Array;
  /** Texture coordinates of the corners of the triangles; null without an image. */
  uv: Float32Array | null;
  positions: Float32Array;
  scalars: Float32Array | null;
  /** The field of `scalars`. */
  field?: string | null;
  /** Incremented with every change of `positions` or `scalars`. */
  version: number;
  /** Isosurfaces: points, triangles, and the value at each point. */
  isosurfaces: { points: Float32Array; triangles: Uint32Array; values: Float32Array } | null;
  /** The elements, if the page shows volumes. */
  interior: Interior | null;
  /** A detailed surface embedded in the body. */
  embedded: LiveBody | null;
}

/** The elements of a body and its voxel image. */
export interface Interior {
  tets: Uint32Array;
  /** Boundary faces of the elements. */
  faces: Uint32Array;
  /** Half floats from 0 to 1 over `valueRange`, x fastest. */
  image: (ImageInfo & { texels: Uint16Array }) | null;
}

/** Interpolation weights of an embedded surface: four nodes per vertex, and their weights. */
interface Embedding {
  nodes: Uint32Array;
  weights: Float32Array;
}

const embeddings = new WeakMap<LiveBody, Embedding>();

export interface Bounds {
  min: [number, number, number];
  max: [number, number, number];
}

export interface ColliderMesh {
  /** Current points; those of a collider that deforms change with the frames. */
  points: Float32Array;
  /** Increases with every change of the points. */
  version: number;
  triangles: Uint32Array;
  uv: Float32Array | null;
}

export interface LiveScene {
  epoch: number;
  sceneId: number;
  bodies: LiveBody[];
  fields: FieldInfo[];
  colliders: Collider[];
  /** Meshes of colliders by number. */
  meshes: Map<number, ColliderMesh>;
  poses: Poses;
  /** Surface nodes at which each boundary condition is drawn. */
  markers: Map<string, Uint32Array>;
  /** Forces at those nodes, for loads. */
  arrows: Map<string, Float32Array>;
  /** End points of springs. */
  springs: Map<string, Float32Array>;
  /** Streamlines of a 2D flow, as x, y pairs. */
  streamlines: Float32Array | null;
  /** Quantities of 3D grid fluids as bytes, by body number. */
  volumes: Map<number, Uint8Array>;
  /** Point and force [N] of each contact, and end points of joint lines: six numbers each. */
  contactForces: Float32Array;
  joints: Float32Array;
  colormap: Uint8Array;
  /** The colour map of signed values, zero in the middle. */
  divergingColormap: Uint8Array;
  bounds: Bounds;
  camera: CameraHints;
}

/** The bounding box of points. */
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
  return min[0] <= max[0] ? { min, max } : { min: [-1, 0, -1], max: [1, 1, 1] }; // no points yet
}

const exaggerated = new WeakMap<LiveBody, { version: number; factor: number; values: Float32Array }>();

/** Drawn positions of the nodes of a body: with displacements multiplied by a factor. */
export function shownPositions(body: LiveBody, factor: number): Float32Array {
  const { positions, rest, version } = body;
  if (factor === 1 || !["soft", "cloth"].includes(body.info.kind)) return positions;
  const before = exaggerated.get(body);
  if (before?.version === version && before.factor === factor) return before.values;
  const values = new Float32Array(positions.length);
  for (let i = 0; i < values.length; i++) values[i] = rest[i] + factor * (positions[i] - rest[i]);
  exaggerated.set(body, { version, factor, values });
  return values;
}

/** The bounding box of all bodies, current and at rest, and of the colliders from an index on. */
export const presentBounds = (scene: LiveScene, from = Infinity) =>
  boundsOf([
    ...scene.bodies.flatMap(({ rest, positions }) => [rest, positions]),
    ...scene.colliders.flatMap((collider, number) => (number < from ? [] : outline(collider, scene.meshes.get(number)))),
  ]);

/** Points that span a collider; none for an infinite plane. */
function outline(collider: Collider, mesh: ColliderMesh | undefined): Float32Array[] {
  if (collider.kind !== "sphere") return mesh ? [mesh.points] : [];
  const { center, radius } = collider;
  return [Float32Array.from([...center.map((c) => c - radius), ...center.map((c) => c + radius)])];
}

export function makeScene(packet: Extract<Packet, { kind: "topology" }>): LiveScene {
  const array = (name: string): PackedArray => {
    const found = packet.arrays.get(name);
    if (!found) throw new Error(`the topology lacks the array ${name}`);
    return found;
  };
  const bodies = packet.header.bodies.map((info, number) => makeBody(packet.arrays, info, number));
  const meshes = new Map<number, ColliderMesh>();
  packet.header.colliders.forEach(({ kind }, number) => {
    if (kind !== "mesh") return;
    meshes.set(number, {
      points: array(`collider/${number}/points`) as Float32Array,
      version: 0,
      triangles: array(`collider/${number}/triangles`) as Uint32Array,
      uv: (packet.arrays.get(`collider/${number}/uv`) as Float32Array | undefined) ?? null,
    });
  });
  return {
    epoch: packet.header.epoch,
    sceneId: packet.header.sceneId,
    meshes,
    poses: packet.header.poses,
    markers: arraysWithSuffix(packet.arrays, "/markers") as Map<string, Uint32Array>,
    arrows: new Map(),
    springs: new Map(),
    streamlines: null,
    volumes: new Map(),
    contactForces: new Float32Array(),
    joints: new Float32Array(),
    bodies,
    fields: packet.header.fields,
    colliders: packet.header.colliders,
    colormap: array("colormap") as Uint8Array,
    divergingColormap: array("divergingColormap") as Uint8Array,
    bounds: packet.header.bounds ?? boundsOf(bodies.map(({ rest }) => rest)),
    camera: packet.header.camera,
  };
}

/** A body with the mesh in a message, at rest. */
function makeBody(arrays: Map<string, PackedArray>, info: BodyInfo, number: number): LiveBody {
  const array = (name: string): PackedArray => {
    const found = arrays.get(`${number}/${name}`);
    if (!found) throw new Error(`the mesh of body ${number} lacks the array ${name}`);
    return found;
  };
  const rest = array("rest") as Float32Array;
  return {
    info,
    rest,
    triangles: array("triangles") as Uint32Array,
    nodes: array("nodes") as Uint32Array,
    uv: (arrays.get(`${number}/uv`) as Float32Array | undefined) ?? null,
    positions: rest,
    scalars: null,
    version: 0,
    isosurfaces: null,
    embedded: makeEmbedded(arrays, info, `${number}/embedded`),
    interior: makeInterior(arrays, info, `${number}/interior`),
  };
}

/**
 * The scene with the new meshes of a frame, or the scene itself if there are none. Bodies with a new mesh are new
 * objects, all others stay.
 */
export function replaceMeshes(scene: LiveScene, header: FrameHeader, arrays: Map<string, PackedArray>): LiveScene {
  const changed = Object.entries(header.bodies ?? {});
  if (changed.length === 0) return scene;
  const bodies = [...scene.bodies];
  for (const [number, info] of changed) bodies[Number(number)] = makeBody(arrays, info, Number(number));
  const markers = new Map([...scene.markers, ...(arraysWithSuffix(arrays, "/markers") as Map<string, Uint32Array>)]);
  return { ...scene, bodies, markers };
}

/** The surface indices of nodes in a new mesh; nodes that no longer exist are dropped. */
export function followNodes(nodes: number[], before: LiveBody, after: LiveBody): number[] {
  const index = new Map(Array.from(after.nodes, (node, i) => [node, i]));
  return nodes.flatMap((i) => {
    const found = index.get(before.nodes[i]);
    if (found === undefined) return [];
    const same = [0, 1, 2].every((axis) => after.rest[3 * found + axis] === before.rest[3 * i + axis]);
    return same ? [found] : []; // the number now belongs to another node
  });
}

function makeEmbedded(arrays: Map<string, PackedArray>, info: BodyInfo, key: string): LiveBody | null {
  const part = (name: string) => arrays.get(`${key}/${name}`);
  const rest = part("rest") as Float32Array | undefined;
  if (!rest) return null;
  const embedded: LiveBody = {
    info,
    rest,
    triangles: (part("triangles") as Uint32Array | undefined) ?? new Uint32Array(),
    nodes: new Uint32Array(),
    uv: (part("uv") as Float32Array | undefined) ?? null,
    positions: rest,
    scalars: null,
    version: -1,
    isosurfaces: null,
    embedded: null,
    interior: null,
  };
  embeddings.set(embedded, {
    nodes: part("nodes") as Uint32Array,
    weights: part("weights") as Float32Array,
  });
  return embedded;
}

function makeInterior(arrays: Map<string, PackedArray>, info: BodyInfo, key: string): Interior | null {
  const tets = arrays.get(`${key}/tets`) as Uint32Array | undefined;
  if (!tets) return null;
  const texels = arrays.get(`${key}/image`) as Uint16Array | undefined;
  return { tets, faces: arrays.get(`${key}/faces`) as Uint32Array, image: texels && info.image ? { ...info.image, texels } : null };
}

/** Update the positions and values of a surface embedded in a body. */
export function updateEmbedded(body: LiveBody, surface: LiveBody): void {
  const embedding = embeddings.get(surface);
  if (!embedding || surface.version === body.version) return;
  surface.positions = interpolatePositions(embedding, body.positions, body.rest, surface.rest);
  surface.scalars = body.scalars && interpolateValues(embedding, body.scalars);
  surface.version = body.version;
}

/** Vertex positions of an embedded surface: at rest, plus the interpolated displacements of the body. */
export function interpolatePositions(
  { nodes, weights }: Embedding,
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

function interpolateValues({ nodes, weights }: Embedding, values: Float32Array): Float32Array {
  const out = new Float32Array(nodes.length / 4);
  for (let k = 0; k < nodes.length; k++) out[k >> 2] += weights[k] * values[nodes[k]];
  return out;
}

/** The arrays whose names have a suffix, by the rest of the name. */
function arraysWithSuffix(arrays: Map<string, PackedArray>, end: string): Map<string, PackedArray> {
  const found = [...arrays].filter(([name]) => name.endsWith(end));
  return new Map(found.map(([name, values]) => [name.slice(0, -end.length), values]));
}

/** Apply the arrays of a frame; missing ones have not changed. */
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
    body.isosurfaces = points
      ? {
          points,
          triangles: arrays.get(`${number}/iso/triangles`) as Uint32Array,
          values: arrays.get(`${number}/iso/values`) as Float32Array,
        }
      : null;
    if (positions || scalars || triangles || points || another) body.version++;
  });
  scene.meshes.forEach((mesh, number) => {
    const points = arrays.get(`collider/${number}/points`) as Float32Array | undefined;
    if (!points) return;
    mesh.points = points;
    mesh.version++;
  });
  scene.poses = header.poses;
  scene.streamlines = (arrays.get("streamlines") as Float32Array | undefined) ?? null;
  arraysWithSuffix(arrays, "/arrows").forEach((values, key) => scene.arrows.set(key, values as Float32Array));
  scene.contactForces = (arrays.get("contact_forces") as Float32Array | undefined) ?? scene.contactForces;
  scene.joints = (arrays.get("joint_lines") as Float32Array | undefined) ?? scene.joints;
  arraysWithSuffix(arrays, "/spring").forEach((values, key) => scene.springs.set(key, values as Float32Array));
}

const BINS = 256;
const QUANTILE = 0.99;

/**
 * The first and last percentile of the nodal values; null if nothing is coloured.
 * The few nodes at a sharp edge or under the mouse have stresses that would hide all others.
 */
export function scalarExtent(scene: LiveScene): [number, number] | null {
  const images = scene.bodies.flatMap(({ field, interior }) => (field === "voxels" && interior?.image ? [interior.image.valueRange] : []));
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
  for (let below = bins[0]; below < (1 - QUANTILE) * count; below += bins[first]) first++;
  let last = 0;
  for (let below = bins[0]; below < QUANTILE * count && last < BINS - 1; below += bins[last]) last++;
  return [low + first / scale, Math.min(high, low + (last + 1) / scale)];
}

/** Whether a field is signed, with zero in the middle of its range. */
export const isSigned = (scene: LiveScene, field: string | null): boolean =>
  scene.fields.some(({ name, rangeMode }) => name === field && rangeMode === "signed");
