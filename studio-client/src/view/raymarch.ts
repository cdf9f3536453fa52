// Rays through a box: samples along each are blended from front to back, and end at what stands in the way.

import { BackSide, Color, type Data3DTexture, type DataTexture, type DepthTexture, Matrix4, ShaderMaterial, Vector2, Vector3 } from "three";
import { graphics } from "./graphics";

/** What is in the box: bytes of a grid; a field of a body; or the places at rest of a body that carries an image. */
export type Content = "grid" | "field" | "image";

/** How opaque matter with the largest value is over the longest side of its box: exp(-this) of the light is left. */
export const THICKNESS = { grid: 26, field: 17, image: 28 };

const STEPS = graphics.full ? 256 : 80;

const VERTEX = `
varying vec3 place;
void main() {
  place = (modelMatrix * vec4(position, 1.0)).xyz;
  gl_Position = projectionMatrix * viewMatrix * vec4(place, 1.0);
}`;

const FRAGMENT = `
precision highp sampler3D;
varying vec3 place;
uniform sampler3D data;
uniform sampler3D image;
uniform sampler2D table;
uniform sampler2D hidden;
uniform vec2 pixels;       // of the picture
uniform mat4 unproject;    // from the picture to the world
uniform bool blocked;      // whether anything can stand in the way
uniform vec3 low;          // the box
uniform vec3 size;
uniform vec3 cells;        // of the texture in it
uniform vec2 ends;         // values of the smallest and the largest texel
uniform vec2 range;        // values of the first and the last colour
uniform float thickness;   // per metre
uniform vec3 imageScale;   // from places at rest to the image
uniform vec3 imageShift;
uniform vec3 smoke;
uniform bool plain;
uniform int axis;
uniform float height;

// The colour at a part of the range.
vec3 shade(float part) {
  return plain ? smoke : texture(table, vec2(mix(0.5, 255.5, part) / 256.0, 0.5)).rgb;
}

float part(float value) {
  return clamp((value - range.x) / max(range.y - range.x, 1e-30), 0.0, 1.0);
}

// What part of the range the matter has somewhere in the box, and how much of it there is.
float look(vec3 at, out float amount) {
#ifdef GRID
  float value = mix(ends.x, ends.y, texture(data, at).r);
  amount = plain ? clamp(value, 0.0, 1.0) : part(value);
  return part(value);
#else
  vec4 here = texture(data, at);
  float cover = clamp(0.5 + here.a, 0.0, 1.0);
  amount = 0.0;
  if (cover <= 0.0) return 0.0;
#ifdef IMAGE
  vec3 rest = here.rgb * imageScale + imageShift;
  bool within = all(greaterThanEqual(rest, vec3(-1e-3))) && all(lessThanEqual(rest, vec3(1.001)));
  float value = within ? mix(ends.x, ends.y, texture(image, rest).r) : 0.0;
#else
  float value = mix(ends.x, ends.y, here.r);
#endif
  float share = part(value);
  amount = cover * (0.05 + share * share) / 1.05;
  return share;
#endif
}

// Noise that is even over neighbouring pixels (Jimenez 2014): rings of samples turn into it.
float noise() {
  return fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
}

void main() {
  vec3 eye = (cameraPosition - low) / size;
  vec3 way = (place - cameraPosition) / size;
  vec3 one = -eye / way;
  vec3 two = (1.0 - eye) / way;
  vec3 first = min(one, two);
  vec3 last = max(one, two);
  float start = max(max(max(first.x, first.y), first.z), 0.0);
  float end = min(min(last.x, last.y), last.z);
  if (blocked) {
    vec2 here = gl_FragCoord.xy / pixels;
    vec4 thing = unproject * vec4(2.0 * vec3(here, texture(hidden, here).r) - 1.0, 1.0);
    vec3 ray = place - cameraPosition;
    end = min(end, dot(thing.xyz / thing.w - cameraPosition, ray) / dot(ray, ray));
  }
  if (end <= start) discard;
#ifdef GRID
  if (axis >= 0) {
    float at = (height - eye[axis]) / way[axis];
    if (at < start || at > end) discard;
    gl_FragColor = vec4(texture(table, vec2(mix(0.5, 255.5, part(mix(ends.x, ends.y, texture(data, eye + at * way).r))) / 256.0, 0.5)).rgb, 0.96);
    #include <colorspace_fragment>
    return;
  }
#endif
  // two samples a texel are enough, and fewer if there would be too many
  float count = clamp(ceil(2.0 * length((end - start) * way * cells)), 4.0, float(STEPS));
  float span = (end - start) / count;
  float thick = thickness * length(way * size) * span;
  vec3 color = vec3(0.0);
  float clear = 1.0;
  float at = start + span * noise();
  for (int i = 0; i < STEPS; i++) {
    if (at >= end) break;
    float amount;
    float share = look(eye + at * way, amount);
    if (amount > 0.0) {
      float taken = 1.0 - exp(-thick * amount);
      color += clear * taken * shade(share);
      clear *= 1.0 - taken;
      if (clear < 0.01) break;
    }
    at += span;
  }
  if (clear > 0.998) discard;
  gl_FragColor = vec4(color / (1.0 - clear), 1.0 - clear);
  #include <colorspace_fragment>
}`;

export interface MarchUniforms {
  data: { value: Data3DTexture | null };
  image: { value: Data3DTexture | null };
  table: { value: DataTexture };
  hidden: { value: DepthTexture | null };
  pixels: { value: Vector2 };
  unproject: { value: Matrix4 };
  blocked: { value: boolean };
  low: { value: Vector3 };
  size: { value: Vector3 };
  cells: { value: Vector3 };
  ends: { value: Vector2 };
  range: { value: Vector2 };
  thickness: { value: number };
  imageScale: { value: Vector3 };
  imageShift: { value: Vector3 };
  smoke: { value: Color };
  plain: { value: boolean };
  axis: { value: number };
  height: { value: number };
}

export interface March {
  material: ShaderMaterial;
  uniforms: MarchUniforms;
}

/** A material for the inside of a box. */
export function marchMaterial(content: Content, table: DataTexture): March {
  const uniforms: MarchUniforms = {
    data: { value: null },
    image: { value: null },
    table: { value: table },
    hidden: { value: null },
    pixels: { value: new Vector2(1, 1) },
    unproject: { value: new Matrix4() },
    blocked: { value: false },
    low: { value: new Vector3() },
    size: { value: new Vector3(1, 1, 1) },
    cells: { value: new Vector3(1, 1, 1) },
    ends: { value: new Vector2(0, 1) },
    range: { value: new Vector2(0, 1) },
    thickness: { value: 1 },
    imageScale: { value: new Vector3(1, 1, 1) },
    imageShift: { value: new Vector3() },
    smoke: { value: new Color() },
    plain: { value: false },
    axis: { value: -1 },
    height: { value: 0.5 },
  };
  const material = new ShaderMaterial({
    vertexShader: VERTEX,
    fragmentShader: FRAGMENT,
    uniforms: uniforms as unknown as ShaderMaterial["uniforms"],
    defines: { [content.toUpperCase()]: "", STEPS },
    side: BackSide, // also seen from inside of the box
    transparent: true,
    depthWrite: false,
    depthTest: false, // what stands in the way ends the rays
  });
  return { material, uniforms };
}
