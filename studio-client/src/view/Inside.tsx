import { useFrame } from "@react-three/fiber";
import { useEffect, useMemo } from "react";
import {
  BufferAttribute,
  BufferGeometry,
  type Camera,
  type DataTexture,
  DoubleSide,
  ShaderMaterial,
  Sphere,
  Vector2,
  Vector3,
} from "three";
import type { InsideLook } from "../net/messages";
import { carryAlong, type LiveBody } from "../state/live";
import { vertexNormals } from "./geometry";
import { bodyMaterial } from "./material";

interface Props {
  body: LiveBody;
  table: DataTexture;
  range: [number, number];
  look: InsideLook;
}

/** What goes on inside of a soft body: surfaces of equal value, or a cloud of its matter. */
export function Inside({ body, table, range, look }: Props) {
  if (look === "surfaces") return <Levels body={body} table={table} range={range} />;
  return body.cloud ? <Cloud body={body} cloud={body.cloud} table={table} range={range} /> : null;
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

const VERTEX = `
  attribute float scalar;
  uniform float size;
  uniform float height;
  varying float vScalar;
  void main() {
    vScalar = scalar;
    vec4 place = modelViewMatrix * vec4(position, 1.0);
    gl_Position = projectionMatrix * place;
    gl_PointSize = clamp(size * height * projectionMatrix[1][1] / gl_Position.w, 1.0, 64.0);
  }`;

const FRAGMENT = `
  uniform sampler2D colorTable;
  uniform vec2 scalarRange;
  uniform float density;
  varying float vScalar;
  void main() {
    vec2 way = 2.0 * gl_PointCoord - 1.0;
    float near = 1.0 - dot(way, way);
    if (near <= 0.0) discard;
    float place = clamp((vScalar - scalarRange.x) / max(scalarRange.y - scalarRange.x, 1e-30), 0.0, 1.0);
    vec3 color = texture2D(colorTable, vec2(mix(0.5, 255.5, place) / 256.0, 0.5)).rgb;
    // each point absorbs as the matter it stands for, more where the value is high
    gl_FragColor = vec4(color, 1.0 - exp(-density * near * (0.02 + place * place)));
    #include <colorspace_fragment>
  }`;

/**
 * Points that stand for the matter, blended from back to front. It approximates a ray through the volume: as if the
 * matter were in soft balls of equal size. What the picture shows is right where these are small against the detail.
 */
function Cloud({ body, cloud, table, range }: LevelProps & { cloud: LiveBody }) {
  const count = cloud.rest.length / 3;
  const geometry = useMemo(() => {
    const made = new BufferGeometry();
    made.setAttribute("position", new BufferAttribute(new Float32Array(cloud.rest), 3));
    made.setAttribute("scalar", new BufferAttribute(new Float32Array(count), 1));
    made.boundingSphere = new Sphere(undefined, Infinity);
    return made;
  }, [cloud, count]);
  const material = useMemo(
    () =>
      new ShaderMaterial({
        vertexShader: VERTEX,
        fragmentShader: FRAGMENT,
        uniforms: {
          colorTable: { value: table },
          scalarRange: { value: new Vector2(0, 1) },
          size: { value: spacing(cloud.rest) },
          height: { value: 700 },
          density: { value: 0.55 },
        },
        transparent: true,
        depthWrite: false,
      }),
    [table, cloud],
  );
  useEffect(
    () => () => {
      geometry.dispose();
      material.dispose();
    },
    [geometry, material],
  );
  useFrame(({ camera, size }) => {
    carryAlong(body, cloud);
    (material.uniforms.scalarRange.value as Vector2).set(range[0], range[1]);
    material.uniforms.height.value = size.height;
    const places = geometry.getAttribute("position") as BufferAttribute;
    const values = geometry.getAttribute("scalar") as BufferAttribute;
    const order = fromBack(cloud.positions, camera);
    for (let i = 0; i < count; i++) {
      const from = order[i];
      (places.array as Float32Array).set(cloud.positions.subarray(3 * from, 3 * from + 3), 3 * i);
      (values.array as Float32Array)[i] = cloud.scalars ? cloud.scalars[from] : range[0];
    }
    places.needsUpdate = true;
    values.needsUpdate = true;
  });
  return <points geometry={geometry} material={material} frustumCulled={false} renderOrder={3} />;
}

/** About the distance of neighbours: what each point takes up of a box around all of them, generously. */
function spacing(points: Float32Array): number {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i++) {
    low[i % 3] = Math.min(low[i % 3], points[i]);
    high[i % 3] = Math.max(high[i % 3], points[i]);
  }
  const volume = (high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]);
  return 1.7 * Math.cbrt((3 * volume) / points.length);
}

const facing = new Vector3();

/** The numbers of points from the farthest to the nearest, by sorting depths into bins. */
export function fromBack(points: Float32Array, camera: Camera): Uint32Array {
  camera.getWorldDirection(facing);
  const count = points.length / 3;
  const depths = new Float32Array(count);
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < count; i++) {
    const depth = points[3 * i] * facing.x + points[3 * i + 1] * facing.y + points[3 * i + 2] * facing.z;
    depths[i] = depth;
    if (depth < low) low = depth;
    if (depth > high) high = depth;
  }
  const bins = 1024;
  const scale = (bins - 1) / (high - low || 1);
  const starts = new Uint32Array(bins + 1);
  const bin = new Uint16Array(count);
  for (let i = 0; i < count; i++) {
    bin[i] = Math.floor((high - depths[i]) * scale);
    starts[bin[i] + 1]++;
  }
  for (let b = 0; b < bins; b++) starts[b + 1] += starts[b];
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[starts[bin[i]]++] = i;
  return order;
}
