// Surfaces for drawing: smooth normals with hard edges at creases.

export interface SplitSurface {
  /** The node of each drawn vertex. */
  nodes: Uint32Array;
  /** Triangles of drawn vertices. */
  index: Uint32Array;
}

/** Unit normals of triangles, three numbers each. */
function faceNormals(positions: Float32Array, triangles: Uint32Array): Float32Array {
  const normals = new Float32Array(triangles.length);
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t];
    const b = 3 * triangles[t + 1];
    const c = 3 * triangles[t + 2];
    const ux = positions[b] - positions[a];
    const uy = positions[b + 1] - positions[a + 1];
    const uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a];
    const vy = positions[c + 1] - positions[a + 1];
    const vz = positions[c + 2] - positions[a + 2];
    const x = uy * vz - uz * vy;
    const y = uz * vx - ux * vz;
    const z = ux * vy - uy * vx;
    const scale = 1 / (Math.hypot(x, y, z) || 1);
    normals[t] = x * scale;
    normals[t + 1] = y * scale;
    normals[t + 2] = z * scale;
  }
  return normals;
}

function makeSets(count: number) {
  const parent = new Int32Array(count).map((_, i) => i);
  const find = (i: number): number => {
    while (parent[i] !== i) {
      parent[i] = parent[parent[i]];
      i = parent[i];
    }
    return i;
  };
  const join = (i: number, j: number) => {
    parent[find(i)] = find(j);
  };
  return { find, join };
}

/**
 * Split a node into several drawn vertices at creases, so that each side has its own normal. Two triangles that share an edge stay smooth if their normals differ by less than `degrees`.
 */
export function splitCreases(
  positions: Float32Array,
  triangles: Uint32Array,
  degrees = 50,
): SplitSurface {
  const normals = faceNormals(positions, triangles);
  const nodeCount = positions.length / 3;
  const limit = Math.cos((degrees * Math.PI) / 180);
  const corners = makeSets(triangles.length);
  const seen = new Map<number, number>(); // edge -> its corner in the first triangle
  for (let corner = 0; corner < triangles.length; corner++) {
    const base = corner - (corner % 3);
    const next = base + ((corner + 1) % 3);
    const from = triangles[corner];
    const to = triangles[next];
    const key = Math.min(from, to) * nodeCount + Math.max(from, to);
    const other = seen.get(key);
    if (other === undefined) {
      seen.set(key, corner);
      continue;
    }
    const otherBase = other - (other % 3);
    const dot =
      normals[base] * normals[otherBase] +
      normals[base + 1] * normals[otherBase + 1] +
      normals[base + 2] * normals[otherBase + 2];
    if (dot < limit) continue;
    const otherNext = otherBase + ((other + 1) % 3);
    const crossed = triangles[other] === to; // neighbours traverse a shared edge in opposite directions
    corners.join(corner, crossed ? otherNext : other);
    corners.join(next, crossed ? other : otherNext);
  }
  const vertexOf = new Map<number, number>();
  const nodes: number[] = [];
  const index = new Uint32Array(triangles.length);
  for (let corner = 0; corner < triangles.length; corner++) {
    const root = corners.find(corner);
    let vertex = vertexOf.get(root);
    if (vertex === undefined) {
      vertex = nodes.push(triangles[corner]) - 1;
      vertexOf.set(root, vertex);
    }
    index[corner] = vertex;
  }
  return { nodes: Uint32Array.from(nodes), index };
}

/** Copy `width` numbers per node to its drawn vertices. */
export function gather(
  out: Float32Array,
  nodes: Uint32Array,
  values: Float32Array,
  width: 1 | 3,
): void {
  if (width === 1) {
    for (let i = 0; i < nodes.length; i++) out[i] = values[nodes[i]];
    return;
  }
  for (let i = 0, o = 0; i < nodes.length; i++, o += 3) {
    const n = 3 * nodes[i];
    out[o] = values[n];
    out[o + 1] = values[n + 1];
    out[o + 2] = values[n + 2];
  }
}

/** Area-weighted vertex normals. */
export function vertexNormals(out: Float32Array, positions: Float32Array, index: Uint32Array): void {
  out.fill(0);
  for (let t = 0; t < index.length; t += 3) {
    const a = 3 * index[t];
    const b = 3 * index[t + 1];
    const c = 3 * index[t + 2];
    const ux = positions[b] - positions[a];
    const uy = positions[b + 1] - positions[a + 1];
    const uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a];
    const vy = positions[c + 1] - positions[a + 1];
    const vz = positions[c + 2] - positions[a + 2];
    const x = uy * vz - uz * vy;
    const y = uz * vx - ux * vz;
    const z = ux * vy - uy * vx;
    out[a] += x;
    out[a + 1] += y;
    out[a + 2] += z;
    out[b] += x;
    out[b + 1] += y;
    out[b + 2] += z;
    out[c] += x;
    out[c + 1] += y;
    out[c + 2] += z;
  }
  for (let i = 0; i < out.length; i += 3) {
    const scale = 1 / (Math.hypot(out[i], out[i + 1], out[i + 2]) || 1);
    out[i] *= scale;
    out[i + 1] *= scale;
    out[i + 2] *= scale;
  }
}

/** Each edge of the triangles once, as pairs of nodes. */
export function uniqueEdges(triangles: Uint32Array, nodeCount: number): Uint32Array {
  const seen = new Set<number>();
  const edges: number[] = [];
  for (let corner = 0; corner < triangles.length; corner++) {
    const from = triangles[corner];
    const to = triangles[corner - (corner % 3) + ((corner + 1) % 3)];
    const key = Math.min(from, to) * nodeCount + Math.max(from, to);
    if (!seen.has(key)) {
      seen.add(key);
      edges.push(from, to);
    }
  }
  return Uint32Array.from(edges);
}

export interface SeamSplit {
  /** The old vertex of each new one. */
  parents: Uint32Array;
  /** Triangles of new vertices. */
  index: Uint32Array;
  /** Two texture coordinates per new vertex. */
  uv: Float32Array;
}

/** Split vertices along the seams of an image, so that each has one pair of texture coordinates. */
export function splitSeams(index: Uint32Array, uv: Float32Array): SeamSplit {
  const found = new Map<string, number>();
  const parents: number[] = [];
  const coordinates: number[] = [];
  const corners = new Uint32Array(index.length);
  for (let corner = 0; corner < index.length; corner++) {
    const [u, v] = [uv[2 * corner], uv[2 * corner + 1]];
    const key = `${index[corner]}/${u}/${v}`;
    let vertex = found.get(key);
    if (vertex === undefined) {
      vertex = parents.push(index[corner]) - 1;
      coordinates.push(u, v);
      found.set(key, vertex);
    }
    corners[corner] = vertex;
  }
  return { parents: Uint32Array.from(parents), index: corners, uv: Float32Array.from(coordinates) };
}
