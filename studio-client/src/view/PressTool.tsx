import { useThree } from "@react-three/fiber";
import { useEffect } from "react";
import { type Camera, Raycaster, Vector2, Vector3 } from "three";
import { formatValue } from "../lib/format";
import { send } from "../state/studio";
import { toast, useStudio } from "../state/store";
import { pick, surfaceOf } from "./surfaceRegistry";
import { onPointerFirst } from "./pointerCapture";

/** Whether the press tool is selected. */
export const pressToolActive = () => {
  const { viewTool, sceneDocument } = useStudio.getState();
  return viewTool === "press" && Boolean(sceneDocument?.data);
};

const TRACTION_PER_PIXEL = 1e-3; // of Young's modulus

/** Applies a normal traction to a face by dragging. It acts for one step; with Ctrl it is kept. */
export function PressTool() {
  const { gl, camera } = useThree();
  useEffect(() => attach(gl.domElement, camera), [gl, camera]);
  return null;
}

interface Press {
  id: number;
  body: string;
  triangle: number;
  x: number;
  y: number;
  /** The outward unit normal on the screen. */
  normal: Vector2;
  young: number;
}

function attach(canvas: HTMLCanvasElement, camera: Camera): () => void {
  const raycaster = new Raycaster();
  const marker = document.createElement("div");
  marker.className = "press-marker";
  const tag = document.createElement("output");
  tag.className = "value-tag";
  let press: Press | null = null;

  const locate = (event: PointerEvent) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top, width, height };
  };

  /** The traction of the drag [Pa]: positive along the outward normal. */
  const traction = (event: PointerEvent, { x, y, normal, young }: Press) => {
    const now = locate(event);
    return Number((TRACTION_PER_PIXEL * young * ((now.x - x) * normal.x + (now.y - y) * normal.y)).toPrecision(3));
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0 || event.target !== canvas || !pressToolActive()) return;
    const { x, y, width, height } = locate(event);
    raycaster.setFromCamera(new Vector2((2 * x) / width - 1, 1 - (2 * y) / height), camera);
    const hit = pick(raycaster.ray);
    const { scene, world, clip } = useStudio.getState();
    const body = hit && scene?.bodies[hit.body];
    if (!hit || !body || body.info.kind !== "soft") return;
    event.stopImmediatePropagation();
    if (clip.axis !== null) return toast("Switch the clip plane off to press on a body.");
    canvas.setPointerCapture(event.pointerId);
    const normal = surfaceOf(hit.body)?.normal(body.triangles[3 * hit.triangle]) ?? new Vector3(0, 1, 0);
    const from = hit.point.clone().project(camera);
    const to = hit.point.clone().addScaledVector(normal, 1e-3 * hit.distance).project(camera);
    const screenNormal = new Vector2((to.x - from.x) * width, -(to.y - from.y) * height);
    if (screenNormal.length() < 0.05) screenNormal.set(0, -1); // a face seen head-on: up pulls
    const young = Number(world?.values[`${body.info.name}/material/young`] ?? 1e5);
    press = { id: event.pointerId, body: body.info.name, triangle: hit.triangle, x, y, normal: screenNormal.normalize(), young };
    return undefined;
  };

  const move = (event: PointerEvent) => {
    if (!press || event.pointerId !== press.id) return;
    event.stopImmediatePropagation();
    const { x, y } = locate(event);
    const [dx, dy] = [x - press.x, y - press.y];
    Object.assign(marker.style, {
      left: `${press.x}px`,
      top: `${press.y}px`,
      width: `${Math.hypot(dx, dy)}px`,
      transform: `rotate(${Math.atan2(dy, dx)}rad)`,
    });
    Object.assign(tag.style, { left: `${x + 14}px`, top: `${y}px` });
    const value = traction(event, press);
    tag.textContent = `${value < 0 ? "push" : "pull"} ${formatValue(Math.abs(value), "Pa")}${event.ctrlKey ? ", kept" : ""}`;
    canvas.parentElement?.append(marker, tag);
  };

  const up = (event: PointerEvent) => {
    if (!press || event.pointerId !== press.id) return;
    event.stopImmediatePropagation();
    const value = traction(event, press);
    if (value !== 0) {
      send({ type: "press_face", body: press.body, triangle: press.triangle, traction: value, keep: event.ctrlKey || event.metaKey });
    }
    press = null;
    marker.remove();
    tag.remove();
  };

  const removePointerListeners = onPointerFirst(canvas, { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up });
  return () => {
    removePointerListeners();
    marker.remove();
    tag.remove();
  };
}
