import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo } from "react";
import { Color, type DataTexture, Vector2 } from "three";
import { useStudio } from "../state/store";
import type { LiveBody } from "../state/live";
import { Cloud, cloudMaterial } from "./particleCloud";
import { bodyMaterial } from "./material";

/** A fluid: balls, or the surface around them if the server sends one. */
export function Fluid({ body, table }: { body: LiveBody; table: DataTexture }) {
  const colored = useStudio((s) => s.colored);
  const range = useStudio((s) => s.range);
  const gl = useThree((s) => s.gl);
  const cloud = useMemo(() => new Cloud(body), [body]);
  const balls = useMemo(() => cloudMaterial(table, body.info.radius ?? 1), [table, body]);
  const skin = useMemo(() => bodyMaterial(table), [table]);

  useEffect(() => () => cloud.dispose(), [cloud]);
  useEffect(
    () => () => {
      balls.material.dispose();
      skin.material.dispose();
    },
    [balls, skin],
  );

  useFrame(() => {
    cloud.update();
    const plain = new Color().setRGB(...(body.info.color ?? [0.5, 0.5, 0.5]), "srgb");
    const shown = colored && body.scalars ? range : null;
    balls.setColoring(shown, plain);
    skin.setColoring(shown, plain);
    balls.material.uniforms.height.value = gl.getDrawingBufferSize(new Vector2()).y;
  });

  return (
    <>
      <points geometry={cloud.points} material={balls.material} frustumCulled={false} />
      <mesh geometry={cloud.surface} material={skin.material} castShadow receiveShadow frustumCulled={false} />
    </>
  );
}
