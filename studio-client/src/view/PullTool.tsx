import { Html } from "@react-three/drei";
import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useRef } from "react";
import { type Camera, type Group, type Mesh, Plane, Raycaster, Vector2, Vector3 } from "three";
import { formatValue } from "../lib/format";
import { isEditing } from "../state/document";
import { redraw, send } from "../state/studio";
import { toast, useStudio } from "../state/store";
import { replaying } from "../state/store";
import { holding } from "./PokeTool";
import { pressing } from "./PressTool";
import { type Grip, useHands } from "./pullStore";
import { pick, surfaceOf } from "./surfaceRegistry";
import { hearFirst } from "./pointerCapture";

const MOVE_INTERVAL = 16; // ms between messages while dragging

interface Drag {
  grip: Grip;
  plane: Plane;
  sent: number;
}

/** Turns presses on a body into pulls; presses elsewhere reach the camera. */
export function PullTool() {
  const { gl, camera } = useThree();
  const grips = useHands((s) => s.grips);
  const hover = useHands((s) => s.hover);

  useEffect(() => attach(gl.domElement, camera), [gl, camera]);

  return (
    <>
      {[...grips.values()].map((grip) => (
        <GripMark key={grip.id} grip={grip} />
      ))}
      {hover && grips.size === 0 && <HoverMark />}
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
    useHands.setState({ grips: new Map([...drags].map(([key, { grip }]) => [key, grip])), hover: null });
    canvas.style.cursor = drags.size ? "grabbing" : "";
    redraw();
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || isEditing() || pressing() || holding() || replaying()) return;
    const hit = pick(aim(event));
    const { scene, world } = useStudio.getState();
    const body = hit && scene?.bodies[hit.body];
    if (!hit || !body) return;
    const { cut, exaggeration } = useStudio.getState();
    if (cut.axis !== null || exaggeration !== 1) {
      toast("Show the whole body without exaggeration to pull it.");
      return;
    }
    event.stopImmediatePropagation(); // the camera stays where it is
    event.preventDefault();
    (document.activeElement as HTMLElement | null)?.blur?.();
    canvas.setPointerCapture(event.pointerId);
    const grip: Grip = {
      id: nextId++,
      body: hit.body,
      bodyName: body.info.name,
      triangle: hit.triangle,
      barycentric: hit.barycentric,
      target: hit.point.clone(),
    };
    const facing = camera.getWorldDirection(new Vector3());
    const plane = new Plane().setFromNormalAndCoplanarPoint(facing, hit.point);
    drags.set(event.pointerId, { grip, plane, sent: 0 });
    send({
      type: "pull_begin",
      id: grip.id,
      body: grip.bodyName,
      triangle: grip.triangle,
      barycentric: grip.barycentric,
      target: grip.target.toArray(),
    });
    if (world && !world.playing && !world.error) toast("It is paused; press play and it will follow.");
    show();
  };

  const move = (event: PointerEvent) => {
    const drag = drags.get(event.pointerId);
    if (!drag) {
      if (event.pointerType === "mouse" && event.buttons === 0 && !isEditing() && !holding() && !replaying()) point(event);
      return;
    }
    event.stopImmediatePropagation();
    if (!aim(event).intersectPlane(drag.plane, drag.grip.target)) return;
    if (event.timeStamp - drag.sent >= MOVE_INTERVAL) {
      drag.sent = event.timeStamp;
      send({ type: "pull_move", id: drag.grip.id, target: drag.grip.target.toArray() });
    }
    redraw();
  };

  const up = (event: PointerEvent) => {
    const drag = drags.get(event.pointerId);
    if (!drag) return;
    event.stopImmediatePropagation();
    drags.delete(event.pointerId);
    send({ type: "pull_end", id: drag.grip.id });
    show();
  };

  /** Show what a press would hold. */
  const point = (event: PointerEvent) => {
    const hit = pick(aim(event));
    const before = useHands.getState().hover;
    canvas.style.cursor = hit ? "grab" : "";
    if (hit || before) {
      useHands.setState({ hover: hit });
      redraw();
    }
  };

  const leave = () => {
    if (useHands.getState().hover) {
      useHands.setState({ hover: null });
      redraw();
    }
  };

  const letGo = () => {
    for (const { grip } of drags.values()) send({ type: "pull_end", id: grip.id });
    drags.clear();
    show();
  };

  const parent = canvas.parentElement ?? canvas;
  const unhear = hearFirst(canvas, { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up });
  parent.addEventListener("pointerleave", leave);
  // Another scene, or a lost connection, takes the body out of the hand.
  const unwatch = useStudio.subscribe((now, before) => {
    if (now.scene !== before.scene || now.link !== before.link) letGo();
  });
  return () => {
    unhear();
    parent.removeEventListener("pointerleave", leave);
    unwatch();
  };
}

const anchor = new Vector3();
const along = new Vector3();
const UP = new Vector3(0, 1, 0);

/** World size of `pixels` at a place on the screen. */
export function sizeAt(place: Vector3, camera: Camera, height: number, pixels: number): number {
  const depth = along.subVectors(place, camera.position).dot(camera.getWorldDirection(new Vector3()));
  const focal = camera.projectionMatrix.elements[5];
  return (Math.max(depth, 1e-6) * 2 * pixels) / (focal * height);
}

/** The held point, the cursor, and the line between them. */
function GripMark({ grip }: { grip: Grip }) {
  const start = useRef<Mesh>(null);
  const end = useRef<Mesh>(null);
  const rod = useRef<Mesh>(null);
  const tag = useRef<Group>(null);
  useFrame(({ camera, size }) => {
    const surface = surfaceOf(grip.body);
    if (!surface || !start.current || !end.current || !rod.current) return;
    surface.point(grip.triangle, grip.barycentric, anchor);
    start.current.position.copy(anchor);
    start.current.scale.setScalar(sizeAt(anchor, camera, size.height, 4.5));
    end.current.position.copy(grip.target);
    tag.current?.position.copy(grip.target);
    end.current.scale.setScalar(sizeAt(grip.target, camera, size.height, 7));
    const width = sizeAt(grip.target, camera, size.height, 1.1);
    const length = anchor.distanceTo(grip.target);
    rod.current.position.copy(anchor).add(grip.target).multiplyScalar(0.5);
    rod.current.scale.set(width, Math.max(length, 1e-9), width);
    rod.current.quaternion.setFromUnitVectors(
      UP,
      length > 0 ? along.subVectors(grip.target, anchor).normalize() : UP,
    );
  });
  return (
    <group ref={raise}>
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
        <ForceTag grip={grip} />
      </group>
    </group>
  );
}

/** The force of the hand, beside the cursor. */
function ForceTag({ grip }: { grip: Grip }) {
  const force = useStudio((s) => s.header?.hands[grip.id]);
  return (
    <Html zIndexRange={[1, 0]} pointerEvents="none">
      {force && <output className="force-tag">{formatValue(Math.hypot(...force), "N")}</output>}
    </Html>
  );
}

function raise(group: Group | null): void {
  group?.traverse((object) => {
    object.frustumCulled = false;
  });
}

function HoverMark() {
  const dot = useRef<Mesh>(null);
  useFrame(({ camera, size }) => {
    const { hover } = useHands.getState();
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
