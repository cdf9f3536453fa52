import { useEffect, useState } from "react";
import { type Theme, useStudio } from "../state/store";

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

/** Whether the page is dark, by choice or by the system's; also tells the style sheet. */
export function useDark(): boolean {
  const theme: Theme = useStudio((s) => s.theme);
  const system = useMedia("(prefers-color-scheme: dark)");
  const dark = theme === "auto" ? system : theme === "dark";
  useEffect(() => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  }, [dark]);
  return dark;
}
