import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo, useState } from "react";
import { BufferAttribute, BufferGeometry, type Camera, Raycaster, Sphere, Vector2 } from "three";
import { editing, entries, isEditing, select } from "../state/document";
import { redraw } from "../state/studio";
import { useStudio } from "../state/store";
import { colliderAt } from "./colliderRegistry";
import { gizmoActive } from "./Gizmo";
import { probeOrPinActive } from "./PokeTool";
import { pressToolActive } from "./PressTool";
import { combineSelection, nodeAt, nodesInside, rectOf } from "./picking";
import { pick } from "./surfaceRegistry";
import { onPointerFirst } from "./pointerCapture";

const CLICK = 4; // px that the mouse may move during a click

interface Box {
  ax: number;
  ay: number;
  bx: number;
  by: number;
}

/** While paused at the start: a click selects an object, and with the node tool a drag selects nodes in a box. */
export function SelectTool() {
  const { gl, camera } = useThree();
  const [box, setBox] = useState<Box | null>(null);
  useEffect(() => attach(gl.domElement, camera, setBox), [gl, camera]);
  useEffect(() => drawBox(gl.domElement, box), [gl, box]);
  return <NodeMarkers />;
}

/** The selection rectangle over the view. */
function drawBox(canvas: HTMLCanvasElement, box: Box | null): (() => void) | undefined {
  if (!box) return undefined;
  const rect = rectOf(box.ax, box.ay, box.bx, box.by);
  const marker = document.createElement("div");
  marker.className = "selection-box";
  Object.assign(marker.style, {
    left: `${rect.left}px`,
    top: `${rect.top}px`,
    width: `${rect.right - rect.left}px`,
    height: `${rect.bottom - rect.top}px`,
  });
  canvas.parentElement?.append(marker);
  return () => marker.remove();
}

/** The soft body whose nodes can be selected: the selected one. */
function nodeBody(): number {
  const { selected, sceneDocument, scene } = useStudio.getState();
  const [list, number] = selected;
  if (list !== "bodies" || typeof number !== "number") return -1;
  const name = entries(sceneDocument?.data, "bodies")[number]?.name;
  return scene?.bodies.findIndex(({ info }) => info.name === name && info.kind === "soft") ?? -1;
}

function attach(canvas: HTMLCanvasElement, camera: Camera, show: (box: Box | null) => void): () => void {
  const raycaster = new Raycaster();
  let start: { x: number; y: number; id: number; boxing: boolean } | null = null;

  const locate = (event: PointerEvent) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top, width, height };
  };

  const ray = (event: PointerEvent) => {
    const { x, y, width, height } = locate(event);
    raycaster.setFromCamera(new Vector2((2 * x) / width - 1, 1 - (2 * y) / height), camera);
    return raycaster;
  };

  const down = (event: PointerEvent) => {
    start = null;
    if (event.button !== 0 || event.target !== canvas || !isEditing() || gizmoActive() || pressToolActive() || probeOrPinActive()) return;
    const { x, y } = locate(event);
    const boxing = useStudio.getState().viewTool === "nodes" && nodeBody() >= 0;
    start = { x, y, id: event.pointerId, boxing };
    if (!boxing) return;
    event.stopImmediatePropagation(); // the camera must not move
    canvas.setPointerCapture(event.pointerId);
  };

  const move = (event: PointerEvent) => {
    if (!start?.boxing || event.pointerId !== start.id) return;
    event.stopImmediatePropagation();
    const { x, y } = locate(event);
    show({ ax: start.x, ay: start.y, bx: x, by: y });
  };

  const up = (event: PointerEvent) => {
    const began = start;
    start = null;
    show(null);
    if (!began || event.pointerId !== began.id) return;
    const { x, y, ...size } = locate(event);
    const still = Math.hypot(x - began.x, y - began.y) <= CLICK;
    if (began.boxing) {
      event.stopImmediatePropagation();
      pickNodes(camera, size, still ? null : rectOf(began.x, began.y, x, y), x, y, event.shiftKey);
    } else if (still && !gizmoActive()) selectAt(ray(event));
  };

  return onPointerFirst(canvas, { pointerdown: down, pointermove: move, pointerup: up });
}

function pickNodes(
  camera: Camera,
  size: { width: number; height: number },
  rect: ReturnType<typeof rectOf> | null,
  x: number,
  y: number,
  add: boolean,
): void {
  const { scene, nodeSelection } = useStudio.getState();
  const body = scene?.bodies[nodeBody()];
  if (!body) return;
  const one = rect ? null : nodeAt(body.positions, camera, size, x, y);
  const found = rect ? nodesInside(body.positions, camera, size, rect) : one === null ? [] : [one];
  const before = nodeSelection?.body === body.info.name ? nodeSelection.nodes : [];
  const nodes = combineSelection(before, found, add);
  useStudio.setState({ nodeSelection: nodes.length ? { body: body.info.name, nodes } : null, tab: "edit" });
  redraw();
}

function selectAt(raycaster: Raycaster): void {
  const { sceneDocument, scene } = useStudio.getState();
  const hit = pick(raycaster.ray);
  const collider = colliderAt(raycaster);
  if (hit && (!collider || hit.distance <= collider.distance)) {
    const name = scene?.bodies[hit.body]?.info.name;
    const number = entries(sceneDocument?.data, "bodies").findIndex((body) => body.name === name);
    if (number >= 0) select(["bodies", number]);
  } else if (collider) select(["colliders", collider.number]);
  else select([]);
  redraw();
}

/** All nodes of the selected body while the node tool is active, and larger the selected ones. */
function NodeMarkers() {
  const scene = useStudio((s) => s.scene);
  const nodeSelection = useStudio((s) => s.nodeSelection);
  const tool = useStudio((s) => s.viewTool);
  const selected = useStudio((s) => s.selected);
  const active = useStudio(editing);
  const number = useMemo(nodeBody, [scene, selected]);
  const body = scene?.bodies[number];
  const all = useMemo(() => new BufferGeometry(), []);
  const some = useMemo(() => new BufferGeometry(), []);
  useFrame(() => {
    if (!body) return;
    for (const [geometry, nodes] of [
      [all, null],
      [some, nodeSelection?.body === body.info.name ? nodeSelection.nodes : []],
    ] as const) {
      const values = nodes ? Float32Array.from(nodes.flatMap((n) => [...body.positions.subarray(3 * n, 3 * n + 3)])) : body.positions;
      geometry.setAttribute("position", new BufferAttribute(values, 3));
      geometry.boundingSphere = new Sphere(undefined, Infinity);
    }
  });
  if (!body || !active || (tool !== "nodes" && !nodeSelection)) return null;
  return (
    <>
      {tool === "nodes" && (
        <points geometry={all} frustumCulled={false} renderOrder={5}>
          <pointsMaterial size={5} sizeAttenuation={false} color="#1f9e5a" depthTest={false} transparent opacity={0.75} />
        </points>
      )}
      <points geometry={some} frustumCulled={false} renderOrder={6}>
        <pointsMaterial size={11} sizeAttenuation={false} color="#12b5d6" depthTest={false} transparent />
      </points>
    </>
  );
}
