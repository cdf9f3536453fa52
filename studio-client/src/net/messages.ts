// The messages of the studio, as the server sends and reads them.

export const PROTOCOL = 4;

export type Vector = [number, number, number];

export type Value = number | Vector | string | boolean;

export interface ScaleInfo {
  kind: "linear" | "log" | "power";
  low: number;
  high: number;
  zero: boolean;
}

/** Smallest and largest value; open ones are not included. */
export interface Limits {
  min: number | null;
  max: number | null;
  openMin?: boolean;
  openMax?: boolean;
}

/** One value that can be changed. */
export interface KnobInfo extends Limits {
  key: string;
  label: string;
  kind: "number" | "count" | "vector" | "choice" | "switch";
  unit: string;
  help: string;
  scale: ScaleInfo | null;
  options: Record<string, string>;
}

export interface Group {
  title: string;
  note: string;
  knobs: KnobInfo[];
}

/** A constraint, a load or a spring; the first of its knobs switches it. */
export interface HoldInfo extends Group {
  key: string;
  kind: "pin" | "drive" | "lock" | "load" | "pull";
  direction: Vector | null;
}

export interface BodyPanel {
  name: string;
  facts: string[];
  materials: Group[];
  /** Damping, plasticity and whatever else a body has. */
  others: Group[];
  stepping: Group;
  holds: HoldInfo[];
  mesh: MeshFacts | null;
}

/** Counts of a mesh, and how well its elements are shaped. */
export interface MeshFacts {
  nodes: number;
  elements: number;
  kind: string;
  triangles: number;
  /** Angles between faces [degrees]: how many in each of equal bins from 0 to 180, the smallest and the largest. */
  angles: { bins: number[]; min: number; max: number; ratio: number } | null;
  /** What was mended, and what was wished for and not reached. */
  notes: string[];
  volume: number;
}

/** What can be changed in a scene; the values are in the state. */
export interface PanelMessage {
  type: "panel";
  world: Group[];
  bodies: BodyPanel[];
  initial: Record<string, Value>;
}

export interface SceneEntry {
  name: string;
  description: string;
}

export interface HelloMessage {
  type: "hello";
  protocol: number;
  version: string;
  scenes: SceneEntry[];
  /** The JSON schema of scenes; forms are made from it. */
  schema: Schema;
  palette: Palette;
  /** Frames of a replay; a server says nothing here. */
  frames?: number;
}

/** What a JSON schema says about a value, as far as forms need it. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
  title?: string;
  description?: string;
  unit?: string;
  format?: string;
  const?: unknown;
  default?: unknown;
  /** Values to begin with. */
  examples?: Json[];
  enum?: (string | number)[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  prefixItems?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  oneOf?: Schema[];
  anyOf?: Schema[];
}

/** What can be added with a click. */
export interface Palette {
  shapes: Record<string, string>;
  kinds: Record<string, string>;
  /** For each kind the shapes that it can have. */
  offers: Record<string, string[]>;
  /** Materials by the name of the matter. */
  matter: Record<string, Record<string, unknown>>;
  /** Surfaces from formulas to begin with. */
  formulas: Record<string, Record<string, unknown>>;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Entry = { [key: string]: Json };
export type Path = (string | number)[];

/** The scene that is edited; no data for a world that was made in Python. */
export interface DocumentMessage {
  type: "document";
  data: Entry | null;
  version: number;
  file: string | null;
  files: string[];
  changed: boolean;
  undo: string | null;
  redo: string | null;
  recoverable: boolean;
  trouble: string;
}

export interface Change {
  op: "set" | "add" | "remove";
  path: Path;
  value?: Json;
}

export interface StateMessage {
  type: "state";
  scene: string;
  playing: boolean;
  error: string | null;
  /** What keeps the simulation from going on, which part of it is done if that is known, and whether it can be stopped. */
  busy: string | null;
  part: number | null;
  stoppable: boolean;
  /** How the last search for an equilibrium went. */
  settled: string | null;
  dt: number;
  values: Record<string, Value>;
  /** Whether it runs as fast as it can, and whether it stops at the scene's own time. */
  fast: boolean;
  limit: boolean;
  /** The version of the document that the world which runs is; null where nothing is edited. */
  fits: number | null;
  /** Why the document could not be built. */
  problem: string | null;
  /** What the last build had to say, in sentences. */
  notes: string[];
}

export interface ErrorMessage {
  type: "error";
  message: string;
  /** The value that was refused, or nothing. */
  key: string;
}

/** What is written into files, and what has been. */
export interface ExportsMessage {
  type: "exports";
  /** What people call the formats. */
  formats: Record<string, string>;
  job: { format: string; phase: string; done: number; total: number } | null;
  recording: { format: string; frames: number } | null;
  files: { name: string; format: string; count: number; bytes: number }[];
  problem: string;
}

export type TextMessage =
  | HelloMessage
  | PanelMessage
  | StateMessage
  | DocumentMessage
  | ExportsMessage
  | ErrorMessage;

export interface FieldInfo {
  name: string;
  group: string;
  label: string;
  unit: string;
  /** Where the range begins: at 0, about 1, or 0 for no and 1 for yes. */
  start: "zero" | "one" | "middle" | "flag";
}

export interface BodyInfo {
  name: string;
  kind: string;
  color: Vector | null;
  /** Radius of the particles of a fluid [m]; null for bodies with a surface of their own. */
  radius: number | null;
  nodes: number;
  cells: Record<string, number>;
  /** The 3-D image that it carries, if the page shows volumes. */
  image?: ImageInfo | null;
}

/** Where a 3-D image is in a body at rest, and its smallest and its largest value. */
export interface ImageInfo {
  cells: Vector;
  origin: Vector;
  spacing: Vector;
  ends: [number, number];
}

export type Collider =
  | { kind: "plane"; point: Vector; normal: Vector }
  | { kind: "sphere"; center: Vector; radius: number; inside?: boolean }
  | { kind: "mesh" };

/** Rows of the 3x4 matrices that take moving colliders from rest to where they are, by number. */
export type Poses = Record<number, number[]>;

/** What a scene says about its camera; angles in degrees, places in metres. */
export interface CameraHints {
  azimuth?: number;
  elevation?: number;
  position?: Vector;
  target?: Vector;
  fov?: number;
}

export interface TopologyHeader {
  epoch: number;
  /** Changes with the scene; a scene that was built anew is looked at as before. */
  view: number;
  field: string | null;
  camera: CameraHints;
  bodies: BodyInfo[];
  fields: FieldInfo[];
  colliders: Collider[];
  poses: Poses;
  /** A box around all that moves, where it is known beforehand. */
  bounds?: { min: Vector; max: Vector };
}

export interface BodyReport {
  parts: number;
  newton: number;
  iterations: number;
  inverted: number;
  contacts: number;
}

export interface FrameHeader {
  seq: number;
  epoch: number;
  time: number;
  step: number;
  field: string | null;
  stepMs: number;
  stepsPerSecond: number;
  rate: number;
  iterations: number;
  converged: boolean;
  inverted: number;
  contacts: number;
  warnings: string[];
  /** How the fluids of this frame are drawn. */
  fluid: FluidLook;
  /** What is drawn besides bodies. */
  extras: Extras;
  reports: Record<string, BodyReport>;
  /** Milliseconds of the stages of an update. */
  shares: Record<string, number>;
  solvers: Record<string, string>;
  /** Total force [N] of each hold and load that acts. */
  forces: Record<string, Vector>;
  /** Sum of the sizes of the nodes' forces [N] of each load that acts. */
  sizes: Record<string, number>;
  /** Force [N] of each pull of this page. */
  hands: Record<number, Vector>;
  /** The tool on a cursor, and the force on it [N]. */
  probe: { place: Vector; radius: number; force: Vector } | null;
  /** Body and node of what was pinned by hand. */
  held: [string, number][];
  /** A plane flow into which obstacles can be drawn. */
  tunnel?: TunnelInfo | null;
  /** Fluids on grids in space, by the numbers of their bodies. */
  volumes?: Record<number, VolumeInfo>;
  poses: Poses;
  /** Number of the frame in a replay. */
  frame?: number;
}

/** What is drawn inside of soft bodies. */
export type InsideLook = "none" | "surfaces" | "volume";

export interface TunnelInfo {
  body: string;
  /** How many colliders are the world's own; those after them are obstacles of flows. */
  colliders: number;
  /** Outlines of the obstacles, x and y in turn [m]. */
  sketches: number[][];
  /** Drag and lift [N/m]. */
  force: [number, number];
  /** How many streamlines there are. */
  lines: number;
}

export interface VolumeInfo {
  origin: Vector;
  spacing: number;
  cells: Vector;
  /** The value of the largest byte. */
  top: number;
}

/** What is drawn besides bodies: arrows of contact forces, and lines from joints to their bodies. */
export interface Extras {
  forces: boolean;
  joints: boolean;
}

/** How fluids are drawn. */
export type FluidLook = "points" | "surface";

export type Command =
  | { type: "play" | "pause" | "step" | "reset" }
  | { type: "scene"; name: string }
  | {
      type: "pull_begin";
      id: number;
      body: string;
      triangle: number;
      barycentric: Vector;
      target: Vector;
    }
  | { type: "pull_move"; id: number; target: Vector }
  | { type: "pull_end"; id: number }
  | { type: "set"; key: string; value: Value }
  | { type: "settle" | "undo" | "redo" | "build" | "cancel" | "new" | "recover" }
  | { type: "edit"; changes: Change[]; label: string; merge: string; field: string }
  | { type: "add"; kind: string; shape: string }
  | { type: "save"; file: string | null }
  | { type: "replace"; text: string }
  | { type: "press"; body: string; triangle: number; traction: number; keep: boolean }
  | { type: "cut"; axis: 0 | 1 | 2 | null; place: number; flip: boolean }
  | { type: "limit"; on: boolean }
  | { type: "pace"; fast: boolean }
  | { type: "color"; field: string | null }
  | { type: "fluid"; look: FluidLook }
  | ({ type: "extras" } & Extras)
  | { type: "export"; format: string }
  | { type: "export_cancel" | "probe_end" }
  | { type: "record"; on: boolean; format: string }
  | { type: "probe_begin"; place: Vector; radius: number; back: Vector }
  | { type: "probe_move"; place: Vector }
  | { type: "pin"; body: string; node: number }
  | { type: "inside"; look: InsideLook; levels: number[] }
  | { type: "sketch"; points: [number, number][]; smooth: boolean }
  | { type: "sketch_move"; number: number; shift: [number, number] }
  | { type: "sketch_remove"; number: number }
  | { type: "streamlines"; on: boolean }
  | { type: "seek"; frame: number }
  | { type: "ack"; seq: number };
