import { Html } from "@react-three/drei";
import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useRef } from "react";
import { type Camera, type Group, type Mesh, Plane, Raycaster, Vector2, Vector3 } from "three";
import { formatValue } from "../lib/format";
import { latestHeader, redraw, send } from "../state/studio";
import { toast, useStudio } from "../state/store";
import type { LiveScene } from "../state/live";
import { nearestNode } from "./picking";
import { stageOf } from "./sceneExtent";
import { pick } from "./surfaceRegistry";
import { hearFirst } from "./pointerCapture";

/** Whether a tool is in the hand that pokes or pins. */
export const holding = () => ["poke", "pin"].includes(useStudio.getState().viewTool);

const SHARE = 0.13; // of the scene's radius
const NOTCH = 0.25; // of the ball's radius, by which a turn of the wheel moves it
const MOVE_INTERVAL = 16; // ms between messages

/** A rigid ball on the cursor: press, drag, turn the wheel to push it away from you or draw it nearer. */
export function PokeTool() {
  const { gl, camera } = useThree();
  useEffect(() => attach(gl.domElement, camera), [gl, camera]);
  return <Ball />;
}

function attach(canvas: HTMLCanvasElement, camera: Camera): () => void {
  const raycaster = new Raycaster();
  const plane = new Plane();
  const place = new Vector3();
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
    const stage = stageOf(scene);
    radius = SHARE * stage.radius;
    const ray = aim(event);
    const hit = pick(ray);
    const facing = camera.getWorldDirection(new Vector3());
    if (hit) place.copy(hit.point).addScaledVector(facing, -radius);
    else place.copy(beside(event, canvas, camera, scene) ?? stage.center);
    plane.setFromNormalAndCoplanarPoint(facing, place);
    ray.intersectPlane(plane, place);
    send({ type: "probe_begin", place: place.toArray(), radius, back: facing.negate().toArray() });
    if (world && !world.playing) toast("It is paused; press play and the ball will push.");
    redraw();
  };

  const tell = (now: number) => {
    if (now - sent < MOVE_INTERVAL) return;
    sent = now;
    send({ type: "probe_move", place: place.toArray() });
  };

  const move = (event: PointerEvent) => {
    if (event.pointerId !== pointer) return;
    event.stopImmediatePropagation();
    if (aim(event).intersectPlane(plane, place)) tell(event.timeStamp);
  };

  const wheel = (event: WheelEvent) => {
    if (pointer < 0) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    plane.translate(camera.getWorldDirection(new Vector3()).multiplyScalar(-Math.sign(event.deltaY) * NOTCH * radius));
    if (aim(event).intersectPlane(plane, place)) send({ type: "probe_move", place: place.toArray() });
  };

  const up = (event: PointerEvent) => {
    if (event.pointerId !== pointer) return;
    event.stopImmediatePropagation();
    letGo();
  };

  const letGo = () => {
    if (pointer < 0) return;
    pointer = -1;
    send({ type: "probe_end" });
    redraw();
  };

  const parent = canvas.parentElement ?? canvas;
  const unhear = hearFirst(canvas, { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up });
  parent.addEventListener("wheel", wheel, { capture: true, passive: false });
  const unwatch = useStudio.subscribe((now, before) => {
    if (now.scene !== before.scene || now.link !== before.link || now.viewTool !== before.viewTool) letGo();
  });
  return () => {
    unhear();
    parent.removeEventListener("wheel", wheel, { capture: true });
    unwatch();
  };
}

/** The node that is nearest in the picture: beside a body the ball is as far away as what it can meet. */
function beside(event: MouseEvent, canvas: HTMLCanvasElement, camera: Camera, scene: LiveScene): Vector3 | null {
  const box = canvas.getBoundingClientRect();
  let best: { distance: number; place: Vector3 } | null = null;
  for (const { positions, info } of scene.bodies) {
    if (info.radius !== null) continue;
    const found = nearestNode(positions, camera, box, event.clientX - box.left, event.clientY - box.top);
    if (found && (!best || found.distance < best.distance)) {
      best = { distance: found.distance, place: new Vector3().fromArray(positions, 3 * found.node) };
    }
  }
  return best?.place ?? null;
}

/** The ball where the simulation has it, and the force on it. */
function Ball() {
  const mesh = useRef<Mesh>(null);
  const tag = useRef<Group>(null);
  const shown = useStudio((s) => Boolean(s.header?.probe));
  useFrame(() => {
    const probe = latestHeader()?.probe;
    if (!probe || !mesh.current) return;
    mesh.current.position.set(...probe.place);
    mesh.current.scale.setScalar(probe.radius);
    tag.current?.position.set(...probe.place);
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
