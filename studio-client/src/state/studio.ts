// Connects the server, the live scene and the store.

import { Connection, type Handlers, type Link, socketAddress } from "../net/connection";
import { Replay } from "../net/replay";
import { type Command, type ExportsMessage, type Overlays, type FluidStyle, type FrameHeader, PROTOCOL, type StateMessage, type TextMessage, type Value } from "../net/messages";
import type { Packet } from "../net/decode";
import { History } from "./history";
import { applyFrame, followNodes, type LiveScene, makeScene, replaceMeshes, scalarExtent } from "./live";
import { receiveTextures } from "../view/textures";
import { WarningList } from "./warnings";
import { AutoRange } from "./range";
import { setSender, receiveDocument } from "./document";
import { type ClipPlane, clearErrors, type NodeSelection, setFieldError, toast, useStudio, NO_CLIP } from "./store";

const HEADER_INTERVAL = 100; // ms between updates of the status line

export const history = new History();
const autoRange = new AutoRange();
const warningList = new WarningList();
const redrawListeners = new Set<() => void>();

let newest: FrameHeader | null = null;
let unacknowledged = -1;
let headerShown = 0;
let headerTimer = 0;
let selectedField: { scene: string; field: string | null } | null = null;

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

/** Call `listener` when there is something new to draw. Returns a function that ends it. */
export function onRedraw(listener: () => void): () => void {
  redrawListeners.add(listener);
  return () => redrawListeners.delete(listener);
}

/** Save the scene, or ask for a file name. */
export function save(): void {
  if (useStudio.getState().sceneDocument?.file) send({ type: "save", file: null });
  else useStudio.setState({ fileMenu: "naming" });
}

export const redraw = () => redrawListeners.forEach((listener) => listener());

export const latestHeader = () => newest;

function onText(message: TextMessage): void {
  switch (message.type) {
    case "hello":
      // a server of another version has another page
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
    case "state": {
      const { world } = useStudio.getState();
      useStudio.setState({ world: message });
      if (world && changed(world, message)) {
        clearErrors();
        warningList.clear(newest?.step);
        if (newest) useStudio.setState({ header: (newest = withWarnings(newest)) });
      }
      break;
    }
    case "document": {
      const { sceneDocument } = useStudio.getState();
      receiveDocument(message);
      if (sceneDocument && sceneDocument.version !== message.version) clearErrors();
      break;
    }
    case "exports":
      receiveExports(message);
      break;
    case "error":
      if (message.key) setFieldError(message.key, sentence(message.message));
      else toast(message.message, true);
      break;
    case "question":
      useStudio.setState({ question: message });
      break;
  }
}

/** The header with the warnings to show. */
const withWarnings = (header: FrameHeader): FrameHeader => ({
  ...header,
  warnings: warningList.update(header.warnings, performance.now() / 1000),
  converged: header.converged || warningList.isObsolete(header.step),
});

/** Whether a state differs in something that can be the cause of an error. */
const changed = (before: StateMessage, now: StateMessage): boolean =>
  before.scene !== now.scene ||
  before.timeLimit !== now.timeLimit ||
  before.worldVersion !== now.worldVersion ||
  (now.playing && !before.playing) ||
  JSON.stringify(before.values) !== JSON.stringify(now.values);

/** Report the end of an export. */
function receiveExports(message: ExportsMessage): void {
  const before = useStudio.getState().exports;
  useStudio.setState({ exports: message });
  const ended = before && (before.job || before.recording) && !message.job && !message.recording;
  if (!ended) return;
  if (message.error) toast(sentence(message.error));
  else if (message.files[0] !== before.files[0]) toast(`Exported ${message.files[0].name}.`);
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");

export function setParameter(key: string, value: Value): void {
  setFieldError(key, null);
  send({ type: "set_parameter", key, value });
}

/** Number of frames shown, and the page's own time for them [ms], without drawing. */
export const updateStats = { count: 0, workMs: 0 };

/** Run an update and add its time to the statistics. */
export function measure(act: () => void): void {
  const start = performance.now();
  act();
  updateStats.workMs += performance.now() - start;
}

function onPacket(packet: Packet): void {
  receiveTextures(packet.arrays, redraw);
  if (packet.kind === "topology") {
    const scene = makeScene(packet);
    const before = useStudio.getState().scene;
    if (before?.epoch === scene.epoch) {
      useStudio.setState({ scene, nodeSelection: null }); // only the clip plane has changed
      return;
    }
    newest = null;
    history.clear();
    autoRange.clear();
    warningList.clear();
    clearErrors();
    const same = before?.sceneId === scene.sceneId;
    useStudio.setState({
      ...(same ? {} : { fieldErrors: {}, hidden: {}, nodeSelection: null, clip: NO_CLIP }),
      scene,
      header: null,
      field: packet.header.field,
      colored: false,
      rangeFixed: false,
      range: [0, 0],
    });
    // after a lost connection the same scene keeps its selected field
    if (selectedField && selectedField.scene === useStudio.getState().world?.scene) setField(selectedField.field);
    else selectedField = null;
    return;
  }
  const { rangeFixed, range, field, colored } = useStudio.getState();
  const before = useStudio.getState().scene;
  if (!before || before.epoch !== packet.header.epoch) return;
  const { header } = packet;
  const scene = replaceMeshes(before, header, packet.arrays);
  measure(() => applyFrame(scene, header, packet.arrays));
  if (scene !== before) useStudio.setState(({ nodeSelection }) => ({ scene, nodeSelection: followSelection(nodeSelection, before, scene) }));
  if (newest && header.time < newest.time) {
    autoRange.clear();
    warningList.clear();
    clearErrors();
  }
  newest = withWarnings(header);
  unacknowledged = header.seq;
  history.add((packet.arrays.get("samples") ?? new Float32Array()) as Float32Array);
  if (header.fluidStyle !== useStudio.getState().fluidStyle) useStudio.setState({ fluidStyle: header.fluidStyle });
  const { overlays } = useStudio.getState();
  if (header.overlays.forces !== overlays.forces || header.overlays.joints !== overlays.joints) {
    useStudio.setState({ overlays: header.overlays });
  }
  const arrived = header.field !== null && header.field === field;
  if (arrived !== colored) useStudio.setState({ colored: arrived });
  if (!rangeFixed && header.field === field) {
    const info = scene.fields.find(({ name }) => name === field);
    const next = autoRange.update(scalarExtent(scene), performance.now() / 1000, info);
    if (next[0] !== range[0] || next[1] !== range[1]) useStudio.setState({ range: next });
  }
  showHeader();
  redraw();
}

/** The node selection in a scene with new meshes. */
function followSelection(selection: NodeSelection | null, before: LiveScene, after: LiveScene): NodeSelection | null {
  const number = after.bodies.findIndex(({ info }) => info.name === selection?.body);
  if (!selection || number < 0 || after.bodies[number] === before.bodies[number]) return selection;
  const nodes = followNodes(selection.nodes, before.bodies[number], after.bodies[number]);
  return nodes.length > 0 ? { ...selection, nodes } : null;
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

/** Acknowledge the newest frame after it was drawn. A hidden page draws nothing and receives nothing. */
export function acknowledge(): void {
  if (unacknowledged < 0) return;
  updateStats.count++;
  send({ type: "ack", seq: unacknowledged });
  unacknowledged = -1;
}

export function setField(field: string | null): void {
  autoRange.clear();
  selectedField = { scene: useStudio.getState().world?.scene ?? "", field };
  useStudio.setState({ field, colored: false, rangeFixed: false, range: [0, 0] });
  send({ type: "color_by", field });
}

let sentInterior = "";

/** Draw the selected field inside soft bodies; isosurfaces are evenly spaced over the colour range. */
export function setInterior(mode = useStudio.getState().interior, count = useStudio.getState().levelCount): void {
  const { range, interior, levelCount } = useStudio.getState();
  if (mode !== interior || count !== levelCount) useStudio.setState({ interior: mode, levelCount: count });
  const [low, high] = range;
  const levels =
    mode === "surfaces" ? Array.from({ length: count }, (_, i) => low + ((i + 0.5) / count) * (high - low)) : [];
  const text = JSON.stringify([mode, levels]);
  if (text === sentInterior) return;
  sentInterior = text;
  send({ type: "interior", mode, levels });
}

// the isosurfaces follow the range
useStudio.subscribe((now, before) => {
  if (now.interior !== "none" && now.range !== before.range) setInterior();
  if (now.link === before.link) return;
  sentInterior = ""; // send it again to a new connection
  if (now.link === "open" && now.interior !== "none") setInterior();
});

export function setFluidStyle(style: FluidStyle): void {
  send({ type: "fluid_style", style });
}

export function setOverlays(overlays: Overlays): void {
  useStudio.setState({ overlays });
  send({ type: "overlays", ...overlays });
}

/** Set the clip plane. */
export function setClipPlane(clip: ClipPlane): void {
  useStudio.setState({ clip });
  send({ type: "clip", ...clip });
}

export function togglePlay(): void {
  const { world } = useStudio.getState();
  if (world && !world.error) send({ type: world.playing ? "pause" : "play" });
}
