// The document on the page: updates from the server, the selection, and edits.

import type { Change, Command, DocumentMessage, Entry, Json, Path } from "../net/messages";
import { type StudioState, toast, useStudio } from "./store";

let sender: (command: Command) => void = () => undefined;

/** Set the function that sends commands; the connection is made elsewhere. */
export function setSender(send: (command: Command) => void): void {
  sender = send;
}

export const pathText = (path: Path) =>
  path.reduce<string>((text, part) => (typeof part === "number" ? `${text}[${part}]` : text ? `${text}.${part}` : part), "");

/** The value at a path, or undefined. */
export function valueAt(data: Json | undefined, path: Path): Json | undefined {
  let value: Json | undefined = data;
  for (const part of path) {
    if (Array.isArray(value) && typeof part === "number") value = value[part];
    else if (value && typeof value === "object" && !Array.isArray(value) && typeof part === "string") value = value[part];
    else return undefined;
  }
  return value;
}

export const entries = (data: Entry | null | undefined, key: string): Entry[] =>
  Array.isArray(data?.[key]) ? (data[key] as Entry[]) : [];

/** Store a new document; select an added entry, and deselect a removed one. */
export function receiveDocument(message: DocumentMessage): void {
  const { sceneDocument: before, selected, hello } = useStudio.getState();
  let next = selected;
  if (message.data && before?.data && hello) {
    for (const key of ["bodies", "colliders", "joints"]) {
      const count = entries(message.data, key).length;
      if (count === entries(before.data, key).length + 1) next = [key, count - 1];
    }
  }
  if (next.length > 0 && valueAt(message.data ?? undefined, next) === undefined) next = [];
  if (message.data && !before) useStudio.setState({ plotsOpen: false }); // the editor needs the space
  if (before?.changed && !message.changed && before.version === message.version) toast(`Saved ${message.file}.`);
  const moved = pathText(next) !== pathText(selected);
  useStudio.setState({ sceneDocument: message, selected: next, ...(moved ? { nodeSelection: null } : {}) });
}

/** Change the document; errors are shown at `field`. */
export function edit(changes: Change[], label: string, field = "", merge = ""): void {
  sender({ type: "edit", changes, label, merge, field });
}

export function select(path: Path): void {
  const { selected } = useStudio.getState();
  if (pathText(path) === pathText(selected)) return;
  useStudio.setState({ selected: path, nodeSelection: null, tab: "edit" });
}

/** The selected entry with its list and index; null for the scene itself. */
export function selectedEntry(): { list: string; number: number; entry: Entry } | null {
  const { sceneDocument, selected } = useStudio.getState();
  const [list, number] = selected;
  const entry = valueAt(sceneDocument?.data ?? undefined, selected);
  if (typeof list !== "string" || typeof number !== "number" || !entry || typeof entry !== "object") return null;
  return { list, number, entry: entry as Entry };
}

/** Whether the scene can be edited in the view: paused at its start. */
export const editing = ({ sceneDocument, world, header }: StudioState): boolean =>
  Boolean(sceneDocument?.data && world && !world.playing && (header?.step ?? 0) === 0);

/** Whether the document has changes that need a rebuild; at its start the world is rebuilt automatically. */
export const rebuildNeeded = ({ sceneDocument, world, header }: StudioState): boolean =>
  Boolean(sceneDocument?.data && world && sceneDocument.version > (world.worldVersion ?? 0) && ((header?.step ?? 0) > 0 || world.buildError || world.question));

export const isEditing = () => editing(useStudio.getState());
