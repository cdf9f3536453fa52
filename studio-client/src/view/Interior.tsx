import { useFrame } from "@react-three/fiber";
import { useEffect, useMemo } from "react";
import { BufferAttribute, BufferGeometry, type DataTexture, DoubleSide, Sphere } from "three";
import type { InsideLook } from "../net/messages";
import type { LiveBody } from "../state/live";
import { vertexNormals } from "./geometry";
import { bodyMaterial } from "./material";
import { Matter } from "./VolumeRaycast";

interface Props {
  body: LiveBody;
  table: DataTexture;
  range: [number, number];
  look: InsideLook;
}

/** What goes on inside of a soft body: surfaces of equal value, or its matter as a volume. */
export function Inside({ body, table, range, look }: Props) {
  if (look === "surfaces") return <Levels body={body} table={table} range={range} />;
  return body.matter ? <Matter body={body} matter={body.matter} table={table} range={range} /> : null;
}

interface LevelProps {
  body: LiveBody;
  table: DataTexture;
  range: [number, number];
}

function Levels({ body, table, range }: LevelProps) {
  const geometry = useMemo(() => new BufferGeometry(), [body]);
  const paint = useMemo(() => {
    const made = bodyMaterial(table);
    made.material.side = DoubleSide;
    made.material.transparent = true;
    made.material.opacity = 0.72;
    return made;
  }, [table]);
  useEffect(
    () => () => {
      geometry.dispose();
      paint.material.dispose();
    },
    [geometry, paint],
  );
  useFrame(() => {
    paint.setColoring(range, paint.material.color);
    const { levels } = body;
    if (geometry.userData.shown === levels) return;
    geometry.userData.shown = levels;
    if (!levels) {
      geometry.setDrawRange(0, 0);
      return;
    }
    const normals = new Float32Array(levels.points.length);
    vertexNormals(normals, levels.points, levels.triangles);
    geometry.setAttribute("position", new BufferAttribute(levels.points, 3));
    geometry.setAttribute("normal", new BufferAttribute(normals, 3));
    geometry.setAttribute("scalar", new BufferAttribute(levels.values, 1));
    geometry.setIndex(new BufferAttribute(levels.triangles, 1));
    geometry.setDrawRange(0, Infinity);
    geometry.boundingSphere = new Sphere(undefined, Infinity);
  });
  return <mesh geometry={geometry} material={paint.material} frustumCulled={false} renderOrder={2} />;
}
