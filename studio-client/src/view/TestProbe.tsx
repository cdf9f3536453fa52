import { useFrame, useThree } from "@react-three/fiber";
import { useEffect } from "react";
import { Vector3 } from "three";
import { history, latestHeader, work } from "../state/studio";
import { useStudio } from "../state/store";
import { gizmoAxis } from "./Gizmo";
import { isSharp } from "./AdaptiveResolution";
import { useHands } from "./pullStore";

declare global {
  interface Window {
    /** Read-only look at the page's state, for tests. */
    __continua?: Readonly<Record<string, unknown>>;
  }
}

let drawn = 0;
const times: number[] = [];

/** Publishes what the page shows to tests; it changes nothing. */
export function Probe() {
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
      /** Whether the picture has all of its pixels. */
      sharp: () => isSharp(),
      fps: () => (times.length > 1 ? (1000 * (times.length - 1)) / (times[times.length - 1] - times[0]) : 0),
      frame: () => latestHeader(),
      samples: () => history.time.length,
      bodies: () => bodies().map(({ info }) => info.name),
      positions: (body: number) => Array.from(bodies()[body]?.positions ?? []),
      rest: (body: number) => Array.from(bodies()[body]?.rest ?? []),
      grips: () => [...useHands.getState().grips.values()].map(({ bodyName, target }) => ({ body: bodyName, target: target.toArray() })),
      nodes: (body: number) => Array.from(bodies()[body]?.nodes ?? []),
      triangles: (body: number) => Array.from(bodies()[body]?.triangles ?? []),
      /** Frames drawn that brought something new, and the page's own milliseconds for them. */
      updates: () => ({ ...work, now: performance.now() }),
      skin: (body: number) => Array.from(bodies()[body]?.skin?.positions ?? []),
      mesh: (name: string) => useStudio.getState().panel?.bodies.find((body) => body.name === name)?.mesh,
      exports: () => useStudio.getState().exports,
      paper: () => useStudio.getState().paper,
      state: () => useStudio.getState().world,
      gizmo: () => gizmoAxis(),
      chosen: () => useStudio.getState().chosen,
      selected: () => useStudio.getState().selected,
      camera: () => camera.position.toArray(),
      /** Where a point of the world is on the page, in CSS pixels. */
      project: (x: number, y: number, z: number) => {
        const place = new Vector3(x, y, z).project(camera);
        const box = gl.domElement.getBoundingClientRect();
        return [box.left + ((place.x + 1) / 2) * box.width, box.top + ((1 - place.y) / 2) * box.height];
      },
    });
  }, [camera, gl]);
  return null;
}
