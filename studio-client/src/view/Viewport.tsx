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
import { graphics } from "./graphics";
import { Lights, PlainLights } from "./Lights";
import { Marks } from "./BoundaryConditionMarkers";
import { Gizmo } from "./Gizmo";
import { Obstructions } from "./DepthOccluders";
import { Pace } from "./AdaptiveResolution";
import { PinTool } from "./PinTool";
import { PokeTool } from "./PokeTool";
import { PressTool } from "./PressTool";
import { PullTool } from "./PullTool";
import { FlowProbe } from "./FlowProbe";
import { SelectTool } from "./SelectTool";
import { SketchTool } from "./SketchTool";
import { Volumes } from "./GridVolume";
import { type Stage, stageOf, startView } from "./sceneExtent";
import { Probe } from "./TestProbe";
import { onFrameAll, onLook, type Side } from "./cameraEvents";

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
        aria-label="The simulation in 3D. Drag a body to pull it, drag beside it to turn the view."
        role="img"
      >
        {scene && <Contents scene={scene} dark={dark} />}
      </Canvas>
    </div>
  );
}

function Contents({ scene, dark }: { scene: LiveScene; dark: boolean }) {
  const stage = useMemo(() => stageOf(scene), [scene]);
  return (
    <>
      <Pace />
      <Redraw />
      {graphics.full ? <Lights stage={stage} dark={dark} /> : <PlainLights stage={stage} />}
      <Colliders scene={scene} stage={stage} dark={dark} />
      <Bodies scene={scene} dark={dark} />
      <Marks scene={scene} size={stage.radius} dark={dark} />
      <SketchTool stage={stage} dark={dark} />
      <FlowProbe />
      <Volumes scene={scene} dark={dark} />
      <ContactForces scene={scene} size={stage.radius} dark={dark} />
      <JointLines scene={scene} size={stage.radius} dark={dark} />
      <PressTool />
      <PokeTool />
      <PinTool />
      <SelectTool />
      <PullTool />
      <Gizmo scene={scene} />
      <OrbitControls makeDefault enableDamping dampingFactor={0.14} zoomSpeed={0.8} />
      <Obstructions />
      <CameraFit scene={scene} stage={stage} />
      <Probe />
    </>
  );
}

function Redraw() {
  const invalidate = useThree((s) => s.invalidate);
  useEffect(() => onRedraw(() => invalidate()), [invalidate]);
  return null;
}

const SIDES: Record<Side, { azimuth?: number; elevation?: number }> = {
  front: { azimuth: 0, elevation: 0 },
  right: { azimuth: 90, elevation: 0 },
  top: { azimuth: 0, elevation: 89 },
  corner: {},
};

const PLOTS_HEIGHT = 186; // px that the plots cover at the bottom of a wide window
const LEGEND_HEIGHT = 56;

/** A stage looked at as now, from as far as all of it needs: what was added must not lie out of sight. */
function alongSight(around: Stage, camera: PerspectiveCamera, controls: Controls): Stage {
  const eye = around.center.clone().add(camera.position).sub(controls.target);
  return { ...around, camera: { target: vector(around.center), position: vector(eye) } };
}

const vector = ({ x, y, z }: Vector3): [number, number, number] => [x, y, z];

/** Puts the whole scene into the free part of the view when it is loaded, and when asked. */
function CameraFit({ scene, stage }: { scene: LiveScene; stage: Stage }) {
  const camera = useThree((s) => s.camera);
  const { width, height } = useThree((s) => s.size);
  const controls = useThree((s) => s.controls) as Controls | null;
  const invalidate = useThree((s) => s.invalidate);
  const covered = useStudio((s) => s.plotsOpen) && width > 500 && height > 420 ? PLOTS_HEIGHT : 0;
  const seen = useRef<{ view: number; count: number; obstacles: number } | null>(null);
  const free = useRef({ width, height, covered });
  free.current = { width, height, covered };

  useEffect(() => {
    if (!(camera instanceof PerspectiveCamera)) return;
    // The middle of the picture moves up to the middle of what the plots leave free.
    camera.setViewOffset(width, height, 0, (covered - (covered ? LEGEND_HEIGHT : 0)) / 2, width, height);
    invalidate();
  }, [camera, width, height, covered, invalidate]);

  useEffect(() => {
    if (!controls || !(camera instanceof PerspectiveCamera)) return undefined;
    const fit = (around: Stage) => {
      const { width: w, height: h, covered: c } = free.current;
      controls.enableDamping = false; // a turn that is still fading out must not move the new view
      controls.update();
      camera.fov = stage.camera.fov ?? FOV;
      const up = Math.tan((camera.fov * Math.PI) / 360);
      const share = (h - c - LEGEND_HEIGHT) / Math.max(h, 1);
      const { eye, target } = startView(around, [(up * w) / Math.max(h, 1), up * Math.max(share, 0.3)]);
      camera.position.copy(eye);
      camera.near = 0.01 * stage.radius;
      camera.far = 200 * stage.radius;
      camera.updateProjectionMatrix();
      controls.target.copy(target);
      controls.minDistance = 0.2 * stage.radius;
      controls.maxDistance = 40 * stage.radius;
      controls.update();
      camera.updateMatrixWorld(); // else what is picked before the next drawing has the new place and the old direction
      controls.enableDamping = true;
      invalidate();
    };
    const present = (from?: number) => stageOf(scene, presentBounds(scene, from));
    const known = seen.current?.view === scene.view;
    const before = seen.current?.count ?? 0;
    const count = scene.bodies.length;
    const obstacles = scene.colliders.length;
    const stood = seen.current?.obstacles ?? obstacles;
    seen.current = { view: scene.view, count, obstacles };
    if (!known || (before === 0 && count > 0)) fit(stage);
    else if (count > before || obstacles > stood) fit(alongSight(present(stood), camera, controls)); // else as before
    const endFrame = onFrameAll(() => fit(present()));
    const endLook = onLook((side) => fit({ ...present(), camera: { ...SIDES[side], fov: stage.camera.fov } }));
    return () => {
      endFrame();
      endLook();
    };
  }, [scene, stage, camera, controls, invalidate]);
  return null;
}
