// Warnings can change with every step; each is shown for a while, so that it can be read and nothing flickers.

const DURATION = 2; // s for which a warning stays visible

export class WarningList {
  private readonly seen = new Map<string, { text: string; until: number }>();

  private obsolete = -1;

  /** Forget all warnings; those of the step `obsolete` are about a scene that has changed since. */
  clear(obsolete = -1): void {
    this.seen.clear();
    this.obsolete = obsolete;
  }

  /** Whether the warnings of a step are about a scene that has changed since. */
  isObsolete(step: number): boolean {
    return step === this.obsolete;
  }

  /** Add the warnings of a step at `now` [s] and return those to show; texts that differ only in numbers are one warning. */
  update(texts: string[], now: number, step: number): string[] {
    if (this.isObsolete(step)) return [];
    for (const text of texts) this.seen.set(text.replace(/\d[\d.e+-]*/g, "#"), { text, until: now + DURATION });
    for (const [key, { until }] of this.seen) if (until < now) this.seen.delete(key);
    return [...this.seen.values()].map(({ text }) => text);
  }
}
