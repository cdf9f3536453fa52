// The surface of a body on the GPU, and its BVH for picking.

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
import { gather, splitCreases, splitSeams, uniqueEdges, vertexNormals } from "./geometry";

export interface SurfaceHit {
  triangle: number;
  barycentric: Vector;
  point: Vector3;
  distance: number;
}

const a = new Vector3();
const b = new Vector3();
const c = new Vector3();

export class BodySurface {
  /** Drawn triangles, with vertices split along creases. */
  readonly drawn = new BufferGeometry();
  /** Triangles of nodes in the simulation's numbering: for picking and for the wireframe. */
  readonly nodes = new BufferGeometry();
  readonly wire = new BufferGeometry();
  /** The nodes as points. */
  readonly points = new BufferGeometry();
  private restGeometry: BufferGeometry | null = null;
  /** Whether the drawn geometry has texture coordinates. */
  readonly hasCoordinates: boolean;
  /** Nodes and triangles with vertices split along creases only, which have the normals. */
  private readonly vertexNodes: Uint32Array;
  private readonly index: Uint32Array;
  /** The seams of an image split drawn vertices further: their vertices in `vertexNodes`, and buffers of the latter. */
  private readonly seams: { parents: Uint32Array; positions: Float32Array; normals: Float32Array; scalars: Float32Array } | null;
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
    const seams = body.uv ? splitSeams(split.index, body.uv) : null;
    const smooth = split.nodes.length;
    const count = seams ? seams.parents.length : smooth;
    this.hasCoordinates = seams !== null;
    this.seams = seams && {
      parents: seams.parents,
      positions: new Float32Array(3 * smooth),
      normals: new Float32Array(3 * smooth),
      scalars: new Float32Array(smooth),
    };
    if (seams) this.drawn.setAttribute("uv", new BufferAttribute(seams.uv, 2));
    this.vertexOf = new Uint32Array(body.rest.length / 3);
    const drawnNodes = seams ? seams.parents.map((vertex) => split.nodes[vertex]) : split.nodes;
    drawnNodes.forEach((node, vertex) => {
      this.vertexOf[node] = vertex;
    });
    const attribute = (length: number, size: number) =>
      new BufferAttribute(new Float32Array(length * size), size).setUsage(DynamicDrawUsage);
    this.drawn.setIndex(new BufferAttribute(seams?.index ?? split.index, 1));
    this.drawn.setAttribute("position", attribute(count, 3));
    this.drawn.setAttribute("normal", attribute(count, 3));
    this.drawn.setAttribute("scalar", attribute(count, 1));
    const nodePositions = attribute(body.rest.length / 3, 3);
    this.nodes.setAttribute("position", nodePositions);
    this.nodes.setIndex(new BufferAttribute(body.triangles, 1));
    (nodePositions.array as Float32Array).set(body.rest);
    this.wire.setAttribute("position", nodePositions);
    this.wire.setIndex(new BufferAttribute(uniqueEdges(body.triangles, body.rest.length / 3), 1));
    // bodies deform out of any bounding sphere; they are few, so all are always drawn
    this.points.setAttribute("position", nodePositions);
    for (const geometry of [this.drawn, this.wire, this.points]) geometry.boundingSphere = new Sphere(undefined, Infinity);
    // an indirect tree keeps the triangles in the simulation's order
    this.tree = new MeshBVH(this.nodes, { indirect: true });
    this.update();
  }

  /** Upload the newest positions and values to the GPU. */
  update(): void {
    const { body } = this;
    const factor = useStudio.getState().exaggeration;
    if (this.version === body.version && this.factor === factor) return;
    if (this.factor !== factor) this.treeVersion = -1;
    this.version = body.version;
    this.factor = factor;
    const positions = shownPositions(body, factor);
    const nodePositions = this.nodes.getAttribute("position") as BufferAttribute;
    (nodePositions.array as Float32Array).set(positions);
    nodePositions.needsUpdate = true;
    const position = this.drawn.getAttribute("position") as BufferAttribute;
    const normal = this.drawn.getAttribute("normal") as BufferAttribute;
    const smooth = this.seams ?? { positions: position.array as Float32Array, normals: normal.array as Float32Array };
    gather(smooth.positions, this.vertexNodes, positions, 3);
    vertexNormals(smooth.normals, smooth.positions, this.index);
    if (this.seams) {
      gather(position.array as Float32Array, this.seams.parents, smooth.positions, 3);
      gather(normal.array as Float32Array, this.seams.parents, smooth.normals, 3);
    }
    position.needsUpdate = true;
    normal.needsUpdate = true;
    if (body.scalars) {
      const scalar = this.drawn.getAttribute("scalar") as BufferAttribute;
      gather(this.seams?.scalars ?? (scalar.array as Float32Array), this.vertexNodes, body.scalars, 1);
      if (this.seams) gather(scalar.array as Float32Array, this.seams.parents, this.seams.scalars, 1);
      scalar.needsUpdate = true;
    }
  }

  /** The rest shape. */
  get rest(): BufferGeometry {
    if (this.restGeometry) return this.restGeometry;
    const positions = new Float32Array(3 * this.vertexNodes.length);
    const normals = new Float32Array(positions.length);
    gather(positions, this.vertexNodes, this.body.rest, 3);
    vertexNormals(normals, positions, this.index);
    this.restGeometry = new BufferGeometry().setIndex(new BufferAttribute(this.index, 1));
    this.restGeometry.setAttribute("position", new BufferAttribute(positions, 3));
    this.restGeometry.setAttribute("normal", new BufferAttribute(normals, 3));
    return this.restGeometry;
  }

  /** The first intersection of a ray with the body. */
  hit(ray: Ray): SurfaceHit | null {
    this.refit();
    const hit = this.tree.raycastFirst(ray);
    if (!hit || hit.faceIndex == null) return null;
    this.corners(hit.faceIndex);
    const weights = barycentric(hit.point);
    return { triangle: hit.faceIndex, barycentric: weights, point: hit.point, distance: hit.distance };
  }

  /** The point of the surface nearest to a point. */
  nearest(point: Vector3): { triangle: number; barycentric: Vector } | null {
    this.refit();
    const found = this.tree.closestPointToPoint(point);
    if (!found) return null;
    this.corners(found.faceIndex);
    return { triangle: found.faceIndex, barycentric: barycentric(found.point) };
  }

  /** The outward normal at a node. */
  normal(node: number): Vector3 {
    return a.fromBufferAttribute(this.drawn.getAttribute("normal"), this.vertexOf[node]);
  }

  /** The current position of a surface point. */
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
    this.points.dispose();
    this.restGeometry?.dispose();
  }

  /** Fit the tree to the newest positions. */
  private refit(): void {
    this.update();
    if (this.treeVersion === this.version) return;
    this.tree.refit();
    this.treeVersion = this.version;
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
