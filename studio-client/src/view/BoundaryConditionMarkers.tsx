import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo, useRef } from "react";
import {
  BufferGeometry,
  ConeGeometry,
  CylinderGeometry,
  type InstancedMesh,
  Matrix4,
  OctahedronGeometry,
  Quaternion,
  Vector3,
} from "three";
import { mergeGeometries } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import type { BoundaryConditionInfo } from "../net/messages";
import { type LiveScene, shownPositions } from "../state/live";
import { latestHeader } from "../state/studio";
import { useStudio } from "../state/store";
import { boundaryConditionColors } from "./colors";
import { surfaceOf } from "./surfaceRegistry";

interface Props {
  scene: LiveScene;
  /** Size of the scene [m]. */
  size: number;
  dark: boolean;
}

/** Pins and driven nodes as dots, locks as bars along their direction, loads as arrows, springs as lines. */
export function BoundaryConditionMarkers({ scene, size, dark }: Props) {
  const shown = useStudio((s) => s.markers);
  const panel = useStudio((s) => s.panel);
  const invalidate = useThree((s) => s.invalidate);
  const shapes = useMemo(() => ({ dot: new OctahedronGeometry(1), bar: new CylinderGeometry(1, 1, 1, 8), arrow: arrow() }), []);
  useEffect(() => invalidate(), [shown, panel, invalidate]);
  if (!shown || !panel) return null;
  return (
    <>
      {panel.bodies.flatMap(({ boundaryConditions }, body) =>
        boundaryConditions.map((condition) => (
          <Marker
            key={`${scene.epoch}/${condition.key}`}
            scene={scene}
            body={body}
            condition={condition}
            size={size}
            color={boundaryConditionColors(dark)[condition.kind]}
            geometry={condition.kind === "load" ? shapes.arrow : condition.kind === "pin" || condition.kind === "drive" ? shapes.dot : shapes.bar}
          />
        )),
      )}
    </>
  );
}

/** An arrow of length 1 along y that starts at the origin. */
export function arrow(): BufferGeometry {
  const shaft = new CylinderGeometry(0.035, 0.035, 0.7, 8).translate(0, 0.35, 0);
  const head = new ConeGeometry(0.11, 0.3, 12).translate(0, 0.85, 0);
  return mergeGeometries([shaft, head]);
}

interface MarkProps {
  scene: LiveScene;
  body: number;
  condition: BoundaryConditionInfo;
  size: number;
  color: string;
  geometry: BufferGeometry;
}

const NO_NODES = new Uint32Array();
const UP = new Vector3(0, 1, 0);
const position = new Vector3();
const direction = new Vector3();
const scale = new Vector3();
const rotation = new Quaternion();
const matrix = new Matrix4();

function Marker({ scene, body, condition, size, color, geometry }: MarkProps) {
  const mesh = useRef<InstancedMesh>(null);
  const largest = useRef(0);
  const nodes = scene.markers.get(condition.key) ?? NO_NODES;
  const count = condition.kind === "pull" ? 1 : nodes.length;
  const drawn = useMemo(() => new Set(scene.bodies[body]?.triangles), [scene, body]);

  useFrame(() => {
    const target = mesh.current;
    const header = latestHeader();
    if (!target) return;
    target.visible = header !== null && (condition.key in header.forces || header.step === 0);
    if (!target.visible || !header) return;
    largest.current = Math.max(largest.current, header.magnitudes[condition.key] ?? 0);
    const share = (header.magnitudes[condition.key] ?? 0) / (largest.current || 1);
    const { exaggeration } = useStudio.getState();
    for (let i = 0; i < count; i++) {
      position.fromArray(shownPositions(scene.bodies[body], exaggeration), 3 * nodes[i]);
      switch (condition.kind) {
        case "load":
          setArrow(i, share);
          break;
        case "lock":
          setDirection(...(condition.direction ?? [0, 1, 0]), 0.07 * size, 0.006 * size);
          break;
        case "pull":
          setSpring();
          break;
        default:
          rotation.identity();
          scale.setScalar(0.012 * size);
      }
      if (condition.kind !== "pull" && !drawn.has(nodes[i])) scale.setScalar(0); // hidden by the clip plane
      target.setMatrixAt(i, matrix.compose(position, rotation, scale));
    }
    target.instanceMatrix.needsUpdate = true;
  });

  /** Rotate y to a direction, and set length and width. */
  const setDirection = (x: number, y: number, z: number, length: number, width: number) => {
    direction.set(x, y, z).normalize();
    rotation.setFromUnitVectors(UP, direction);
    scale.set(width, length, width);
  };

  /** An arrow into the body ends at its node, one out of it starts there, so that both are visible. */
  const setArrow = (i: number, share: number) => {
    const forces = scene.arrows.get(condition.key);
    const length = 0.16 * size * Math.sqrt(share);
    const [x, y, z] = forces ? forces.subarray(3 * i, 3 * i + 3) : [0, 0, 0];
    const width = x || y || z ? 0.16 * size * Math.max(Math.sqrt(share), 0.3) : 0;
    setDirection(x, y, z, width && length, width);
    const normal = surfaceOf(body)?.normal(nodes[i]);
    if (normal && normal.dot(direction) < 0) position.addScaledVector(direction, -length);
  };

  const setSpring = () => {
    const [ax, ay, az, bx, by, bz] = scene.springs.get(condition.key) ?? [0, 0, 0, 0, 0, 0];
    position.set((ax + bx) / 2, (ay + by) / 2, (az + bz) / 2);
    const [x, y, z] = [bx - ax, by - ay, bz - az];
    setDirection(x, y, z, Math.hypot(x, y, z), 0.006 * size);
  };

  return count > 0 ? (
    <instancedMesh ref={mesh} args={[geometry, undefined, count]} frustumCulled={false}>
      <meshStandardMaterial color={color} roughness={0.6} />
    </instancedMesh>
  ) : null;
}
