// Warnings can change with every step; each is shown for a while, so that it can be read and nothing flickers.

import type { StepWarning } from "../net/messages";

const DURATION = 2; // s for which a warning stays visible after its last step

export class WarningList {
  private readonly seen = new Map<string, { warning: StepWarning; until: number }>();

  private obsolete = -1;

  /** Forget all warnings; those up to the step `obsolete` are about a scene that has changed since. */
  clear(obsolete = -1): void {
    this.seen.clear();
    this.obsolete = obsolete;
  }

  /** Whether the warnings of a step are about a scene that has changed since. */
  isObsolete(step: number): boolean {
    return step <= this.obsolete;
  }

  /** Add the warnings of a frame at `now` [s] and return those to show; texts that differ only in numbers are one warning. */
  update(warnings: StepWarning[], now: number): StepWarning[] {
    for (const warning of warnings) {
      if (this.isObsolete(warning.step)) continue;
      const key = `${warning.body}: ${warning.text.replace(/\d[\d.e+-]*/g, "#")}`;
      if (this.seen.get(key)?.warning.step !== warning.step) this.seen.set(key, { warning, until: now + DURATION });
    }
    return [...this.seen.values()].filter(({ until }) => until >= now).map(({ warning }) => warning);
  }
}

/** A warning as it is shown: with its number of steps, and the last of them. */
export const warningText = ({ body, text, count, step }: StepWarning): string =>
  `${body}: ${text} (${count > 1 ? `${count} steps, the last was step` : "step"} ${step})`;
