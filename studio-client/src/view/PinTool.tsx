import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useRef } from "react";
import { type Camera, type InstancedMesh, Matrix4, Raycaster, Vector2, Vector3 } from "three";
import { latestHeader, redraw, send } from "../state/studio";
import { useStudio } from "../state/store";
import { sizeAt } from "./PullTool";
import { pick } from "./surfaceRegistry";
import { onPointerFirst } from "./pointerCapture";

const MAX_PINS = 200;

/** A click on a body pins the nearest node, or releases it. */
export function PinTool() {
  const { gl, camera } = useThree();
  useEffect(() => attach(gl.domElement, camera), [gl, camera]);
  return <Pins />;
}

function attach(canvas: HTMLCanvasElement, camera: Camera): () => void {
  const raycaster = new Raycaster();
  const down = (event: PointerEvent) => {
    const { scene, viewTool } = useStudio.getState();
    if (viewTool !== "pin" || event.button !== 0 || !scene) return;
    const box = canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 2 - 1;
    const y = 1 - ((event.clientY - box.top) / box.height) * 2;
    raycaster.setFromCamera(new Vector2(x, y), camera);
    const hit = pick(raycaster.ray);
    const body = hit && scene.bodies[hit.body];
    if (!hit || !body) return; // the camera rotates
    event.stopImmediatePropagation();
    event.preventDefault();
    const corner = hit.barycentric.indexOf(Math.max(...hit.barycentric));
    const node = body.nodes[body.triangles[3 * hit.triangle + corner]];
    send({ type: "pin_node", body: body.info.name, node });
  };
  return onPointerFirst(canvas, { pointerdown: down });
}

const matrix = new Matrix4();
const position = new Vector3();

/** The pinned nodes. */
function Pins() {
  const mesh = useRef<InstancedMesh>(null);
  const count = useStudio((s) => s.header?.pinned.length ?? 0);
  useFrame(({ camera, size }) => {
    const { scene } = useStudio.getState();
    const pinned = latestHeader()?.pinned ?? [];
    if (!mesh.current || !scene) return;
    mesh.current.count = Math.min(pinned.length, MAX_PINS);
    pinned.slice(0, MAX_PINS).forEach(([name, node], index) => {
      const body = scene.bodies.find(({ info }) => info.name === name);
      const at = body ? body.nodes.indexOf(node) : -1;
      if (!body || at < 0) return;
      position.fromArray(body.positions, 3 * at);
      const radius = sizeAt(position, camera, size.height, 6);
      mesh.current?.setMatrixAt(index, matrix.makeScale(radius, radius, radius).setPosition(position));
    });
    mesh.current.instanceMatrix.needsUpdate = true;
  });
  useEffect(() => redraw(), [count]);
  if (count === 0) return null;
  return (
    <instancedMesh ref={mesh} args={[undefined, undefined, MAX_PINS]} frustumCulled={false} renderOrder={9}>
      <sphereGeometry args={[1, 16, 12]} />
      <meshBasicMaterial color="#d6336c" depthTest={false} transparent toneMapped={false} />
    </instancedMesh>
  );
}
