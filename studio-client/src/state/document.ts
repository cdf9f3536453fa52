// The document on the page: what arrives, what is selected, and how edits go out.

import type { Change, Command, DocumentMessage, Entry, Json, Path } from "../net/messages";
import { type StudioState, toast, useStudio } from "./store";

let sender: (command: Command) => void = () => undefined;

/** Say who sends commands; the connection is made elsewhere. */
export function setSender(send: (command: Command) => void): void {
  sender = send;
}

export const pathText = (path: Path) =>
  path.reduce<string>((text, part) => (typeof part === "number" ? `${text}[${part}]` : text ? `${text}.${part}` : part), "");

/** What stands at a path of some data, or undefined. */
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

/** Take over a new document; what was added last is selected, what has gone is not. */
export function takeDocument(paper: DocumentMessage): void {
  const { paper: before, selected, hello } = useStudio.getState();
  let next = selected;
  if (paper.data && before?.data && hello) {
    for (const key of ["bodies", "colliders"]) {
      const count = entries(paper.data, key).length;
      if (count === entries(before.data, key).length + 1) next = [key, count - 1];
    }
  }
  if (next.length > 0 && valueAt(paper.data ?? undefined, next) === undefined) next = [];
  if (paper.data && !before) useStudio.setState({ plotsOpen: false }); // an editor needs the room
  if (before?.changed && !paper.changed && before.version === paper.version) toast(`${paper.file} is saved.`);
  const moved = pathText(next) !== pathText(selected);
  useStudio.setState({ paper, selected: next, ...(moved ? { chosen: null } : {}) });
}

/** Change the document; `field` is where the page tells what is wrong. */
export function edit(changes: Change[], label: string, field = "", merge = ""): void {
  sender({ type: "edit", changes, label, merge, field });
}

export function select(path: Path): void {
  const { selected } = useStudio.getState();
  if (pathText(path) === pathText(selected)) return;
  useStudio.setState({ selected: path, chosen: null, tab: "edit" });
}

/** The entry that is selected, with its list and number; null for the scene itself. */
export function selectedEntry(): { list: string; number: number; entry: Entry } | null {
  const { paper, selected } = useStudio.getState();
  const [list, number] = selected;
  const entry = valueAt(paper?.data ?? undefined, selected);
  if (typeof list !== "string" || typeof number !== "number" || !entry || typeof entry !== "object") return null;
  return { list, number, entry: entry as Entry };
}

/** Whether the scene can be edited in the view now: nothing runs, and nothing has moved yet. */
export const editing = ({ paper, world, header }: StudioState): boolean =>
  Boolean(paper?.data && world && !world.playing && (header?.step ?? 0) === 0);

/** Whether the document has changed in something that only a build can show; at its start the world follows by itself. */
export const rebuildNeeded = ({ paper, world, header }: StudioState): boolean =>
  Boolean(paper?.data && world && paper.version > (world.fits ?? 0) && ((header?.step ?? 0) > 0 || world.problem));

export const isEditing = () => editing(useStudio.getState());
