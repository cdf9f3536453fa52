// The pulls of this page: one for each pressed pointer.

import { create } from "zustand";
import { Vector3 } from "three";
import type { Vector } from "../net/messages";

export interface Pull {
  id: number;
  body: number;
  bodyName: string;
  triangle: number;
  barycentric: Vector;
  target: Vector3;
}

interface PullState {
  pulls: Map<number, Pull>;
  /** The surface point under the mouse without a pull. */
  hover: { body: number; triangle: number; barycentric: Vector } | null;
}

export const usePullStore = create<PullState>(() => ({ pulls: new Map(), hover: null }));
