// How fluids on grids are looked at, and whether the mouse draws obstacles.

import { create } from "zustand";

export type GridLook = "sheet" | "slice" | "volume";

export interface FlowState {
  /** Whether the mouse draws obstacles into a plane flow. */
  drawing: boolean;
  /** How a flow in space is drawn. */
  look: GridLook;
  /** The slice: across which axis, and where from 0 to 1. */
  axis: 0 | 1 | 2;
  place: number;
}

export const useFlow = create<FlowState>(() => ({ drawing: false, look: "sheet", axis: 2, place: 0.5 }));

/** Drag and lift over time. */
export const forces = { time: [] as number[], drag: [] as number[], lift: [] as number[] };

const MOST = 600;

/** Remember a force; a time before the last one begins anew. */
export function noteForce(time: number, [drag, lift]: [number, number]): void {
  const last = forces.time[forces.time.length - 1] ?? -1;
  if (time === last) return;
  if (time < last) for (const list of [forces.time, forces.drag, forces.lift]) list.length = 0;
  forces.time.push(time);
  forces.drag.push(drag);
  forces.lift.push(lift);
  if (forces.time.length > MOST) for (const list of [forces.time, forces.drag, forces.lift]) list.shift();
}
