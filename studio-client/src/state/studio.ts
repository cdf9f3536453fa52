// Ties the connection, the live scene and the store together.

import { Connection, type Handlers, type Link, socketAddress } from "../net/connection";
import { Replay } from "../net/replay";
import { type Command, type ExportsMessage, type Extras, type FluidLook, type FrameHeader, PROTOCOL, type TextMessage, type Value } from "../net/messages";
import type { Packet } from "../net/decode";
import { History } from "./history";
import { applyFrame, makeScene, scalarExtent } from "./live";
import { Notes } from "./warnings";
import { AutoRange } from "./range";
import { setSender, takeDocument } from "./document";
import { type Cut, setProblem, toast, useStudio, WHOLE } from "./store";

const HEADER_INTERVAL = 100; // ms between updates of the status line

export const history = new History();
const autoRange = new AutoRange();
const notes = new Notes();
const redrawListeners = new Set<() => void>();

let newest: FrameHeader | null = null;
let unacknowledged = -1;
let headerShown = 0;
let headerTimer = 0;
let chosen: { scene: string; field: string | null } | null = null;

const handlers: Handlers = {
  status: (link) => useStudio.setState({ link }),
  text: onText,
  packet: onPacket,
};
const recorded = document.getElementById("continua-replay");
const connection: Link = recorded
  ? new Replay(recorded, handlers)
  : new Connection(socketAddress(window.location), handlers);

setSender((command) => connection.send(command));

export const start = () => connection.open();
export const send = (command: Command) => connection.send(command);

/** Be told when something new can be drawn. Returns the function that ends it. */
export function onRedraw(listener: () => void): () => void {
  redrawListeners.add(listener);
  return () => redrawListeners.delete(listener);
}

/** Save the scene, or ask what to call its file. */
export function save(): void {
  if (useStudio.getState().paper?.file) send({ type: "save", file: null });
  else useStudio.setState({ fileMenu: "naming" });
}

export const redraw = () => redrawListeners.forEach((listener) => listener());

export const latestHeader = () => newest;

function onText(message: TextMessage): void {
  switch (message.type) {
    case "hello":
      // A server of another version brings a page of another version.
      if (message.protocol !== PROTOCOL) window.location.reload();
      useStudio.setState({ hello: message, ...(message.frames ? { plotsOpen: false } : {}) });
      break;
    case "panel": {
      const { body } = useStudio.getState();
      const names = message.bodies.map(({ name }) => name);
      const same = body !== null && names.includes(body);
      useStudio.setState({ panel: message, ...(same ? {} : { body: names[0] ?? null, part: 0 }) });
      break;
    }
    case "state":
      useStudio.setState({ world: message });
      break;
    case "document":
      takeDocument(message);
      break;
    case "exports":
      takeExports(message);
      break;
    case "error":
      if (message.key) setProblem(message.key, sentence(message.message));
      else toast(message.message);
      break;
  }
}

/** Say once how an export ended. */
function takeExports(message: ExportsMessage): void {
  const before = useStudio.getState().exports;
  useStudio.setState({ exports: message });
  const ended = before && (before.job || before.recording) && !message.job && !message.recording;
  if (!ended) return;
  if (message.problem) toast(sentence(message.problem));
  else if (message.files[0] !== before.files[0]) toast(`${message.files[0].name} is written.`);
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");

export function change(key: string, value: Value): void {
  setProblem(key, null);
  send({ type: "set", key, value });
}

/** How many frames were shown, and how long the page itself worked on them [ms]; drawing does not count. */
export const work = { count: 0, work: 0 };

/** Do something for a frame and count its time. */
export function timed(act: () => void): void {
  const start = performance.now();
  act();
  work.work += performance.now() - start;
}

function onPacket(packet: Packet): void {
  if (packet.kind === "topology") {
    const scene = makeScene(packet);
    const before = useStudio.getState().scene;
    if (before?.epoch === scene.epoch) {
      useStudio.setState({ scene, chosen: null }); // only the cut is another
      return;
    }
    newest = null;
    history.clear();
    autoRange.clear();
    notes.clear();
    const same = before?.view === scene.view;
    useStudio.setState({
      ...(same ? {} : { problems: {}, hidden: {}, chosen: null, cut: WHOLE }),
      scene,
      header: null,
      field: packet.header.field,
      colored: false,
      rangeFixed: false,
      range: [0, 0],
    });
    // After a lost connection the same scene keeps the colours that were chosen for it.
    if (chosen && chosen.scene === useStudio.getState().world?.scene) chooseField(chosen.field);
    else chosen = null;
    return;
  }
  const { scene, rangeFixed, range, field, colored } = useStudio.getState();
  if (!scene || scene.epoch !== packet.header.epoch) return;
  const { header } = packet;
  timed(() => applyFrame(scene, header, packet.arrays));
  if (newest && header.time < newest.time) {
    autoRange.clear();
    notes.clear();
  }
  newest = header;
  unacknowledged = header.seq;
  history.add((packet.arrays.get("samples") ?? new Float32Array()) as Float32Array);
  if (header.fluid !== useStudio.getState().fluid) useStudio.setState({ fluid: header.fluid });
  const { extras } = useStudio.getState();
  if (header.extras.forces !== extras.forces || header.extras.joints !== extras.joints) {
    useStudio.setState({ extras: header.extras });
  }
  const arrived = header.field !== null && header.field === field;
  if (arrived !== colored) useStudio.setState({ colored: arrived });
  if (!rangeFixed && header.field === field) {
    const info = scene.fields.find(({ name }) => name === field);
    const next = autoRange.update(scalarExtent(scene), performance.now() / 1000, info);
    if (next[0] !== range[0] || next[1] !== range[1]) useStudio.setState({ range: next });
  }
  header.warnings = notes.update(header.warnings, performance.now() / 1000);
  showHeader();
  redraw();
}

function showHeader(): void {
  const now = performance.now();
  window.clearTimeout(headerTimer);
  if (now - headerShown >= HEADER_INTERVAL) {
    headerShown = now;
    useStudio.setState({ header: newest });
  } else {
    headerTimer = window.setTimeout(showHeader, HEADER_INTERVAL);
  }
}

/** Tell the server that the newest frame is on the screen. A hidden page draws nothing and gets nothing. */
export function acknowledge(): void {
  if (unacknowledged < 0) return;
  work.count++;
  send({ type: "ack", seq: unacknowledged });
  unacknowledged = -1;
}

export function chooseField(field: string | null): void {
  autoRange.clear();
  chosen = { scene: useStudio.getState().world?.scene ?? "", field };
  useStudio.setState({ field, colored: false, rangeFixed: false, range: [0, 0] });
  send({ type: "color", field });
}

let toldInside = "";

/** Draw the chosen field inside of soft bodies; surfaces of equal value lie evenly over the range of the colours. */
export function lookInside(look = useStudio.getState().inside, count = useStudio.getState().levelCount): void {
  const { range, inside, levelCount } = useStudio.getState();
  if (look !== inside || count !== levelCount) useStudio.setState({ inside: look, levelCount: count });
  const [low, high] = range;
  const levels =
    look === "surfaces" ? Array.from({ length: count }, (_, i) => low + ((i + 0.5) / count) * (high - low)) : [];
  const text = JSON.stringify([look, levels]);
  if (text === toldInside) return;
  toldInside = text;
  send({ type: "inside", look, levels });
}

// The surfaces follow the range.
useStudio.subscribe((now, before) => {
  if (now.inside !== "none" && now.range !== before.range) lookInside();
  if (now.link === before.link) return;
  toldInside = ""; // a new connection knows nothing of it
  if (now.link === "open" && now.inside !== "none") lookInside();
});

export function chooseFluid(look: FluidLook): void {
  send({ type: "fluid", look });
}

export function chooseExtras(extras: Extras): void {
  useStudio.setState({ extras });
  send({ type: "extras", ...extras });
}

/** Hide what lies beyond a plane. */
export function cutAt(cut: Cut): void {
  useStudio.setState({ cut });
  send({ type: "cut", ...cut });
}

export function togglePlay(): void {
  const { world } = useStudio.getState();
  if (world && !world.error) send({ type: world.playing ? "pause" : "play" });
}
