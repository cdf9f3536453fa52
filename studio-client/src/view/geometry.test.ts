import { describe, expect, it } from "vitest";
import { splitCreases, splitSeams, uniqueEdges, vertexNormals } from "./geometry";

// A unit cube: 8 nodes, 12 triangles, outward.
const CUBE = new Float32Array([0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1]);
const FACES = new Uint32Array([
  0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4, 3, 7, 6, 3, 6, 2, 0, 4, 7, 0, 7, 3, 1, 2, 6, 1, 6, 5,
]);

describe("splitCreases", () => {
  it("gives each corner of a cube three vertices, one per face", () => {
    const { nodes, index } = splitCreases(CUBE, FACES);
    expect(nodes.length).toBe(24);
    expect([...index].map((vertex) => nodes[vertex])).toEqual([...FACES]);
  });

  it("does not split a cube if every angle counts as smooth", () => {
    expect(splitCreases(CUBE, FACES, 120).nodes.length).toBe(8);
  });

  it("yields normals along the axes for a cube", () => {
    const { nodes, index } = splitCreases(CUBE, FACES);
    const positions = Float32Array.from([...nodes].flatMap((n) => [...CUBE.subarray(3 * n, 3 * n + 3)]));
    const normals = new Float32Array(positions.length);
    vertexNormals(normals, positions, index);
    for (let i = 0; i < normals.length; i += 3) {
      const normal = [...normals.subarray(i, i + 3)];
      expect(Math.hypot(...normal)).toBeCloseTo(1, 6);
      const axis = normal.findIndex((x) => Math.abs(x) > 0.999);
      expect(axis).toBeGreaterThanOrEqual(0);
      // outward: the face's corner lies on the side that the normal points to
      expect(Math.sign(positions[i + axis] - 0.5)).toBe(Math.sign(normal[axis]));
    }
  });
});

describe("uniqueEdges", () => {
  it("satisfies Euler's formula on a cube", () => {
    const edges = uniqueEdges(FACES, 8).length / 2;
    expect(8 - edges + FACES.length / 3).toBe(2);
  });
});

describe("splitSeams", () => {
  // two triangles over one edge; the second has other texture coordinates at one of its ends
  const index = Uint32Array.of(0, 1, 2, 2, 1, 3);
  const uv = Float32Array.of(0, 0, 1, 0, 0, 1, 0, 1, 0.5, 0, 1, 1);

  it("gives each vertex one pair of texture coordinates, and keeps the corners", () => {
    const split = splitSeams(index, uv);
    expect(split.parents.length).toBe(5); // vertex 1 twice, vertex 2 once
    index.forEach((vertex, corner) => {
      expect(split.parents[split.index[corner]]).toBe(vertex);
      expect([...split.uv.subarray(2 * split.index[corner], 2 * split.index[corner] + 2)]).toEqual([...uv.subarray(2 * corner, 2 * corner + 2)]);
    });
  });
});
