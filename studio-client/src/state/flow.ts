// Display options of grid fluids, and whether the mouse draws obstacles.

import { create } from "zustand";

/** How a 3D flow is drawn: by its own mesh (the mid-plane of a gas, the surface of a liquid), a slice or a volume. */
export type GridStyle = "mesh" | "slice" | "volume";

export interface FlowState {
  /** Whether the mouse draws obstacles in a 2D flow. */
  drawing: boolean;
  /** How 3D flows are drawn; null by default: gases as volumes, liquids by their surface. */
  style: GridStyle | null;
  /** The slice: its normal axis, and its position from 0 to 1. */
  axis: 0 | 1 | 2;
  position: number;
}

export const useFlow = create<FlowState>(() => ({ drawing: false, style: null, axis: 2, position: 0.5 }));

/** How a 3D flow of a kind of body is drawn. */
export const gridStyle = (kind: string | undefined, style: GridStyle | null): GridStyle =>
  style ?? (kind === "grid" ? "volume" : "mesh");

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
