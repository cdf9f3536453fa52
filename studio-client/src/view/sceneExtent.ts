// The extent of the scene, its ground, the spacing of its grid, and the camera that fits it.

import { Box3, Matrix4, Sphere, Vector3 } from "three";
import type { CameraHints, Collider } from "../net/messages";
import type { Bounds, LiveScene } from "../state/live";

export interface Floor {
  point: Vector3;
  /** A unit vector. */
  normal: Vector3;
  /** Number of the plane among the colliders; null for the plain grid. */
  collider: number | null;
}

export interface SceneExtent {
  center: Vector3;
  /** Bounding radius of all bodies at rest [m]. */
  radius: number;
  /** Corners of a box around all bodies at rest, with a margin. */
  corners: Vector3[];
  /** Planes that receive shadows: those that face up, or the plain grid. */
  floors: Floor[];
  /** Whether all bodies lie in a plane that a floor would see as a line, as in 2D. */
  flat: boolean;
  /** Height of the plain grid without a ground plane, else null. */
  gridHeight: number | null;
  /** Spacing of grid lines [m]: 1, 2 or 5 times a power of ten. */
  cell: number;
  camera: CameraHints;
}

/** The nearest 1, 2 or 5 times a power of ten not above `value`. */
function niceFloor(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const digit = value / power;
  return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

/** Set a matrix from a pose, the rows of a 3x4 matrix. */
export function setPose(matrix: Matrix4, pose: number[]): Matrix4 {
  const [a, b, c, d, e, f, g, h, i, j, k, l] = pose;
  return matrix.set(a, b, c, d, e, f, g, h, i, j, k, l, 0, 0, 0, 1);
}

const FLATNESS = 0.02; // thickness of flat scenes, relative to their size
const FLOOR_SLOPE = 0.5; // least upward part of the normal of a floor

const MAX_COLLIDER_SIZE = 3; // relative to the bodies; larger colliders are not fitted into the view

/** A box around the bodies and the colliders among them. */
function boxOf(scene: LiveScene, bounds: Bounds): Box3 {
  const bodies = new Box3(new Vector3(...bounds.min), new Vector3(...bounds.max));
  const size = bodies.min.distanceTo(bodies.max);
  const box = bodies.clone();
  scene.colliders.forEach((collider, number) => {
    const own = new Box3();
    if (collider.kind === "mesh") own.setFromArray(scene.meshes.get(number)?.points ?? []);
    if (collider.kind === "sphere" && !collider.inside)
      new Sphere(new Vector3(...collider.center), collider.radius).getBoundingBox(own);
    const pose = scene.poses[number];
    if (pose) own.applyMatrix4(setPose(new Matrix4(), pose));
    if (!own.isEmpty() && own.min.distanceTo(own.max) < MAX_COLLIDER_SIZE * size) box.union(own);
  });
  return box;
}

/** The extent of a scene whose bodies lie within `bounds`; by default, where they are at rest. */
export function sceneExtentOf(scene: LiveScene, bounds: Bounds = scene.bounds): SceneExtent {
  const { min, max } = boxOf(scene, bounds);
  const size = Math.max(min.distanceTo(max), 1e-6);
  const planes = scene.colliders.filter((c): c is Extract<Collider, { kind: "plane" }> => c.kind === "plane");
  const grounds = planes.filter(({ normal }) => normal[1] > 0.9 * Math.hypot(...normal));
  const flat = scene.bodies.length === 0 || scene.bounds.max[2] - scene.bounds.min[2] < FLATNESS * size;
  // A falling body is shown together with the ground, unless that is far below.
  for (const { point } of grounds) {
    if (point[1] < min.y && min.y - point[1] < 3 * size) min.y = point[1];
  }
  const radius = Math.max(0.5 * min.distanceTo(max), 1e-6);
  const margin = 0.18 * radius;
  const low = min.clone().subScalar(margin);
  const high = max.clone().addScalar(margin);
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].map(
    (i) => new Vector3(i & 1 ? high.x : low.x, i & 2 ? high.y : low.y, i & 4 ? high.z : low.z),
  );
  const center = min.clone().add(max).multiplyScalar(0.5);
  const gridHeight = grounds.length ? null : min.y - 0.55 * radius;
  const floors: Floor[] = scene.colliders.flatMap((plane, collider) => {
    if (plane.kind !== "plane") return [];
    const normal = new Vector3(...plane.normal).normalize();
    return normal.y > FLOOR_SLOPE ? [{ point: new Vector3(...plane.point), normal, collider }] : [];
  });
  if (gridHeight !== null) floors.push({ point: new Vector3(center.x, gridHeight, center.z), normal: UP, collider: null });
  return {
    corners,
    center,
    radius,
    floors,
    flat,
    gridHeight,
    cell: niceFloor(radius / 4),
    camera: scene.camera,
  };
}

const ELEVATION = 19;
const AZIMUTH = 33;
const DEGREE = Math.PI / 180;
const UP = new Vector3(0, 1, 0);

/**
 * The initial camera: the default direction of pictures, as near as all corners allow. A camera position given by the
 * scene is kept, or moved back where panels would hide something.
 *
 * @param halfTangents Tangents of the half angles of view that are free of panels, horizontal and vertical.
 */
export function fitCamera(extent: SceneExtent, halfTangents: [number, number]): { eye: Vector3; target: Vector3 } {
  const { camera, center } = extent;
  const target = camera.target ? new Vector3(...camera.target) : center.clone();
  const given = camera.position && new Vector3(...camera.position).sub(target);
  const elevation = (camera.elevation ?? ELEVATION) * DEGREE;
  const azimuth = (camera.azimuth ?? AZIMUTH) * DEGREE;
  const back =
    given?.clone().normalize() ??
    new Vector3(
      Math.cos(elevation) * Math.sin(azimuth),
      Math.sin(elevation),
      Math.cos(elevation) * Math.cos(azimuth),
    );
  const right = new Vector3().crossVectors(UP, back).normalize();
  const up = new Vector3().crossVectors(back, right);
  let distance = given?.length() ?? 0;
  for (const corner of extent.corners) {
    const offset = corner.clone().sub(target);
    const across = Math.abs(offset.dot(right)) / halfTangents[0];
    const above = Math.abs(offset.dot(up)) / halfTangents[1];
    distance = Math.max(distance, Math.max(across, above) + offset.dot(back));
  }
  return { eye: target.clone().addScaledVector(back, distance), target };
}
