import { useFrame, useThree } from "@react-three/fiber";
import { Fragment, useEffect, useMemo, useRef } from "react";
import { BoxGeometry, Data3DTexture, type DataTexture, EdgesGeometry, LinearFilter, RedFormat, UnsignedByteType, Vector3 } from "three";
import type { VolumeInfo } from "../net/messages";
import { gridStyle, type GridStyle, useFlow } from "../state/flow";
import { latestHeader } from "../state/studio";
import { useStudio } from "../state/store";
import type { LiveScene } from "../state/live";
import { raymarchMaterial, OPTICAL_DEPTH } from "./raymarch";
import { filledPart, WHOLE } from "./filledPart";
import { tableTexture } from "./material";
import { useDepthOcclusion } from "./DepthOccluders";

const COLORED = ["velocity", "pressure", "vorticity", "temperature"]; // drawn in colours instead of as smoke

/** 3D grid fluids: the edges of their boxes, and slices or volumes. */
export function GridVolumes({ scene, dark }: { scene: LiveScene; dark: boolean }) {
  const chosen = useFlow((s) => s.style);
  const hidden = useStudio((s) => s.hidden);
  const volumes = useStudio((s) => s.header?.volumes);
  const table = useMemo(() => tableTexture(scene.colormap), [scene.colormap]);
  useEffect(() => () => table.dispose(), [table]);
  return Object.entries(volumes ?? {}).map(([key, info]) => {
    const number = Number(key);
    const body = scene.bodies[number]?.info;
    const style = gridStyle(body?.kind, chosen);
    if (!body || hidden[body.name]) return null;
    return (
      <Fragment key={`${scene.epoch}/${number}`}>
        <BoxEdges info={info} dark={dark} />
        {style !== "mesh" && <Volume scene={scene} number={number} info={info} style={style} table={table} dark={dark} />}
      </Fragment>
    );
  });
}

/** The edges of the box of a grid. */
function BoxEdges({ info, dark }: { info: VolumeInfo; dark: boolean }) {
  const { origin, cells, spacing } = info;
  const geometry = useMemo(() => {
    const box = new BoxGeometry(...(cells.map((n) => n * spacing) as [number, number, number]));
    const edges = new EdgesGeometry(box);
    box.dispose();
    edges.translate(...(origin.map((low, i) => low + 0.5 * cells[i] * spacing) as [number, number, number]));
    return edges;
  }, [origin.join(), cells.join(), spacing]);
  useEffect(() => () => geometry.dispose(), [geometry]);
  return (
    <lineSegments geometry={geometry}>
      <lineBasicMaterial color={dark ? "#a9b6cf" : "#55617a"} transparent opacity={0.4} />
    </lineSegments>
  );
}

interface Props {
  scene: LiveScene;
  number: number;
  info: VolumeInfo;
  style: GridStyle;
  table: DataTexture;
  dark: boolean;
}

function Volume({ scene, number, info, style, table, dark }: Props) {
  const { axis, position } = useFlow();
  const field = useStudio((s) => s.field);
  const invalidate = useThree((s) => s.invalidate);
  const size = useMemo(() => new Vector3(...info.cells).multiplyScalar(info.spacing), [info.cells.join(), info.spacing]);
  const low = useMemo(() => new Vector3(...info.origin), [info.origin.join()]);
  const texture = useMemo(() => {
    const made = new Data3DTexture(new Uint8Array(info.cells[0] * info.cells[1] * info.cells[2]), ...info.cells);
    Object.assign(made, { format: RedFormat, type: UnsignedByteType, minFilter: LinearFilter, magFilter: LinearFilter, unpackAlignment: 1 });
    return made;
  }, [info.cells.join()]);
  const box = useMemo(() => new BoxGeometry(size.x, size.y, size.z).translate(low.x + size.x / 2, low.y + size.y / 2, low.z + size.z / 2), [size, low]);
  const opacity = useStudio((s) => s.opacity);
  const range = useStudio((s) => s.range);
  const raymarch = useMemo(() => raymarchMaterial("grid", table), [table]);
  useDepthOcclusion(raymarch);
  useEffect(() => () => raymarch.material.dispose(), [raymarch]);
  useEffect(() => () => [texture, box].forEach((one) => one.dispose()), [texture, box]);
  useEffect(() => invalidate(), [style, axis, position, field, opacity, range, invalidate]);
  const filled = useRef(WHOLE);
  useFrame(() => {
    const bytes = scene.volumes.get(number);
    if (bytes && texture.image.data !== bytes) {
      texture.image.data = bytes as Uint8Array<ArrayBuffer>;
      texture.needsUpdate = true;
      filled.current = filledPart(bytes, info.cells);
    }
    const { uniforms } = raymarch;
    const header = latestHeader();
    uniforms.data.value = texture;
    uniforms.low.value.copy(low);
    uniforms.size.value.copy(size);
    uniforms.cells.value.fromArray(info.cells);
    const [first, last] = style === "slice" ? WHOLE : filled.current; // a slice shows empty cells too
    uniforms.filledLow.value.fromArray(first);
    uniforms.filledHigh.value.fromArray(last);
    uniforms.extinction.value = (opacity * OPTICAL_DEPTH.grid) / Math.max(...size.toArray());
    uniforms.valueRange.value.set(0, header?.volumes?.[number]?.maxValue ?? 1);
    uniforms.isSmoke.value = !COLORED.includes(header?.field ?? "");
    if (uniforms.isSmoke.value && header?.field !== "smoke") uniforms.range.value.set(0, 1);
    else uniforms.range.value.set(range[0], range[1]);
    uniforms.smokeColor.value.set(dark ? "#e6e9ef" : "#5b6472");
    uniforms.axis.value = style === "slice" ? axis : -1;
    uniforms.slicePosition.value = position;
  });
  return <mesh geometry={box} material={raymarch.material} renderOrder={5} frustumCulled={false} />;
}
