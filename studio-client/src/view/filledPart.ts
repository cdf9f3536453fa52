// The part of a grid that is not empty; rays need to be sampled only there.

type Triple = readonly [number, number, number];

/** The whole grid. */
export const WHOLE: readonly [Triple, Triple] = [[0, 0, 0], [1, 1, 1]];

/** Lowest and highest corner of the cells that are not zero and their neighbours, from 0 to 1; `bytes` has x fastest. */
export function filledPart(bytes: Uint8Array, [nx, ny, nz]: Triple): readonly [Triple, Triple] {
  const low = [nx, ny, nz];
  const high = [-1, -1, -1];
  let at = 0;
  for (let z = 0; z < nz; z++) {
    for (let y = 0; y < ny; y++, at += nx) {
      let first = 0;
      while (first < nx && bytes[at + first] === 0) first++;
      if (first === nx) continue;
      let last = nx - 1;
      while (bytes[at + last] === 0) last--;
      low[0] = Math.min(low[0], first);
      high[0] = Math.max(high[0], last);
      low[1] = Math.min(low[1], y);
      high[1] = Math.max(high[1], y);
      low[2] = Math.min(low[2], z);
      high[2] = z;
    }
  }
  const counts = [nx, ny, nz];
  if (high[0] < 0) return [[0, 0, 0], [0, 0, 0]];
  // values are interpolated between the centres of cells
  const from = low.map((n, i) => Math.max(n - 1, 0) / counts[i]) as unknown as Triple;
  const to = high.map((n, i) => Math.min(n + 2, counts[i]) / counts[i]) as unknown as Triple;
  return [from, to];
}
