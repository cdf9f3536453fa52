import { useFrame } from "@react-three/fiber";
import { useEffect, useMemo } from "react";
import { BufferAttribute, BufferGeometry, type DataTexture, DoubleSide, Sphere } from "three";
import type { InteriorMode } from "../net/messages";
import type { LiveBody } from "../state/live";
import { vertexNormals } from "./geometry";
import { bodyMaterial } from "./material";
import { VolumeRaycast } from "./VolumeRaycast";

interface Props {
  body: LiveBody;
  table: DataTexture;
  range: [number, number];
  mode: InteriorMode;
}

/** The interior of a soft body: isosurfaces, or a volume rendering. */
export function Interior({ body, table, range, mode }: Props) {
  if (mode === "surfaces") return <Isosurfaces body={body} table={table} range={range} />;
  return body.interior ? <VolumeRaycast body={body} interior={body.interior} table={table} range={range} /> : null;
}

interface LevelProps {
  body: LiveBody;
  table: DataTexture;
  range: [number, number];
}

function Isosurfaces({ body, table, range }: LevelProps) {
  const geometry = useMemo(() => new BufferGeometry(), [body]);
  const coloring = useMemo(() => {
    const made = bodyMaterial(table);
    made.material.side = DoubleSide;
    made.material.transparent = true;
    made.material.opacity = 0.72;
    return made;
  }, [table]);
  useEffect(
    () => () => {
      geometry.dispose();
      coloring.material.dispose();
    },
    [geometry, coloring],
  );
  useFrame(() => {
    coloring.setColoring(range, coloring.material.color);
    const { isosurfaces } = body;
    if (geometry.userData.shown === isosurfaces) return;
    geometry.userData.shown = isosurfaces;
    if (!isosurfaces) {
      geometry.setDrawRange(0, 0);
      return;
    }
    const normals = new Float32Array(isosurfaces.points.length);
    vertexNormals(normals, isosurfaces.points, isosurfaces.triangles);
    geometry.setAttribute("position", new BufferAttribute(isosurfaces.points, 3));
    geometry.setAttribute("normal", new BufferAttribute(normals, 3));
    geometry.setAttribute("scalar", new BufferAttribute(isosurfaces.values, 1));
    geometry.setIndex(new BufferAttribute(isosurfaces.triangles, 1));
    geometry.setDrawRange(0, Infinity);
    geometry.boundingSphere = new Sphere(undefined, Infinity);
  });
  return <mesh geometry={geometry} material={coloring.material} frustumCulled={false} renderOrder={2} />;
}
