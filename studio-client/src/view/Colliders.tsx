import { useFrame, useThree } from "@react-three/fiber";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { BufferAttribute, BufferGeometry, Color, DoubleSide, type Group, type Texture, Vector3 } from "three";
import type { TextureInfo, Vector } from "../net/messages";
import type { ColliderMesh, LiveScene } from "../state/live";
import { gather, splitCreases, splitSeams, vertexNormals } from "./geometry";
import { textureOf } from "./textures";
import { useStudio } from "../state/store";
import { setCollider } from "./colliderRegistry";
import { Grid, PlainGrid } from "./Grid";
import { OCCLUDES_AND_CASTS } from "./layers";
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
            <mesh position={collider.center} layers-mask={collider.inside ? 1 : OCCLUDES_AND_CASTS} castShadow={!collider.inside} receiveShadow>
              <sphereGeometry args={[collider.radius, 64, 40]} />
              <ColliderMaterial dark={dark} transparent={collider.inside} />
            </mesh>
          )}
          {collider.kind === "mesh" && <MeshShape mesh={scene.meshes.get(number)} texture={collider.texture} dark={dark} />}
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

/** Puts colliders slightly behind what lies on them: the triangles of cloth on a ball cut its surface by a fraction of a millimetre. */
const BEHIND = { polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 64 };

function ColliderMaterial({ dark, transparent = false }: { dark: boolean; transparent?: boolean }) {
  return (
    <meshStandardMaterial
      color={dark ? "#6c7686" : "#c3c8d1"}
      roughness={0.85}
      transparent={transparent}
      opacity={transparent ? 0.12 : 1}
      depthWrite={!transparent}
      side={transparent ? DoubleSide : undefined}
      {...BEHIND}
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

interface MeshShapeProps {
  mesh: ColliderMesh | undefined;
  texture: TextureInfo | null | undefined;
  dark: boolean;
}

function MeshShape({ mesh, texture, dark }: MeshShapeProps) {
  const shape = useMemo(() => mesh && shapeOf(mesh), [mesh]);
  const geometry = shape?.geometry;
  const shown = useRef(0); // version of the points
  const [image, setImage] = useState<Texture | null>(null);
  useEffect(() => () => geometry?.dispose(), [geometry]);
  useFrame(() => {
    setImage(mesh?.uv ? textureOf(texture?.name) : null); // it may be decoded later than the mesh arrives
    if (!mesh || !shape || shown.current === mesh.version) return;
    shown.current = mesh.version;
    shape.update(mesh.points);
  });
  return geometry ? (
    <mesh geometry={geometry} layers-mask={OCCLUDES_AND_CASTS} castShadow receiveShadow>
      {image && texture ? (
        <meshStandardMaterial key="image" map={image} color={new Color().setRGB(...texture.factor)} roughness={0.85} {...BEHIND} />
      ) : (
        <ColliderMaterial dark={dark} />
      )}
    </mesh>
  ) : null;
}

/** The drawn triangles of a mesh, and what moves them with its points; creases stay where they were at the start. */
function shapeOf({ points, triangles, uv }: ColliderMesh): { geometry: BufferGeometry; update: (points: Float32Array) => void } {
  const { nodes, index } = splitCreases(points, triangles);
  const positions = new Float32Array(3 * nodes.length);
  const normals = new Float32Array(3 * nodes.length);
  const geometry = new BufferGeometry();
  const seams = uv && splitSeams(index, uv);
  const count = seams?.parents.length ?? nodes.length;
  const position = new BufferAttribute(new Float32Array(3 * count), 3);
  const normal = new BufferAttribute(new Float32Array(3 * count), 3);
  const draw = ({ array }: BufferAttribute, values: Float32Array) => {
    if (seams) gather(array as Float32Array, seams.parents, values, 3);
    else array.set(values);
  };
  const update = (now: Float32Array) => {
    gather(positions, nodes, now, 3);
    vertexNormals(normals, positions, index);
    draw(position, positions);
    draw(normal, normals);
    position.needsUpdate = normal.needsUpdate = true;
    geometry.computeBoundingSphere(); // what is out of view is not drawn
    geometry.boundingBox = null;
  };
  geometry.setAttribute("position", position);
  geometry.setAttribute("normal", normal);
  if (seams) geometry.setAttribute("uv", new BufferAttribute(seams.uv, 2));
  geometry.setIndex(new BufferAttribute(seams?.index ?? index, 1));
  update(points);
  return { geometry, update };
}
