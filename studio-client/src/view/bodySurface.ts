// One body on the graphics card, and its search tree for the mouse.

import {
  BufferAttribute,
  BufferGeometry,
  DynamicDrawUsage,
  type Ray,
  Sphere,
  Vector3,
} from "three";
import { MeshBVH } from "three-mesh-bvh";
import { type LiveBody, shownPositions } from "../state/live";
import { useStudio } from "../state/store";
import type { Vector } from "../net/messages";
import { gather, splitCreases, uniqueEdges, vertexNormals } from "./geometry";

export interface SurfaceHit {
  triangle: number;
  barycentric: Vector;
  point: Vector3;
  distance: number;
}

const a = new Vector3();
const b = new Vector3();
const c = new Vector3();

export class Surface {
  /** Drawn triangles, with vertices split along creases. */
  readonly drawn = new BufferGeometry();
  /** Triangles of nodes, as the simulation knows them: for picking and for the wireframe. */
  readonly nodes = new BufferGeometry();
  readonly wire = new BufferGeometry();
  /** The nodes alone. */
  readonly dots = new BufferGeometry();
  private ghostMade: BufferGeometry | null = null;
  private readonly vertexNodes: Uint32Array;
  private readonly index: Uint32Array;
  private readonly tree: MeshBVH;
  /** For each node, one of the drawn vertices that show it. */
  private readonly vertexOf: Uint32Array;
  private version = -1;
  private factor = 1;
  private treeVersion = -1;

  constructor(private readonly body: LiveBody) {
    const split = splitCreases(body.rest, body.triangles);
    this.vertexNodes = split.nodes;
    this.index = split.index;
    const count = split.nodes.length;
    this.vertexOf = new Uint32Array(body.rest.length / 3);
    split.nodes.forEach((node, vertex) => {
      this.vertexOf[node] = vertex;
    });
    const attribute = (length: number, size: number) =>
      new BufferAttribute(new Float32Array(length * size), size).setUsage(DynamicDrawUsage);
    this.drawn.setIndex(new BufferAttribute(split.index, 1));
    this.drawn.setAttribute("position", attribute(count, 3));
    this.drawn.setAttribute("normal", attribute(count, 3));
    this.drawn.setAttribute("scalar", attribute(count, 1));
    const nodePositions = attribute(body.rest.length / 3, 3);
    this.nodes.setAttribute("position", nodePositions);
    this.nodes.setIndex(new BufferAttribute(body.triangles, 1));
    (nodePositions.array as Float32Array).set(body.rest);
    this.wire.setAttribute("position", nodePositions);
    this.wire.setIndex(new BufferAttribute(uniqueEdges(body.triangles, body.rest.length / 3), 1));
    // Bodies leave any sphere that was fitted to them; they are few, so all of them are always drawn.
    this.dots.setAttribute("position", nodePositions);
    for (const geometry of [this.drawn, this.wire, this.dots]) geometry.boundingSphere = new Sphere(undefined, Infinity);
    // An indirect tree leaves the triangles in the simulation's order.
    this.tree = new MeshBVH(this.nodes, { indirect: true });
    this.update();
  }

  /** Bring the newest positions and values to the graphics card. */
  update(): void {
    const { body } = this;
    const factor = useStudio.getState().exaggeration;
    if (this.version === body.version && this.factor === factor) return;
    if (this.factor !== factor) this.treeVersion = -1;
    this.version = body.version;
    this.factor = factor;
    const places = shownPositions(body, factor);
    const nodePositions = this.nodes.getAttribute("position") as BufferAttribute;
    (nodePositions.array as Float32Array).set(places);
    nodePositions.needsUpdate = true;
    const position = this.drawn.getAttribute("position") as BufferAttribute;
    const normal = this.drawn.getAttribute("normal") as BufferAttribute;
    gather(position.array as Float32Array, this.vertexNodes, places, 3);
    vertexNormals(normal.array as Float32Array, position.array as Float32Array, this.index);
    position.needsUpdate = true;
    normal.needsUpdate = true;
    if (body.scalars) {
      const scalar = this.drawn.getAttribute("scalar") as BufferAttribute;
      gather(scalar.array as Float32Array, this.vertexNodes, body.scalars, 1);
      scalar.needsUpdate = true;
    }
  }

  /** The body at rest. */
  get ghost(): BufferGeometry {
    if (this.ghostMade) return this.ghostMade;
    const positions = new Float32Array(3 * this.vertexNodes.length);
    const normals = new Float32Array(positions.length);
    gather(positions, this.vertexNodes, this.body.rest, 3);
    vertexNormals(normals, positions, this.index);
    this.ghostMade = new BufferGeometry().setIndex(new BufferAttribute(this.index, 1));
    this.ghostMade.setAttribute("position", new BufferAttribute(positions, 3));
    this.ghostMade.setAttribute("normal", new BufferAttribute(normals, 3));
    return this.ghostMade;
  }

  /** Where a ray meets the body first. */
  hit(ray: Ray): SurfaceHit | null {
    this.update();
    if (this.treeVersion !== this.version) {
      this.tree.refit();
      this.treeVersion = this.version;
    }
    const hit = this.tree.raycastFirst(ray);
    if (!hit || hit.faceIndex == null) return null;
    this.corners(hit.faceIndex);
    const weights = barycentric(hit.point);
    return { triangle: hit.faceIndex, barycentric: weights, point: hit.point, distance: hit.distance };
  }

  /** The outward direction at a node. */
  normal(node: number): Vector3 {
    return a.fromBufferAttribute(this.drawn.getAttribute("normal"), this.vertexOf[node]);
  }

  /** Where a point of the surface is now. */
  point(triangle: number, weights: Vector, out: Vector3): Vector3 {
    this.corners(triangle);
    return out
      .set(0, 0, 0)
      .addScaledVector(a, weights[0])
      .addScaledVector(b, weights[1])
      .addScaledVector(c, weights[2]);
  }

  dispose(): void {
    this.drawn.dispose();
    this.nodes.dispose();
    this.wire.dispose();
    this.dots.dispose();
    this.ghostMade?.dispose();
  }

  private corners(triangle: number): void {
    const { triangles } = this.body;
    const positions = shownPositions(this.body, this.factor);
    a.fromArray(positions, 3 * triangles[3 * triangle]);
    b.fromArray(positions, 3 * triangles[3 * triangle + 1]);
    c.fromArray(positions, 3 * triangles[3 * triangle + 2]);
  }
}

const u = new Vector3();
const v = new Vector3();
const w = new Vector3();

/** Barycentric coordinates of a point in the triangle a, b, c. */
function barycentric(point: Vector3): Vector {
  u.subVectors(b, a);
  v.subVectors(c, a);
  w.subVectors(point, a);
  const uu = u.dot(u);
  const uv = u.dot(v);
  const vv = v.dot(v);
  const wu = w.dot(u);
  const wv = w.dot(v);
  const scale = 1 / (uu * vv - uv * uv || 1);
  const second = Math.min(1, Math.max(0, (vv * wu - uv * wv) * scale));
  const third = Math.min(1 - second, Math.max(0, (uu * wv - uv * wu) * scale));
  return [1 - second - third, second, third];
}
