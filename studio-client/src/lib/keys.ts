import { useEffect } from "react";
import { send, togglePlay } from "../state/studio";
import { remember, useStudio } from "../state/store";
import { frameAll } from "../view/events";

export const KEYS: { key: string; label: string; help: string }[] = [
  { key: " ", label: "Space", help: "Play or pause" },
  { key: ".", label: ".", help: "Pause and do one step" },
  { key: "r", label: "R", help: "Back to the start" },
  { key: "f", label: "F", help: "Bring everything into view" },
  { key: "w", label: "W", help: "Show or hide the mesh" },
  { key: "l", label: "L", help: "Show or hide holds and loads" },
  { key: "?", label: "?", help: "Show or hide this help" },
];

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
    case "w":
      remember({ wireframe: !useStudio.getState().wireframe });
      return true;
    case "l":
      remember({ marks: !useStudio.getState().marks });
      return true;
    case "?":
      useStudio.setState(({ helpOpen }) => ({ helpOpen: !helpOpen }));
      return true;
    case "escape":
      useStudio.setState({ helpOpen: false });
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
      const pressing = event.key === " " && target.matches("button, summary");
      if (typing || pressing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (act(event.key.toLowerCase())) event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
