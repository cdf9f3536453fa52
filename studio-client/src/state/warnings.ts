// Warnings come and go with every step; each stays for a while, so that it can be read and nothing flickers.

const STAY = 2; // s after it was true for the last time

export class Notes {
  private readonly seen = new Map<string, { text: string; until: number }>();

  clear(): void {
    this.seen.clear();
  }

  /** Take in what is true at `now` [s] and return what to show; the same words with other numbers are one note. */
  update(texts: string[], now: number): string[] {
    for (const text of texts) this.seen.set(text.replace(/\d[\d.e+-]*/g, "#"), { text, until: now + STAY });
    for (const [key, { until }] of this.seen) if (until < now) this.seen.delete(key);
    return [...this.seen.values()].map(({ text }) => text);
  }
}
