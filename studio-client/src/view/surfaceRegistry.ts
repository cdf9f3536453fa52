// The drawn surfaces, for picking.

import type { Group, Ray } from "three";
import type { BodySurface, SurfaceHit } from "./bodySurface";

let surfaces: (BodySurface | null)[] = [];

/** Set the surfaces in the order of the bodies; null for fluids, which cannot be picked. */
export function setSurfaces(next: (BodySurface | null)[]): void {
  surfaces = next;
}

const groups = new Map<number, Group>();

export function setBodyGroup(body: number, group: Group | null): void {
  if (group) groups.set(body, group);
  else groups.delete(body);
}

/** The group of a body; it can be moved before the body itself is. */
export const bodyGroup = (body: number): Group | undefined => groups.get(body);

export const surfaceOf = (body: number): BodySurface | undefined => surfaces[body] ?? undefined;

/** The nearest intersection of a ray with any body. */
export function pick(ray: Ray): (SurfaceHit & { body: number }) | null {
  let best: (SurfaceHit & { body: number }) | null = null;
  surfaces.forEach((surface, body) => {
    if (groups.get(body)?.visible === false) return;
    const hit = surface?.hit(ray);
    if (hit && (!best || hit.distance < best.distance)) best = { ...hit, body };
  });
  return best;
}
