// The state that the panels show. What changes with every frame is in `live`.

import { create } from "zustand";
import type { LinkStatus } from "../net/connection";
import type { FrameHeader, HelloMessage, StateMessage } from "../net/messages";
import type { LiveScene } from "./live";

export type Theme = "auto" | "light" | "dark";

export interface Toast {
  id: number;
  message: string;
}

export interface StudioState {
  link: LinkStatus;
  hello: HelloMessage | null;
  world: StateMessage | null;
  scene: LiveScene | null;
  /** The newest frame's header, at most ten times a second. */
  header: FrameHeader | null;
  /** The field that colours the bodies, or null for plain. */
  field: string | null;
  range: [number, number];
  rangeFixed: boolean;
  wireframe: boolean;
  theme: Theme;
  body: string | null;
  panelOpen: boolean;
  plotsOpen: boolean;
  helpOpen: boolean;
  toasts: Toast[];
}

const SAVED = "continua-studio";

function saved(): Partial<StudioState> {
  try {
    return JSON.parse(localStorage.getItem(SAVED) ?? "{}") as Partial<StudioState>;
  } catch {
    return {};
  }
}

export const useStudio = create<StudioState>(() => ({
  link: "connecting",
  hello: null,
  world: null,
  scene: null,
  header: null,
  field: null,
  range: [0, 0],
  rangeFixed: false,
  wireframe: false,
  theme: "auto",
  body: null,
  panelOpen: window.innerWidth > 760,
  plotsOpen: window.innerWidth > 760,
  helpOpen: false,
  toasts: [],
  ...saved(),
}));

/** Change a choice that outlives the page. */
export function remember(change: Partial<Pick<StudioState, "theme" | "wireframe">>): void {
  useStudio.setState(change);
  const { theme, wireframe } = useStudio.getState();
  try {
    localStorage.setItem(SAVED, JSON.stringify({ theme, wireframe }));
  } catch {
    // private windows may refuse; the choice then lasts as long as the page
  }
}

let toastId = 0;

export function toast(message: string): void {
  const id = ++toastId;
  useStudio.setState(({ toasts }) => ({ toasts: [...toasts.slice(-2), { id, message }] }));
  window.setTimeout(() => dismiss(id), 7000);
}

export function dismiss(id: number): void {
  useStudio.setState(({ toasts }) => ({ toasts: toasts.filter((t) => t.id !== id) }));
}
