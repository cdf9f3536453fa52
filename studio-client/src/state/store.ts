// The state of the panels. Data that changes with every frame is in `live`.

import { create } from "zustand";
import type { LinkStatus } from "../net/connection";
import type {
  DocumentMessage,
  ExportsMessage,
  Overlays,
  FluidStyle,
  FrameHeader,
  HelloMessage,
  InteriorMode,
  PanelMessage,
  Path,
  Question,
  StateMessage,
} from "../net/messages";
import type { LiveScene } from "./live";

export type Theme = "auto" | "light" | "dark";

/** What the left button does in the view: transform the selected object, select nodes, or act on bodies. */
export type ViewTool = "move" | "rotate" | "scale" | "nodes" | "press" | "poke" | "pin";

/** Nodes that were selected with the mouse, by surface index. */
export interface NodeSelection {
  body: string;
  nodes: number[];
}

export interface ClipPlane {
  axis: 0 | 1 | 2 | null;
  /** From 0 to 1 along the axis. */
  position: number;
  flip: boolean;
}

export const NO_CLIP: ClipPlane = { axis: null, position: 0.5, flip: false };

export interface Toast {
  id: number;
  message: string;
  /** Whether it reports an error, which ends with its cause. */
  error: boolean;
}

export interface StudioState {
  link: LinkStatus;
  hello: HelloMessage | null;
  panel: PanelMessage | null;
  world: StateMessage | null;
  /** The edited scene. */
  sceneDocument: DocumentMessage | null;
  /** Exports and recordings. */
  exports: ExportsMessage | null;
  /** The selected entry: a body, a collider, or (empty path) the scene itself. */
  selected: Path;
  tab: "edit" | "solve" | "live";
  viewTool: ViewTool;
  nodeSelection: NodeSelection | null;
  /** Names of hidden objects. */
  hidden: Record<string, boolean>;
  scene: LiveScene | null;
  /** The newest frame's header, at most ten times per second. */
  header: FrameHeader | null;
  /** The field that colours the bodies, or null for plain. */
  field: string | null;
  /** Whether the newest frame has its values. */
  colored: boolean;
  range: [number, number];
  rangeFixed: boolean;
  wireframe: boolean;
  /** How fluids are drawn in the newest frame. */
  fluidStyle: FluidStyle;
  /** Overlays of the newest frame. */
  overlays: Overlays;
  /** Whether nodes are drawn. */
  nodes: boolean;
  /** What is drawn inside soft bodies. */
  interior: InteriorMode;
  /** Number of isosurfaces. */
  levelCount: number;
  /** Opacity of volumes, relative to the default. */
  opacity: number;
  /** Whether embedded surfaces are drawn. */
  embedded: boolean;
  /** Whether the rest shape is drawn. */
  restShape: boolean;
  /** Factor on the drawn displacements of soft bodies. */
  exaggeration: number;
  /** The clip plane. */
  clip: ClipPlane;
  /** Whether boundary conditions are drawn. */
  markers: boolean;
  theme: Theme;
  body: string | null;
  /** The part of the body whose material is shown; 0 is the body itself. */
  part: number;
  /** Sections of the panel that the user opened or closed. */
  sections: Record<string, boolean>;
  /** Errors of the last input of each field, by key. */
  fieldErrors: Record<string, string>;
  panelOpen: boolean;
  /** Whether the tree is open in a narrow window. */
  treeOpen: boolean;
  plotsOpen: boolean;
  helpOpen: boolean;
  /** The menu File, which may ask for a file name. */
  fileMenu: "closed" | "open" | "naming";
  toasts: Toast[];
  /** A question about the last command of this page. */
  question: Question | null;
  /** The last question about a build that was answered with no. */
  declined: number;
}

/** Width up to which a window is narrow [px]: the tree and the panel are drawers then. The style sheet has it too. */
export const NARROW_WIDTH = 900;

const STORAGE_KEY = "continua-studio";

function loadSettings(): Partial<StudioState> {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}") as Partial<StudioState>;
  } catch {
    return {};
  }
}

export const useStudio = create<StudioState>(() => ({
  link: "connecting",
  hello: null,
  panel: null,
  world: null,
  sceneDocument: null,
  exports: null,
  selected: [],
  tab: "edit",
  viewTool: "move",
  nodeSelection: null,
  hidden: {},
  scene: null,
  header: null,
  field: null,
  colored: false,
  range: [0, 0],
  rangeFixed: false,
  wireframe: false,
  fluidStyle: "points",
  overlays: { forces: false, joints: true },
  nodes: false,
  embedded: true,
  interior: "none",
  levelCount: 4,
  opacity: 1,
  restShape: false,
  exaggeration: 1,
  clip: NO_CLIP,
  markers: true,
  theme: "auto",
  body: null,
  part: 0,
  sections: {},
  fieldErrors: {},
  panelOpen: window.innerWidth > NARROW_WIDTH,
  treeOpen: false,
  plotsOpen: window.innerWidth > NARROW_WIDTH,
  helpOpen: false,
  fileMenu: "closed",
  toasts: [],
  question: null,
  declined: 0,
  ...loadSettings(),
}));

type Persistent = "theme" | "wireframe" | "markers" | "sections";

/** Change a setting that is stored in the browser. */
export function remember(change: Partial<Pick<StudioState, Persistent>>): void {
  useStudio.setState(change);
  const { theme, wireframe, markers, sections } = useStudio.getState();
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify({ theme, wireframe, markers, sections }));
  } catch {
    // private windows may refuse; the setting then lasts as long as the page
  }
}

let errorTime = -Infinity; // ms, of the newest error

/** Set or clear the error of a field. */
export function setFieldError(key: string, error: string | null): void {
  const { fieldErrors } = useStudio.getState();
  if (error !== null) errorTime = performance.now();
  if ((fieldErrors[key] ?? null) === error) return;
  const { [key]: _removed, ...others } = fieldErrors;
  useStudio.setState({ fieldErrors: error === null ? others : { ...others, [key]: error } });
}

const ERROR_PAUSE = 400; // ms in which changes that were made before an error may still arrive

/** Clear all errors of rejected inputs and commands: the scene or the world has changed since. */
export function clearErrors(): void {
  const { fieldErrors, toasts, question } = useStudio.getState();
  if (performance.now() - errorTime < ERROR_PAUSE) return;
  if (Object.keys(fieldErrors).length === 0 && !question && !toasts.some(({ error }) => error)) return;
  useStudio.setState({ fieldErrors: {}, question: null, toasts: toasts.filter(({ error }) => !error) });
}

/** Whether the page plays a replay, in which nothing can be changed. */
export const isReplay = () => Boolean(useStudio.getState().hello?.frames);

let toastId = 0;

export function toast(message: string, error = false): void {
  const id = ++toastId;
  if (error) errorTime = performance.now();
  useStudio.setState(({ toasts }) => ({ toasts: [...toasts.slice(-2), { id, message, error }] }));
  window.setTimeout(() => dismiss(id), 7000);
}

export function dismiss(id: number): void {
  useStudio.setState(({ toasts }) => ({ toasts: toasts.filter((t) => t.id !== id) }));
}
