// Samples deforming tetrahedra on a regular grid for ray marching: nodal values, and the distance to the boundary.

import type { Vector } from "../net/messages";

const MARGIN = 1.75; // texels outside that use the nearest element: more than the diagonal of a cell

/** A box of samples; each has three values, and the signed distance to the boundary in texels, negative outside. */
export interface Samples {
  /** Number of samples along x, y and z. */
  cells: Vector;
  /** Position of the first sample. */
  low: Vector;
  /** Spacing of the samples. */
  step: number;
  values: Float32Array;
}

/** What is sampled: elements, their boundary faces, nodal positions and values. */
export interface Source {
  tets: Uint32Array;
  faces: Uint32Array;
  positions: Float32Array;
  /** One or three values per node. */
  nodal: Float32Array;
}

/** A grid around the elements, with `most` samples along its longest side. */
export function gridAround(tets: Uint32Array, positions: Float32Array, most: number): Omit<Samples, "values"> {
  const low: Vector = [Infinity, Infinity, Infinity];
  const high: Vector = [-Infinity, -Infinity, -Infinity];
  for (const node of tets) {
    for (let axis = 0; axis < 3; axis++) {
      const at = positions[3 * node + axis];
      if (at < low[axis]) low[axis] = at;
      if (at > high[axis]) high[axis] = at;
    }
  }
  if (low[0] > high[0]) return { cells: [4, 4, 4], low: [0, 0, 0], step: 1 };
  const extent = high.map((top, axis) => top - low[axis]);
  const step = Math.max(...extent, 1e-9) / (most - 4);
  // Multiples of four, so that a moving body keeps its grid most of the time; with a border of two texels.
  const cells = extent.map((length) => 4 * Math.ceil((length / step + 4) / 4)) as Vector;
  const start = (axis: number) => (low[axis] + high[axis]) / 2 - ((cells[axis] - 1) / 2) * step;
  return { cells, low: [start(0), start(1), start(2)], step };
}

/** Sample the elements on a grid. */
export function resample(source: Source, grid: Omit<Samples, "values">): Samples {
  const values = new Float32Array(4 * grid.cells[0] * grid.cells[1] * grid.cells[2]);
  const count = values.length / 4;
  const depth = new Float32Array(count).fill(-Infinity);
  fillElements(source, grid, values, depth);
  const near = new Float32Array(count).fill(MARGIN);
  fillDistances(source, grid, near);
  for (let i = 0; i < count; i++) values[4 * i + 3] = depth[i] >= -1e-4 ? near[i] : -near[i];
  return { ...grid, values };
}

/** Indices of the samples along an axis between two coordinates. */
function span(grid: Omit<Samples, "values">, axis: number, low: number, high: number): [number, number] {
  const first = Math.ceil((low - grid.low[axis]) / grid.step);
  const last = Math.floor((high - grid.low[axis]) / grid.step);
  return [Math.max(first, 0), Math.min(last, grid.cells[axis] - 1)];
}

/**
 * Interpolate the element around each sample. Outside of the body the nearest element is extrapolated, so that
 * samples on both sides of the boundary can be interpolated. `depth` is the distance inside, in texels.
 */
function fillElements(source: Source, grid: Omit<Samples, "values">, values: Float32Array, depth: Float32Array): void {
  const { tets, faces, positions, nodal } = source;
  const { cells, low, step } = grid;
  const size = (3 * nodal.length) / positions.length;
  const outer = new Uint8Array(positions.length / 3);
  for (const node of faces) outer[node] = 1;
  const gradient = new Float64Array(12); // gradients of the four barycentric coordinates
  const height = new Float64Array(4);
  for (let t = 0; t < tets.length; t += 4) {
    const a = 3 * tets[t];
    const ax = positions[a];
    const ay = positions[a + 1];
    const az = positions[a + 2];
    if (!barycentricGradients(positions, tets, t, gradient)) continue;
    for (let k = 0; k < 4; k++) height[k] = 1 / (step * Math.hypot(gradient[3 * k], gradient[3 * k + 1], gradient[3 * k + 2]));
    const reach = outer[tets[t]] || outer[tets[t + 1]] || outer[tets[t + 2]] || outer[tets[t + 3]] ? MARGIN : 0;
    const [x0, x1] = range(0);
    const [y0, y1] = range(1);
    const [z0, z1] = range(2);
    for (let z = z0; z <= z1; z++) {
      for (let y = y0; y <= y1; y++) {
        const dy = low[1] + y * step - ay;
        const dz = low[2] + z * step - az;
        for (let x = x0; x <= x1; x++) {
          const dx = low[0] + x * step - ax;
          const b1 = gradient[3] * dx + gradient[4] * dy + gradient[5] * dz;
          const b2 = gradient[6] * dx + gradient[7] * dy + gradient[8] * dz;
          const b3 = gradient[9] * dx + gradient[10] * dy + gradient[11] * dz;
          const b0 = 1 - b1 - b2 - b3;
          const deep = Math.min(b0 * height[0], b1 * height[1], b2 * height[2], b3 * height[3]);
          const i = x + cells[0] * (y + cells[1] * z);
          if (deep < -reach - 1e-4 || deep <= depth[i]) continue;
          depth[i] = deep;
          for (let c = 0; c < size; c++) {
            const v0 = nodal[size * tets[t] + c];
            const v1 = nodal[size * tets[t + 1] + c];
            const v2 = nodal[size * tets[t + 2] + c];
            const v3 = nodal[size * tets[t + 3] + c];
            const mean = b0 * v0 + b1 * v1 + b2 * v2 + b3 * v3;
            // positions are extrapolated beyond the element, other values are clamped to its range
            values[4 * i + c] = size === 3 ? mean : Math.min(Math.max(mean, Math.min(v0, v1, v2, v3)), Math.max(v0, v1, v2, v3));
          }
        }
      }
    }

    function range(axis: number): [number, number] {
      let least = Infinity;
      let most = -Infinity;
      for (let k = 0; k < 4; k++) {
        const at = positions[3 * tets[t + k] + axis];
        if (at < least) least = at;
        if (at > most) most = at;
      }
      return span(grid, axis, least - reach * step, most + reach * step);
    }
  }
}

/** Gradients of the barycentric coordinates of an element, three numbers each; false for zero volume. */
function barycentricGradients(p: Float32Array, tets: Uint32Array, t: number, out: Float64Array): boolean {
  const a = 3 * tets[t];
  const edge = (k: number, axis: number) => p[3 * tets[t + k] + axis] - p[a + axis];
  const [ux, uy, uz] = [edge(1, 0), edge(1, 1), edge(1, 2)];
  const [vx, vy, vz] = [edge(2, 0), edge(2, 1), edge(2, 2)];
  const [wx, wy, wz] = [edge(3, 0), edge(3, 1), edge(3, 2)];
  const volume = ux * (vy * wz - vz * wy) + uy * (vz * wx - vx * wz) + uz * (vx * wy - vy * wx);
  if (!(Math.abs(volume) > 1e-30)) return false;
  out[3] = (vy * wz - vz * wy) / volume;
  out[4] = (vz * wx - vx * wz) / volume;
  out[5] = (vx * wy - vy * wx) / volume;
  out[6] = (wy * uz - wz * uy) / volume;
  out[7] = (wz * ux - wx * uz) / volume;
  out[8] = (wx * uy - wy * ux) / volume;
  out[9] = (uy * vz - uz * vy) / volume;
  out[10] = (uz * vx - ux * vz) / volume;
  out[11] = (ux * vy - uy * vx) / volume;
  for (let axis = 0; axis < 3; axis++) out[axis] = -out[3 + axis] - out[6 + axis] - out[9 + axis];
  return true;
}

/** The distance to the boundary of samples near it, in texels. */
function fillDistances({ faces, positions }: Source, grid: Omit<Samples, "values">, near: Float32Array): void {
  const { cells, low, step } = grid;
  const corner = new Float64Array(9);
  for (let f = 0; f < faces.length; f += 3) {
    for (let k = 0; k < 9; k++) corner[k] = (positions[3 * faces[f + Math.floor(k / 3)] + (k % 3)] - low[k % 3]) / step;
    const ranges = [0, 1, 2].map((axis) => {
      const [a, b, c] = [corner[axis], corner[3 + axis], corner[6 + axis]];
      return [
        Math.max(Math.ceil(Math.min(a, b, c) - MARGIN), 0),
        Math.min(Math.floor(Math.max(a, b, c) + MARGIN), cells[axis] - 1),
      ];
    });
    const triangle = new Triangle(corner);
    for (let z = ranges[2][0]; z <= ranges[2][1]; z++) {
      for (let y = ranges[1][0]; y <= ranges[1][1]; y++) {
        for (let x = ranges[0][0]; x <= ranges[0][1]; x++) {
          const i = x + cells[0] * (y + cells[1] * z);
          const distance = triangle.distance(x, y, z, near[i]);
          if (distance < near[i]) near[i] = distance;
        }
      }
    }
  }
}

/** A triangle, and distances from it. */
class Triangle {
  private readonly u: number[];
  private readonly v: number[];
  private readonly n: number[];
  private readonly uu: number;
  private readonly uv: number;
  private readonly vv: number;

  constructor(private readonly p: Float64Array) {
    this.u = [p[3] - p[0], p[4] - p[1], p[5] - p[2]];
    this.v = [p[6] - p[0], p[7] - p[1], p[8] - p[2]];
    const [u, v] = [this.u, this.v];
    const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    const length = Math.hypot(n[0], n[1], n[2]) || 1;
    this.n = n.map((part) => part / length);
    this.uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    this.uv = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    this.vv = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
  }

  /** The distance of a point, or a value of at least `most` if it is farther. */
  distance(x: number, y: number, z: number, most: number): number {
    const { p, u, v, n, uu, uv, vv } = this;
    const [dx, dy, dz] = [x - p[0], y - p[1], z - p[2]];
    const above = Math.abs(dx * n[0] + dy * n[1] + dz * n[2]);
    if (above >= most) return above;
    const du = dx * u[0] + dy * u[1] + dz * u[2];
    const dv = dx * v[0] + dy * v[1] + dz * v[2];
    const scale = uu * vv - uv * uv;
    const s = (vv * du - uv * dv) / scale;
    const t = (uu * dv - uv * du) / scale;
    if (s >= 0 && t >= 0 && s + t <= 1) return above;
    return Math.sqrt(Math.min(this.toEdge(dx, dy, dz, u), this.toEdge(dx, dy, dz, v), this.toFarEdge(dx, dy, dz)));
  }

  private toEdge(dx: number, dy: number, dz: number, e: number[]): number {
    const long = e[0] * e[0] + e[1] * e[1] + e[2] * e[2] || 1;
    const part = Math.min(Math.max((dx * e[0] + dy * e[1] + dz * e[2]) / long, 0), 1);
    return (dx - part * e[0]) ** 2 + (dy - part * e[1]) ** 2 + (dz - part * e[2]) ** 2;
  }

  private toFarEdge(dx: number, dy: number, dz: number): number {
    const { u, v } = this;
    return this.toEdge(dx - u[0], dy - u[1], dz - u[2], [v[0] - u[0], v[1] - u[1], v[2] - u[2]]);
  }
}
