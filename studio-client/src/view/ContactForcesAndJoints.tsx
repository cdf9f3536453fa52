import { useFrame } from "@react-three/fiber";
import { useMemo, useRef, useState } from "react";
import { CylinderGeometry, type InstancedMesh, Matrix4, Quaternion, Vector3 } from "three";
import type { LiveScene } from "../state/live";
import { arrow } from "./BoundaryConditionMarkers";

interface Props {
  scene: LiveScene;
  /** Size of the scene [m]. */
  size: number;
  dark: boolean;
}

const ARROW_LENGTH = 0.4; // of the largest force, relative to the scene's size
const SCALE_DECAY = 0.98; // the arrow scale decays by this factor per frame after an impact
const UP = new Vector3(0, 1, 0);
const position = new Vector3();
const vector = new Vector3();
const scale = new Vector3();
const rotation = new Quaternion();
const matrix = new Matrix4();

/** An instanced mesh with one instance per six numbers; `setInstance` sets `rotation` and `scale` from `position` and `vector`. */
function useInstances(list: () => Float32Array, setInstance: () => void) {
  const mesh = useRef<InstancedMesh>(null);
  const [capacity, setCapacity] = useState(256);
  useFrame(() => {
    const target = mesh.current;
    const numbers = list();
    const count = numbers.length / 6;
    if (count > capacity) setCapacity(2 * count);
    if (!target) return;
    target.count = Math.min(count, capacity);
    for (let i = 0; i < target.count; i++) {
      position.fromArray(numbers, 6 * i);
      vector.fromArray(numbers, 6 * i + 3);
      setInstance();
      target.setMatrixAt(i, matrix.compose(position, rotation, scale));
    }
    target.instanceMatrix.needsUpdate = true;
  });
  return { mesh, capacity };
}

/** Rotate y to `vector`, and return its length. */
function rotateAlong(): number {
  const length = vector.length();
  if (length > 0) rotation.setFromUnitVectors(UP, vector.divideScalar(length));
  return length;
}

/** Arrows of the contact forces on all bodies, drawn over everything, because most of them point into a body. */
export function ContactForces({ scene, size, dark }: Props) {
  const largest = useRef(0);
  const geometry = useMemo(arrow, []);
  const list = () => {
    const { contactForces } = scene;
    let maximum = SCALE_DECAY * largest.current;
    for (let i = 3; i < contactForces.length; i += 6) maximum = Math.max(maximum, Math.hypot(contactForces[i], contactForces[i + 1], contactForces[i + 2]));
    largest.current = maximum;
    return contactForces;
  };
  const { mesh, capacity } = useInstances(list, () => {
    const length = (ARROW_LENGTH * size * rotateAlong()) / (largest.current || 1);
    const width = Math.min(length, 0.16 * size);
    scale.set(width, length, width);
  });
  return (
    <instancedMesh key={capacity} ref={mesh} args={[geometry, undefined, capacity]} count={0} frustumCulled={false} renderOrder={10}>
      <meshBasicMaterial color={dark ? "#ff6f91" : "#be1642"} depthTest={false} transparent opacity={0.85} />
    </instancedMesh>
  );
}

/** A thin rod from each joint to the centre of each of its bodies. */
export function JointLines({ scene, size, dark }: Props) {
  const geometry = useMemo(() => new CylinderGeometry(1, 1, 1, 10).translate(0, 0.5, 0), []);
  const { mesh, capacity } = useInstances(
    () => scene.joints,
    () => {
      vector.sub(position);
      scale.set(0.005 * size, rotateAlong(), 0.005 * size);
    },
  );
  return (
    <instancedMesh key={capacity} ref={mesh} args={[geometry, undefined, capacity]} count={0} frustumCulled={false} castShadow>
      <meshStandardMaterial color={dark ? "#aab4c4" : "#4c545f"} roughness={0.5} />
    </instancedMesh>
  );
}
