// The surfaces on the screen, for the tools that pick them.

import type { Group, Ray } from "three";
import type { Surface, SurfaceHit } from "./bodySurface";

let surfaces: (Surface | null)[] = [];

/** Set the surfaces in the order of the bodies; a fluid has none that could be held. */
export function setSurfaces(next: (Surface | null)[]): void {
  surfaces = next;
}

const groups = new Map<number, Group>();

export function setBodyGroup(body: number, group: Group | null): void {
  if (group) groups.set(body, group);
  else groups.delete(body);
}

/** What a body is drawn in; it can be moved about before the body itself is. */
export const bodyGroup = (body: number): Group | undefined => groups.get(body);

export const surfaceOf = (body: number): Surface | undefined => surfaces[body] ?? undefined;

/** The nearest point of any body along a ray. */
export function pick(ray: Ray): (SurfaceHit & { body: number }) | null {
  let best: (SurfaceHit & { body: number }) | null = null;
  surfaces.forEach((surface, body) => {
    if (groups.get(body)?.visible === false) return;
    const hit = surface?.hit(ray);
    if (hit && (!best || hit.distance < best.distance)) best = { ...hit, body };
  });
  return best;
}
