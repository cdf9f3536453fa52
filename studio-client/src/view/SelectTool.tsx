import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo, useState } from "react";
import { BufferAttribute, BufferGeometry, type Camera, Raycaster, Sphere, Vector2 } from "three";
import { editing, entries, isEditing, select } from "../state/document";
import { redraw } from "../state/studio";
import { useStudio } from "../state/store";
import { colliderAt } from "./colliderRegistry";
import { gizmoHolds } from "./Gizmo";
import { holding } from "./PokeTool";
import { pressing } from "./PressTool";
import { choose, nodeAt, nodesInside, rectOf } from "./picking";
import { pick } from "./surfaceRegistry";
import { hearFirst } from "./pointerCapture";

const CLICK = 4; // px that the mouse may move in a click

interface Box {
  ax: number;
  ay: number;
  bx: number;
  by: number;
}

/** While nothing runs: a click selects what it hits, and with the tool for nodes a drag chooses those in a box. */
export function SelectTool() {
  const { gl, camera } = useThree();
  const [box, setBox] = useState<Box | null>(null);
  useEffect(() => attach(gl.domElement, camera, setBox), [gl, camera]);
  useEffect(() => drawBox(gl.domElement, box), [gl, box]);
  return <NodeMarks />;
}

/** The rectangle that is being drawn, over the view. */
function drawBox(canvas: HTMLCanvasElement, box: Box | null): (() => void) | undefined {
  if (!box) return undefined;
  const rect = rectOf(box.ax, box.ay, box.bx, box.by);
  const mark = document.createElement("div");
  mark.className = "box-mark";
  Object.assign(mark.style, {
    left: `${rect.left}px`,
    top: `${rect.top}px`,
    width: `${rect.right - rect.left}px`,
    height: `${rect.bottom - rect.top}px`,
  });
  canvas.parentElement?.append(mark);
  return () => mark.remove();
}

/** The soft body whose nodes are chosen: the selected one. */
function nodeBody(): number {
  const { selected, paper, scene } = useStudio.getState();
  const [list, number] = selected;
  if (list !== "bodies" || typeof number !== "number") return -1;
  const name = entries(paper?.data, "bodies")[number]?.name;
  return scene?.bodies.findIndex(({ info }) => info.name === name && info.kind === "soft") ?? -1;
}

function attach(canvas: HTMLCanvasElement, camera: Camera, show: (box: Box | null) => void): () => void {
  const raycaster = new Raycaster();
  let start: { x: number; y: number; id: number; boxing: boolean } | null = null;

  const place = (event: PointerEvent) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top, width, height };
  };

  const ray = (event: PointerEvent) => {
    const { x, y, width, height } = place(event);
    raycaster.setFromCamera(new Vector2((2 * x) / width - 1, 1 - (2 * y) / height), camera);
    return raycaster;
  };

  const down = (event: PointerEvent) => {
    start = null;
    if (event.button !== 0 || event.target !== canvas || !isEditing() || gizmoHolds() || pressing() || holding()) return;
    const { x, y } = place(event);
    const boxing = useStudio.getState().viewTool === "nodes" && nodeBody() >= 0;
    start = { x, y, id: event.pointerId, boxing };
    if (!boxing) return;
    event.stopImmediatePropagation(); // the camera stays where it is
    canvas.setPointerCapture(event.pointerId);
  };

  const move = (event: PointerEvent) => {
    if (!start?.boxing || event.pointerId !== start.id) return;
    event.stopImmediatePropagation();
    const { x, y } = place(event);
    show({ ax: start.x, ay: start.y, bx: x, by: y });
  };

  const up = (event: PointerEvent) => {
    const began = start;
    start = null;
    show(null);
    if (!began || event.pointerId !== began.id) return;
    const { x, y, ...size } = place(event);
    const still = Math.hypot(x - began.x, y - began.y) <= CLICK;
    if (began.boxing) {
      event.stopImmediatePropagation();
      pickNodes(camera, size, still ? null : rectOf(began.x, began.y, x, y), x, y, event.shiftKey);
    } else if (still && !gizmoHolds()) selectAt(ray(event));
  };

  return hearFirst(canvas, { pointerdown: down, pointermove: move, pointerup: up });
}

function pickNodes(
  camera: Camera,
  size: { width: number; height: number },
  rect: ReturnType<typeof rectOf> | null,
  x: number,
  y: number,
  add: boolean,
): void {
  const { scene, chosen } = useStudio.getState();
  const body = scene?.bodies[nodeBody()];
  if (!body) return;
  const one = rect ? null : nodeAt(body.positions, camera, size, x, y);
  const found = rect ? nodesInside(body.positions, camera, size, rect) : one === null ? [] : [one];
  const before = chosen?.body === body.info.name ? chosen.nodes : [];
  const nodes = choose(before, found, add);
  useStudio.setState({ chosen: nodes.length ? { body: body.info.name, nodes } : null, tab: "edit" });
  redraw();
}

function selectAt(raycaster: Raycaster): void {
  const { paper, scene } = useStudio.getState();
  const hit = pick(raycaster.ray);
  const wall = colliderAt(raycaster);
  if (hit && (!wall || hit.distance <= wall.distance)) {
    const name = scene?.bodies[hit.body]?.info.name;
    const number = entries(paper?.data, "bodies").findIndex((body) => body.name === name);
    if (number >= 0) select(["bodies", number]);
  } else if (wall) select(["colliders", wall.number]);
  else select([]);
  redraw();
}

/** All nodes of the selected body while nodes are chosen, and those that are, larger. */
function NodeMarks() {
  const scene = useStudio((s) => s.scene);
  const chosen = useStudio((s) => s.chosen);
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
      [some, chosen?.body === body.info.name ? chosen.nodes : []],
    ] as const) {
      const values = nodes ? Float32Array.from(nodes.flatMap((n) => [...body.positions.subarray(3 * n, 3 * n + 3)])) : body.positions;
      geometry.setAttribute("position", new BufferAttribute(values, 3));
      geometry.boundingSphere = new Sphere(undefined, Infinity);
    }
  });
  if (!body || !active || (tool !== "nodes" && !chosen)) return null;
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
