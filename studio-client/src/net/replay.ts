// A recorded run inside the page, with the interface of a server that can only play.

import { type PackedArray, readArrays } from "./decode";
import type { Handlers, Link } from "./connection";
import { type BodyInfo, type Command, type FrameHeader, PROTOCOL, type Poses, type StateMessage, type TopologyHeader } from "./messages";

interface Box {
  low: number[];
  high: number[];
}

interface Motion {
  /** Nodes in each frame. */
  counts: number[];
  /** Triangle corners in each frame, for a surface whose connectivity changes every frame. */
  faces?: number[];
  positions: Box;
  values?: Box;
  /** For a body whose topology changes: the number of its mesh in each frame, and the properties of each mesh. */
  topologies?: number[];
  bodies?: BodyInfo[];
}

interface ReplayHeader extends Omit<TopologyHeader, "poses"> {
  name: string;
  version: string;
  fps: number;
  times: number[];
  steps: number[];
  poses: Poses[];
  motions: Motion[];
  /** Points of the colliders that deform, by number. */
  colliderMotions: Record<number, Motion>;
}

/** Decodes the frames of one quantity from quantized differences. */
export class DeltaDecoder {
  private readonly quantized: Uint16Array;
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];

  /**
   * @param bytes Low bytes of all differences, then high bytes.
   * @param counts Rows in each frame.
   * @param box Bounds of the values; its length is the number of values in a row.
   * @param inTime Whether differences are to the previous frame, or else to the previous row.
   */
  constructor(bytes: Uint8Array, counts: number[], private readonly box: Box, inTime = true) {
    const width = box.low.length;
    const total = bytes.length / 2;
    this.quantized = new Uint16Array(total);
    let start = 0;
    counts.forEach((count, frame) => {
      const length = count * width;
      const back = inTime ? (frame > 0 && counts[frame - 1] === count ? length : 0) : width;
      for (let i = 0; i < length; i++) {
        const encoded = bytes[start + i] | (bytes[total + start + i] << 8);
        const change = encoded & 1 ? -((encoded + 1) >> 1) : encoded >> 1;
        const hasBase = back > 0 && (inTime || i >= width);
        this.quantized[start + i] = hasBase ? this.quantized[start + i - back] + change : change; // modulo 65536
      }
      this.starts.push(start);
      start += length;
      this.ends.push(start);
    });
  }

  frame(number: number): Float32Array {
    const { low, high } = this.box;
    const width = low.length;
    const out = new Float32Array(this.ends[number] - this.starts[number]);
    for (let i = 0; i < out.length; i++) {
      const axis = i % width;
      out[i] = low[axis] + ((high[axis] - low[axis]) / 65535) * this.quantized[this.starts[number] + i];
    }
    return out;
  }
}

/** Decode the triangle corners of all frames: 0 is a new point, other codes count back from the next new one. */
export function decodeConnectivity(bytes: Uint8Array, counts: number[]): Uint32Array[] {
  const total = bytes.length / 3;
  let at = 0;
  return counts.map((count) => {
    const out = new Uint32Array(count);
    let next = 0;
    for (let i = 0; i < count; i++, at++) {
      const back = bytes[at] | (bytes[total + at] << 8) | (bytes[2 * total + at] << 16);
      out[i] = back === 0 ? next++ : next - back;
    }
    return out;
  });
}

interface Body {
  triangles: Uint32Array[] | null;
  positions: DeltaDecoder;
  values: DeltaDecoder | null;
  /** The mesh of each topology, by the names of its arrays. */
  meshes: Map<string, PackedArray>[];
  /** The number of the mesh that the page has. */
  shown: number;
}

const MOTION = ["positions", "values", "faces"];

/** The arrays of the mesh of a body; `version` counts its topologies from 0. */
export function meshArrays(arrays: Map<string, PackedArray>, body: number, version: number): Map<string, PackedArray> {
  const key = version > 0 ? `${body}/topology${version}/` : `${body}/`;
  const found = new Map<string, PackedArray>();
  arrays.forEach((values, name) => {
    const rest = name.slice(key.length);
    if (name.startsWith(key) && !rest.startsWith("topology") && !MOTION.includes(rest)) found.set(rest, values);
  });
  return found;
}

const DISPLACEMENT = { name: "displacement", group: "Motion", label: "Displacement", unit: "m", rangeMode: "zero" } as const;

/** Whether the points of a body have a rest position. */
const isDisplaced = ({ kind }: BodyInfo) => kind === "soft" || kind === "cloth" || kind === "rigid";

/** Plays the run that is embedded in the page. */
export class Replay implements Link {
  private header: ReplayHeader | null = null;
  private bodies: Body[] = [];
  private readonly colliders = new Map<string, DeltaDecoder>();
  private number = 0;
  private seq = 0;
  private playing = true;
  private field: string | null = null;
  private clock = 0;

  constructor(
    private readonly source: Element,
    private readonly handlers: Handlers,
  ) {}

  open(): void {
    unpack(this.source.textContent ?? "")
      .then((buffer) => this.start(buffer))
      .catch((error: unknown) => {
        document.body.textContent = `The replay cannot be read (${String(error)}).`;
      });
  }

  send(command: Command): void {
    switch (command.type) {
      case "play":
        if (this.number === this.last) this.number = 0;
        this.run(true);
        break;
      case "pause":
        this.run(false);
        break;
      case "step":
        this.run(false);
        this.show(Math.min(this.number + 1, this.last));
        break;
      case "reset":
        this.run(false);
        this.show(0);
        break;
      case "seek":
        this.show(Math.max(0, Math.min(command.frame, this.last)));
        break;
      case "color_by":
        this.field = command.field;
        this.show(this.number);
        break;
      default:
    }
  }

  private get last(): number {
    return (this.header?.times.length ?? 1) - 1;
  }

  private start(buffer: ArrayBuffer): void {
    const { code, header, arrays } = readArrays(buffer);
    if (code !== 3) throw new Error(`unknown message kind ${code}`);
    const replay = (this.header = header as unknown as ReplayHeader);
    this.field = replay.field;
    this.bodies = replay.motions.map((motion, number) => ({
      triangles: motion.faces ? decodeConnectivity(arrays.get(`${number}/faces`) as Uint8Array, motion.faces) : null,
      positions: new DeltaDecoder(arrays.get(`${number}/positions`) as Uint8Array, motion.counts, motion.positions, !motion.faces),
      values: motion.values
        ? new DeltaDecoder(arrays.get(`${number}/values`) as Uint8Array, motion.counts, motion.values, !motion.faces)
        : null,
      meshes: (motion.bodies ?? [null]).map((_, version) => meshArrays(arrays, number, version)),
      shown: 0,
    }));
    Object.entries(replay.colliderMotions).forEach(([number, { counts, positions }]) => {
      const bytes = arrays.get(`collider/${number}/motion`) as Uint8Array;
      this.colliders.set(number, new DeltaDecoder(bytes, counts, positions));
    });
    const others = replay.fields.filter(({ name }) => name !== "displacement");
    const fields = replay.bodies.some(isDisplaced) ? [...others, DISPLACEMENT] : others;
    this.handlers.status("open");
    this.handlers.text({
      type: "hello",
      protocol: PROTOCOL,
      version: replay.version,
      scenes: [],
      schema: {},
      templates: { shapes: {}, kinds: {}, shapesByKind: {}, materials: {}, formulas: {}, starters: {} },
      frames: replay.times.length,
    });
    this.publishState();
    this.handlers.packet({ kind: "topology", header: { ...replay, fields, poses: replay.poses[0], bounds: boundsOf(replay.motions) }, arrays });
    this.show(0);
    this.run(true);
  }

  private run(playing: boolean): void {
    this.playing = playing;
    this.clock = performance.now();
    this.publishState();
    if (playing) requestAnimationFrame(() => this.tick());
  }

  private tick(): void {
    if (!this.playing || !this.header) return;
    const { fps } = this.header;
    const passed = Math.floor(((performance.now() - this.clock) * fps) / 1000);
    if (passed > 0) {
      this.clock += (1000 * passed) / fps;
      this.show(Math.min(this.number + passed, this.last));
      if (this.number === this.last) {
        this.run(false);
        return;
      }
    }
    requestAnimationFrame(() => this.tick());
  }

  private publishState(): void {
    const state: StateMessage = {
      type: "state",
      scene: this.header?.name ?? "",
      playing: this.playing,
      error: null,
      busy: null,
      cancellable: false,
      progress: null,
      done: null,
      total: null,
      secondsLeft: null,
      settleReport: null,
      dt: 1 / (this.header?.fps ?? 60),
      values: {},
      fast: false,
      timeLimit: true,
      worldVersion: null,
      question: null,
      buildError: null,
      warnings: [],
    };
    this.handlers.text(state);
  }

  private show(number: number): void {
    const replay = this.header;
    if (!replay) return;
    this.number = number;
    const arrays = new Map<string, PackedArray>([["samples", new Float32Array()]]);
    const changed: Record<number, BodyInfo> = {};
    this.bodies.forEach((body, index) => {
      const { topologies, bodies } = replay.motions[index];
      const version = topologies?.[number] ?? 0;
      if (bodies && version !== body.shown) {
        changed[index] = bodies[version];
        body.meshes[version].forEach((values, name) => arrays.set(`${index}/${name}`, values));
        body.shown = version;
      }
      const rest = body.meshes[version].get("rest") as Float32Array;
      const positions = body.positions.frame(number);
      arrays.set(`${index}/positions`, positions);
      if (body.triangles) arrays.set(`${index}/triangles`, body.triangles[number]);
      if (this.field === "displacement") {
        if (isDisplaced(replay.bodies[index])) arrays.set(`${index}/displacement`, displacements(positions, rest));
      } else if (this.field !== null && body.values) {
        arrays.set(`${index}/${this.field}`, body.values.frame(number));
      }
    });
    this.colliders.forEach((points, index) => arrays.set(`collider/${index}/points`, points.frame(number)));
    this.handlers.packet({ kind: "frame", header: { ...this.frameHeader(replay, number), bodies: changed }, arrays });
  }

  private frameHeader(replay: ReplayHeader, number: number): FrameHeader {
    return {
      seq: ++this.seq,
      epoch: replay.epoch,
      time: replay.times[number],
      step: replay.steps[number],
      field: this.field,
      stepMs: 0,
      stepsPerSecond: 0,
      rate: 1,
      iterations: 0,
      converged: true,
      inverted: 0,
      contacts: 0,
      warnings: [],
      fluidStyle: "points",
      overlays: { forces: false, joints: false },
      reports: {},
      stageMs: {},
      solvers: {},
      forces: {},
      magnitudes: {},
      pullForces: {},
      probe: null,
      pinned: [],
      poses: replay.poses[number],
      frame: number,
    };
  }
}

/** Bounding box of all frames of all bodies. */
function boundsOf(motions: Motion[]): TopologyHeader["bounds"] {
  if (motions.length === 0) return undefined;
  const end = (side: "low" | "high", pick: (...values: number[]) => number, axis: number) =>
    pick(...motions.map(({ positions }) => positions[side][axis]));
  return {
    min: [end("low", Math.min, 0), end("low", Math.min, 1), end("low", Math.min, 2)],
    max: [end("high", Math.max, 0), end("high", Math.max, 1), end("high", Math.max, 2)],
  };
}

function displacements(positions: Float32Array, rest: Float32Array): Float32Array {
  const out = new Float32Array(positions.length / 3);
  for (let i = 0; i < out.length; i++) {
    const j = 3 * i;
    out[i] = Math.hypot(positions[j] - rest[j], positions[j + 1] - rest[j + 1], positions[j + 2] - rest[j + 2]);
  }
  return out;
}

/** Decode base64 and deflate. */
async function unpack(text: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
