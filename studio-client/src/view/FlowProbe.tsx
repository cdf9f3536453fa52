import { useThree } from "@react-three/fiber";
import { useEffect } from "react";
import { type Camera, Plane, Raycaster, Vector2, Vector3 } from "three";
import { formatValue } from "../lib/format";
import { latestHeader, onRedraw } from "../state/studio";
import { useStudio } from "../state/store";

const FLOW_PLANE = new Plane(new Vector3(0, 0, 1), 0);

/** Shows the value of the selected field under the cursor in a 2D flow. */
export function FlowProbe() {
  const { gl, camera } = useThree();
  useEffect(() => attach(gl.domElement, camera), [gl, camera]);
  return null;
}

/** The value at the node nearest to a point, or null outside of the flow. */
function valueAt(x: number, y: number): number | null {
  const { scene, colored } = useStudio.getState();
  const body = scene?.bodies.find(({ info }) => info.name === latestHeader()?.planeFlow?.body);
  if (!body?.scalars || !colored) return null;
  const { positions, scalars } = body;
  let best = -1;
  let nearest = Infinity;
  for (let i = 0; i < scalars.length; i++) {
    const distance = (positions[3 * i] - x) ** 2 + (positions[3 * i + 1] - y) ** 2;
    if (distance < nearest) [best, nearest] = [i, distance];
  }
  const cell = Math.hypot(positions[3] - positions[0], positions[4] - positions[1]);
  return best >= 0 && nearest < cell * cell ? scalars[best] : null;
}

function attach(canvas: HTMLCanvasElement, camera: Camera): () => void {
  const raycaster = new Raycaster();
  const tag = document.createElement("output");
  tag.className = "value-tag";
  tag.dataset.testid = "flow-value";
  let cursor: { x: number; y: number; width: number; height: number } | null = null;

  const show = () => {
    const { scene, field } = useStudio.getState();
    const info = scene?.fields.find(({ name }) => name === field);
    if (!cursor || !info || !latestHeader()?.planeFlow) return tag.remove();
    raycaster.setFromCamera(new Vector2((2 * cursor.x) / cursor.width - 1, 1 - (2 * cursor.y) / cursor.height), camera);
    const hit = raycaster.ray.intersectPlane(FLOW_PLANE, new Vector3());
    const value = hit && valueAt(hit.x, hit.y);
    if (value === null) return tag.remove();
    Object.assign(tag.style, { left: `${cursor.x + 14}px`, top: `${cursor.y}px` });
    tag.textContent = `${info.label} ${formatValue(value, info.unit)}`;
    canvas.parentElement?.append(tag);
    return undefined;
  };

  const move = (event: PointerEvent) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    cursor = event.buttons === 0 ? { x: event.clientX - left, y: event.clientY - top, width, height } : null;
    show();
  };
  const leave = () => {
    cursor = null;
    show();
  };
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerleave", leave);
  const end = onRedraw(show);
  return () => {
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerleave", leave);
    end();
    tag.remove();
  };
}
