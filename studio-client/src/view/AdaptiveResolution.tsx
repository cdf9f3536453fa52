// Fewer pixels while drawing cannot keep up with the simulation; all of them again once the picture rests.

import { addAfterEffect, useFrame, useThree } from "@react-three/fiber";
import { useEffect, useRef } from "react";
import { onRedraw } from "../state/studio";
import { graphics } from "./graphics";

const SLOW = 33; // ms of drawing that are too long, in the mean
const USUAL = 4; // pictures that count
const REST = 350; // ms without anything new
const COARSE = 0.5;

let coarse = false;

/** Whether the picture has all of its pixels. */
export const isSharp = () => !coarse;

/** For machines without a graphics card. */
export function Pace() {
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
      times = [...times.slice(1 - USUAL), performance.now() - begin];
      if (times.length === USUAL && times.reduce((sum, time) => sum + time) > USUAL * SLOW) wanted.current = true;
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
      }, REST);
    });
    return () => {
      endDrawing();
      endNews();
      window.clearTimeout(poll);
      window.clearTimeout(rest);
      if (fence) context.deleteSync(fence);
    };
  }, [gl, invalidate]);

  // Just before the picture is drawn: a canvas of another size is empty.
  useFrame(() => {
    if (wanted.current === coarse) return;
    coarse = wanted.current;
    setDpr(coarse ? COARSE : 1);
  });
  return null;
}
