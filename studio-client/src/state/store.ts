// The state that the panels show. What changes with every frame is in `live`.

import { create } from "zustand";
import type { LinkStatus } from "../net/connection";
import type {
  DocumentMessage,
  ExportsMessage,
  Extras,
  FluidLook,
  FrameHeader,
  HelloMessage,
  InsideLook,
  PanelMessage,
  Path,
  StateMessage,
} from "../net/messages";
import type { LiveScene } from "./live";

export type Theme = "auto" | "light" | "dark";

/** What the left button does in the view: nothing but pull and turn, place what is selected, or choose nodes. */
export type ViewTool = "move" | "turn" | "size" | "nodes" | "press" | "poke" | "pin";

/** Nodes that were chosen with the mouse, by their numbers on the surface. */
export interface Chosen {
  body: string;
  nodes: number[];
}

export interface Cut {
  axis: 0 | 1 | 2 | null;
  /** From 0 to 1 along the axis. */
  place: number;
  flip: boolean;
}

export const WHOLE: Cut = { axis: null, place: 0.5, flip: false };

export interface Toast {
  id: number;
  message: string;
}

export interface StudioState {
  link: LinkStatus;
  hello: HelloMessage | null;
  panel: PanelMessage | null;
  world: StateMessage | null;
  /** The scene that is edited. */
  paper: DocumentMessage | null;
  /** What is written into files. */
  exports: ExportsMessage | null;
  /** What of it is selected: a body, an obstacle, or (no path) the scene itself. */
  selected: Path;
  tab: "edit" | "solve" | "live";
  viewTool: ViewTool;
  chosen: Chosen | null;
  /** Names of what is not drawn. */
  hidden: Record<string, boolean>;
  scene: LiveScene | null;
  /** The newest frame's header, at most ten times a second. */
  header: FrameHeader | null;
  /** The field that colours the bodies, or null for plain. */
  field: string | null;
  /** Whether the newest frame brought its values. */
  colored: boolean;
  range: [number, number];
  rangeFixed: boolean;
  wireframe: boolean;
  /** How fluids are drawn, as the newest frame says. */
  fluid: FluidLook;
  /** What is drawn besides bodies, as the newest frame says. */
  extras: Extras;
  /** Whether nodes are drawn, and the shape at rest. */
  dots: boolean;
  /** What is drawn inside of soft bodies. */
  inside: InsideLook;
  /** How many surfaces of equal value. */
  levelCount: number;
  /** How opaque volumes are, as a multiple of the usual. */
  opacity: number;
  /** Whether bodies wear their detailed surfaces. */
  skin: boolean;
  ghost: boolean;
  /** What displacements of soft bodies are multiplied by in the picture. */
  exaggeration: number;
  /** The plane across an axis that hides what lies beyond it. */
  cut: Cut;
  /** Whether holds and loads are drawn. */
  marks: boolean;
  theme: Theme;
  body: string | null;
  /** The part of the body whose material is shown; 0 is the body itself. */
  part: number;
  /** Sections of the panel that were opened or closed by hand. */
  sections: Record<string, boolean>;
  /** What was wrong with the last thing typed into a field, by its key. */
  problems: Record<string, string>;
  panelOpen: boolean;
  plotsOpen: boolean;
  helpOpen: boolean;
  /** The menu File, which may ask for a name to save under. */
  fileMenu: "closed" | "open" | "naming";
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
  panel: null,
  world: null,
  paper: null,
  exports: null,
  selected: [],
  tab: "edit",
  viewTool: "move",
  chosen: null,
  hidden: {},
  scene: null,
  header: null,
  field: null,
  colored: false,
  range: [0, 0],
  rangeFixed: false,
  wireframe: false,
  fluid: "points",
  extras: { forces: false, joints: true },
  dots: false,
  skin: true,
  inside: "none",
  levelCount: 4,
  opacity: 1,
  ghost: false,
  exaggeration: 1,
  cut: WHOLE,
  marks: true,
  theme: "auto",
  body: null,
  part: 0,
  sections: {},
  problems: {},
  panelOpen: window.innerWidth > 760,
  plotsOpen: window.innerWidth > 760,
  helpOpen: false,
  fileMenu: "closed",
  toasts: [],
  ...saved(),
}));

type Kept = "theme" | "wireframe" | "marks" | "sections";

/** Change a choice that outlives the page. */
export function remember(change: Partial<Pick<StudioState, Kept>>): void {
  useStudio.setState(change);
  const { theme, wireframe, marks, sections } = useStudio.getState();
  try {
    localStorage.setItem(SAVED, JSON.stringify({ theme, wireframe, marks, sections }));
  } catch {
    // private windows may refuse; the choice then lasts as long as the page
  }
}

/** Say what is wrong with a field, or that nothing is. */
export function setProblem(key: string, problem: string | null): void {
  const { problems } = useStudio.getState();
  if ((problems[key] ?? null) === problem) return;
  const { [key]: _gone, ...others } = problems;
  useStudio.setState({ problems: problem === null ? others : { ...others, [key]: problem } });
}

/** Whether the page plays a recorded run, in which nothing can be changed. */
export const replaying = () => Boolean(useStudio.getState().hello?.frames);

let toastId = 0;

export function toast(message: string): void {
  const id = ++toastId;
  useStudio.setState(({ toasts }) => ({ toasts: [...toasts.slice(-2), { id, message }] }));
  window.setTimeout(() => dismiss(id), 7000);
}

export function dismiss(id: number): void {
  useStudio.setState(({ toasts }) => ({ toasts: toasts.filter((t) => t.id !== id) }));
}
