// How far one can see: the depths of solid things, for rays through volumes among them.

import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo } from "react";
import { type Camera, DepthTexture, DoubleSide, Matrix4, MeshBasicMaterial, type Object3D, UnsignedIntType, Vector2, type WebGLRenderer, WebGLRenderTarget } from "three";
import type { March } from "./raymarch";

const LAYER = 1;

/** Layers of a solid thing: it is drawn, and it stands in the way of rays. */
export const SOLID = 1 | (1 << LAYER);

class Depths {
  readonly target = new WebGLRenderTarget(1, 1, { depthTexture: new DepthTexture(1, 1, UnsignedIntType) });
  readonly unproject = new Matrix4();
  readonly pixels = new Vector2();
  blocked = false;
  private readonly paint = new MeshBasicMaterial({ colorWrite: false, side: DoubleSide });

  /** Draw the depths of what is solid, as large as the picture. */
  draw(gl: WebGLRenderer, scene: Object3D & { overrideMaterial?: unknown }, camera: Camera): void {
    this.blocked = false;
    scene.traverseVisible((object) => {
      if (object.layers.mask === SOLID) this.blocked = true;
    });
    camera.updateMatrixWorld();
    this.unproject.multiplyMatrices(camera.matrixWorld, camera.projectionMatrixInverse);
    gl.getDrawingBufferSize(this.pixels);
    if (!this.blocked) return;
    this.target.setSize(this.pixels.x, this.pixels.y);
    const { mask } = camera.layers;
    const shadows = gl.shadowMap.autoUpdate;
    camera.layers.set(LAYER);
    scene.overrideMaterial = this.paint;
    gl.shadowMap.autoUpdate = false;
    gl.setRenderTarget(this.target);
    gl.clear();
    gl.render(scene, camera);
    gl.setRenderTarget(null);
    gl.shadowMap.autoUpdate = shadows;
    scene.overrideMaterial = null;
    camera.layers.mask = mask;
  }

  dispose(): void {
    this.target.depthTexture?.dispose();
    this.target.dispose();
    this.paint.dispose();
  }
}

const marches = new Set<March>();

/** Have rays end at solid things. */
export function useObstructed(march: March): void {
  useEffect(() => {
    marches.add(march);
    return () => void marches.delete(march);
  }, [march]);
}

/** Finds what stands in the way before each picture, if there are any rays. */
export function Obstructions() {
  const scene = useThree((s) => s.scene);
  const depths = useMemo(() => new Depths(), []);
  useEffect(() => () => depths.dispose(), [depths]);
  useFrame(({ gl, camera }) => {
    if (marches.size === 0) return;
    depths.draw(gl, scene, camera);
    for (const { uniforms } of marches) {
      uniforms.hidden.value = depths.target.depthTexture;
      uniforms.blocked.value = depths.blocked;
      uniforms.pixels.value.copy(depths.pixels);
      uniforms.unproject.value.copy(depths.unproject);
    }
  });
  return null;
}
