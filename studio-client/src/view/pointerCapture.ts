// Pointer events for tools, before the camera controls.

type PointerEventName = "pointerdown" | "pointermove" | "pointerup" | "pointercancel";

/** Listen on the canvas's parent in the capture phase, before the camera controls; returns a function that ends it. */
export function onPointerFirst(
  canvas: HTMLCanvasElement,
  listeners: Partial<Record<PointerEventName, (event: PointerEvent) => void>>,
): () => void {
  const parent = canvas.parentElement ?? canvas;
  const entries = Object.entries(listeners) as [PointerEventName, (event: PointerEvent) => void][];
  for (const [kind, listener] of entries) parent.addEventListener(kind, listener, { capture: true });
  return () => {
    for (const [kind, listener] of entries) parent.removeEventListener(kind, listener, { capture: true });
  };
}
