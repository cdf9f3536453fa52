import { useFrame, useThree } from "@react-three/fiber";
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import { BufferAttribute, BufferGeometry, DoubleSide, type Group, Vector3 } from "three";
import type { Vector } from "../net/messages";
import type { ColliderMesh, LiveScene } from "../state/live";
import { gather, splitCreases, vertexNormals } from "./geometry";
import { useStudio } from "../state/store";
import { setCollider } from "./colliderRegistry";
import { Grid, PlainGrid } from "./Grid";
import { SOLID } from "./DepthOccluders";
import { setPose, type Stage } from "./sceneExtent";

interface Props {
  scene: LiveScene;
  stage: Stage;
  dark: boolean;
}

/** The floor and other planes, spheres and meshes, and a grid for scale if there is no floor. */
export function Colliders({ scene, stage, dark }: Props) {
  const own = useStudio((s) => s.header?.tunnel?.colliders ?? Infinity); // obstacles of a plane flow are drawn as sketches
  return (
    <>
      {scene.colliders.slice(0, own).map((collider, number) => (
        <Placed key={`${scene.epoch}/${number}`} number={number} endless={collider.kind === "plane"}>
          <Posed scene={scene} number={number}>
          {collider.kind === "plane" && <PlaneGrid stage={stage} dark={dark} {...collider} />}
          {collider.kind === "sphere" && (
            <mesh position={collider.center} layers-mask={collider.inside ? 1 : SOLID} castShadow={!collider.inside} receiveShadow>
              <sphereGeometry args={[collider.radius, 64, 40]} />
              <Stone dark={dark} glass={collider.inside} />
            </mesh>
          )}
          {collider.kind === "mesh" && <MeshShape mesh={scene.meshes.get(number)} dark={dark} />}
          </Posed>
        </Placed>
      ))}
      {stage.gridHeight !== null && <PlainGrid stage={stage} height={stage.gridHeight} dark={dark} />}
    </>
  );
}

/** What the tools pick, place and hide. */
function Placed({ number, endless, children }: { number: number; endless: boolean; children: ReactNode }) {
  const hidden = useStudio((s) => s.hidden[`collider/${number}`] ?? false);
  const invalidate = useThree((s) => s.invalidate);
  useEffect(() => invalidate(), [hidden, invalidate]);
  return (
    <group ref={(group) => setCollider(number, group)} userData={{ endless }} visible={!hidden}>
      {children}
    </group>
  );
}

/** Puts what is inside where the collider has got to. */
function Posed({ scene, number, children }: { scene: LiveScene; number: number; children: ReactNode }) {
  const group = useRef<Group>(null);
  useFrame(() => {
    const pose = scene.poses[number];
    if (!pose || !group.current) return;
    setPose(group.current.matrix, pose);
    group.current.matrixWorldNeedsUpdate = true;
  });
  return (
    <group ref={group} matrixAutoUpdate={false}>
      {children}
    </group>
  );
}

function Stone({ dark, glass = false }: { dark: boolean; glass?: boolean }) {
  return (
    <meshStandardMaterial
      color={dark ? "#6c7686" : "#c3c8d1"}
      roughness={0.85}
      transparent={glass}
      opacity={glass ? 0.12 : 1}
      depthWrite={!glass}
      side={glass ? DoubleSide : undefined}
    />
  );
}

interface PlaneProps {
  stage: Stage;
  dark: boolean;
  point: Vector;
  normal: Vector;
}

function PlaneGrid({ stage, dark, point, normal }: PlaneProps) {
  const place = useMemo(
    () => ({ point: new Vector3(...point), normal: new Vector3(...normal).normalize() }),
    [point, normal],
  );
  return <Grid stage={stage} dark={dark} solid {...place} />;
}

function MeshShape({ mesh, dark }: { mesh: ColliderMesh | undefined; dark: boolean }) {
  const geometry = useMemo(() => mesh && geometryOf(mesh), [mesh]);
  useEffect(() => () => geometry?.dispose(), [geometry]);
  return geometry ? (
    <mesh geometry={geometry} layers-mask={SOLID} castShadow receiveShadow>
      <Stone dark={dark} />
    </mesh>
  ) : null;
}

function geometryOf({ points, triangles }: ColliderMesh): BufferGeometry {
  const { nodes, index } = splitCreases(points, triangles);
  const positions = new Float32Array(3 * nodes.length);
  const normals = new Float32Array(3 * nodes.length);
  gather(positions, nodes, points, 3);
  vertexNormals(normals, positions, index);
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.setAttribute("normal", new BufferAttribute(normals, 3));
  geometry.setIndex(new BufferAttribute(index, 1));
  return geometry;
}
