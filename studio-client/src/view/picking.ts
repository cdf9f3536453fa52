// Which nodes of a body lie under the mouse or inside a rectangle, as the picture shows them.

import { type Camera, Vector3 } from "three";

export interface Rect {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A rectangle between two corners, whichever way it was drawn. */
export const rectOf = (ax: number, ay: number, bx: number, by: number): Rect => ({
  left: Math.min(ax, bx),
  top: Math.min(ay, by),
  right: Math.max(ax, bx),
  bottom: Math.max(ay, by),
});

const place = new Vector3();

/** Calls `visit` with each node in front of the camera and where it is in the picture [px]. */
function project(
  positions: Float32Array,
  camera: Camera,
  size: { width: number; height: number },
  visit: (node: number, x: number, y: number, depth: number) => void,
): void {
  for (let node = 0; node < positions.length / 3; node++) {
    place.fromArray(positions, 3 * node).project(camera);
    if (place.z < -1 || place.z > 1) continue;
    visit(node, ((place.x + 1) / 2) * size.width, ((1 - place.y) / 2) * size.height, place.z);
  }
}

/** Nodes inside a rectangle, those that others hide too. */
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

const REACH = 12; // px

/** The node under the mouse: of those within reach, the one in front. */
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
    if (Math.hypot(px - x, py - y) <= REACH && depth < front) {
      best = node;
      front = depth;
    }
  });
  return best;
}

/** What is chosen after `found` was picked: only that, or, with Shift, each of them the other way round. */
export function choose(before: number[], found: number[], add: boolean): number[] {
  if (!add) return found;
  const set = new Set(before);
  for (const node of found) if (!set.delete(node)) set.add(node);
  return [...set].sort((a, b) => a - b);
}

/** The node nearest to a place in the picture, however far, and its distance there [px]. */
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
