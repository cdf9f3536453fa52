"""Compiled distances to closed polygons."""

from __future__ import annotations

from math import sqrt

from numba import prange

from continua.numerics import kernel_pair

__all__ = ["polygon_distances"]


@kernel_pair
def polygon_distances(points, corners, gaps, normals):
    """Signed distances of points [n, 3] to a closed polygon [m, 2] in the plane, negative inside, and normals [n, 3].

    A point is inside if a ray to the right crosses the polygon an odd number of times.
    """
    m = corners.shape[0]
    for i in prange(points.shape[0]):
        x, y = points[i, 0], points[i, 1]
        best = 1e300
        nx = ny = 0.0
        inside = False
        for a in range(m):
            b = a + 1 if a + 1 < m else 0
            ax, ay = corners[a, 0], corners[a, 1]
            dx, dy = corners[b, 0] - ax, corners[b, 1] - ay
            length = dx * dx + dy * dy
            t = min(max(((x - ax) * dx + (y - ay) * dy) / length, 0.0), 1.0)
            ex, ey = x - ax - t * dx, y - ay - t * dy
            square = ex * ex + ey * ey
            if square < best:
                best = square
                nx, ny = ex, ey
                if square == 0.0:
                    nx, ny = dy, -dx
            if (ay > y) != (ay + dy > y) and x < ax + (y - ay) / dy * dx:
                inside = not inside
        size = sqrt(nx * nx + ny * ny)
        sign = -1.0 if inside else 1.0
        gaps[i] = sign * sqrt(best)
        normals[i, 0] = sign * nx / size
        normals[i, 1] = sign * ny / size
        normals[i, 2] = 0.0
