// Energies and step times of the last seconds, for the plots.

export const WINDOW = 10; // s of simulated time shown
const COLUMNS = 5; // time, step time, kinetic, elastic and gravitational energy
const SPARE = 60; // outdated samples before they are removed

export class History {
  time: number[] = [];
  stepMs: number[] = [];
  /** kinetic, elastic, gravity, total */
  energy: number[][] = [[], [], [], []];
  /** Incremented with every change. */
  version = 0;

  clear(): void {
    this.time = [];
    this.stepMs = [];
    this.energy = [[], [], [], []];
    this.version++;
  }

  /** Add rows of (time, step time, energies); a step back in time clears the history. */
  add(rows: Float32Array): void {
    for (let row = 0; row < rows.length; row += COLUMNS) {
      const [time, stepMs, ...energies] = rows.subarray(row, row + COLUMNS);
      const last = this.time[this.time.length - 1];
      if (time < last) this.clear();
      if (time === last) continue;
      this.time.push(time);
      this.stepMs.push(stepMs);
      energies.push(energies.reduce((sum, energy) => sum + energy, 0));
      energies.forEach((energy, kind) => this.energy[kind].push(energy));
    }
    const newest = this.time[this.time.length - 1];
    let old = 0;
    while (this.time[old] < newest - WINDOW) old++;
    if (old > SPARE) {
      for (const list of [this.time, this.stepMs, ...this.energy]) list.splice(0, old);
    }
    this.version++;
  }
}
