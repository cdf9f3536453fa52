// The colours of boundary conditions, in the view and in the panel.

import type { BoundaryConditionInfo } from "../net/messages";

type Kind = BoundaryConditionInfo["kind"];

const LIGHT: Record<Kind, string> = {
  pin: "#27364f",
  drive: "#7a3fc4",
  lock: "#0b7d74",
  load: "#d2451e",
  pull: "#d2451e",
};

const DARK: Record<Kind, string> = {
  pin: "#e8edf6",
  drive: "#c79bff",
  lock: "#5fd6c8",
  load: "#ff9068",
  pull: "#ff9068",
};

export const boundaryConditionColors = (dark: boolean) => (dark ? DARK : LIGHT);
