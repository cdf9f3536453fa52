import { editing, valueAt } from "../state/document";
import { type StudioState, useStudio, type ViewTool } from "../state/store";
import type { IconName } from "./Icon";
import { Tool } from "./TopBar";

const TOOLS: [ViewTool, IconName, string, string][] = [
  ["move", "move", "Move", "G"],
  ["turn", "turn", "Turn", "T"],
  ["size", "size", "Size", "S"],
  ["nodes", "nodes", "Choose nodes", "N"],
  ["press", "press", "Press on a face; Ctrl keeps it", "P"],
  ["poke", "poke", "Poke with a ball; the wheel moves it in depth", "K"],
  ["pin", "pin", "Pin nodes on the fly", "I"],
];

const ALWAYS: ViewTool[] = ["poke", "pin"];

const HINTS: Partial<Record<ViewTool, string>> = {
  nodes: "Draw a box around nodes, or click one; Shift adds.",
  press: "Drag on a face to push it; with Ctrl the load stays.",
  poke: "Press and move: a ball pushes; the wheel moves it in depth.",
  pin: "Click a node to hold it, and again to let it go.",
};

/** What to do with the tool, or what it needs first. */
export function hintOf(state: StudioState): string {
  const { viewTool, paper, selected } = state;
  if (viewTool === "press" && !state.world?.playing) return "Ctrl and drag loads a face; without Ctrl, only in the next step.";
  if (viewTool !== "nodes") return HINTS[viewTool] ?? "";
  if (!editing(state)) return "Nodes are chosen at the start, while nothing moves.";
  return valueAt(paper?.data ?? undefined, [...selected, "type"]) === "soft" ? HINTS.nodes! : "Select a soft body to choose its nodes.";
}

/** What the mouse does in the view while nothing runs; pressing, poking and pinning work always. */
export function ViewTools() {
  const tool = useStudio((s) => s.viewTool);
  const editable = useStudio((s) => Boolean(s.paper?.data));
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
