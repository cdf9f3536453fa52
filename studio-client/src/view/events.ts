// Requests from the panels to the view.

const frameAllListeners = new Set<() => void>();

export function onFrameAll(listener: () => void): () => void {
  frameAllListeners.add(listener);
  return () => frameAllListeners.delete(listener);
}

export const frameAll = () => frameAllListeners.forEach((listener) => listener());
