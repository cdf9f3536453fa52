// The depth of opaque objects, which ends the rays of volume renderings.

import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo } from "react";
import { type Camera, DepthTexture, DoubleSide, Matrix4, MeshBasicMaterial, type Object3D, UnsignedIntType, Vector2, type WebGLRenderer, WebGLRenderTarget } from "three";
import { OCCLUDER_LAYER } from "./layers";
import type { Raymarch } from "./raymarch";

class DepthPass {
  readonly target = new WebGLRenderTarget(1, 1, { depthTexture: new DepthTexture(1, 1, UnsignedIntType) });
  readonly unproject = new Matrix4();
  readonly pixels = new Vector2();
  hasOccluders = false;
  private readonly depthMaterial = new MeshBasicMaterial({ colorWrite: false, side: DoubleSide });

  /** Render the depth of opaque objects at the size of the drawing buffer. */
  draw(gl: WebGLRenderer, scene: Object3D & { overrideMaterial?: unknown }, camera: Camera): void {
    this.hasOccluders = false;
    scene.traverseVisible((object) => {
      if (object.layers.isEnabled(OCCLUDER_LAYER)) this.hasOccluders = true;
    });
    camera.updateMatrixWorld();
    this.unproject.multiplyMatrices(camera.matrixWorld, camera.projectionMatrixInverse);
    gl.getDrawingBufferSize(this.pixels);
    if (!this.hasOccluders) return;
    this.target.setSize(this.pixels.x, this.pixels.y);
    const { mask } = camera.layers;
    const shadows = gl.shadowMap.autoUpdate;
    camera.layers.set(OCCLUDER_LAYER);
    scene.overrideMaterial = this.depthMaterial;
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
    this.depthMaterial.dispose();
  }
}

const raymarches = new Set<Raymarch>();

/** End rays at opaque objects. */
export function useDepthOcclusion(raymarch: Raymarch): void {
  useEffect(() => {
    raymarches.add(raymarch);
    return () => void raymarches.delete(raymarch);
  }, [raymarch]);
}

/** Renders the depth of occluders before each frame, if there are volumes. */
export function DepthOccluders() {
  const scene = useThree((s) => s.scene);
  const depthPass = useMemo(() => new DepthPass(), []);
  useEffect(() => () => depthPass.dispose(), [depthPass]);
  useFrame(({ gl, camera }) => {
    if (raymarches.size === 0) return;
    depthPass.draw(gl, scene, camera);
    for (const { uniforms } of raymarches) {
      uniforms.sceneDepth.value = depthPass.target.depthTexture;
      uniforms.hasOccluders.value = depthPass.hasOccluders;
      uniforms.pixels.value.copy(depthPass.pixels);
      uniforms.unproject.value.copy(depthPass.unproject);
    }
  });
  return null;
}
