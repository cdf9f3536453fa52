// Decodes binary messages: kind, header length, JSON header, then the arrays that the header lists.

import type { FrameHeader, TopologyHeader } from "./messages";

export type PackedArray = Float32Array | Uint32Array | Uint16Array | Uint8Array;

interface ArrayEntry {
  type: "f4" | "u4" | "u2" | "u1";
  shape: number[];
  offset: number;
}

export type Packet =
  | { kind: "topology"; header: TopologyHeader; arrays: Map<string, PackedArray> }
  | { kind: "frame"; header: FrameHeader; arrays: Map<string, PackedArray> };

const KINDS: Record<number, Packet["kind"]> = { 1: "topology", 2: "frame" };

function view(buffer: ArrayBuffer, start: number, entry: ArrayEntry): PackedArray {
  const length = entry.shape.reduce((product, n) => product * n, 1);
  switch (entry.type) {
    case "f4":
      return new Float32Array(buffer, start, length);
    case "u4":
      return new Uint32Array(buffer, start, length);
    case "u2":
      return new Uint16Array(buffer, start, length);
    case "u1":
      return new Uint8Array(buffer, start, length);
    default:
      throw new Error(`unknown array type ${String(entry.type)}`);
  }
}

/** Split a binary message into its kind, its header and views of its arrays; nothing is copied. */
export function readArrays(buffer: ArrayBuffer): {
  code: number;
  header: Record<string, unknown>;
  arrays: Map<string, PackedArray>;
} {
  const [code, length] = new Uint32Array(buffer, 0, 2);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 8, length));
  const { arrays: table, ...header } = JSON.parse(text) as { arrays: Record<string, ArrayEntry> };
  const arrays = new Map<string, PackedArray>();
  for (const [name, entry] of Object.entries(table)) {
    arrays.set(name, view(buffer, 8 + length + entry.offset, entry));
  }
  return { code, header, arrays };
}

/** Decode a topology or a frame. */
export function decode(buffer: ArrayBuffer): Packet {
  const { code, header, arrays } = readArrays(buffer);
  const kind = KINDS[code];
  if (kind === undefined) throw new Error(`unknown message kind ${code}`);
  return { kind, header, arrays } as unknown as Packet;
}
