// The drawn colliders, for picking and moving.

import type { Object3D, Raycaster } from "three";

const groups = new Map<number, Object3D>();

export function setCollider(number: number, group: Object3D | null): void {
  if (group) groups.set(number, group);
  else groups.delete(number);
}

export const colliderGroup = (number: number): Object3D | undefined => groups.get(number);

/** The nearest obstacle along a ray. Endless planes are left to the camera. */
export function colliderAt(raycaster: Raycaster): { number: number; distance: number } | null {
  let best: { number: number; distance: number } | null = null;
  groups.forEach((group, number) => {
    if (!group.visible || group.userData.infinite) return;
    const [hit] = raycaster.intersectObject(group, true);
    if (hit && (!best || hit.distance < best.distance)) best = { number, distance: hit.distance };
  });
  return best;
}
