// The messages of the studio; see continua/studio/protocol.py and continua/output/wire_format.py.

export const PROTOCOL = 6;

export type Vector = [number, number, number];

export type Value = number | Vector | string | boolean;

export interface ScaleInfo {
  kind: "linear" | "log" | "power";
  low: number;
  high: number;
  includesZero: boolean;
}

/** Smallest and largest value; open limits are excluded. */
export interface Limits {
  min: number | null;
  max: number | null;
  openMin?: boolean;
  openMax?: boolean;
}

/** A value that can be changed while the world runs. */
export interface ParameterInfo extends Limits {
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
  parameters: ParameterInfo[];
}

/** A constraint, load or spring; its first parameter switches it. */
export interface BoundaryConditionInfo extends Group {
  key: string;
  kind: "pin" | "drive" | "lock" | "load" | "pull";
  direction: Vector | null;
}

export interface BodyPanel {
  name: string;
  summary: string[];
  materials: Group[];
  /** Damping and plasticity. */
  others: Group[];
  integration: Group;
  boundaryConditions: BoundaryConditionInfo[];
  mesh: MeshSummary | null;
}

/** Counts of a mesh, and the quality of its elements. */
export interface MeshSummary {
  nodes: number;
  elements: number;
  kind: string;
  triangles: number;
  /** Dihedral angles [degrees]: histogram with equal bins from 0 to 180, minimum and maximum; largest radius-edge ratio. */
  angles: { bins: number[]; min: number; max: number; maxRadiusEdge: number } | null;
  /** Repairs, and quality targets that were not reached. */
  warnings: string[];
  volume: number;
}

/** A warning of `count` steps of a body; `step` is the last of them. */
export interface StepWarning {
  body: string;
  text: string;
  count: number;
  step: number;
}

/** The control panel; the values are in the state. */
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
  /** The JSON schema of scenes, from which forms are made. */
  schema: Schema;
  templates: Templates;
  /** Number of frames of a replay; absent for a server. */
  frames?: number;
}

/** The part of a JSON schema that forms need. */
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
  /** Initial values. */
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

/** What can be added to a scene with a click. */
export interface Templates {
  shapes: Record<string, string>;
  kinds: Record<string, string>;
  /** Available shapes of each kind. */
  shapesByKind: Record<string, string[]>;
  /** Material presets. */
  materials: Record<string, Record<string, unknown>>;
  /** Example formulas of parametric surfaces. */
  formulas: Record<string, Record<string, unknown>>;
  /** Small scenes to start from. */
  starters: Record<string, { title: string; description: string }>;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Entry = { [key: string]: Json };
export type Path = (string | number)[];

/** The edited scene; no data for a world made in Python. */
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
  autosaveError: string;
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
  /** Long work of the simulation's thread, and whether it can be cancelled. */
  busy: string | null;
  cancellable: boolean;
  /** Its progress as far as known: from 0 to 1, in parts, and the time left [s]. */
  progress: number | null;
  done: number | null;
  total: number | null;
  secondsLeft: number | null;
  /** Result of the last static solve. */
  settleReport: string | null;
  dt: number;
  values: Record<string, Value>;
  /** Whether it runs as fast as possible, and whether it stops at the duration of the scene. */
  fast: boolean;
  timeLimit: boolean;
  /** The version of the document that the running world corresponds to; null without a document. */
  worldVersion: number | null;
  /** Why the document could not be built. */
  buildError: string | null;
  /** What must be confirmed before the document is built; `id` differs each time. */
  question: (Question & { id: number }) | null;
  /** Warnings of the last build. */
  warnings: string[];
}

/** A question, the label of the button that confirms it, and what this button sends. */
export interface Question {
  message: string;
  confirm: string;
  command: Command;
}

/** A command of this page needs a confirmation. */
export interface QuestionMessage extends Question {
  type: "question";
}

export interface ErrorMessage {
  type: "error";
  message: string;
  /** The key of the rejected value, or empty. */
  key: string;
}

/** Current and finished exports. */
export interface ExportsMessage {
  type: "exports";
  /** Labels of the formats. */
  formats: Record<string, string>;
  job: { format: string; phase: string; done: number; total: number } | null;
  recording: { format: string; frames: number } | null;
  files: { name: string; format: string; count: number; bytes: number }[];
  error: string;
}

export type TextMessage =
  | HelloMessage
  | PanelMessage
  | StateMessage
  | DocumentMessage
  | ExportsMessage
  | QuestionMessage
  | ErrorMessage;

export interface FieldInfo {
  name: string;
  group: string;
  label: string;
  unit: string;
  /** The colour range: from 0, about 1, signed about 0, or a flag that is 0 or 1. */
  rangeMode: "zero" | "one" | "signed" | "flag";
}

export interface BodyInfo {
  name: string;
  kind: string;
  color: Vector | null;
  /** Radius of the particles of a fluid [m]; null for bodies with a surface. */
  pointRadius: number | null;
  /** Whether points and triangles change every frame, as for fluids. */
  dynamicTopology: boolean;
  /** Rises when the mesh changes; the next frame then has the new mesh. */
  topologyVersion: number;
  nodes: number;
  cells: Record<string, number>;
  /** The voxel image of the body, if the page shows volumes. */
  image?: ImageInfo | null;
  /** The image on its surface. */
  texture?: TextureInfo | null;
}

/** An image on a surface; its file is sent once, in the array `texture/NAME`. */
export interface TextureInfo {
  name: string;
  /** Linear RGB that the image is multiplied with. */
  factor: Vector;
}

/** A voxel image in the rest space of a body. */
export interface ImageInfo {
  cells: Vector;
  origin: Vector;
  spacing: Vector;
  valueRange: [number, number];
}

export type Collider =
  | { kind: "plane"; point: Vector; normal: Vector }
  | { kind: "sphere"; center: Vector; radius: number; inside?: boolean }
  | { kind: "mesh"; texture?: TextureInfo | null };

/** 3x4 matrices of moving colliders by number, row-major. */
export type Poses = Record<number, number[]>;

/** Camera settings of a scene; angles in degrees, positions in metres. */
export interface CameraHints {
  azimuth?: number;
  elevation?: number;
  position?: Vector;
  target?: Vector;
  fov?: number;
}

export interface TopologyHeader {
  epoch: number;
  /** Changes with the scene; a rebuilt world of the same scene keeps the camera. */
  sceneId: number;
  field: string | null;
  camera: CameraHints;
  bodies: BodyInfo[];
  fields: FieldInfo[];
  colliders: Collider[];
  poses: Poses;
  /** Bounding box of all frames, if known in advance. */
  bounds?: { min: Vector; max: Vector };
}

export interface BodyReport {
  substeps: number;
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
  /** Warnings of the steps since the start or the last change of the scene. */
  warnings: StepWarning[];
  /** How the fluids of this frame are drawn. */
  fluidStyle: FluidStyle;
  overlays: Overlays;
  reports: Record<string, BodyReport>;
  /** Milliseconds per step by stage. */
  stageMs: Record<string, number>;
  solvers: Record<string, string>;
  /** Total force [N] of each active boundary condition. */
  forces: Record<string, Vector>;
  /** Sum of the magnitudes of the nodal forces [N] of each active load. */
  magnitudes: Record<string, number>;
  /** Force [N] of each pull of this page. */
  pullForces: Record<number, Vector>;
  /** The probe, and the force on it [N]. */
  probe: { position: Vector; radius: number; force: Vector } | null;
  /** Body and node of each node pinned with the mouse. */
  pinned: [string, number][];
  /** A 2D flow in which obstacles can be drawn. */
  planeFlow?: PlaneFlowInfo | null;
  /** 3D grid fluids by body number. */
  volumes?: Record<number, VolumeInfo>;
  poses: Poses;
  /** Bodies with a new mesh in this frame, by number. */
  bodies?: Record<number, BodyInfo>;
  /** Number of the frame in a replay. */
  frame?: number;
}

/** What is drawn inside soft bodies. */
export type InteriorMode = "none" | "surfaces" | "volume";

export interface PlaneFlowInfo {
  body: string;
  /** Number of colliders of the world; those after them are obstacles of flows. */
  colliderCount: number;
  /** Outlines of the obstacles as x, y pairs [m]. */
  obstacles: number[][];
  /** Drag and lift [N/m]. */
  force: [number, number];
  streamlineCount: number;
}

export interface VolumeInfo {
  origin: Vector;
  spacing: number;
  cells: Vector;
  /** The value of byte 255. */
  maxValue: number;
}

/** What is drawn besides bodies: arrows of contact forces, and lines from joints to their bodies. */
export interface Overlays {
  forces: boolean;
  joints: boolean;
}

/** How fluids are drawn. */
export type FluidStyle = "points" | "surface";

export type Command =
  | { type: "play" | "pause" | "step" | "reset" }
  | { type: "load_scene"; name: string }
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
  | { type: "set_parameter"; key: string; value: Value }
  | { type: "settle" | "undo" | "redo" | "cancel" | "new" | "recover" }
  | { type: "build"; large?: boolean }
  | { type: "edit"; changes: Change[]; label: string; merge: string; field: string }
  | { type: "add_shape"; kind: string; shape: string }
  | { type: "start_from"; name: string }
  | { type: "save"; file: string | null; replace?: boolean }
  | { type: "replace"; text: string }
  | { type: "press_face"; body: string; triangle: number; traction: number; keep: boolean }
  | { type: "clip"; axis: 0 | 1 | 2 | null; position: number; flip: boolean }
  | { type: "time_limit"; on: boolean }
  | { type: "fast"; on: boolean }
  | { type: "color_by"; field: string | null }
  | { type: "fluid_style"; style: FluidStyle }
  | ({ type: "overlays" } & Overlays)
  | { type: "export"; format: string }
  | { type: "export_cancel" | "probe_end" }
  | { type: "record"; on: boolean; format: string }
  | { type: "probe_begin"; position: Vector; radius: number; retreat: Vector }
  | { type: "probe_move"; position: Vector }
  | { type: "pin_node"; body: string; node: number }
  | { type: "interior"; mode: InteriorMode; levels: number[] }
  | { type: "add_obstacle"; points: [number, number][]; smooth: boolean }
  | { type: "move_obstacle"; number: number; offset: [number, number] }
  | { type: "remove_obstacle"; number: number }
  | { type: "streamlines"; on: boolean }
  | { type: "seek"; frame: number }
  | { type: "ack"; seq: number };
