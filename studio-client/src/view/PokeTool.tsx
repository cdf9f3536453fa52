import { Html } from "@react-three/drei";
import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useRef } from "react";
import { type Camera, type Group, type Mesh, Plane, Raycaster, Vector2, Vector3 } from "three";
import { formatValue } from "../lib/format";
import { latestHeader, redraw, send } from "../state/studio";
import { toast, useStudio } from "../state/store";
import type { LiveScene } from "../state/live";
import { nearestNode } from "./picking";
import { sceneExtentOf } from "./sceneExtent";
import { pick } from "./surfaceRegistry";
import { onPointerFirst } from "./pointerCapture";

/** Whether the poke or the pin tool is selected. */
export const probeOrPinActive = () => ["poke", "pin"].includes(useStudio.getState().viewTool);

const RADIUS_FRACTION = 0.13; // of the scene's radius
const WHEEL_STEP = 0.25; // of the ball's radius, per step of the wheel
const MOVE_INTERVAL = 16; // ms between messages

/** A rigid ball on the cursor; drag to move it, and use the wheel to move it in depth. */
export function PokeTool() {
  const { gl, camera } = useThree();
  useEffect(() => attach(gl.domElement, camera), [gl, camera]);
  return <Ball />;
}

function attach(canvas: HTMLCanvasElement, camera: Camera): () => void {
  const raycaster = new Raycaster();
  const plane = new Plane();
  const position = new Vector3();
  let pointer = -1;
  let sent = 0;
  let radius = 1;

  const aim = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 2 - 1;
    const y = 1 - ((event.clientY - box.top) / box.height) * 2;
    raycaster.setFromCamera(new Vector2(x, y), camera);
    return raycaster.ray;
  };

  const down = (event: PointerEvent) => {
    const { scene, viewTool, world } = useStudio.getState();
    if (viewTool !== "poke" || !scene || event.button !== 0 || pointer >= 0) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    (document.activeElement as HTMLElement | null)?.blur?.();
    canvas.setPointerCapture(event.pointerId);
    pointer = event.pointerId;
    const extent = sceneExtentOf(scene);
    radius = RADIUS_FRACTION * extent.radius;
    const ray = aim(event);
    const hit = pick(ray);
    const facing = camera.getWorldDirection(new Vector3());
    if (hit) position.copy(hit.point).addScaledVector(facing, -radius);
    else position.copy(nearestNodePosition(event, canvas, camera, scene) ?? extent.center);
    plane.setFromNormalAndCoplanarPoint(facing, position);
    ray.intersectPlane(plane, position);
    send({ type: "probe_begin", position: position.toArray(), radius, retreat: facing.negate().toArray() });
    if (world && !world.playing) toast("Paused: press play to push with the ball.");
    redraw();
  };

  const sendMove = (now: number) => {
    if (now - sent < MOVE_INTERVAL) return;
    sent = now;
    send({ type: "probe_move", position: position.toArray() });
  };

  const move = (event: PointerEvent) => {
    if (event.pointerId !== pointer) return;
    event.stopImmediatePropagation();
    if (aim(event).intersectPlane(plane, position)) sendMove(event.timeStamp);
  };

  const wheel = (event: WheelEvent) => {
    if (pointer < 0) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    plane.translate(camera.getWorldDirection(new Vector3()).multiplyScalar(-Math.sign(event.deltaY) * WHEEL_STEP * radius));
    if (aim(event).intersectPlane(plane, position)) send({ type: "probe_move", position: position.toArray() });
  };

  const up = (event: PointerEvent) => {
    if (event.pointerId !== pointer) return;
    event.stopImmediatePropagation();
    endProbe();
  };

  const endProbe = () => {
    if (pointer < 0) return;
    pointer = -1;
    send({ type: "probe_end" });
    redraw();
  };

  const parent = canvas.parentElement ?? canvas;
  const removePointerListeners = onPointerFirst(canvas, { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up });
  parent.addEventListener("wheel", wheel, { capture: true, passive: false });
  const unsubscribe = useStudio.subscribe((now, before) => {
    if (now.scene?.epoch !== before.scene?.epoch || now.link !== before.link || now.viewTool !== before.viewTool) endProbe();
  });
  return () => {
    removePointerListeners();
    parent.removeEventListener("wheel", wheel, { capture: true });
    unsubscribe();
  };
}

/** The node nearest on the screen: beside a body the ball has the depth of that node. */
function nearestNodePosition(event: MouseEvent, canvas: HTMLCanvasElement, camera: Camera, scene: LiveScene): Vector3 | null {
  const box = canvas.getBoundingClientRect();
  let best: { distance: number; position: Vector3 } | null = null;
  for (const { positions, info } of scene.bodies) {
    if (info.dynamicTopology) continue;
    const found = nearestNode(positions, camera, box, event.clientX - box.left, event.clientY - box.top);
    if (found && (!best || found.distance < best.distance)) {
      best = { distance: found.distance, position: new Vector3().fromArray(positions, 3 * found.node) };
    }
  }
  return best?.position ?? null;
}

/** The ball at its simulated position, and the force on it. */
function Ball() {
  const mesh = useRef<Mesh>(null);
  const tag = useRef<Group>(null);
  const shown = useStudio((s) => Boolean(s.header?.probe));
  useFrame(() => {
    const probe = latestHeader()?.probe;
    if (!probe || !mesh.current) return;
    mesh.current.position.set(...probe.position);
    mesh.current.scale.setScalar(probe.radius);
    tag.current?.position.set(...probe.position);
  });
  useEffect(() => redraw(), [shown]);
  if (!shown) return null;
  return (
    <>
      <mesh ref={mesh} castShadow frustumCulled={false}>
        <sphereGeometry args={[1, 40, 28]} />
        <meshStandardMaterial color="#f4612d" roughness={0.4} />
        <mesh renderOrder={8} frustumCulled={false}>
          <sphereGeometry args={[1, 40, 28]} />
          <meshBasicMaterial color="#f4612d" transparent opacity={0.22} depthTest={false} depthWrite={false} />
        </mesh>
      </mesh>
      <group ref={tag}>
        <ForceTag />
      </group>
    </>
  );
}

function ForceTag() {
  const force = useStudio((s) => s.header?.probe?.force);
  return (
    <Html zIndexRange={[1, 0]} pointerEvents="none">
      {force && <output className="force-tag">{formatValue(Math.hypot(...force), "N")}</output>}
    </Html>
  );
}
