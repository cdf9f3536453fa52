import { useFrame, useThree } from "@react-three/fiber";
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import { BufferAttribute, BufferGeometry, DoubleSide, type Group, Vector3 } from "three";
import type { Vector } from "../net/messages";
import type { ColliderMesh, LiveScene } from "../state/live";
import { gather, splitCreases, vertexNormals } from "./geometry";
import { useStudio } from "../state/store";
import { setCollider } from "./colliderRegistry";
import { Grid, PlainGrid } from "./Grid";
import { OCCLUDER_LAYERS } from "./DepthOccluders";
import { setPose, type SceneExtent } from "./sceneExtent";

interface Props {
  scene: LiveScene;
  extent: SceneExtent;
  dark: boolean;
}

/** Planes, spheres and meshes, and a grid for scale if there is no ground plane. */
export function Colliders({ scene, extent, dark }: Props) {
  const count = useStudio((s) => s.header?.planeFlow?.colliderCount ?? Infinity); // obstacles of a 2D flow are drawn as sketches
  return (
    <>
      {scene.colliders.slice(0, count).map((collider, number) => (
        <ColliderGroup key={`${scene.epoch}/${number}`} number={number} infinite={collider.kind === "plane"}>
          <Posed scene={scene} number={number}>
          {collider.kind === "plane" && <PlaneGrid extent={extent} dark={dark} {...collider} />}
          {collider.kind === "sphere" && (
            <mesh position={collider.center} layers-mask={collider.inside ? 1 : OCCLUDER_LAYERS} castShadow={!collider.inside} receiveShadow>
              <sphereGeometry args={[collider.radius, 64, 40]} />
              <ColliderMaterial dark={dark} transparent={collider.inside} />
            </mesh>
          )}
          {collider.kind === "mesh" && <MeshShape mesh={scene.meshes.get(number)} dark={dark} />}
          </Posed>
        </ColliderGroup>
      ))}
      {extent.gridHeight !== null && <PlainGrid extent={extent} height={extent.gridHeight} dark={dark} />}
    </>
  );
}

/** The group that the tools pick, move and hide. */
function ColliderGroup({ number, infinite, children }: { number: number; infinite: boolean; children: ReactNode }) {
  const hidden = useStudio((s) => s.hidden[`collider/${number}`] ?? false);
  const invalidate = useThree((s) => s.invalidate);
  useEffect(() => invalidate(), [hidden, invalidate]);
  return (
    <group ref={(group) => setCollider(number, group)} userData={{ infinite }} visible={!hidden}>
      {children}
    </group>
  );
}

/** Applies the current pose of a collider. */
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

function ColliderMaterial({ dark, transparent = false }: { dark: boolean; transparent?: boolean }) {
  return (
    <meshStandardMaterial
      color={dark ? "#6c7686" : "#c3c8d1"}
      roughness={0.85}
      transparent={transparent}
      opacity={transparent ? 0.12 : 1}
      depthWrite={!transparent}
      side={transparent ? DoubleSide : undefined}
    />
  );
}

interface PlaneProps {
  extent: SceneExtent;
  dark: boolean;
  point: Vector;
  normal: Vector;
}

function PlaneGrid({ extent, dark, point, normal }: PlaneProps) {
  const plane = useMemo(
    () => ({ point: new Vector3(...point), normal: new Vector3(...normal).normalize() }),
    [point, normal],
  );
  return <Grid extent={extent} dark={dark} solid {...plane} />;
}

function MeshShape({ mesh, dark }: { mesh: ColliderMesh | undefined; dark: boolean }) {
  const geometry = useMemo(() => mesh && geometryOf(mesh), [mesh]);
  useEffect(() => () => geometry?.dispose(), [geometry]);
  return geometry ? (
    <mesh geometry={geometry} layers-mask={OCCLUDER_LAYERS} castShadow receiveShadow>
      <ColliderMaterial dark={dark} />
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
