import { describe, expect, it } from "vitest";
import { decode } from "./decode";

/** Build a message by hand, byte by byte, as the protocol's description says. */
function message(kind: number, header: object, blocks: Uint8Array[]): ArrayBuffer {
  let text = JSON.stringify(header);
  while (text.length % 4) text += " ";
  const bytes = new TextEncoder().encode(text);
  const size = blocks.reduce((sum, block) => sum + block.length, 0);
  const out = new Uint8Array(8 + bytes.length + size);
  const view = new DataView(out.buffer);
  view.setUint32(0, kind, true);
  view.setUint32(4, bytes.length, true);
  out.set(bytes, 8);
  let at = 8 + bytes.length;
  for (const block of blocks) {
    out.set(block, at);
    at += block.length;
  }
  return out.buffer;
}

describe("decode", () => {
  it("reads the header and the arrays of a frame", () => {
    const positions = new Float32Array([1, 2.5, -3]);
    const colors = new Uint8Array([7, 8, 9, 0]);
    const header = {
      seq: 4,
      time: 0.5,
      arrays: {
        "0/positions": { type: "f4", shape: [1, 3], offset: 0 },
        colors: { type: "u1", shape: [3], offset: 12 },
      },
    };
    const packet = decode(message(2, header, [new Uint8Array(positions.buffer), colors]));
    expect(packet.kind).toBe("frame");
    expect(packet.header).toMatchObject({ seq: 4, time: 0.5 });
    expect([...packet.arrays.get("0/positions")!]).toEqual([1, 2.5, -3]);
    expect([...packet.arrays.get("colors")!]).toEqual([7, 8, 9]);
  });

  it("rejects unknown messages", () => {
    expect(() => decode(message(9, { arrays: {} }, []))).toThrow("unknown message kind 9");
  });
});
