import { useStudio, type ViewTool } from "../state/store";
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

/** What the mouse does in the view while nothing runs; pressing, poking and pinning work always. */
export function ViewTools() {
  const tool = useStudio((s) => s.viewTool);
  const editable = useStudio((s) => Boolean(s.paper?.data));
  return (
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
  );
}
