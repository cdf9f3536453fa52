// Ray marching through a box: samples along each ray are composited front to back, up to the first occluder.

import { BackSide, Color, type Data3DTexture, type DataTexture, type DepthTexture, Matrix4, ShaderMaterial, Vector2, Vector3 } from "three";
import { graphics } from "./graphics";

/** Content of the box: bytes of a grid, a field of a body, or rest positions of a body with a voxel image. */
export type VolumeContent = "grid" | "field" | "image";

/** Optical depth of the largest value over the longest side of the box: the transmittance is exp(-depth). */
export const OPTICAL_DEPTH = { grid: 26, field: 17, image: 28 };

const STEPS = graphics.full ? 256 : 80;
const SAMPLES_PER_TEXEL = graphics.full ? "2.0" : "1.0";

const VERTEX = `
varying vec3 worldPosition;
void main() {
  worldPosition = (modelMatrix * vec4(position, 1.0)).xyz;
  gl_Position = projectionMatrix * viewMatrix * vec4(worldPosition, 1.0);
}`;

const FRAGMENT = `
precision highp sampler3D;
varying vec3 worldPosition;
uniform sampler3D data;
uniform sampler3D image;
uniform sampler2D table;
uniform sampler2D sceneDepth;
uniform vec2 pixels;       // of the drawing buffer
uniform mat4 unproject;    // from clip space to the world
uniform bool hasOccluders;      // whether there are opaque objects
uniform vec3 low;          // the box
uniform vec3 size;
uniform vec3 cells;        // of the texture in it
uniform vec3 filledLow;    // the part of it that is not empty, from 0 to 1
uniform vec3 filledHigh;
uniform vec2 valueRange;         // values of texels 0 and 1
uniform vec2 range;        // values of the first and the last colour
uniform float extinction;   // per metre
uniform vec3 imageScale;   // from rest positions to the image
uniform vec3 imageShift;
uniform vec3 smokeColor;
uniform bool isSmoke;
uniform int axis;
uniform float slicePosition;

// The colour at a position in the range from 0 to 1.
vec3 colorAt(float normalized) {
  return isSmoke ? smokeColor : texture(table, vec2(mix(0.5, 255.5, normalized) / 256.0, 0.5)).rgb;
}

float normalized(float value) {
  return clamp((value - range.x) / max(range.y - range.x, 1e-30), 0.0, 1.0);
}

// The value at a point of the box, normalized to the range, and its density.
float sampleVolume(vec3 at, out float amount) {
#ifdef GRID
  float value = mix(valueRange.x, valueRange.y, texture(data, at).r);
  amount = isSmoke ? clamp(value, 0.0, 1.0) : normalized(value);
  return normalized(value);
#else
  vec4 here = texture(data, at);
  float cover = clamp(0.5 + here.a, 0.0, 1.0);
  amount = 0.0;
  if (cover <= 0.0) return 0.0;
#ifdef IMAGE
  vec3 rest = here.rgb * imageScale + imageShift;
  bool within = all(greaterThanEqual(rest, vec3(-1e-3))) && all(lessThanEqual(rest, vec3(1.001)));
  float value = within ? mix(valueRange.x, valueRange.y, texture(image, rest).r) : 0.0;
#else
  float value = mix(valueRange.x, valueRange.y, here.r);
#endif
  float share = normalized(value);
  amount = cover * (0.05 + share * share) / 1.05;
  return share;
#endif
}

// Interleaved gradient noise (Jimenez 2014), which hides rings of samples.
float noise() {
  return fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
}

void main() {
  vec3 eye = (cameraPosition - low) / size;
  vec3 direction = (worldPosition - cameraPosition) / size;
  vec3 one = (filledLow - eye) / direction;
  vec3 two = (filledHigh - eye) / direction;
  vec3 first = min(one, two);
  vec3 last = max(one, two);
  float start = max(max(max(first.x, first.y), first.z), 0.0);
  float end = min(min(last.x, last.y), last.z);
  if (hasOccluders) {
    vec2 here = gl_FragCoord.xy / pixels;
    vec4 occluder = unproject * vec4(2.0 * vec3(here, texture(sceneDepth, here).r) - 1.0, 1.0);
    vec3 ray = worldPosition - cameraPosition;
    end = min(end, dot(occluder.xyz / occluder.w - cameraPosition, ray) / dot(ray, ray));
  }
  if (end <= start) discard;
#ifdef GRID
  if (axis >= 0) {
    float at = (slicePosition - eye[axis]) / direction[axis];
    if (at < start || at > end) discard;
    gl_FragColor = vec4(texture(table, vec2(mix(0.5, 255.5, normalized(mix(valueRange.x, valueRange.y, texture(data, eye + at * direction).r))) / 256.0, 0.5)).rgb, 0.96);
    #include <colorspace_fragment>
    return;
  }
#endif
  // two samples per texel are enough, and fewer if there would be too many or drawing is slow
  float count = clamp(ceil(SAMPLES_PER_TEXEL * length((end - start) * direction * cells)), 4.0, float(STEPS));
  float span = (end - start) / count;
  float stepDepth = extinction * length(direction * size) * span;
  vec3 color = vec3(0.0);
  float clear = 1.0;
  float at = start + span * noise();
  for (int i = 0; i < STEPS; i++) {
    if (at >= end) break;
    float amount;
    float share = sampleVolume(eye + at * direction, amount);
    if (amount > 0.0) {
      float taken = 1.0 - exp(-stepDepth * amount);
      color += clear * taken * colorAt(share);
      clear *= 1.0 - taken;
      if (clear < 0.01) break;
    }
    at += span;
  }
  if (clear > 0.998) discard;
  gl_FragColor = vec4(color / (1.0 - clear), 1.0 - clear);
  #include <colorspace_fragment>
}`;

export interface RaymarchUniforms {
  data: { value: Data3DTexture | null };
  image: { value: Data3DTexture | null };
  table: { value: DataTexture };
  sceneDepth: { value: DepthTexture | null };
  pixels: { value: Vector2 };
  unproject: { value: Matrix4 };
  hasOccluders: { value: boolean };
  low: { value: Vector3 };
  size: { value: Vector3 };
  cells: { value: Vector3 };
  filledLow: { value: Vector3 };
  filledHigh: { value: Vector3 };
  valueRange: { value: Vector2 };
  range: { value: Vector2 };
  extinction: { value: number };
  imageScale: { value: Vector3 };
  imageShift: { value: Vector3 };
  smokeColor: { value: Color };
  isSmoke: { value: boolean };
  axis: { value: number };
  slicePosition: { value: number };
}

export interface Raymarch {
  material: ShaderMaterial;
  uniforms: RaymarchUniforms;
}

/** A material for the volume of a box. */
export function raymarchMaterial(content: VolumeContent, table: DataTexture): Raymarch {
  const uniforms: RaymarchUniforms = {
    data: { value: null },
    image: { value: null },
    table: { value: table },
    sceneDepth: { value: null },
    pixels: { value: new Vector2(1, 1) },
    unproject: { value: new Matrix4() },
    hasOccluders: { value: false },
    low: { value: new Vector3() },
    size: { value: new Vector3(1, 1, 1) },
    cells: { value: new Vector3(1, 1, 1) },
    filledLow: { value: new Vector3(0, 0, 0) },
    filledHigh: { value: new Vector3(1, 1, 1) },
    valueRange: { value: new Vector2(0, 1) },
    range: { value: new Vector2(0, 1) },
    extinction: { value: 1 },
    imageScale: { value: new Vector3(1, 1, 1) },
    imageShift: { value: new Vector3() },
    smokeColor: { value: new Color() },
    isSmoke: { value: false },
    axis: { value: -1 },
    slicePosition: { value: 0.5 },
  };
  const material = new ShaderMaterial({
    vertexShader: VERTEX,
    fragmentShader: FRAGMENT,
    uniforms: uniforms as unknown as ShaderMaterial["uniforms"],
    defines: { [content.toUpperCase()]: "", STEPS, SAMPLES_PER_TEXEL },
    side: BackSide, // visible also from inside the box
    transparent: true,
    depthWrite: false,
    depthTest: false, // occluders end the rays
  });
  return { material, uniforms };
}
