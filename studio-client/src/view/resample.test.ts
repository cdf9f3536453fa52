import { describe, expect, it } from "vitest";
import { gridAround, resample } from "./resample";

// A unit cube of six tetrahedra around a diagonal; corners are numbered by bits x, y, z.
const CORNERS = Float32Array.from([...Array(8).keys()].flatMap((n) => [n & 1, (n >> 1) & 1, n >> 2]));
const TETS = Uint32Array.from([0, 1, 3, 7, 0, 3, 2, 7, 0, 2, 6, 7, 0, 6, 4, 7, 0, 4, 5, 7, 0, 5, 1, 7]);
const FACES = Uint32Array.from([
  0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5,
]);

const deform = ([x, y, z]: number[]) => [2 * x + 0.3 * y, 0.8 * y - 0.2 * z + 1, z + 0.1 * x];

function undo([u, v, w]: number[]): number[] {
  // by Cramer's rule, for the matrix above
  const [a, b, c] = [u, v - 1, w];
  const det = 2 * (0.8 * 1) - 0.3 * (0 * 1 - -0.2 * 0.1);
  const x = (a * 0.8 - 0.3 * (b * 1 - -0.2 * c)) / det;
  const z = c - 0.1 * x;
  return [x, (b + 0.2 * z) / 0.8, z];
}

describe("samples of deformed elements", () => {
  const positions = Float32Array.from([...Array(8).keys()].flatMap((n) => deform([...CORNERS.subarray(3 * n, 3 * n + 3)])));
  const grid = gridAround(TETS, positions, 32);
  const { values } = resample({ tets: TETS, faces: FACES, positions, nodal: CORNERS }, grid);

  it("interpolate rest positions, also slightly outside", () => {
    let inside = 0;
    for (let z = 0; z < grid.cells[2]; z++) {
      for (let y = 0; y < grid.cells[1]; y++) {
        for (let x = 0; x < grid.cells[0]; x++) {
          const i = 4 * (x + grid.cells[0] * (y + grid.cells[1] * z));
          const at = [x, y, z].map((n, axis) => grid.low[axis] + n * grid.step);
          const rest = undo(at);
          const within = rest.every((part) => part > 1e-3 && part < 1 - 1e-3);
          if (within) {
            inside++;
            expect(values[i + 3]).toBeGreaterThan(0);
          }
          if (rest.some((part) => part < -1e-3 || part > 1.001)) expect(values[i + 3]).toBeLessThan(0);
          if (within || values[i + 3] > -1) rest.forEach((part, axis) => expect(values[i + axis]).toBeCloseTo(part, 4));
        }
      }
    }
    expect(inside * grid.step ** 3).toBeGreaterThan(0.9 * 1.594); // the determinant
  });

  it("has the distance to the boundary in texels", () => {
    const cube = gridAround(TETS, CORNERS, 20);
    const found = resample({ tets: TETS, faces: FACES, positions: CORNERS, nodal: CORNERS }, cube).values;
    for (let n = 0; n < found.length / 4; n++) {
      const spot = [n % cube.cells[0], Math.floor(n / cube.cells[0]) % cube.cells[1], Math.floor(n / cube.cells[0] / cube.cells[1])];
      const beyond = spot.map((k, axis) => Math.abs(cube.low[axis] + k * cube.step - 0.5) - 0.5);
      const outside = Math.hypot(...beyond.map((d) => Math.max(d, 0)));
      const distance = -(outside > 0 ? outside : Math.max(...beyond)) / cube.step;
      expect(found[4 * n + 3]).toBeCloseTo(Math.min(Math.max(distance, -1.75), 1.75), 3);
    }
  });

  it("keep field values within the range of the elements", () => {
    const nodal = Float32Array.from([...Array(8).keys()].map((n) => CORNERS[3 * n]));
    const found = resample({ tets: TETS, faces: FACES, positions, nodal }, grid).values;
    for (let i = 0; i < found.length; i += 4) {
      expect(found[i]).toBeGreaterThanOrEqual(0);
      expect(found[i]).toBeLessThanOrEqual(1);
    }
  });
});
