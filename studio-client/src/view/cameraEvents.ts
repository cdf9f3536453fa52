// Requests from the panels to the view.

const frameAllListeners = new Set<() => void>();

export function onFrameAll(listener: () => void): () => void {
  frameAllListeners.add(listener);
  return () => frameAllListeners.delete(listener);
}

export const frameAll = () => frameAllListeners.forEach((listener) => listener());

/** Sides to look from: the front, the right, the top, or the usual corner. */
export type Side = "front" | "right" | "top" | "corner";

const lookListeners = new Set<(side: Side) => void>();

export function onLook(listener: (side: Side) => void): () => void {
  lookListeners.add(listener);
  return () => lookListeners.delete(listener);
}

export const lookFrom = (side: Side) => lookListeners.forEach((listener) => listener(side));
