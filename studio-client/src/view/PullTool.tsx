import { Html } from "@react-three/drei";
import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useRef } from "react";
import { type Camera, type Group, type Mesh, Plane, Raycaster, Vector2, Vector3 } from "three";
import { formatValue } from "../lib/format";
import { isEditing } from "../state/document";
import { redraw, send } from "../state/studio";
import { toast, useStudio } from "../state/store";
import { isReplay } from "../state/store";
import { probeOrPinActive } from "./PokeTool";
import { pressToolActive } from "./PressTool";
import { type Pull, usePullStore } from "./pullStore";
import type { BodySurface } from "./bodySurface";
import { pick, surfaceOf } from "./surfaceRegistry";
import { onPointerFirst } from "./pointerCapture";

const MOVE_INTERVAL = 16; // ms between messages while dragging

interface Drag {
  pull: Pull;
  plane: Plane;
  sent: number;
}

/** Pulls bodies with the mouse; drags elsewhere move the camera. */
export function PullTool() {
  const { gl, camera } = useThree();
  const pulls = usePullStore((s) => s.pulls);
  const hover = usePullStore((s) => s.hover);

  useEffect(() => attach(gl.domElement, camera), [gl, camera]);

  return (
    <>
      {[...pulls.values()].map((pull) => (
        <PullMarker key={pull.id} pull={pull} />
      ))}
      {hover && pulls.size === 0 && <HoverMarker />}
    </>
  );
}

function attach(canvas: HTMLCanvasElement, camera: Camera): () => void {
  const drags = new Map<number, Drag>();
  const raycaster = new Raycaster();
  let nextId = 1;

  const aim = (event: PointerEvent) => {
    const box = canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 2 - 1;
    const y = 1 - ((event.clientY - box.top) / box.height) * 2;
    raycaster.setFromCamera(new Vector2(x, y), camera);
    return raycaster.ray;
  };

  const show = () => {
    usePullStore.setState({ pulls: new Map([...drags].map(([key, { pull }]) => [key, pull])), hover: null });
    canvas.style.cursor = drags.size ? "grabbing" : "";
    redraw();
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || isEditing() || pressToolActive() || probeOrPinActive() || isReplay()) return;
    const hit = pick(aim(event));
    const { scene, world } = useStudio.getState();
    const body = hit && scene?.bodies[hit.body];
    if (!hit || !body) return;
    const { clip, exaggeration } = useStudio.getState();
    if (clip.axis !== null || exaggeration !== 1) {
      toast("Switch clip plane and exaggeration off to pull a body.");
      return;
    }
    event.stopImmediatePropagation(); // the camera must not move
    event.preventDefault();
    (document.activeElement as HTMLElement | null)?.blur?.();
    canvas.setPointerCapture(event.pointerId);
    const pull: Pull = {
      id: nextId++,
      body: hit.body,
      bodyName: body.info.name,
      triangle: hit.triangle,
      barycentric: hit.barycentric,
      target: hit.point.clone(),
    };
    const facing = camera.getWorldDirection(new Vector3());
    const plane = new Plane().setFromNormalAndCoplanarPoint(facing, hit.point);
    drags.set(event.pointerId, { pull, plane, sent: 0 });
    send({
      type: "pull_begin",
      id: pull.id,
      body: pull.bodyName,
      triangle: pull.triangle,
      barycentric: pull.barycentric,
      target: pull.target.toArray(),
    });
    if (world && !world.playing && !world.error) toast("Paused: press play to pull the body.");
    show();
  };

  const move = (event: PointerEvent) => {
    const drag = drags.get(event.pointerId);
    if (!drag) {
      if (event.pointerType === "mouse" && event.buttons === 0 && !isEditing() && !probeOrPinActive() && !isReplay()) point(event);
      return;
    }
    event.stopImmediatePropagation();
    if (!aim(event).intersectPlane(drag.plane, drag.pull.target)) return;
    if (event.timeStamp - drag.sent >= MOVE_INTERVAL) {
      drag.sent = event.timeStamp;
      send({ type: "pull_move", id: drag.pull.id, target: drag.pull.target.toArray() });
    }
    redraw();
  };

  const up = (event: PointerEvent) => {
    const drag = drags.get(event.pointerId);
    if (!drag) return;
    event.stopImmediatePropagation();
    drags.delete(event.pointerId);
    send({ type: "pull_end", id: drag.pull.id });
    show();
  };

  /** Show which point a press would pull. */
  const point = (event: PointerEvent) => {
    const hit = pick(aim(event));
    const before = usePullStore.getState().hover;
    canvas.style.cursor = hit ? "grab" : "";
    if (hit || before) {
      usePullStore.setState({ hover: hit });
      redraw();
    }
  };

  const leave = () => {
    if (usePullStore.getState().hover) {
      usePullStore.setState({ hover: null });
      redraw();
    }
  };

  const endAll = () => {
    for (const { pull } of drags.values()) send({ type: "pull_end", id: pull.id });
    drags.clear();
    show();
  };

  const parent = canvas.parentElement ?? canvas;
  const removePointerListeners = onPointerFirst(canvas, { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up });
  parent.addEventListener("pointerleave", leave);
  // another scene or a lost connection ends all pulls
  const unsubscribe = useStudio.subscribe((now, before) => {
    if (now.scene !== before.scene) usePullStore.setState({ hover: null }); // its triangle may be gone
    if (now.scene?.epoch !== before.scene?.epoch || now.link !== before.link) endAll();
  });
  return () => {
    removePointerListeners();
    parent.removeEventListener("pointerleave", leave);
    unsubscribe();
  };
}

const anchor = new Vector3();
const along = new Vector3();
const UP = new Vector3(0, 1, 0);

/** World size of `pixels` at a point. */
export function sizeAt(point: Vector3, camera: Camera, height: number, pixels: number): number {
  const depth = along.subVectors(point, camera.position).dot(camera.getWorldDirection(new Vector3()));
  const focal = camera.projectionMatrix.elements[5];
  return (Math.max(depth, 1e-6) * 2 * pixels) / (focal * height);
}

/** The pulled point, the cursor, and the line between them. */
function PullMarker({ pull }: { pull: Pull }) {
  const start = useRef<Mesh>(null);
  const end = useRef<Mesh>(null);
  const rod = useRef<Mesh>(null);
  const tag = useRef<Group>(null);
  const held = useRef<BodySurface | null>(null);
  const anchorOf = useRef(new Vector3());
  useFrame(({ camera, size }) => {
    const surface = surfaceOf(pull.body);
    if (!surface || !start.current || !end.current || !rod.current) return;
    if (held.current && held.current !== surface) Object.assign(pull, surface.nearest(anchorOf.current)); // a new mesh
    held.current = surface;
    surface.point(pull.triangle, pull.barycentric, anchor);
    anchorOf.current.copy(anchor);
    start.current.position.copy(anchor);
    start.current.scale.setScalar(sizeAt(anchor, camera, size.height, 4.5));
    end.current.position.copy(pull.target);
    tag.current?.position.copy(pull.target);
    end.current.scale.setScalar(sizeAt(pull.target, camera, size.height, 7));
    const width = sizeAt(pull.target, camera, size.height, 1.1);
    const length = anchor.distanceTo(pull.target);
    rod.current.position.copy(anchor).add(pull.target).multiplyScalar(0.5);
    rod.current.scale.set(width, Math.max(length, 1e-9), width);
    rod.current.quaternion.setFromUnitVectors(
      UP,
      length > 0 ? along.subVectors(pull.target, anchor).normalize() : UP,
    );
  });
  return (
    <group ref={disableCulling}>
      <mesh ref={rod} renderOrder={10}>
        <cylinderGeometry args={[1, 1, 1, 8]} />
        <meshBasicMaterial color="#f4612d" depthTest={false} transparent toneMapped={false} />
      </mesh>
      <mesh ref={start} renderOrder={11}>
        <sphereGeometry args={[1, 20, 14]} />
        <meshBasicMaterial color="#ffffff" depthTest={false} transparent toneMapped={false} />
      </mesh>
      <mesh ref={end} renderOrder={12}>
        <sphereGeometry args={[1, 20, 14]} />
        <meshBasicMaterial color="#f4612d" depthTest={false} transparent toneMapped={false} />
      </mesh>
      <group ref={tag}>
        <ForceTag pull={pull} />
      </group>
    </group>
  );
}

/** The force of the pull, beside the cursor. */
function ForceTag({ pull }: { pull: Pull }) {
  const force = useStudio((s) => s.header?.pullForces[pull.id]);
  return (
    <Html zIndexRange={[1, 0]} pointerEvents="none">
      {force && <output className="force-tag">{formatValue(Math.hypot(...force), "N")}</output>}
    </Html>
  );
}

function disableCulling(group: Group | null): void {
  group?.traverse((object) => {
    object.frustumCulled = false;
  });
}

function HoverMarker() {
  const dot = useRef<Mesh>(null);
  useFrame(({ camera, size }) => {
    const { hover } = usePullStore.getState();
    const surface = hover && surfaceOf(hover.body);
    if (!surface || !dot.current) return;
    surface.point(hover.triangle, hover.barycentric, dot.current.position);
    dot.current.scale.setScalar(sizeAt(dot.current.position, camera, size.height, 4));
  });
  return (
    <mesh ref={dot} renderOrder={9}>
      <sphereGeometry args={[1, 16, 12]} />
      <meshBasicMaterial color="#f4612d" depthTest={false} transparent opacity={0.85} toneMapped={false} />
    </mesh>
  );
}
