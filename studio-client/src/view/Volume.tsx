import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo } from "react";
import { BackSide, BoxGeometry, Color, Data3DTexture, type DataTexture, LinearFilter, RedFormat, ShaderMaterial, UnsignedByteType, Vector3 } from "three";
import type { VolumeInfo } from "../net/messages";
import { useFlow } from "../state/flow";
import { latestHeader } from "../state/studio";
import { useStudio } from "../state/store";
import type { LiveScene } from "../state/live";
import { tableTexture } from "./material";

const VERTEX = `
varying vec3 place;
void main() {
  place = (modelMatrix * vec4(position, 1.0)).xyz;
  gl_Position = projectionMatrix * viewMatrix * vec4(place, 1.0);
}`;

// A ray through the box: one sample on a plane, or many that weaken what is behind them.
const FRAGMENT = `
precision highp sampler3D;
varying vec3 place;
uniform sampler3D data;
uniform sampler2D table;
uniform vec3 low;
uniform vec3 size;
uniform vec3 smoke;
uniform bool plain;
uniform int axis;
uniform float height;

vec3 shade(float value) {
  return plain ? smoke : texture(table, vec2(value, 0.5)).rgb;
}

void main() {
  vec3 eye = (cameraPosition - low) / size;
  vec3 way = (place - cameraPosition) / size;
  vec3 one = -eye / way;
  vec3 two = (1.0 - eye) / way;
  vec3 near = min(one, two);
  vec3 far = max(one, two);
  float start = max(max(max(near.x, near.y), near.z), 0.0);
  float end = min(min(far.x, far.y), far.z);
  if (end <= start) discard;
  if (axis >= 0) {
    float at = (height - eye[axis]) / way[axis];
    if (at < start || at > end) discard;
    gl_FragColor = vec4(texture(table, vec2(texture(data, eye + at * way).r, 0.5)).rgb, 0.96);
  } else {
    const int COUNT = 96;
    float span = (end - start) / float(COUNT);
    float thick = 26.0 * length(way * size) * span / max(max(size.x, size.y), size.z);
    vec3 color = vec3(0.0);
    float clear = 1.0;
    for (int i = 0; i < COUNT; i++) {
      float value = texture(data, eye + (start + (float(i) + 0.5) * span) * way).r;
      float share = 1.0 - exp(-thick * value);
      color += clear * share * shade(value);
      clear *= 1.0 - share;
      if (clear < 0.01) break;
    }
    if (clear > 0.995) discard;
    gl_FragColor = vec4(color / (1.0 - clear), 1.0 - clear);
  }
  #include <colorspace_fragment>
}`;

const COLORED = ["velocity", "pressure", "vorticity", "temperature"]; // what is no smoke

/** Fluids on grids in space, as slices or as volumes. */
export function Volumes({ scene, dark }: { scene: LiveScene; dark: boolean }) {
  const look = useFlow((s) => s.look);
  const volumes = useStudio((s) => s.header?.volumes);
  const table = useMemo(() => tableTexture(scene.colormap), [scene]);
  useEffect(() => () => table.dispose(), [table]);
  if (look === "sheet" || !volumes) return null;
  return Object.entries(volumes).map(([number, info]) => (
    <Volume key={`${scene.epoch}/${number}`} scene={scene} number={Number(number)} info={info} table={table} dark={dark} />
  ));
}

interface Props {
  scene: LiveScene;
  number: number;
  info: VolumeInfo;
  table: DataTexture;
  dark: boolean;
}

function Volume({ scene, number, info, table, dark }: Props) {
  const { look, axis, place } = useFlow();
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
  const material = useMemo(
    () =>
      new ShaderMaterial({
        vertexShader: VERTEX,
        fragmentShader: FRAGMENT,
        uniforms: {
          data: { value: texture }, table: { value: table }, low: { value: low }, size: { value: size },
          smoke: { value: new Color() }, plain: { value: true }, axis: { value: -1 }, height: { value: 0.5 },
        },
        side: BackSide,
        transparent: true,
        depthWrite: false,
      }),
    [texture, table, low, size],
  );
  useEffect(() => () => [texture, box, material].forEach((one) => one.dispose()), [texture, box, material]);
  useEffect(() => invalidate(), [look, axis, place, field, invalidate]);
  useFrame(() => {
    const bytes = scene.volumes.get(number);
    if (bytes && texture.image.data !== bytes) {
      texture.image.data = bytes as Uint8Array<ArrayBuffer>;
      texture.needsUpdate = true;
    }
    const { uniforms } = material;
    uniforms.plain.value = !COLORED.includes(latestHeader()?.field ?? "");
    uniforms.smoke.value.set(dark ? "#e6e9ef" : "#5b6472");
    uniforms.axis.value = look === "slice" ? axis : -1;
    uniforms.height.value = place;
  });
  return <mesh geometry={box} material={material} renderOrder={5} frustumCulled={false} />;
}
