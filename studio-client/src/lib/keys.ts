import { useEffect } from "react";
import { save, send, togglePlay } from "../state/studio";
import { edit, selectedEntry } from "../state/document";
import { remember, isReplay, useStudio, type ViewTool } from "../state/store";
import { frameAll, viewFrom, type ViewDirection } from "../view/cameraEvents";

export const KEYS: { key: string; label: string; help: string }[] = [
  { key: " ", label: "Space", help: "Play or pause" },
  { key: ".", label: ".", help: "Pause and compute one step" },
  { key: "r", label: "R", help: "Back to the start" },
  { key: "f", label: "F", help: "Bring everything into view" },
  { key: "1", label: "1 2 3 0", help: "View from the front, the right, the top, the corner" },
  { key: "w", label: "W", help: "Show or hide the mesh" },
  { key: "l", label: "L", help: "Show or hide boundary conditions" },
  { key: "g", label: "G T S", help: "Move, rotate, scale the selected object" },
  { key: "n", label: "N", help: "Select nodes with a box" },
  { key: "p", label: "P", help: "Press on faces: drag, Ctrl keeps the load" },
  { key: "k", label: "K", help: "Poke with a ball on the cursor" },
  { key: "i", label: "I", help: "Pin nodes where they are" },
  { key: "escape", label: "Esc", help: "Deselect nodes, then deselect the tool" },
  { key: "delete", label: "Del", help: "Remove the selected object" },
  { key: "z", label: "Ctrl Z Y", help: "Undo, redo" },
  { key: "s", label: "Ctrl S", help: "Save" },
  { key: "?", label: "?", help: "Show or hide this help" },
];

const VIEWS: Record<string, ViewDirection> = { 1: "front", 2: "right", 3: "top", 0: "corner" };
const TOOLS: Record<string, ViewTool> = { g: "move", t: "rotate", s: "scale", n: "nodes", p: "press", k: "poke", i: "pin" };

function runShortcut(key: string): boolean {
  switch (key) {
    case " ":
      togglePlay();
      return true;
    case ".":
      send({ type: "step" });
      return true;
    case "r":
      send({ type: "reset" });
      return true;
    case "f":
      frameAll();
      return true;
    case "1":
    case "2":
    case "3":
    case "0":
      viewFrom(VIEWS[key]);
      return true;
    case "w":
      remember({ wireframe: !useStudio.getState().wireframe });
      return true;
    case "l":
      remember({ markers: !useStudio.getState().markers });
      return true;
    case "g":
    case "t":
    case "s":
    case "n":
    case "p":
      if (!useStudio.getState().sceneDocument?.data) return false;
      useStudio.setState({ viewTool: TOOLS[key] });
      return true;
    case "k":
    case "i":
      if (isReplay()) return false;
      useStudio.setState(({ viewTool }) => ({ viewTool: viewTool === TOOLS[key] ? "move" : TOOLS[key] }));
      return true;
    case "delete": {
      const found = selectedEntry();
      if (!found) return false;
      edit([{ op: "remove", path: [found.list, found.number] }], `removing ${String(found.entry.name ?? found.list)}`);
      return true;
    }
    case "?":
      useStudio.setState(({ helpOpen }) => ({ helpOpen: !helpOpen }));
      return true;
    case "escape":
      useStudio.setState(({ helpOpen, nodeSelection }) =>
        helpOpen ? { helpOpen: false } : nodeSelection ? { nodeSelection: null } : { viewTool: "move" },
      );
      return true;
    default:
      return false;
  }
}

export function useKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const typing = target.matches("input:not([type=range]), select, textarea");
      // Space presses a focused button; it must not trigger a shortcut too.
      if (!typing && (event.ctrlKey || event.metaKey) && useStudio.getState().sceneDocument?.data) {
        const key = event.key.toLowerCase();
        const word = key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : null;
        if (word) send({ type: word });
        else if (key === "s") save();
        else return;
        event.preventDefault();
        return;
      }
      const pressesButton = event.key === " " && target.matches("button, summary");
      if (typing || pressesButton || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (runShortcut(event.key.toLowerCase())) event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
