import { TransformControls } from "@react-three/drei";
import { useThree } from "@react-three/fiber";
import { type ComponentRef, useEffect, useMemo, useRef, useState } from "react";
import { Box3, Group, Matrix4, Quaternion, Vector3 } from "three";
import { similarityAbout, transformedEntry, type Similarity } from "../lib/transform";
import type { Entry } from "../net/messages";
import type { LiveScene } from "../state/live";
import { edit, editing, pathText, selectedEntry } from "../state/document";
import { redraw } from "../state/studio";
import { useStudio } from "../state/store";
import { bodyGroup } from "./surfaceRegistry";
import { colliderGroup } from "./colliderRegistry";

type Controls = ComponentRef<typeof TransformControls>;

let controls: Controls | null = null;

/** Whether the mouse is over the gizmo or drags it. */
export function gizmoActive(): boolean {
  const current = controls as unknown as { dragging: boolean; axis: string | null } | null;
  return Boolean(current && (current.dragging || current.axis));
}

/** The axis of the gizmo under the mouse, or null. */
export const gizmoAxis = (): string | null => (controls as unknown as { axis: string | null } | null)?.axis ?? null;

const MODES = { move: "translate", rotate: "rotate", scale: "scale" } as const;

const VERBS = { translate: "moving", rotate: "rotating", scale: "scaling" };

/** The group that the gizmo moves, and its centre. */
function target(scene: LiveScene): { group: Group; center: Vector3 } | null {
  const found = selectedEntry();
  if (!found) return null;
  const box = new Box3();
  if (found.list === "bodies") {
    const number = scene.bodies.findIndex(({ info }) => info.name === found.entry.name);
    const group = bodyGroup(number);
    if (!group) return null;
    const block = found.entry.block as Entry | undefined;
    if (block) box.setFromArray([...(block.min as number[]), ...(block.max as number[])]);
    else box.setFromArray(scene.bodies[number].rest as unknown as number[]);
    return { group, center: box.getCenter(new Vector3()) };
  }
  if (found.list !== "colliders") return null;
  const group = colliderGroup(found.number);
  if (!group) return null;
  if (found.entry.type === "plane") return { group: group as Group, center: new Vector3(...((found.entry.point ?? [0, 0, 0]) as [number, number, number])) };
  box.setFromObject(group);
  return { group: group as Group, center: box.getCenter(new Vector3()) };
}

/** Transform controls of the selected object; releasing them writes its new transform to the scene. */
export function Gizmo({ scene }: { scene: LiveScene }) {
  const tool = useStudio((s) => s.viewTool);
  const selected = useStudio((s) => pathText(s.selected));
  const active = useStudio((s) => editing(s) && !s.world?.busy);
  const version = useStudio((s) => s.sceneDocument?.version);
  const shown = useStudio((s) => s.scene?.bodies.length);
  if (!active || !selected || !(tool in MODES)) return null;
  return <TransformGizmo key={`${scene.epoch}/${selected}/${version}/${shown}`} scene={scene} mode={MODES[tool as keyof typeof MODES]} />;
}

function TransformGizmo({ scene, mode }: { scene: LiveScene; mode: (typeof MODES)[keyof typeof MODES] }) {
  const invalidate = useThree((s) => s.invalidate);
  const proxy = useMemo(() => new Group(), []);
  const ref = useRef<Controls>(null);
  const [ready, setReady] = useState(false);
  const targetRef = useRef<{ group: Group; center: Vector3 } | null>(null);

  useEffect(() => {
    // groups register themselves in effects, so the gizmo comes after them
    targetRef.current = target(scene);
    if (targetRef.current) proxy.position.copy(targetRef.current.center);
    setReady(targetRef.current !== null);
    invalidate();
  }, [scene, proxy, invalidate]);

  useEffect(() => {
    controls = ref.current;
    return () => {
      controls = null;
    };
  });

  const similarity = (): Similarity | null => {
    if (!targetRef.current) return null;
    const { center } = targetRef.current;
    const { x, y, z } = proxy.scale;
    const parts = [x, y, z].map((part) => Math.max(part, 0.01));
    const scale = parts.reduce((far, part) => (Math.abs(Math.log(part)) > Math.abs(Math.log(far)) ? part : far), 1);
    return similarityAbout(center, proxy.position.clone().sub(center), proxy.quaternion, scale);
  };

  const preview = () => {
    const map = similarity();
    if (!map || !targetRef.current) return;
    const { group } = targetRef.current;
    group.matrixAutoUpdate = false;
    group.matrix.compose(map.translation, map.rotation, new Vector3().setScalar(map.scale));
    group.matrixWorldNeedsUpdate = true;
    redraw();
  };

  const finish = () => {
    const map = similarity();
    const found = selectedEntry();
    if (!map || !found) return;
    const moved = map.translation.length() > 1e-9 || map.scale !== 1 || Math.abs(map.rotation.w) < 1 - 1e-9;
    if (!moved) return;
    const made = transformedEntry(found.entry, found.list, map);
    const path = [found.list, found.number];
    const changes = Object.entries(made).map(([key, value]) => ({ op: "set" as const, path: [...path, key], value }));
    edit(changes, `${VERBS[mode]} ${String(found.entry.name ?? "")}`);
  };

  useEffect(
    () => () => {
      const group = targetRef.current?.group;
      if (!group) return;
      group.matrix.copy(new Matrix4());
      group.matrixWorldNeedsUpdate = true;
      proxy.quaternion.copy(new Quaternion());
    },
    [proxy],
  );

  return (
    <>
      <primitive object={proxy} />
      {ready && (
        <TransformControls ref={ref} object={proxy} mode={mode} size={0.8} onObjectChange={preview} onMouseUp={finish} />
      )}
    </>
  );
}
