import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo } from "react";
import { Color, LineBasicMaterial } from "three";
import { acknowledge, timed } from "../state/studio";
import { editing, entries } from "../state/document";
import { useStudio } from "../state/store";
import { carryAlong, hasSign, type LiveScene } from "../state/live";
import { Fluid } from "./Fluid";
import { Inside } from "./Interior";
import { bodyMaterial, tableTexture } from "./material";
import { SOLID } from "./DepthOccluders";
import { Surface } from "./bodySurface";
import { setBodyGroup, setSurfaces } from "./surfaceRegistry";

interface Props {
  scene: LiveScene;
  dark: boolean;
}

const GLASS = 0.1; // how much of a body is left when one looks inside

/** All bodies. They are brought up to date just before each picture is drawn. */
export function Bodies({ scene, dark }: Props) {
  const colored = useStudio((s) => s.colored);
  const range = useStudio((s) => s.range);
  const wireframe = useStudio((s) => s.wireframe);
  const hidden = useStudio((s) => s.hidden);
  const dots = useStudio((s) => s.dots);
  const showSkin = useStudio((s) => s.skin);
  const inside = useStudio((s) => s.inside);
  const ghost = useStudio((s) => s.ghost);
  const exaggeration = useStudio((s) => s.exaggeration);
  const drafting = useStudio(editing); // before anything has moved there is nothing to colour by
  const chosen = useStudio((s) => (editing(s) && s.selected[0] === "bodies" ? entries(s.paper?.data, "bodies")[Number(s.selected[1])]?.name : null));
  const invalidate = useThree((s) => s.invalidate);

  const surfaces = useMemo(() => scene.bodies.map((body) => (body.info.radius === null ? new Surface(body) : null)), [scene]);
  const skins = useMemo(() => scene.bodies.map(({ skin }) => skin && new Surface(skin)), [scene]);
  const signed = useStudio((s) => hasSign(scene, s.field));
  const table = useMemo(() => tableTexture(signed ? scene.signed : scene.colormap), [scene, signed]);
  const materials = useMemo(() => scene.bodies.map(() => bodyMaterial(table)), [scene, table]);
  const lines = useMemo(() => new LineBasicMaterial({ transparent: true }), []);

  useEffect(() => {
    setSurfaces(surfaces);
    return () => {
      setSurfaces([]);
      surfaces.forEach((surface) => surface?.dispose());
      skins.forEach((skin) => skin?.dispose());
    };
  }, [surfaces, skins]);

  useEffect(
    () => () => {
      materials.forEach(({ material }) => material.dispose());
      table.dispose();
    },
    [materials, table],
  );

  useEffect(() => {
    lines.color.set(dark ? "#ffffff" : "#0c1222");
    lines.opacity = dark ? 0.28 : 0.3;
    invalidate();
  }, [lines, dark, invalidate]);

  useFrame(() => {
    scene.bodies.forEach((body, number) => {
      timed(() => {
        surfaces[number]?.update();
        if (!showSkin || !skins[number] || !body.skin) return;
        carryAlong(body, body.skin);
        skins[number].update();
      });
      const plain = new Color().setRGB(...(body.info.color ?? [0.5, 0.5, 0.5]), "srgb");
      materials[number].setColoring(colored && body.scalars && !drafting ? range : null, plain);
      const glow = chosen === body.info.name ? (dark ? 0.16 : 0.1) : 0;
      const glass = inside !== "none" && body.info.kind === "soft";
      const { material } = materials[number];
      if (material.transparent !== glass) material.needsUpdate = true;
      material.transparent = glass;
      material.opacity = glass ? GLASS : 1;
      material.visible = !(glass && body.matter && inside === "volume" && body.scalars); // the volume shows its shape
      material.depthWrite = !glass;
      materials[number].material.emissive.copy(plain).multiplyScalar(glow * 2);
    });
    acknowledge();
  });

  useEffect(() => invalidate(), [colored, range, wireframe, hidden, drafting, chosen, dots, ghost, showSkin, inside, exaggeration, invalidate]);

  return (
    <>
      {surfaces.map((surface, number) => (
        <group
          key={scene.bodies[number].info.name}
          ref={(group) => setBodyGroup(number, group)}
          visible={!hidden[scene.bodies[number].info.name]}
        >
          {surface === null ? (
            <Fluid body={scene.bodies[number]} table={table} />
          ) : (
            <mesh
              geometry={(showSkin && skins[number]?.drawn) || surface.drawn}
              material={materials[number].material}
              layers-mask={inside === "none" || scene.bodies[number].info.kind !== "soft" ? SOLID : 1}
              castShadow
              receiveShadow
              frustumCulled={false}
            />
          )}
          {inside !== "none" && surface && scene.bodies[number].info.kind === "soft" && (
            <Inside body={scene.bodies[number]} table={table} range={range} look={inside} />
          )}
          {dots && surface && (
            <points geometry={surface.dots} frustumCulled={false}>
              <pointsMaterial size={5} sizeAttenuation={false} color={dark ? "#6fe0a3" : "#0f7f45"} />
            </points>
          )}
          {ghost && surface && scene.bodies[number].info.kind === "soft" && (
            <mesh geometry={surface.ghost} renderOrder={4} frustumCulled={false}>
              <meshBasicMaterial color={dark ? "#ffffff" : "#0c1222"} transparent opacity={0.13} depthWrite={false} />
            </mesh>
          )}
          {wireframe && surface && <lineSegments geometry={surface.wire} material={lines} frustumCulled={false} />}
        </group>
      ))}
    </>
  );
}
