// The mouse on the view, heard by a tool before the camera's controls.

type Heard = "pointerdown" | "pointermove" | "pointerup" | "pointercancel";

/** Listen on the canvas's parent in the capturing phase, which comes before the camera's controls; returns how to stop. */
export function hearFirst(
  canvas: HTMLCanvasElement,
  listeners: Partial<Record<Heard, (event: PointerEvent) => void>>,
): () => void {
  const parent = canvas.parentElement ?? canvas;
  const entries = Object.entries(listeners) as [Heard, (event: PointerEvent) => void][];
  for (const [kind, listener] of entries) parent.addEventListener(kind, listener, { capture: true });
  return () => {
    for (const [kind, listener] of entries) parent.removeEventListener(kind, listener, { capture: true });
  };
}
