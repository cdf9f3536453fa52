import { OrbitControls } from "@react-three/drei";
import { Canvas, useThree } from "@react-three/fiber";
import { type ComponentRef, useEffect, useMemo, useRef } from "react";
import { NeutralToneMapping, PerspectiveCamera, type Vector3 } from "three";
import { onRedraw } from "../state/studio";
import { type LiveScene, presentBounds } from "../state/live";
import { useStudio } from "../state/store";
import { Bodies } from "./Bodies";
import { Colliders } from "./Colliders";
import { ContactForces, JointLines } from "./ContactForcesAndJoints";
import { FloorShadows } from "./FloorShadow";
import { graphics } from "./graphics";
import { Lights, PlainLights } from "./Lights";
import { BoundaryConditionMarkers } from "./BoundaryConditionMarkers";
import { Gizmo } from "./Gizmo";
import { DepthOccluders } from "./DepthOccluders";
import { AdaptiveResolution } from "./AdaptiveResolution";
import { PinTool } from "./PinTool";
import { PokeTool } from "./PokeTool";
import { PressTool } from "./PressTool";
import { PullTool } from "./PullTool";
import { FlowProbe } from "./FlowProbe";
import { SelectTool } from "./SelectTool";
import { SketchTool } from "./SketchTool";
import { GridVolumes } from "./GridVolume";
import { type SceneExtent, sceneExtentOf, fitCamera } from "./sceneExtent";
import { TestProbe } from "./TestProbe";
import { onFrameAll, onViewFrom, type ViewDirection } from "./cameraEvents";

type Controls = ComponentRef<typeof OrbitControls>;

const FOV = 26;

export function Viewport({ dark }: { dark: boolean }) {
  const scene = useStudio((s) => s.scene);
  return (
    <div className="viewport" data-testid="viewport">
      <Canvas
        frameloop="demand"
        shadows={graphics.full ? "percentage" : false}
        dpr={graphics.full ? [1, 2] : 1}
        camera={{ fov: FOV, position: [2, 1.5, 4] }}
        gl={{ antialias: graphics.full, alpha: true, toneMapping: NeutralToneMapping }}
        aria-label="The simulation in 3D. Drag a body to pull it, drag beside it to rotate the view."
        role="img"
      >
        {scene && <Contents scene={scene} dark={dark} />}
      </Canvas>
    </div>
  );
}

function Contents({ scene, dark }: { scene: LiveScene; dark: boolean }) {
  const extent = useMemo(() => sceneExtentOf(scene), [scene]);
  return (
    <>
      <AdaptiveResolution />
      <Redraw />
      {graphics.full ? <Lights extent={extent} dark={dark} /> : <PlainLights extent={extent} />}
      <Colliders scene={scene} extent={extent} dark={dark} />
      <Bodies scene={scene} dark={dark} />
      <BoundaryConditionMarkers scene={scene} size={extent.radius} dark={dark} />
      <SketchTool extent={extent} dark={dark} />
      <FlowProbe />
      <GridVolumes scene={scene} dark={dark} />
      <ContactForces scene={scene} size={extent.radius} dark={dark} />
      <JointLines scene={scene} size={extent.radius} dark={dark} />
      <PressTool />
      <PokeTool />
      <PinTool />
      <SelectTool />
      <PullTool />
      <Gizmo scene={scene} />
      <OrbitControls makeDefault enableDamping dampingFactor={0.14} zoomSpeed={0.8} />
      <FloorShadows scene={scene} extent={extent} dark={dark} />
      <DepthOccluders />
      <CameraFit scene={scene} extent={extent} />
      <TestProbe />
    </>
  );
}

function Redraw() {
  const invalidate = useThree((s) => s.invalidate);
  useEffect(() => onRedraw(() => invalidate()), [invalidate]);
  return null;
}

const DIRECTIONS: Record<ViewDirection, { azimuth?: number; elevation?: number }> = {
  front: { azimuth: 0, elevation: 0 },
  right: { azimuth: 90, elevation: 0 },
  top: { azimuth: 0, elevation: 89 },
  corner: {},
};

const PLOTS_HEIGHT = 186; // px covered by the plots at the bottom of a wide window
const LEGEND_HEIGHT = 56;

/** The extent with the current view direction, from far enough that added objects are visible. */
function keepDirection(around: SceneExtent, camera: PerspectiveCamera, controls: Controls): SceneExtent {
  const eye = around.center.clone().add(camera.position).sub(controls.target);
  return { ...around, camera: { target: vector(around.center), position: vector(eye) } };
}

const vector = ({ x, y, z }: Vector3): [number, number, number] => [x, y, z];

/** Fits the camera to the scene when it is loaded, and on request. */
function CameraFit({ scene, extent }: { scene: LiveScene; extent: SceneExtent }) {
  const camera = useThree((s) => s.camera);
  const { width, height } = useThree((s) => s.size);
  const controls = useThree((s) => s.controls) as Controls | null;
  const invalidate = useThree((s) => s.invalidate);
  const covered = useStudio((s) => s.plotsOpen) && width > 500 && height > 420 ? PLOTS_HEIGHT : 0;
  const seen = useRef<{ sceneId: number; bodies: number; colliders: number } | null>(null);
  const free = useRef({ width, height, covered });
  free.current = { width, height, covered };

  useEffect(() => {
    if (!(camera instanceof PerspectiveCamera)) return;
    // The centre of the view moves up to the centre of the area above the plots.
    camera.setViewOffset(width, height, 0, (covered - (covered ? LEGEND_HEIGHT : 0)) / 2, width, height);
    invalidate();
  }, [camera, width, height, covered, invalidate]);

  useEffect(() => {
    if (!controls || !(camera instanceof PerspectiveCamera)) return undefined;
    const fit = (around: SceneExtent) => {
      const { width: w, height: h, covered: c } = free.current;
      controls.enableDamping = false; // damping of an earlier rotation must not move the new view
      controls.update();
      camera.fov = extent.camera.fov ?? FOV;
      const up = Math.tan((camera.fov * Math.PI) / 360);
      const share = (h - c - LEGEND_HEIGHT) / Math.max(h, 1);
      const { eye, target } = fitCamera(around, [(up * w) / Math.max(h, 1), up * Math.max(share, 0.3)]);
      camera.position.copy(eye);
      camera.near = 0.01 * extent.radius;
      camera.far = 200 * extent.radius;
      camera.updateProjectionMatrix();
      controls.target.copy(target);
      controls.minDistance = 0.2 * extent.radius;
      controls.maxDistance = 40 * extent.radius;
      controls.update();
      camera.updateMatrixWorld(); // else picking before the next frame mixes the new position with the old direction
      controls.enableDamping = true;
      invalidate();
    };
    const present = (from?: number) => sceneExtentOf(scene, presentBounds(scene, from));
    const known = seen.current?.sceneId === scene.sceneId;
    const before = seen.current?.bodies ?? 0;
    const count = scene.bodies.length;
    const colliders = scene.colliders.length;
    const collidersBefore = seen.current?.colliders ?? colliders;
    seen.current = { sceneId: scene.sceneId, bodies: count, colliders };
    if (!known || (before === 0 && count > 0)) fit(extent);
    else if (count > before || colliders > collidersBefore) fit(keepDirection(present(collidersBefore), camera, controls)); // else unchanged
    const endFrame = onFrameAll(() => fit(present()));
    const endViewFrom = onViewFrom((direction) => fit({ ...present(), camera: { ...DIRECTIONS[direction], fov: extent.camera.fov } }));
    return () => {
      endFrame();
      endViewFrom();
    };
  }, [scene, extent, camera, controls, invalidate]);
  return null;
}
