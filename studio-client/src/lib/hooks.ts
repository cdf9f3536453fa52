import { type RefObject, useEffect, useRef, useState } from "react";
import { NARROW_WIDTH, type Theme, useStudio } from "../state/store";

export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const list = window.matchMedia(query);
    const update = () => setMatches(list.matches);
    update();
    list.addEventListener("change", update);
    return () => list.removeEventListener("change", update);
  }, [query]);
  return matches;
}

/** Whether the window is narrow. */
export const useNarrow = (): boolean => useMedia(`(max-width: ${NARROW_WIDTH}px)`);

/** Whether the page is dark, by choice or by the system; also sets the theme of the style sheet. */
export function useDark(): boolean {
  const theme: Theme = useStudio((s) => s.theme);
  const system = useMedia("(prefers-color-scheme: dark)");
  const dark = theme === "auto" ? system : theme === "dark";
  useEffect(() => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  }, [dark]);
  return dark;
}

/** A menu that closes on a click outside of it, or with Escape. */
export function useMenu(open: boolean, close: () => void): RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    const onPress = (event: PointerEvent) => {
      if (!box.current?.contains(event.target as Node)) close();
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopImmediatePropagation(); // it closes the menu and nothing else
      close();
    };
    window.addEventListener("pointerdown", onPress);
    window.addEventListener("keydown", onKey, { capture: true });
    return () => {
      window.removeEventListener("pointerdown", onPress);
      window.removeEventListener("keydown", onKey, { capture: true });
    };
  }, [open, close]);
  return box;
}
