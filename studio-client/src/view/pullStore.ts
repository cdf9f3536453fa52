// What the hands on this page hold: one pull for each pressed pointer.

import { create } from "zustand";
import { Vector3 } from "three";
import type { Vector } from "../net/messages";

export interface Grip {
  id: number;
  body: number;
  bodyName: string;
  triangle: number;
  barycentric: Vector;
  target: Vector3;
}

interface Hands {
  grips: Map<number, Grip>;
  /** The surface point under an idle mouse. */
  hover: { body: number; triangle: number; barycentric: Vector } | null;
}

export const useHands = create<Hands>(() => ({ grips: new Map(), hover: null }));
