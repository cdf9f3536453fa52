// A WebSocket that reconnects automatically.

import { decode, type Packet } from "./decode";
import type { Command, TextMessage } from "./messages";

export type LinkStatus = "connecting" | "open" | "lost";

export interface Handlers {
  status(status: LinkStatus): void;
  text(message: TextMessage): void;
  packet(packet: Packet): void;
}

/** What the page is connected to: a server, or a replay inside the page. */
export interface Link {
  open(): void;
  send(command: Command): void;
}

const FIRST_DELAY = 400;
const LAST_DELAY = 3000;

export class Connection implements Link {
  private socket: WebSocket | null = null;
  private delay = FIRST_DELAY;
  private timer = 0;

  constructor(
    private readonly address: string,
    private readonly handlers: Handlers,
  ) {}

  open(): void {
    window.clearTimeout(this.timer);
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.delay = FIRST_DELAY;
      this.handlers.status("open");
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.handlers.text(JSON.parse(data) as TextMessage);
      else this.handlers.packet(decode(data as ArrayBuffer));
    };
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.handlers.status("lost");
      this.timer = window.setTimeout(() => this.open(), this.delay);
      this.delay = Math.min(this.delay * 1.6, LAST_DELAY);
    };
    this.socket = socket;
  }

  send(command: Command): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(command));
  }
}

/** Address of the WebSocket that belongs to the page at `location`. */
export function socketAddress(location: Location): string {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const folder = location.pathname.replace(/[^/]*$/, "");
  return `${scheme}//${location.host}${folder}ws${location.search}`;
}
