import { useEffect } from "react";
import { save, send, togglePlay } from "../state/studio";
import { edit, selectedEntry } from "../state/document";
import { remember, replaying, useStudio, type ViewTool } from "../state/store";
import { frameAll, lookFrom, type Side } from "../view/cameraEvents";

export const KEYS: { key: string; label: string; help: string }[] = [
  { key: " ", label: "Space", help: "Play or pause" },
  { key: ".", label: ".", help: "Pause and do one step" },
  { key: "r", label: "R", help: "Back to the start" },
  { key: "f", label: "F", help: "Bring everything into view" },
  { key: "1", label: "1 2 3 0", help: "Look from the front, the right, the top, the corner" },
  { key: "w", label: "W", help: "Show or hide the mesh" },
  { key: "l", label: "L", help: "Show or hide holds and loads" },
  { key: "g", label: "G T S", help: "Move, turn, size what is selected" },
  { key: "n", label: "N", help: "Choose nodes with a box" },
  { key: "p", label: "P", help: "Press on faces: drag, Ctrl keeps the load" },
  { key: "k", label: "K", help: "Poke with a ball on the cursor" },
  { key: "i", label: "I", help: "Pin nodes where they are" },
  { key: "escape", label: "Esc", help: "Choose no nodes; then put the tool away" },
  { key: "delete", label: "Del", help: "Remove what is selected" },
  { key: "z", label: "Ctrl Z Y", help: "Undo, redo" },
  { key: "s", label: "Ctrl S", help: "Save" },
  { key: "?", label: "?", help: "Show or hide this help" },
];

const LOOKS: Record<string, Side> = { 1: "front", 2: "right", 3: "top", 0: "corner" };
const TOOLS: Record<string, ViewTool> = { g: "move", t: "turn", s: "size", n: "nodes", p: "press", k: "poke", i: "pin" };

function act(key: string): boolean {
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
      lookFrom(LOOKS[key]);
      return true;
    case "w":
      remember({ wireframe: !useStudio.getState().wireframe });
      return true;
    case "l":
      remember({ marks: !useStudio.getState().marks });
      return true;
    case "g":
    case "t":
    case "s":
    case "n":
    case "p":
      if (!useStudio.getState().paper?.data) return false;
      useStudio.setState({ viewTool: TOOLS[key] });
      return true;
    case "k":
    case "i":
      if (replaying()) return false;
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
      useStudio.setState(({ helpOpen, chosen }) =>
        helpOpen ? { helpOpen: false } : chosen ? { chosen: null } : { viewTool: "move" },
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
      // Space presses a focused button; it must not do two things at once.
      if (!typing && (event.ctrlKey || event.metaKey) && useStudio.getState().paper?.data) {
        const key = event.key.toLowerCase();
        const word = key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : null;
        if (word) send({ type: word });
        else if (key === "s") save();
        else return;
        event.preventDefault();
        return;
      }
      const pressing = event.key === " " && target.matches("button, summary");
      if (typing || pressing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (act(event.key.toLowerCase())) event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
