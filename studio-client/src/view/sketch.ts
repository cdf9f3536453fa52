// Geometry of sketched obstacles: closed polygons as flat lists x, y, x, y, ...

/** Whether a point lies inside a closed polygon. */
export function isInside(polygon: number[], x: number, y: number): boolean {
  let inside = false;
  const n = polygon.length / 2;
  for (let i = 0, j = n - 1; i < n; j = i++) {
    const [ax, ay, bx, by] = [polygon[2 * i], polygon[2 * i + 1], polygon[2 * j], polygon[2 * j + 1]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

/** The topmost polygon that contains a point; -1 if there is none. */
export function polygonAt(polygons: number[][], x: number, y: number): number {
  for (let i = polygons.length - 1; i >= 0; i--) if (isInside(polygons[i], x, y)) return i;
  return -1;
}

/** Points at equal distances along a closed stroke; null if it encloses almost no area. */
export function resample(stroke: [number, number][], count: number): [number, number][] | null {
  if (stroke.length < 3) return null;
  const closed = [...stroke, stroke[0]];
  const lengths = [0];
  for (let i = 1; i < closed.length; i++) {
    lengths.push(lengths[i - 1] + Math.hypot(closed[i][0] - closed[i - 1][0], closed[i][1] - closed[i - 1][1]));
  }
  const total = lengths[lengths.length - 1];
  let area = 0;
  for (let i = 1; i < closed.length; i++) area += closed[i - 1][0] * closed[i][1] - closed[i][0] * closed[i - 1][1];
  if (!(total > 0) || Math.abs(0.5 * area) < 1e-3 * total * total) return null;
  const points: [number, number][] = [];
  let at = 1;
  for (let i = 0; i < count; i++) {
    const want = (total * i) / count;
    while (lengths[at] < want) at++;
    const share = (want - lengths[at - 1]) / Math.max(lengths[at] - lengths[at - 1], 1e-30);
    points.push([
      closed[at - 1][0] + share * (closed[at][0] - closed[at - 1][0]),
      closed[at - 1][1] + share * (closed[at][1] - closed[at - 1][1]),
    ]);
  }
  return points;
}
