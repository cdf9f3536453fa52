// The material of bodies: plastic with a colour from a table by the value at each point.

import {
  ClampToEdgeWrapping,
  type Color,
  DataTexture,
  LinearFilter,
  MeshLambertMaterial,
  MeshStandardMaterial,
  RGBAFormat,
  SRGBColorSpace,
  type Texture,
  Vector2,
} from "three";
import { graphics } from "./graphics";

export interface BodyMaterial {
  material: MeshStandardMaterial | MeshLambertMaterial;
  /** Colour by the table over this range, or plainly. */
  setColoring(range: [number, number] | null, plain: Color): void;
  /** Multiply the plain colour with an image; null for none. */
  setImage(image: Texture | null): void;
}

export function tableTexture(colors: Uint8Array): DataTexture {
  const count = colors.length / 3;
  const pixels = new Uint8Array(4 * count);
  for (let i = 0; i < count; i++) {
    pixels.set(colors.subarray(3 * i, 3 * i + 3), 4 * i);
    pixels[4 * i + 3] = 255;
  }
  const texture = new DataTexture(pixels, count, 1, RGBAFormat);
  texture.colorSpace = SRGBColorSpace;
  texture.minFilter = texture.magFilter = LinearFilter;
  texture.wrapS = ClampToEdgeWrapping;
  texture.needsUpdate = true;
  return texture;
}

export function bodyMaterial(table: DataTexture): BodyMaterial {
  const uniforms = {
    colorTable: { value: table },
    scalarRange: { value: new Vector2(0, 1) },
    colored: { value: 0 },
  };
  const offset = { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 }; // edges are drawn in front
  const material = graphics.full
    ? new MeshStandardMaterial({ roughness: 0.52, metalness: 0, envMapIntensity: 0.85, ...offset })
    : new MeshLambertMaterial(offset);
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, uniforms);
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nattribute float scalar;\nvarying float vScalar;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nvScalar = scalar;");
    shader.fragmentShader = shader.fragmentShader
      .replace(
        "#include <common>",
        `#include <common>
        varying float vScalar;
        uniform sampler2D colorTable;
        uniform vec2 scalarRange;
        uniform float colored;`,
      )
      .replace(
        "#include <color_fragment>",
        `#include <color_fragment>
        if (colored > 0.5) {
          float span = max(scalarRange.y - scalarRange.x, 1e-30);
          float t = clamp((vScalar - scalarRange.x) / span, 0.0, 1.0);
          diffuseColor.rgb = texture2D(colorTable, vec2(mix(0.5, 255.5, t) / 256.0, 0.5)).rgb;
        }`,
      );
  };
  return {
    material,
    setColoring(range, plain) {
      uniforms.colored.value = range ? 1 : 0;
      if (range) uniforms.scalarRange.value.set(range[0], range[1]);
      material.color.copy(plain);
    },
    setImage(image) {
      if (material.map === image) return;
      material.map = image;
      material.needsUpdate = true;
    },
  };
}
