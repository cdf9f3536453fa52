import { useStudio, type ViewTool } from "../state/store";
import type { IconName } from "./Icon";
import { Tool } from "./TopBar";

const TOOLS: [ViewTool, IconName, string, string][] = [
  ["move", "move", "Move", "G"],
  ["turn", "turn", "Turn", "T"],
  ["size", "size", "Size", "S"],
  ["nodes", "nodes", "Choose nodes", "N"],
  ["press", "press", "Press on a face; Ctrl keeps it", "P"],
];

/** What the mouse does in the view while nothing runs; pressing works always. */
export function ViewTools() {
  const tool = useStudio((s) => s.viewTool);
  return (
    <div className="view-tools" role="toolbar" aria-label="Tools">
      {TOOLS.map(([key, icon, label, keys]) => (
        <Tool
          key={key}
          icon={icon}
          label={label}
          keys={keys}
          pressed={tool === key}
          onClick={() => useStudio.setState({ viewTool: key })}
        />
      ))}
    </div>
  );
}
