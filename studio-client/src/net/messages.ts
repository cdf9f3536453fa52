// The messages of the studio, as the server sends and reads them.

export const PROTOCOL = 1;

export type Vector = [number, number, number];

export interface MaterialValues {
  young: number;
  poisson: number;
  density: number;
  damping_mass: number;
  damping_stiffness: number;
}

export interface WorldValues {
  dt: number;
  gravity: Vector;
  materials: Record<string, MaterialValues>;
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
}

export interface StateMessage extends WorldValues {
  type: "state";
  scene: string;
  playing: boolean;
  error: string | null;
  busy: string | null;
  defaults: WorldValues;
}

export interface ErrorMessage {
  type: "error";
  message: string;
}

export type TextMessage = HelloMessage | StateMessage | ErrorMessage;

export interface FieldInfo {
  name: string;
  label: string;
  unit: string;
}

export interface BodyInfo {
  name: string;
  kind: string;
  color: Vector | null;
  nodes: number;
  cells: Record<string, number>;
}

export type Collider =
  | { kind: "plane"; point: Vector; normal: Vector }
  | { kind: "sphere"; center: Vector; radius: number; inside?: boolean };

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
  field: string | null;
  camera: CameraHints;
  bodies: BodyInfo[];
  fields: FieldInfo[];
  colliders: Collider[];
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
}

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
  | ({ type: "material"; body: string } & Partial<MaterialValues>)
  | { type: "gravity"; value: Vector }
  | { type: "color"; field: string | null }
  | { type: "ack"; seq: number };
