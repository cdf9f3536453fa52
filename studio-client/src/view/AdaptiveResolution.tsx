// Reduces the resolution while drawing cannot keep up with the simulation, and restores it when the view rests.

import { addAfterEffect, useFrame, useThree } from "@react-three/fiber";
import { useEffect, useRef } from "react";
import { onRedraw } from "../state/studio";
import { graphics } from "./graphics";

const SLOW_FRAME = 33; // ms of mean drawing time above which the resolution is reduced
const SAMPLES = 4; // frames in the mean
const REST_DELAY = 350; // ms without changes
const REDUCED_DPR = 0.5;

let reduced = false;

/** Whether the view is drawn at full resolution. */
export const isFullResolution = () => !reduced;

/** For machines without a GPU. */
export function AdaptiveResolution() {
  const { gl, setDpr, invalidate } = useThree();
  const wanted = useRef(false);

  useEffect(() => {
    if (graphics.full) return undefined;
    const context = gl.getContext() as WebGL2RenderingContext;
    let times: number[] = [];
    let fence: WebGLSync | null = null;
    let moved = false;
    let poll = 0;
    let rest = 0;
    const drawn = (begin: number) => {
      if (!fence) return;
      if (context.getSyncParameter(fence, context.SYNC_STATUS) !== context.SIGNALED && !context.isContextLost()) {
        poll = window.setTimeout(drawn, 4, begin);
        return;
      }
      context.deleteSync(fence);
      fence = null;
      times = [...times.slice(1 - SAMPLES), performance.now() - begin];
      if (times.length === SAMPLES && times.reduce((sum, time) => sum + time) > SAMPLES * SLOW_FRAME) wanted.current = true;
    };
    const endDrawing = addAfterEffect(() => {
      if (fence || !moved) return;
      moved = false;
      fence = context.fenceSync(context.SYNC_GPU_COMMANDS_COMPLETE, 0);
      context.flush();
      poll = window.setTimeout(drawn, 4, performance.now());
    });
    const endNews = onRedraw(() => {
      moved = true;
      window.clearTimeout(rest);
      rest = window.setTimeout(() => {
        times = [];
        wanted.current = false;
        invalidate();
      }, REST_DELAY);
    });
    return () => {
      endDrawing();
      endNews();
      window.clearTimeout(poll);
      window.clearTimeout(rest);
      if (fence) context.deleteSync(fence);
    };
  }, [gl, invalidate]);

  // just before drawing, because a resized canvas is empty
  useFrame(() => {
    if (wanted.current === reduced) return;
    reduced = wanted.current;
    setDpr(reduced ? REDUCED_DPR : 1);
  });
  return null;
}
