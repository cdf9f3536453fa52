import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo, useRef } from "react";
import { Color, DoubleSide, FrontSide, LineBasicMaterial } from "three";
import { acknowledge, measure } from "../state/studio";
import { editing, entries } from "../state/document";
import { gridStyle, useFlow } from "../state/flow";
import { useStudio } from "../state/store";
import { updateEmbedded, isSigned, type LiveBody, type LiveScene } from "../state/live";
import { Fluid } from "./Fluid";
import { Interior } from "./Interior";
import { bodyMaterial, tableTexture } from "./material";
import { CASTS, OCCLUDES_AND_CASTS } from "./layers";
import { BodySurface } from "./bodySurface";
import { setBodyGroup, setSurfaces } from "./surfaceRegistry";
import { textureOf } from "./textures";

interface Props {
  scene: LiveScene;
  dark: boolean;
}

const SURFACE_OPACITY = 0.1; // of bodies whose interior is shown

/** The surfaces of bodies. A body with a new mesh is a new object and gets a new surface; the others keep theirs. */
function useSurfaces(bodies: (LiveBody | null)[]): (BodySurface | null)[] {
  const kept = useRef<{ bodies: (LiveBody | null)[]; surfaces: (BodySurface | null)[] }>({ bodies: [], surfaces: [] });
  const same = bodies.length === kept.current.bodies.length && bodies.every((body, i) => body === kept.current.bodies[i]);
  if (!same) {
    const known = new Map(kept.current.bodies.map((body, i) => [body, kept.current.surfaces[i]]));
    kept.current = { bodies, surfaces: bodies.map((body) => body && (known.get(body) ?? new BodySurface(body))) };
  }
  const { surfaces } = kept.current;
  const drawn = useRef<(BodySurface | null)[]>([]);
  useEffect(() => {
    drawn.current.filter((surface) => !surfaces.includes(surface)).forEach((surface) => surface?.dispose());
    drawn.current = surfaces;
  }, [surfaces]);
  useEffect(
    () => () => {
      drawn.current.forEach((surface) => surface?.dispose());
      kept.current = { bodies: [], surfaces: [] };
    },
    [],
  );
  return surfaces;
}

/** All bodies. They are updated just before each frame is drawn. */
export function Bodies({ scene, dark }: Props) {
  const colored = useStudio((s) => s.colored);
  const range = useStudio((s) => s.range);
  const wireframe = useStudio((s) => s.wireframe);
  const hidden = useStudio((s) => s.hidden);
  const showNodes = useStudio((s) => s.nodes);
  const showEmbedded = useStudio((s) => s.embedded);
  const interior = useStudio((s) => s.interior);
  const showRestShape = useStudio((s) => s.restShape);
  const exaggeration = useStudio((s) => s.exaggeration);
  const isEditing = useStudio(editing); // at the start there is nothing to colour by
  const selectedBody = useStudio((s) => (editing(s) && s.selected[0] === "bodies" ? entries(s.sceneDocument?.data, "bodies")[Number(s.selected[1])]?.name : null));
  const invalidate = useThree((s) => s.invalidate);
  const chosenStyle = useFlow((s) => s.style);
  const volumes = useStudio((s) => Object.keys(s.header?.volumes ?? {}).join());
  const replaced = new Set(volumes.split(",").filter((key) => key && gridStyle(scene.bodies[Number(key)]?.info.kind, chosenStyle) !== "mesh"));

  const surfaces = useSurfaces(scene.bodies.map((body) => (body.info.dynamicTopology ? null : body)));
  const embeddedSurfaces = useSurfaces(scene.bodies.map(({ embedded }) => embedded));
  const signed = useStudio((s) => isSigned(scene, s.field));
  const colormap = signed ? scene.divergingColormap : scene.colormap;
  const table = useMemo(() => tableTexture(colormap), [colormap]);
  const bodyCount = scene.bodies.length;
  const materials = useMemo(() => Array.from({ length: bodyCount }, () => bodyMaterial(table)), [bodyCount, table]);
  const lines = useMemo(() => new LineBasicMaterial({ transparent: true }), []);

  useEffect(() => {
    setSurfaces(surfaces);
    return () => setSurfaces([]);
  }, [surfaces]);

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
      measure(() => {
        surfaces[number]?.update();
        if (!showEmbedded || !embeddedSurfaces[number] || !body.embedded) return;
        updateEmbedded(body, body.embedded);
        embeddedSurfaces[number].update();
      });
      const shownSurface = (showEmbedded && embeddedSurfaces[number]) || surfaces[number];
      const { texture } = body.info;
      const image = shownSurface?.hasCoordinates && texture ? textureOf(texture.name) : null;
      const plain = image && texture ? new Color().setRGB(...texture.factor) : new Color().setRGB(...(body.info.color ?? [0.5, 0.5, 0.5]), "srgb");
      materials[number].setImage(image);
      materials[number].setColoring(colored && body.scalars && !isEditing ? range : null, plain);
      const highlight = selectedBody === body.info.name ? (dark ? 0.16 : 0.1) : 0;
      const transparent = interior !== "none" && body.info.kind === "soft";
      const { material } = materials[number];
      if (material.transparent !== transparent) material.needsUpdate = true;
      material.transparent = transparent;
      const side = body.info.kind === "cloth" ? DoubleSide : FrontSide;
      if (material.side !== side) material.needsUpdate = true;
      material.side = side;
      material.opacity = transparent ? SURFACE_OPACITY : 1;
      material.visible = !(transparent && body.interior && interior === "volume" && body.scalars); // the volume shows its shape
      material.depthWrite = !transparent;
      materials[number].material.emissive.copy(plain).multiplyScalar(highlight * 2);
    });
    acknowledge();
  });

  useEffect(() => invalidate(), [colored, range, wireframe, hidden, chosenStyle, volumes, isEditing, selectedBody, showNodes, showRestShape, showEmbedded, interior, exaggeration, invalidate]);

  return (
    <>
      {surfaces.map((surface, number) => (
        <group
          key={scene.bodies[number].info.name}
          ref={(group) => setBodyGroup(number, group)}
          visible={!hidden[scene.bodies[number].info.name] && !replaced.has(String(number))}
        >
          {surface === null ? (
            <Fluid body={scene.bodies[number]} table={table} />
          ) : (
            <mesh
              geometry={(showEmbedded && embeddedSurfaces[number]?.drawn) || surface.drawn}
              material={materials[number].material}
              layers-mask={interior === "none" || scene.bodies[number].info.kind !== "soft" ? OCCLUDES_AND_CASTS : CASTS}
              castShadow
              receiveShadow
              frustumCulled={false}
            />
          )}
          {interior !== "none" && surface && scene.bodies[number].info.kind === "soft" && (
            <Interior body={scene.bodies[number]} table={table} range={range} mode={interior} />
          )}
          {showNodes && surface && (
            <points geometry={surface.points} frustumCulled={false}>
              <pointsMaterial size={5} sizeAttenuation={false} color={dark ? "#6fe0a3" : "#0f7f45"} />
            </points>
          )}
          {showRestShape && surface && scene.bodies[number].info.kind === "soft" && (
            <mesh geometry={surface.rest} renderOrder={4} frustumCulled={false}>
              <meshBasicMaterial color={dark ? "#ffffff" : "#0c1222"} transparent opacity={0.13} depthWrite={false} />
            </mesh>
          )}
          {wireframe && surface && <lineSegments geometry={surface.wire} material={lines} frustumCulled={false} />}
        </group>
      ))}
    </>
  );
}
