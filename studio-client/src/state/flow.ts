// Display options of grid fluids, and whether the mouse draws obstacles.

import { create } from "zustand";

export type GridStyle = "midplane" | "slice" | "volume";

export interface FlowState {
  /** Whether the mouse draws obstacles in a 2D flow. */
  drawing: boolean;
  /** How a 3D flow is drawn. */
  style: GridStyle;
  /** The slice: its normal axis, and its position from 0 to 1. */
  axis: 0 | 1 | 2;
  position: number;
}

export const useFlow = create<FlowState>(() => ({ drawing: false, style: "midplane", axis: 2, position: 0.5 }));

/** Drag and lift over time. */
export const forces = { time: [] as number[], drag: [] as number[], lift: [] as number[] };

const MAX_SAMPLES = 600;

/** Record a force; a step back in time clears the history. */
export function recordForce(time: number, [drag, lift]: [number, number]): void {
  const last = forces.time[forces.time.length - 1] ?? -1;
  if (time === last) return;
  if (time < last) for (const list of [forces.time, forces.drag, forces.lift]) list.length = 0;
  forces.time.push(time);
  forces.drag.push(drag);
  forces.lift.push(lift);
  if (forces.time.length > MAX_SAMPLES) for (const list of [forces.time, forces.drag, forces.lift]) list.shift();
}
