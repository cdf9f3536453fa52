import { editing, valueAt } from "../state/document";
import { type StudioState, useStudio, type ViewTool } from "../state/store";
import type { IconName } from "./Icon";
import { Tool } from "./TopBar";

const TOOLS: [ViewTool, IconName, string, string][] = [
  ["move", "move", "Move", "G"],
  ["rotate", "rotate", "Rotate", "T"],
  ["scale", "scale", "Scale", "S"],
  ["nodes", "nodes", "Select nodes", "N"],
  ["press", "press", "Press on a face; Ctrl keeps it", "P"],
  ["poke", "poke", "Poke with a ball; the wheel moves it in depth", "K"],
  ["pin", "pin", "Pin nodes while it runs", "I"],
];

const ALWAYS: ViewTool[] = ["poke", "pin"];

const HINTS: Partial<Record<ViewTool, string>> = {
  nodes: "Draw a box around nodes, or click one; Shift adds.",
  press: "Drag on a face to push it; with Ctrl the load is kept.",
  poke: "Drag to push with a ball; the wheel moves it in depth.",
  pin: "Click a node to pin it, and again to release it.",
};

/** How to use the tool, or what it needs first. */
export function hintOf(state: StudioState): string {
  const { viewTool, sceneDocument, selected } = state;
  if (viewTool === "press" && !state.world?.playing) return "Drag loads a face in the next step; with Ctrl the load is kept.";
  if (viewTool !== "nodes") return HINTS[viewTool] ?? "";
  if (!editing(state)) return "Nodes can be selected while paused at the start.";
  return valueAt(sceneDocument?.data ?? undefined, [...selected, "type"]) === "soft" ? HINTS.nodes! : "Select a soft body to select its nodes.";
}

/** The tools of the view; press, poke and pin also work while the simulation runs. */
export function ViewTools() {
  const tool = useStudio((s) => s.viewTool);
  const editable = useStudio((s) => Boolean(s.sceneDocument?.data));
  const hint = useStudio(hintOf);
  return (
    <>
      <div className="view-tools" role="toolbar" aria-label="Tools">
        {TOOLS.filter(([key]) => editable || ALWAYS.includes(key)).map(([key, icon, label, keys]) => (
          <Tool
            key={key}
            icon={icon}
            label={label}
            keys={keys}
            pressed={tool === key}
            onClick={() => useStudio.setState({ viewTool: tool === key && ALWAYS.includes(key) ? "move" : key })}
          />
        ))}
      </div>
      {hint && <p className="tool-hint">{hint}</p>}
    </>
  );
}
