import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo } from "react";
import { Color, type DataTexture, Vector2 } from "three";
import { useStudio } from "../state/store";
import type { LiveBody } from "../state/live";
import { ParticleCloud, particleMaterial } from "./particleCloud";
import { CASTS } from "./layers";
import { bodyMaterial } from "./material";

/** A fluid: particles, or its surface if the server sends one. */
export function Fluid({ body, table }: { body: LiveBody; table: DataTexture }) {
  const colored = useStudio((s) => s.colored);
  const range = useStudio((s) => s.range);
  const gl = useThree((s) => s.gl);
  const cloud = useMemo(() => new ParticleCloud(body), [body]);
  const particles = useMemo(() => particleMaterial(table, body.info.pointRadius ?? 1), [table, body]);
  const surface = useMemo(() => bodyMaterial(table), [table]);

  useEffect(() => () => cloud.dispose(), [cloud]);
  useEffect(
    () => () => {
      particles.material.dispose();
      surface.material.dispose();
    },
    [particles, surface],
  );

  useFrame(() => {
    cloud.update();
    const plain = new Color().setRGB(...(body.info.color ?? [0.5, 0.5, 0.5]), "srgb");
    const shown = colored && body.scalars ? range : null;
    particles.setColoring(shown, plain);
    surface.setColoring(shown, plain);
    particles.material.uniforms.height.value = gl.getDrawingBufferSize(new Vector2()).y;
  });

  return (
    <>
      {body.info.pointRadius !== null && ( // a grid liquid has a surface only
        <points geometry={cloud.points} material={particles.material} layers-mask={CASTS} frustumCulled={false} />
      )}
      <mesh geometry={cloud.surface} material={surface.material} layers-mask={CASTS} castShadow receiveShadow frustumCulled={false} />
    </>
  );
}
