// A fluid on the GPU: its particles as shaded spheres, or its surface.

import {
  BufferAttribute,
  BufferGeometry,
  type Color,
  Color as Plain,
  type DataTexture,
  DynamicDrawUsage,
  ShaderMaterial,
  Sphere,
  Vector2,
} from "three";
import type { LiveBody } from "../state/live";
import { vertexNormals } from "./geometry";

const GROWTH = 1.25; // of buffers when a fluid grows

const VERTEX = `
attribute float scalar;
varying float vScalar;
uniform float radius;
uniform float height;
void main() {
  vScalar = scalar;
  vec4 viewPosition = modelViewMatrix * vec4(position, 1.0);
  gl_Position = projectionMatrix * viewPosition;
  gl_PointSize = max(1.0, radius * height * projectionMatrix[1][1] / -viewPosition.z);
}`;

const FRAGMENT = `
varying float vScalar;
uniform sampler2D colorTable;
uniform vec2 scalarRange;
uniform float colored;
uniform vec3 plain;
void main() {
  vec2 across = 2.0 * gl_PointCoord - 1.0;
  float square = dot(across, across);
  if (square > 1.0) discard;
  vec3 normal = vec3(across.x, -across.y, sqrt(1.0 - square));
  vec3 color = plain;
  if (colored > 0.5) {
    float span = max(scalarRange.y - scalarRange.x, 1e-30);
    float t = clamp((vScalar - scalarRange.x) / span, 0.0, 1.0);
    color = texture2D(colorTable, vec2(mix(0.5, 255.5, t) / 256.0, 0.5)).rgb;
  }
  float light = 0.5 + 0.5 * max(dot(normal, normalize(vec3(0.35, 0.8, 0.5))), 0.0);
  gl_FragColor = vec4(color * light, 1.0);
  #include <tonemapping_fragment>
  #include <colorspace_fragment>
}`;

export interface ParticleMaterial {
  material: ShaderMaterial;
  /** Colour by the table over this range, or plainly. */
  setColoring(range: [number, number] | null, plain: Color): void;
}

export function particleMaterial(table: DataTexture, radius: number): ParticleMaterial {
  const uniforms = {
    colorTable: { value: table },
    scalarRange: { value: new Vector2(0, 1) },
    colored: { value: 0 },
    plain: { value: new Plain() },
    radius: { value: radius },
    height: { value: 1 },
  };
  const material = new ShaderMaterial({ uniforms, vertexShader: VERTEX, fragmentShader: FRAGMENT });
  return {
    material,
    setColoring(range, plain) {
      uniforms.colored.value = range ? 1 : 0;
      if (range) uniforms.scalarRange.value.set(range[0], range[1]);
      uniforms.plain.value.copy(plain);
    },
  };
}

/** Fill a vertex attribute, growing its buffer if needed. */
function fill(geometry: BufferGeometry, name: string, values: Float32Array, size: number): BufferAttribute {
  let attribute = geometry.getAttribute(name) as BufferAttribute | undefined;
  if (!attribute || attribute.array.length < values.length) {
    const capacity = size * Math.ceil((GROWTH * values.length) / size);
    attribute = new BufferAttribute(new Float32Array(capacity), size).setUsage(DynamicDrawUsage);
    geometry.setAttribute(name, attribute);
  }
  (attribute.array as Float32Array).set(values);
  attribute.needsUpdate = true;
  return attribute;
}

export class ParticleCloud {
  /** The particles. */
  readonly points = new BufferGeometry();
  /** Their surface, empty unless requested. */
  readonly surface = new BufferGeometry();
  private version = -1;

  constructor(private readonly body: LiveBody) {
    for (const geometry of [this.points, this.surface]) geometry.boundingSphere = new Sphere(undefined, Infinity);
    this.update();
  }

  /** Upload the newest particles, or the newest surface, to the GPU. */
  update(): void {
    const { body } = this;
    if (this.version === body.version) return;
    this.version = body.version;
    const { positions, triangles } = body;
    const count = positions.length / 3;
    const scalars = body.scalars?.length === count ? body.scalars : new Float32Array(count);
    const shown = triangles.length > 0 ? this.surface : this.points;
    const other = triangles.length > 0 ? this.points : this.surface;
    other.setDrawRange(0, 0);
    fill(shown, "position", positions, 3);
    fill(shown, "scalar", scalars, 1);
    if (triangles.length === 0) {
      shown.setDrawRange(0, count);
      return;
    }
    const normals = new Float32Array(positions.length);
    vertexNormals(normals, positions, triangles);
    fill(shown, "normal", normals, 3);
    let index = shown.getIndex();
    if (!index || index.array.length < triangles.length) {
      index = new BufferAttribute(new Uint32Array(Math.ceil(GROWTH * triangles.length)), 1).setUsage(DynamicDrawUsage);
      shown.setIndex(index);
    }
    (index.array as Uint32Array).set(triangles);
    index.needsUpdate = true;
    shown.setDrawRange(0, triangles.length);
  }

  dispose(): void {
    this.points.dispose();
    this.surface.dispose();
  }
}
