"""Compiled distances to closed polygons."""

from __future__ import annotations

from math import sqrt

from numba import prange

from continua.numerics import inline, kernel_pair

__all__ = ["CHUNK", "polygon_distances"]

CHUNK = 16  # consecutive points that share a list of candidate edges


@inline
def _offset_from_edge(corners, a, x, y):
    """Return the vector from the closest point on the edge `a` to (x, y)."""
    ax, ay = corners[a, 0], corners[a, 1]
    dx, dy = corners[a + 1, 0] - ax, corners[a + 1, 1] - ay
    t = min(max(((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy), 0.0), 1.0)
    return x - ax - t * dx, y - ay - t * dy


@inline
def _list_candidate_edges(points, first, last, corners, squared, candidates):
    """List the edges that may be nearest to one of the points, or cross its ray; return their number.

    The points lie in a circle around the centre of their bounding box. An edge that is farther from the centre than
    the nearest edge by more than the diameter is not nearest to any of them.
    """
    m = corners.shape[0] - 1
    low0 = high0 = points[first, 0]
    low1 = high1 = points[first, 1]
    for i in range(first + 1, last):
        low0, high0 = min(low0, points[i, 0]), max(high0, points[i, 0])
        low1, high1 = min(low1, points[i, 1]), max(high1, points[i, 1])
    x, y = 0.5 * (low0 + high0), 0.5 * (low1 + high1)
    diameter = sqrt((high0 - low0) ** 2 + (high1 - low1) ** 2)
    for a in range(m):
        ex, ey = _offset_from_edge(corners, a, x, y)
        squared[a] = ex * ex + ey * ey
    best = squared[0]
    for a in range(1, m):
        best = min(best, squared[a])
    limit = (sqrt(best) + 1.000001 * diameter) ** 2 * 1.000001
    count = 0
    for a in range(m):
        bottom, top = min(corners[a, 1], corners[a + 1, 1]), max(corners[a, 1], corners[a + 1, 1])
        if squared[a] <= limit or (bottom <= high1 and top >= low1):
            candidates[count] = a
            count += 1
    return count


@kernel_pair
def polygon_distances(points, corners, gaps, normals, squared, candidates):
    """Signed distances of points [n, 3] to a polygon in the plane, negative inside, and normals [n, 3].

    The m `corners` in order end with the first one again, shape [m + 1, 2]. A point is inside if a ray to the right
    crosses the polygon an odd number of times. `squared` and `candidates` are work arrays, one row of m numbers for
    each `CHUNK` of points.
    """
    n = points.shape[0]
    for c in prange(candidates.shape[0]):
        first, last = c * CHUNK, min((c + 1) * CHUNK, n)
        count = _list_candidate_edges(points, first, last, corners, squared[c], candidates[c])
        for i in range(first, last):
            x, y = points[i, 0], points[i, 1]
            best = 1e300
            nx = ny = 0.0
            inside = False
            for e in range(count):
                a = candidates[c, e]
                ax, ay = corners[a, 0], corners[a, 1]
                dx, dy = corners[a + 1, 0] - ax, corners[a + 1, 1] - ay
                ex, ey = _offset_from_edge(corners, a, x, y)
                distance2 = ex * ex + ey * ey
                if distance2 < best:
                    best = distance2
                    nx, ny = ex, ey
                    if distance2 == 0.0:
                        nx, ny = dy, -dx
                if (ay > y) != (corners[a + 1, 1] > y) and x < ax + (y - ay) / dy * dx:
                    inside = not inside
            length = sqrt(nx * nx + ny * ny)
            sign = -1.0 if inside else 1.0
            gaps[i] = sign * sqrt(best)
            normals[i, 0] = sign * nx / length
            normals[i, 1] = sign * ny / length
            normals[i, 2] = 0.0
