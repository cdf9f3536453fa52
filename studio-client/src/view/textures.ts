// Images on surfaces. Their files arrive once, with the first message that refers to them.

import { LinearMipmapLinearFilter, RepeatWrapping, SRGBColorSpace, Texture } from "three";
import type { PackedArray } from "../net/decode";

const textures = new Map<string, Texture>();
const PREFIX = "texture/";

/** Decode the images in a message; `loaded` is called when one can be drawn. */
export function receiveTextures(arrays: Map<string, PackedArray>, loaded: () => void): void {
  arrays.forEach((bytes, key) => {
    const name = key.slice(PREFIX.length);
    if (!key.startsWith(PREFIX) || textures.has(name)) return;
    const texture = new Texture();
    texture.wrapS = texture.wrapT = RepeatWrapping;
    texture.colorSpace = SRGBColorSpace;
    texture.minFilter = LinearMipmapLinearFilter;
    texture.anisotropy = 8;
    texture.flipY = false; // bitmaps are flipped when they are decoded
    textures.set(name, texture);
    const file = new Blob([new Uint8Array(bytes as Uint8Array)], { type: "image/png" });
    createImageBitmap(file, { imageOrientation: "flipY", premultiplyAlpha: "none", colorSpaceConversion: "none" })
      .then((bitmap) => {
        texture.image = bitmap;
        texture.needsUpdate = true;
        loaded();
      })
      .catch(() => textures.delete(name)); // the surface stays plain
  });
}

/** An image by name, once it can be drawn. */
export function textureOf(name: string | undefined): Texture | null {
  const texture = name === undefined ? undefined : textures.get(name);
  return texture?.image ? texture : null;
}
