import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo } from "react";
import { BufferAttribute, BufferGeometry, type Camera, Plane, Raycaster, ShapeUtils, Sphere, Vector2, Vector3 } from "three";
import { useFlow } from "../state/flow";
import { latestHeader, redraw, send } from "../state/studio";
import { toast, useStudio } from "../state/store";
import { polygonAt, resample } from "./sketch";
import type { SceneExtent } from "./sceneExtent";
import { onPointerFirst } from "./pointerCapture";

const CORNERS = 20; // control points of a drawn curve
const MOVE_INTERVAL = 60; // ms between messages
const FLOW_PLANE = new Plane(new Vector3(0, 0, 1), 0);

/** Draws, drags and removes obstacles of a 2D flow while it runs. */
export function SketchTool({ extent, dark }: { extent: SceneExtent; dark: boolean }) {
  const { gl, camera } = useThree();
  const stroke = useMemo(() => new BufferGeometry(), []);
  const drawing = useFlow((s) => s.drawing);
  useEffect(() => attach(gl.domElement, camera, stroke), [gl, camera, stroke]);
  useEffect(() => {
    gl.domElement.style.cursor = drawing ? "crosshair" : "";
  }, [gl, drawing]);
  return (
    <>
      <Obstacles extent={extent} dark={dark} />
      <Streamlines extent={extent} dark={dark} />
      <lineLoop geometry={stroke} position={[0, 0, 3e-3 * extent.radius]} frustumCulled={false} renderOrder={8}>
        <lineBasicMaterial color="#12b5d6" depthTest={false} transparent />
      </lineLoop>
    </>
  );
}

function attach(canvas: HTMLCanvasElement, camera: Camera, shown: BufferGeometry): () => void {
  const raycaster = new Raycaster();
  let pointer = -1;
  let drag: { number: number; x: number; y: number; sent: number } | null = null;
  let stroke: [number, number][] = [];

  const locate = (event: PointerEvent): [number, number] | null => {
    const box = canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 2 - 1;
    const y = 1 - ((event.clientY - box.top) / box.height) * 2;
    raycaster.setFromCamera(new Vector2(x, y), camera);
    const hit = raycaster.ray.intersectPlane(FLOW_PLANE, new Vector3());
    return hit && [hit.x, hit.y];
  };

  const show = () => {
    const values = Float32Array.from(stroke.flatMap(([x, y]) => [x, y, 0]));
    shown.setAttribute("position", new BufferAttribute(values, 3));
    shown.boundingSphere = new Sphere(undefined, Infinity);
    redraw();
  };

  const down = (event: PointerEvent) => {
    const flow = latestHeader()?.planeFlow;
    if (!useFlow.getState().drawing || !flow || event.button !== 0 || event.target !== canvas) return;
    const at = locate(event);
    if (!at) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    (document.activeElement as HTMLElement | null)?.blur?.();
    const number = polygonAt(flow.obstacles, ...at);
    if (number >= 0 && event.shiftKey) return send({ type: "remove_obstacle", number });
    canvas.setPointerCapture(event.pointerId);
    pointer = event.pointerId;
    if (number >= 0) drag = { number, x: at[0], y: at[1], sent: event.timeStamp };
    else stroke = [at];
    return undefined;
  };

  const moveTo = (at: [number, number], now: number) => {
    if (!drag) return;
    const offset: [number, number] = [at[0] - drag.x, at[1] - drag.y];
    if (offset[0] !== 0 || offset[1] !== 0) send({ type: "move_obstacle", number: drag.number, offset });
    drag = { ...drag, x: at[0], y: at[1], sent: now };
  };

  const move = (event: PointerEvent) => {
    if (event.pointerId !== pointer) return;
    event.stopImmediatePropagation();
    const at = locate(event);
    if (!at) return;
    if (drag) {
      if (event.timeStamp - drag.sent >= MOVE_INTERVAL) moveTo(at, event.timeStamp);
    } else {
      stroke.push(at);
      show();
    }
  };

  const up = (event: PointerEvent) => {
    if (event.pointerId !== pointer) return;
    event.stopImmediatePropagation();
    pointer = -1;
    const at = locate(event);
    if (drag) {
      if (at) moveTo(at, event.timeStamp);
      drag = null;
      return;
    }
    const points = resample(stroke, CORNERS);
    stroke = [];
    show();
    if (points) send({ type: "add_obstacle", points, smooth: true });
    else toast("Drag the mouse around the outline of the obstacle.");
  };

  return onPointerFirst(canvas, { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up });
}

/** The obstacles, filled. */
function Obstacles({ extent, dark }: { extent: SceneExtent; dark: boolean }) {
  const geometry = useMemo(() => new BufferGeometry(), []);
  useEffect(() => () => geometry.dispose(), [geometry]);
  useFrame(() => {
    const obstacles = latestHeader()?.planeFlow?.obstacles ?? [];
    const key = JSON.stringify(obstacles);
    if (geometry.userData.key === key) return;
    geometry.userData.key = key;
    const points: number[] = [];
    const index: number[] = [];
    for (const polygon of obstacles) {
      const first = points.length / 3;
      const contour: Vector2[] = [];
      for (let i = 0; i < polygon.length; i += 2) {
        contour.push(new Vector2(polygon[i], polygon[i + 1]));
        points.push(polygon[i], polygon[i + 1], 0);
      }
      for (const face of ShapeUtils.triangulateShape(contour, [])) index.push(...face.map((n) => first + n));
    }
    geometry.setAttribute("position", new BufferAttribute(Float32Array.from(points), 3));
    geometry.setIndex(index);
    geometry.boundingSphere = new Sphere(undefined, Infinity);
  });
  return (
    <mesh geometry={geometry} position={[0, 0, 1e-3 * extent.radius]} frustumCulled={false} renderOrder={6}>
      <meshBasicMaterial color={dark ? "#6c7686" : "#aeb5c0"} />
    </mesh>
  );
}

/** Streamlines of the flow. */
function Streamlines({ extent, dark }: { extent: SceneExtent; dark: boolean }) {
  const geometry = useMemo(() => new BufferGeometry(), []);
  useEffect(() => () => geometry.dispose(), [geometry]);
  useFrame(() => {
    const count = latestHeader()?.planeFlow?.streamlineCount ?? 0;
    const values = count > 0 ? useStudio.getState().scene?.streamlines : null;
    if (geometry.userData.values === values) return;
    geometry.userData.values = values;
    const points: number[] = [];
    const length = values ? values.length / (2 * count) : 0;
    for (let line = 0; values && line < count; line++) {
      for (let i = 2 * line * length; i < 2 * ((line + 1) * length - 1); i += 2) {
        points.push(values[i], values[i + 1], 0, values[i + 2], values[i + 3], 0);
      }
    }
    geometry.setAttribute("position", new BufferAttribute(Float32Array.from(points), 3));
    geometry.boundingSphere = new Sphere(undefined, Infinity);
  });
  return (
    <lineSegments geometry={geometry} position={[0, 0, 2e-3 * extent.radius]} frustumCulled={false} renderOrder={7}>
      <lineBasicMaterial color={dark ? "#ffffff" : "#0c1222"} transparent opacity={0.55} />
    </lineSegments>
  );
}
