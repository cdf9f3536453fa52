import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo, useRef } from "react";
import { BoxGeometry, Data3DTexture, DataUtils, type DataTexture, HalfFloatType, LinearFilter, type Mesh, RedFormat, RGBAFormat, Vector3 } from "three";
import type { Vector } from "../net/messages";
import { type LiveBody, type Interior as InteriorData, shownPositions } from "../state/live";
import { useStudio } from "../state/store";
import { graphics } from "./graphics";
import { raymarchMaterial, OPTICAL_DEPTH } from "./raymarch";
import { useDepthOcclusion } from "./DepthOccluders";
import { gridAround, resample } from "./resample";

const MAX_SAMPLES = graphics.full ? 72 : 44; // along the longest side of a body

interface Props {
  body: LiveBody;
  interior: InteriorData;
  table: DataTexture;
  range: [number, number];
}

/**
 * Volume rendering of a soft body. Its elements are sampled on a grid whenever they move: their values, or their rest
 * positions, at which the voxel image of the body is looked up.
 */
export function VolumeRaycast({ body, interior, table, range }: Props) {
  const image = useStudio((s) => s.field === "voxels" && interior.image !== null);
  const opacity = useStudio((s) => s.opacity);
  const invalidate = useThree((s) => s.invalidate);
  const raymarch = useMemo(() => raymarchMaterial(image ? "image" : "field", table), [image, table]);
  const box = useMemo(() => new BoxGeometry(1, 1, 1).translate(0.5, 0.5, 0.5), []);
  const voxels = useMemo(() => (image && interior.image ? imageTexture(interior.image) : null), [image, interior]);
  const mesh = useRef<Mesh>(null);
  const shown = useRef({ version: -1, factor: 1 });
  const restBounds = useMemo(() => bounds(body.rest, interior.tets), [body, interior]);
  useDepthOcclusion(raymarch);
  useEffect(() => {
    shown.current.version = -1;
    return () => {
      raymarch.uniforms.data.value?.dispose();
      raymarch.material.dispose();
    };
  }, [raymarch, interior]);
  useEffect(() => () => box.dispose(), [box]);
  useEffect(() => () => voxels?.dispose(), [voxels]);
  useEffect(() => invalidate(), [opacity, image, invalidate]);

  useFrame(() => {
    const { uniforms } = raymarch;
    const factor = useStudio.getState().exaggeration;
    uniforms.range.value.set(range[0], range[1]);
    uniforms.extinction.value = (opacity * OPTICAL_DEPTH[image ? "image" : "field"]) / Math.max(...restBounds.size);
    uniforms.image.value = voxels;
    if (image && interior.image) {
      const { cells, spacing, origin, valueRange } = interior.image;
      uniforms.valueRange.value.set(valueRange[0], valueRange[1]);
      const imageSize = cells.map((n, axis) => n * spacing[axis]);
      uniforms.imageScale.value.fromArray(restBounds.size.map((length, axis) => length / imageSize[axis]));
      uniforms.imageShift.value.fromArray(restBounds.low.map((at, axis) => (at - origin[axis]) / imageSize[axis]));
    }
    if (mesh.current) mesh.current.visible = interior.tets.length > 0 && (image || body.scalars !== null);
    if (shown.current.version === body.version && shown.current.factor === factor) return;
    shown.current = { version: body.version, factor };
    const positions = shownPositions(body, factor);
    const nodal = image ? normalizedPositions(restBounds, body.rest) : normalizedValues(body.scalars, uniforms.valueRange.value);
    const grid = gridAround(interior.tets, positions, MAX_SAMPLES);
    const { values } = resample({ ...interior, positions, nodal }, grid);
    uniforms.data.value = halfTexture(uniforms.data.value, grid.cells, values);
    uniforms.cells.value.fromArray(grid.cells);
    uniforms.size.value.fromArray(grid.cells).multiplyScalar(grid.step);
    uniforms.low.value.fromArray(grid.low).subScalar(grid.step / 2); // samples are at the centres of texels
    mesh.current?.position.copy(uniforms.low.value);
    mesh.current?.scale.copy(uniforms.size.value);
  });
  return <mesh ref={mesh} geometry={box} material={raymarch.material} renderOrder={3} frustumCulled={false} />;
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

/** Positions normalized to a box, which suits half floats. */
function normalizedPositions({ low, size }: Box, points: Float32Array): Float32Array {
  return points.map((at, i) => (at - low[i % 3]) / size[i % 3]);
}

/** Values normalized to their range, which is written to `valueRange`. */
function normalizedValues(values: Float32Array | null, valueRange: { set(low: number, high: number): unknown }): Float32Array {
  if (!values || values.length === 0) return new Float32Array();
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  valueRange.set(low, high);
  const scale = high > low ? 1 / (high - low) : 0;
  return values.map((value) => (value - low) * scale);
}

/** Upload samples to the GPU, reusing a texture of the same size. */
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

function imageTexture({ texels, cells }: NonNullable<InteriorData["image"]>): Data3DTexture {
  const texture = smooth(new Data3DTexture(texels as never, ...cells));
  texture.format = RedFormat;
  texture.needsUpdate = true;
  return texture;
}

function smooth(texture: Data3DTexture): Data3DTexture {
  return Object.assign(texture, { type: HalfFloatType, minFilter: LinearFilter, magFilter: LinearFilter, unpackAlignment: 1 });
}
