// How large the scene is, where its floor lies, and how fine its grid is.

import { Box3, Matrix4, Sphere, Vector3 } from "three";
import type { CameraHints, Collider } from "../net/messages";
import type { Bounds, LiveScene } from "../state/live";

export interface Stage {
  center: Vector3;
  /** Radius of a sphere around all bodies at rest [m]. */
  radius: number;
  /** Corners of a box around all bodies at rest, with room to move. */
  corners: Vector3[];
  /** Height of the plain grid if no plane is a floor, else null. */
  gridHeight: number | null;
  /** Distance of two grid lines [m]: 1, 2 or 5 times a power of ten. */
  cell: number;
  camera: CameraHints;
}

/** The nearest 1, 2 or 5 times a power of ten not above `value`. */
function niceFloor(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const digit = value / power;
  return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

/** Take over a pose, the rows of a 3x4 matrix. */
export function setPose(matrix: Matrix4, pose: number[]): Matrix4 {
  const [a, b, c, d, e, f, g, h, i, j, k, l] = pose;
  return matrix.set(a, b, c, d, e, f, g, h, i, j, k, l, 0, 0, 0, 1);
}

const FAR = 3; // sizes of the bodies; what is larger than that is not brought into view as a whole

/** A box around the bodies and the obstacles among them. */
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
    if (!own.isEmpty() && own.min.distanceTo(own.max) < FAR * size) box.union(own);
  });
  return box;
}

/** The stage of a scene whose bodies lie within `bounds`; by default, where they are at rest. */
export function stageOf(scene: LiveScene, bounds: Bounds = scene.bounds): Stage {
  const { min, max } = boxOf(scene, bounds);
  const size = Math.max(min.distanceTo(max), 1e-6);
  const planes = scene.colliders.filter((c): c is Extract<Collider, { kind: "plane" }> => c.kind === "plane");
  const floors = planes.filter(({ normal }) => normal[1] > 0.9 * Math.hypot(...normal));
  // A body that will fall is seen together with the floor, unless that is far below.
  for (const { point } of floors) {
    if (point[1] < min.y && min.y - point[1] < 3 * size) min.y = point[1];
  }
  const radius = Math.max(0.5 * min.distanceTo(max), 1e-6);
  const room = 0.18 * radius;
  const low = min.clone().subScalar(room);
  const high = max.clone().addScalar(room);
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].map(
    (i) => new Vector3(i & 1 ? high.x : low.x, i & 2 ? high.y : low.y, i & 4 ? high.z : low.z),
  );
  return {
    corners,
    center: min.clone().add(max).multiplyScalar(0.5),
    radius,
    gridHeight: floors.length ? null : min.y - 0.55 * radius,
    cell: niceFloor(radius / 4),
    camera: scene.camera,
  };
}

const ELEVATION = 19;
const AZIMUTH = 33;
const DEGREE = Math.PI / 180;
const UP = new Vector3(0, 1, 0);

/**
 * Where the camera starts: the direction that pictures of a run have, as near as all corners allow. A scene that
 * says where its camera is has it there, or farther back where panels would hide something.
 *
 * @param reach Tangents of half the angles of view that are free of panels, across and up.
 */
export function startView(stage: Stage, reach: [number, number]): { eye: Vector3; target: Vector3 } {
  const { camera, center } = stage;
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
  for (const corner of stage.corners) {
    const offset = corner.clone().sub(target);
    const across = Math.abs(offset.dot(right)) / reach[0];
    const above = Math.abs(offset.dot(up)) / reach[1];
    distance = Math.max(distance, Math.max(across, above) + offset.dot(back));
  }
  return { eye: target.clone().addScaledVector(back, distance), target };
}
