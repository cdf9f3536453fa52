import { useThree } from "@react-three/fiber";
import { useEffect, useMemo, useRef } from "react";
import {
  BackSide,
  BoxGeometry,
  type DirectionalLight,
  Mesh,
  MeshBasicMaterial,
  PMREMGenerator,
  Scene,
  SphereGeometry,
} from "three";
import type { SceneExtent } from "./sceneExtent";

/** A small photo studio: a bright sky, a large lamp above, a fill at each side. */
function studioScene(dark: boolean): Scene {
  const scene = new Scene();
  const glow = (strength: number, tint: [number, number, number] = [1, 1, 1]) => {
    const material = new MeshBasicMaterial();
    material.color.setRGB(...tint).multiplyScalar(strength);
    return material;
  };
  const sky = new Mesh(new SphereGeometry(20, 24, 12), glow(dark ? 0.32 : 0.6, [0.92, 0.96, 1.04]));
  sky.material.side = BackSide;
  scene.add(sky);
  const lamp = (size: [number, number, number], at: [number, number, number], strength: number) => {
    const box = new Mesh(new BoxGeometry(...size), glow(strength));
    box.position.set(...at);
    scene.add(box);
  };
  lamp([10, 0.5, 8], [0, 12, 2], dark ? 7 : 6);
  lamp([0.5, 7, 9], [-12, 4, 3], dark ? 2.6 : 2);
  lamp([0.5, 5, 7], [12, 3, -3], dark ? 1.8 : 1.2);
  return scene;
}

function disposeScene(scene: Scene): void {
  scene.traverse((object) => {
    if (object instanceof Mesh) {
      object.geometry.dispose();
      (object.material as MeshBasicMaterial).dispose();
    }
  });
}

export function Lights({ extent, dark }: { extent: SceneExtent; dark: boolean }) {
  const { gl, scene, invalidate } = useThree();
  const key = useRef<DirectionalLight>(null);

  useEffect(() => {
    const generator = new PMREMGenerator(gl);
    const lightScene = studioScene(dark);
    const target = generator.fromScene(lightScene, 0.03);
    scene.environment = target.texture;
    invalidate();
    return () => {
      scene.environment = null;
      target.dispose();
      generator.dispose();
      disposeScene(lightScene);
    };
  }, [gl, scene, dark, invalidate]);

  const { center, radius } = extent;
  const position = useMemo(
    () => [center.x - 1.6 * radius, center.y + 4.2 * radius, center.z + 2.4 * radius] as const,
    [center, radius],
  );

  useEffect(() => {
    const light = key.current;
    if (!light) return;
    light.target.position.copy(center);
    light.target.updateMatrixWorld();
    const camera = light.shadow.camera;
    const reach = 2.2 * radius;
    Object.assign(camera, {
      left: -reach,
      right: reach,
      top: reach,
      bottom: -reach,
      near: 0.5 * radius,
      far: 12 * radius,
    });
    camera.updateProjectionMatrix();
    light.shadow.normalBias = 0.012 * radius;
  }, [center, radius]);

  return (
    <directionalLight
      ref={key}
      position={position}
      intensity={dark ? 1.5 : 1.7}
      castShadow
      shadow-mapSize={[2048, 2048]}
      shadow-radius={5}
      shadow-bias={-0.0004}
    />
  );
}

/** The same mood without reflections and shadows, for machines without a graphics card. */
export function PlainLights({ extent }: { extent: SceneExtent }) {
  const { center, radius } = extent;
  return (
    <>
      <hemisphereLight args={["#ffffff", "#98a0b0", 2.5]} />
      <directionalLight
        position={[center.x - 1.6 * radius, center.y + 4.2 * radius, center.z + 2.4 * radius]}
        intensity={1.9}
      />
    </>
  );
}
