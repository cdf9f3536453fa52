"""Compiled tests of which points can touch a collider, before their distances are found."""

from __future__ import annotations

from math import sqrt

from continua.numerics import kernel

__all__ = ["lower_bounds", "reached_distances"]

_ROUNDING = 1e-12  # of the size of coordinates


@kernel
def lower_bounds(points, near, distances, bounds):
    """Find lower bounds of distances from those of points nearby: they differ by no more than the points are apart.

    Args:
        points: The points [m], shape [n, 3].
        near: A point near each of them [m], shape [n, 3].
        distances: Distances of these from the same shape [m], shape [n].
        bounds: Receives the bounds [m], shape [n].
    """
    for i in range(points.shape[0]):
        square, size = 0.0, 0.0
        for k in range(3):
            square += (points[i, k] - near[i, k]) ** 2
            size += abs(points[i, k]) + abs(near[i, k])
        bounds[i] = distances[i] - sqrt(square) - _ROUNDING * (size + abs(distances[i]))


@kernel
def reached_distances(a, b, has_plane, tolerance, gaps, limit):
    """Find the distance below which a point can hit something on its path from a to b: the length of the path.

    Args:
        a: Positions at the start [m], shape [n, 3].
        b: Positions at the end [m], shape [n, 3].
        has_plane: Points for which the limit is smaller by `tolerance`, shape [n].
        tolerance: See above [m].
        gaps: Distances at the start [m], shape [n].
        limit: Receives the lengths [m], shape [n].

    Returns:
        Whether the distance of some point is below its limit.
    """
    some = False
    for i in range(a.shape[0]):
        square = (b[i, 0] - a[i, 0]) ** 2 + (b[i, 1] - a[i, 1]) ** 2 + (b[i, 2] - a[i, 2]) ** 2
        limit[i] = sqrt(square) - (tolerance if has_plane[i] else 0.0)
        some |= gaps[i] < limit[i]
    return some
