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

const LONG = 0.4; // arrow of a large force, as a part of the scene's size
const CALM = 0.98; // the scale of arrows comes back by this factor a frame after a hit
const UP = new Vector3(0, 1, 0);
const place = new Vector3();
const way = new Vector3();
const scale = new Vector3();
const turn = new Quaternion();
const matrix = new Matrix4();

/** A mesh with an instance for each six numbers of a list; `put` sets `turn` and `scale` from `place` and `way`. */
function useInstances(list: () => Float32Array, put: () => void) {
  const mesh = useRef<InstancedMesh>(null);
  const [room, setRoom] = useState(256);
  useFrame(() => {
    const target = mesh.current;
    const numbers = list();
    const count = numbers.length / 6;
    if (count > room) setRoom(2 * count);
    if (!target) return;
    target.count = Math.min(count, room);
    for (let i = 0; i < target.count; i++) {
      place.fromArray(numbers, 6 * i);
      way.fromArray(numbers, 6 * i + 3);
      put();
      target.setMatrixAt(i, matrix.compose(place, turn, scale));
    }
    target.instanceMatrix.needsUpdate = true;
  });
  return { mesh, room };
}

/** Turn y to `way`, and return how long it is. */
function turnAlong(): number {
  const length = way.length();
  if (length > 0) turn.setFromUnitVectors(UP, way.divideScalar(length));
  return length;
}

/** Arrows of the contact forces on all bodies, drawn over everything: most of them point into a body. */
export function ContactForces({ scene, size, dark }: Props) {
  const largest = useRef(0);
  const geometry = useMemo(arrow, []);
  const list = () => {
    const { pressed } = scene;
    let top = CALM * largest.current;
    for (let i = 3; i < pressed.length; i += 6) top = Math.max(top, Math.hypot(pressed[i], pressed[i + 1], pressed[i + 2]));
    largest.current = top;
    return pressed;
  };
  const { mesh, room } = useInstances(list, () => {
    const length = (LONG * size * turnAlong()) / (largest.current || 1);
    const width = Math.min(length, 0.16 * size);
    scale.set(width, length, width);
  });
  return (
    <instancedMesh key={room} ref={mesh} args={[geometry, undefined, room]} count={0} frustumCulled={false} renderOrder={10}>
      <meshBasicMaterial color={dark ? "#ff6f91" : "#be1642"} depthTest={false} transparent opacity={0.85} />
    </instancedMesh>
  );
}

/** A thin rod from each joint to the centre of each of its bodies. */
export function JointLines({ scene, size, dark }: Props) {
  const geometry = useMemo(() => new CylinderGeometry(1, 1, 1, 10).translate(0, 0.5, 0), []);
  const { mesh, room } = useInstances(
    () => scene.joints,
    () => {
      way.sub(place);
      scale.set(0.005 * size, turnAlong(), 0.005 * size);
    },
  );
  return (
    <instancedMesh key={room} ref={mesh} args={[geometry, undefined, room]} count={0} frustumCulled={false} castShadow>
      <meshStandardMaterial color={dark ? "#aab4c4" : "#4c545f"} roughness={0.5} />
    </instancedMesh>
  );
}
