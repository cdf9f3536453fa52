// Screen-space picking of nodes: under the mouse, or inside a rectangle.

import { type Camera, Vector3 } from "three";

export interface Rect {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The rectangle between two opposite corners. */
export const rectOf = (ax: number, ay: number, bx: number, by: number): Rect => ({
  left: Math.min(ax, bx),
  top: Math.min(ay, by),
  right: Math.max(ax, bx),
  bottom: Math.max(ay, by),
});

const projected = new Vector3();

/** Call `visit` with each node in front of the camera and its screen position [px]. */
function project(
  positions: Float32Array,
  camera: Camera,
  size: { width: number; height: number },
  visit: (node: number, x: number, y: number, depth: number) => void,
): void {
  for (let node = 0; node < positions.length / 3; node++) {
    projected.fromArray(positions, 3 * node).project(camera);
    if (projected.z < -1 || projected.z > 1) continue;
    visit(node, ((projected.x + 1) / 2) * size.width, ((1 - projected.y) / 2) * size.height, projected.z);
  }
}

/** Nodes inside a rectangle, including hidden ones. */
export function nodesInside(
  positions: Float32Array,
  camera: Camera,
  size: { width: number; height: number },
  rect: Rect,
): number[] {
  const found: number[] = [];
  project(positions, camera, size, (node, x, y) => {
    if (x >= rect.left && x <= rect.right && y >= rect.top && y <= rect.bottom) found.push(node);
  });
  return found;
}

const PICK_RADIUS = 12; // px

/** The node under the mouse: the front one of those within the pick radius. */
export function nodeAt(
  positions: Float32Array,
  camera: Camera,
  size: { width: number; height: number },
  x: number,
  y: number,
): number | null {
  let best: number | null = null;
  let front = Infinity;
  project(positions, camera, size, (node, px, py, depth) => {
    if (Math.hypot(px - x, py - y) <= PICK_RADIUS && depth < front) {
      best = node;
      front = depth;
    }
  });
  return best;
}

/** The selection after picking `found`: only those, or, with Shift, the symmetric difference. */
export function combineSelection(before: number[], found: number[], add: boolean): number[] {
  if (!add) return found;
  const set = new Set(before);
  for (const node of found) if (!set.delete(node)) set.add(node);
  return [...set].sort((a, b) => a - b);
}

/** The node nearest to a point on the screen, and its distance [px]. */
export function nearestNode(
  positions: Float32Array,
  camera: Camera,
  size: { width: number; height: number },
  x: number,
  y: number,
): { node: number; distance: number } | null {
  let best: { node: number; distance: number } | null = null;
  project(positions, camera, size, (node, nodeX, nodeY) => {
    const distance = Math.hypot(nodeX - x, nodeY - y);
    if (!best || distance < best.distance) best = { node, distance };
  });
  return best;
}
