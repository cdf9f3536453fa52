import { useFrame, useThree } from "@react-three/fiber";
import { useEffect } from "react";
import { Vector3 } from "three";
import { history, latestHeader, updateStats } from "../state/studio";
import { useStudio } from "../state/store";
import { gizmoAxis } from "./Gizmo";
import { isFullResolution } from "./AdaptiveResolution";
import { usePullStore } from "./pullStore";

declare global {
  interface Window {
    /** Read-only access to the page's state, for tests. */
    __continua?: Readonly<Record<string, unknown>>;
  }
}

let drawn = 0;
const times: number[] = [];

/** Publishes the page's state to tests; it changes nothing. */
export function TestProbe() {
  const { camera, gl } = useThree();
  useFrame(() => {
    drawn++;
    times.push(performance.now());
    if (times.length > 60) times.shift();
  });
  useEffect(() => {
    const bodies = () => useStudio.getState().scene?.bodies ?? [];
    window.__continua = Object.freeze({
      drawn: () => drawn,
      /** Whether the view is drawn at full resolution. */
      fullResolution: () => isFullResolution(),
      fps: () => (times.length > 1 ? (1000 * (times.length - 1)) / (times[times.length - 1] - times[0]) : 0),
      frame: () => latestHeader(),
      samples: () => history.time.length,
      bodies: () => bodies().map(({ info }) => info.name),
      positions: (body: number) => Array.from(bodies()[body]?.positions ?? []),
      rest: (body: number) => Array.from(bodies()[body]?.rest ?? []),
      pulls: () => [...usePullStore.getState().pulls.values()].map(({ bodyName, target }) => ({ body: bodyName, target: target.toArray() })),
      nodes: (body: number) => Array.from(bodies()[body]?.nodes ?? []),
      triangles: (body: number) => Array.from(bodies()[body]?.triangles ?? []),
      /** Number of frame updates drawn, and the page's own milliseconds for them. */
      updates: () => ({ ...updateStats, now: performance.now() }),
      embedded: (body: number) => Array.from(bodies()[body]?.embedded?.positions ?? []),
      mesh: (name: string) => useStudio.getState().panel?.bodies.find((body) => body.name === name)?.mesh,
      exports: () => useStudio.getState().exports,
      document: () => useStudio.getState().sceneDocument,
      state: () => useStudio.getState().world,
      gizmo: () => gizmoAxis(),
      nodeSelection: () => useStudio.getState().nodeSelection,
      selected: () => useStudio.getState().selected,
      camera: () => camera.position.toArray(),
      /** Position of a world point on the page, in CSS pixels. */
      project: (x: number, y: number, z: number) => {
        const projected = new Vector3(x, y, z).project(camera);
        const box = gl.domElement.getBoundingClientRect();
        return [box.left + ((projected.x + 1) / 2) * box.width, box.top + ((1 - projected.y) / 2) * box.height];
      },
    });
  }, [camera, gl]);
  return null;
}
