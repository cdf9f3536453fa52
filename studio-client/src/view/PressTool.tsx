import { useThree } from "@react-three/fiber";
import { useEffect } from "react";
import { type Camera, Raycaster, Vector2, Vector3 } from "three";
import { formatValue } from "../lib/format";
import { send } from "../state/studio";
import { toast, useStudio } from "../state/store";
import { pick, surfaceOf } from "./surfaceRegistry";
import { hearFirst } from "./pointerCapture";

/** Whether the tool that presses on faces is in the hand. */
export const pressing = () => {
  const { viewTool, paper } = useStudio.getState();
  return viewTool === "press" && Boolean(paper?.data);
};

const SHARE = 1e-3; // of Young's modulus that a pixel is worth

/** Tractions along a face's normal: press, drag, let go. A push acts for one step; with Ctrl it is kept. */
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
  /** The outward normal in the picture, of length 1. */
  way: Vector2;
  young: number;
}

function attach(canvas: HTMLCanvasElement, camera: Camera): () => void {
  const raycaster = new Raycaster();
  const mark = document.createElement("div");
  mark.className = "press-mark";
  const tag = document.createElement("output");
  tag.className = "press-tag";
  let press: Press | null = null;

  const place = (event: PointerEvent) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top, width, height };
  };

  /** The traction that the drag is worth [Pa]: along the normal it pulls, against it it pushes. */
  const traction = (event: PointerEvent, { x, y, way, young }: Press) => {
    const now = place(event);
    return Number((SHARE * young * ((now.x - x) * way.x + (now.y - y) * way.y)).toPrecision(3));
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0 || event.target !== canvas || !pressing()) return;
    const { x, y, width, height } = place(event);
    raycaster.setFromCamera(new Vector2((2 * x) / width - 1, 1 - (2 * y) / height), camera);
    const hit = pick(raycaster.ray);
    const { scene, world, cut } = useStudio.getState();
    const body = hit && scene?.bodies[hit.body];
    if (!hit || !body || body.info.kind !== "soft") return;
    event.stopImmediatePropagation();
    if (cut.axis !== null) return toast("Show the whole body to press on it.");
    canvas.setPointerCapture(event.pointerId);
    const normal = surfaceOf(hit.body)?.normal(body.triangles[3 * hit.triangle]) ?? new Vector3(0, 1, 0);
    const from = hit.point.clone().project(camera);
    const to = hit.point.clone().addScaledVector(normal, 1e-3 * hit.distance).project(camera);
    const way = new Vector2((to.x - from.x) * width, -(to.y - from.y) * height);
    if (way.length() < 0.05) way.set(0, -1); // a face seen head-on: up pulls
    const young = Number(world?.values[`${body.info.name}/material/young`] ?? 1e5);
    press = { id: event.pointerId, body: body.info.name, triangle: hit.triangle, x, y, way: way.normalize(), young };
    return undefined;
  };

  const move = (event: PointerEvent) => {
    if (!press || event.pointerId !== press.id) return;
    event.stopImmediatePropagation();
    const { x, y } = place(event);
    const [dx, dy] = [x - press.x, y - press.y];
    Object.assign(mark.style, {
      left: `${press.x}px`,
      top: `${press.y}px`,
      width: `${Math.hypot(dx, dy)}px`,
      transform: `rotate(${Math.atan2(dy, dx)}rad)`,
    });
    Object.assign(tag.style, { left: `${x + 14}px`, top: `${y}px` });
    const value = traction(event, press);
    tag.textContent = `${value < 0 ? "push" : "pull"} ${formatValue(Math.abs(value), "Pa")}${event.ctrlKey ? ", kept" : ""}`;
    canvas.parentElement?.append(mark, tag);
  };

  const up = (event: PointerEvent) => {
    if (!press || event.pointerId !== press.id) return;
    event.stopImmediatePropagation();
    const value = traction(event, press);
    if (value !== 0) {
      send({ type: "press", body: press.body, triangle: press.triangle, traction: value, keep: event.ctrlKey || event.metaKey });
    }
    press = null;
    mark.remove();
    tag.remove();
  };

  const unhear = hearFirst(canvas, { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up });
  return () => {
    unhear();
    mark.remove();
    tag.remove();
  };
}
