import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo, useRef } from "react";
import { BoxGeometry, Data3DTexture, DataUtils, type DataTexture, HalfFloatType, LinearFilter, type Mesh, RedFormat, RGBAFormat, Vector3 } from "three";
import type { Vector } from "../net/messages";
import { type LiveBody, type Matter as Stuff, shownPositions } from "../state/live";
import { useStudio } from "../state/store";
import { graphics } from "./graphics";
import { marchMaterial, THICKNESS } from "./raymarch";
import { useObstructed } from "./DepthOccluders";
import { gridAround, resample } from "./resample";

const FINE = graphics.full ? 72 : 44; // samples along the longest side of a body

interface Props {
  body: LiveBody;
  matter: Stuff;
  table: DataTexture;
  range: [number, number];
}

/**
 * The matter of a soft body, by rays. Its elements are sampled on a grid whenever they move: their values, or where
 * they were at rest, and there the image that the body carries has its values.
 */
export function Matter({ body, matter, table, range }: Props) {
  const image = useStudio((s) => s.field === "voxels" && matter.image !== null);
  const opacity = useStudio((s) => s.opacity);
  const invalidate = useThree((s) => s.invalidate);
  const march = useMemo(() => marchMaterial(image ? "image" : "field", table), [image, table]);
  const box = useMemo(() => new BoxGeometry(1, 1, 1).translate(0.5, 0.5, 0.5), []);
  const voxels = useMemo(() => (image && matter.image ? imageTexture(matter.image) : null), [image, matter]);
  const mesh = useRef<Mesh>(null);
  const shown = useRef({ version: -1, factor: 1 });
  const home = useMemo(() => bounds(body.rest, matter.tets), [body, matter]);
  useObstructed(march);
  useEffect(() => {
    shown.current.version = -1;
    return () => {
      march.uniforms.data.value?.dispose();
      march.material.dispose();
    };
  }, [march, matter]);
  useEffect(() => () => box.dispose(), [box]);
  useEffect(() => () => voxels?.dispose(), [voxels]);
  useEffect(() => invalidate(), [opacity, image, invalidate]);

  useFrame(() => {
    const { uniforms } = march;
    const factor = useStudio.getState().exaggeration;
    uniforms.range.value.set(range[0], range[1]);
    uniforms.thickness.value = (opacity * THICKNESS[image ? "image" : "field"]) / Math.max(...home.size);
    uniforms.image.value = voxels;
    if (image && matter.image) {
      const { cells, spacing, origin, ends } = matter.image;
      uniforms.ends.value.set(ends[0], ends[1]);
      const whole = cells.map((n, axis) => n * spacing[axis]);
      uniforms.imageScale.value.fromArray(home.size.map((length, axis) => length / whole[axis]));
      uniforms.imageShift.value.fromArray(home.low.map((at, axis) => (at - origin[axis]) / whole[axis]));
    }
    if (mesh.current) mesh.current.visible = matter.tets.length > 0 && (image || body.scalars !== null);
    if (shown.current.version === body.version && shown.current.factor === factor) return;
    shown.current = { version: body.version, factor };
    const positions = shownPositions(body, factor);
    const carried = image ? placesIn(home, body.rest) : partsOf(body.scalars, uniforms.ends.value);
    const grid = gridAround(matter.tets, positions, FINE);
    const { values } = resample({ ...matter, positions, carried }, grid);
    uniforms.data.value = halfTexture(uniforms.data.value, grid.cells, values);
    uniforms.cells.value.fromArray(grid.cells);
    uniforms.size.value.fromArray(grid.cells).multiplyScalar(grid.step);
    uniforms.low.value.fromArray(grid.low).subScalar(grid.step / 2); // samples are in the middles of texels
    mesh.current?.position.copy(uniforms.low.value);
    mesh.current?.scale.copy(uniforms.size.value);
  });
  return <mesh ref={mesh} geometry={box} material={march.material} renderOrder={3} frustumCulled={false} />;
}

interface Box {
  low: Vector;
  size: Vector;
}

function bounds(points: Float32Array, tets: Uint32Array): Box {
  const low = new Vector3(Infinity, Infinity, Infinity);
  const high = new Vector3(-Infinity, -Infinity, -Infinity);
  const at = new Vector3();
  for (const node of tets) {
    at.fromArray(points, 3 * node);
    low.min(at);
    high.max(at);
  }
  const size = high.sub(low).max(new Vector3(1e-9, 1e-9, 1e-9));
  return { low: low.toArray(), size: size.toArray() };
}

/** Places as parts of a box, which half floats hold well. */
function placesIn({ low, size }: Box, points: Float32Array): Float32Array {
  return points.map((at, i) => (at - low[i % 3]) / size[i % 3]);
}

/** Values as parts of what they span, which is written into `ends`. */
function partsOf(values: Float32Array | null, ends: { set(low: number, high: number): unknown }): Float32Array {
  if (!values || values.length === 0) return new Float32Array();
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  ends.set(low, high);
  const scale = high > low ? 1 / (high - low) : 0;
  return values.map((value) => (value - low) * scale);
}

/** Bring samples to the graphics card, into the texture that is there if it is as large. */
function halfTexture(before: Data3DTexture | null, cells: Vector, values: Float32Array): Data3DTexture {
  const { width, height, depth } = before?.image ?? {};
  const same = before && width === cells[0] && height === cells[1] && depth === cells[2];
  if (!same) before?.dispose();
  const texture = same ? before : smooth(new Data3DTexture(new Uint16Array(values.length) as never, ...cells));
  texture.format = RGBAFormat;
  const halves = texture.image.data as unknown as Uint16Array;
  for (let i = 0; i < values.length; i++) halves[i] = DataUtils.toHalfFloat(values[i]);
  texture.needsUpdate = true;
  return texture;
}

function imageTexture({ texels, cells }: NonNullable<Stuff["image"]>): Data3DTexture {
  const texture = smooth(new Data3DTexture(texels as never, ...cells));
  texture.format = RedFormat;
  texture.needsUpdate = true;
  return texture;
}

function smooth(texture: Data3DTexture): Data3DTexture {
  return Object.assign(texture, { type: HalfFloatType, minFilter: LinearFilter, magFilter: LinearFilter, unpackAlignment: 1 });
}
