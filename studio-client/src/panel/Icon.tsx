const PATHS = {
  play: "M7 4.5v15l12.5-7.5z",
  pause: "M7 5h3.6v14H7zM13.4 5H17v14h-3.6z",
  step: "M5.5 5v14l9.5-7zM16.5 5H19v14h-2.5z",
  reset: "M12 5a7 7 0 1 1-6.6 4.7M5.2 4.6v5.2h5.2",
  frame: "M4 9V5.5A1.5 1.5 0 0 1 5.5 4H9M15 4h3.5A1.5 1.5 0 0 1 20 5.5V9M20 15v3.5a1.5 1.5 0 0 1-1.5 1.5H15M9 20H5.5A1.5 1.5 0 0 1 4 18.5V15",
  mesh: "M12 3.5 4 8v8l8 4.5 8-4.5V8zM4 8l8 4.5L20 8M12 12.5v8M8 5.8l8 4.4M16 5.8 8 10.2",
  sun: "M12 8.2a3.8 3.8 0 1 0 0 7.6 3.8 3.8 0 0 0 0-7.6zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M18.4 5.6 17 7M7 17l-1.4 1.4",
  moon: "M19.5 14.2A8 8 0 0 1 9.8 4.5a8 8 0 1 0 9.7 9.7z",
  auto: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 4v16",
  panel: "M4.5 5h15v14h-15zM14.5 5v14",
  plots: "M4 19.5h16M4.5 15.5l4-5 3.5 3 4.5-7 3 3.5",
  help: "M9.2 9.2a2.9 2.9 0 1 1 4.1 2.7c-.9.5-1.3 1-1.3 2M12 17.2v.1",
  more: "M6 9.5l6 6 6-6",
  less: "M6 14.5l6-6 6 6",
  close: "M6 6l12 12M18 6 6 18",
  warn: "M12 4.5 3.5 19h17zM12 10v4.2M12 16.6v.1",
} as const;

const FILLED = new Set<string>(["play", "pause", "step"]);

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  const filled = FILLED.has(name);
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill={filled ? "currentColor" : "none"}
      stroke={filled ? "none" : "currentColor"}
      strokeWidth={1.7}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
