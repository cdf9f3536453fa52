// Requests from the panels to the camera.

const frameAllListeners = new Set<() => void>();

export function onFrameAll(listener: () => void): () => void {
  frameAllListeners.add(listener);
  return () => frameAllListeners.delete(listener);
}

export const frameAll = () => frameAllListeners.forEach((listener) => listener());

/** View directions: the front, the right, the top, or the default corner. */
export type ViewDirection = "front" | "right" | "top" | "corner";

const viewListeners = new Set<(direction: ViewDirection) => void>();

export function onViewFrom(listener: (direction: ViewDirection) => void): () => void {
  viewListeners.add(listener);
  return () => viewListeners.delete(listener);
}

export const viewFrom = (direction: ViewDirection) => viewListeners.forEach((listener) => listener(direction));
