"""Compiled signed distances of simple shapes: exact everywhere, with the unit normal of the nearest surface point.

Each function takes points [n, 3] and the shape's own axes as rows of `frame` [3, 3] around `center`. An edge of
radius r is the surface at distance r from a smaller shape, so the distance is that of the smaller one minus r.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from continua.numerics import inline, kernel

__all__ = ["box_distances", "capsule_distances", "cylinder_distances"]


@inline
def _local(points, i, center, frame):
    x, y, z = points[i, 0] - center[0], points[i, 1] - center[1], points[i, 2] - center[2]
    return (
        frame[0, 0] * x + frame[0, 1] * y + frame[0, 2] * z,
        frame[1, 0] * x + frame[1, 1] * y + frame[1, 2] * z,
        frame[2, 0] * x + frame[2, 1] * y + frame[2, 2] * z,
    )


@inline
def _store(normals, i, frame, a, b, c, sign):
    for k in range(3):
        normals[i, k] = sign * (frame[0, k] * a + frame[1, k] * b + frame[2, k] * c)


@kernel
def box_distances(points, center, frame, half, rounding, sign, gaps, normals):
    """Signed distances to a box with half lengths `half` [3] and edges of radius `rounding`."""
    for i in range(points.shape[0]):
        x, y, z = _local(points, i, center, frame)
        a = abs(x) - (half[0] - rounding)
        b = abs(y) - (half[1] - rounding)
        c = abs(z) - (half[2] - rounding)
        most = max(a, max(b, c))
        if most > 0.0:
            a, b, c = max(a, 0.0), max(b, 0.0), max(c, 0.0)
            # scaled, so that squares of tiny numbers do not vanish
            a, b, c = a / most, b / most, c / most
            length = sqrt(a * a + b * b + c * c)
            gap = most * length
            a, b, c = a / length, b / length, c / length
        else:
            gap = most
            a, b, c = (1.0, 0.0, 0.0) if a == most else ((0.0, 1.0, 0.0) if b == most else (0.0, 0.0, 1.0))
        gaps[i] = sign * (gap - rounding)
        _store(normals, i, frame, np.copysign(a, x), np.copysign(b, y), np.copysign(c, z), sign)


@kernel
def cylinder_distances(points, center, frame, radius, half, rounding, sign, gaps, normals):
    """Signed distances to a cylinder along the third row of `frame`, `half` to both sides of its centre."""
    for i in range(points.shape[0]):
        x, y, z = _local(points, i, center, frame)
        rho = sqrt(x * x + y * y)
        if rho > 0.0:
            ux, uy = x / rho, y / rho
        else:
            ux, uy = 1.0, 0.0
        a = rho - (radius - rounding)
        b = abs(z) - (half - rounding)
        most = max(a, b)
        if most > 0.0:
            a, b = max(a, 0.0) / most, max(b, 0.0) / most
            length = sqrt(a * a + b * b)
            gap = most * length
            a, b = a / length, b / length
        else:
            gap = most
            a, b = (1.0, 0.0) if a == most else (0.0, 1.0)
        gaps[i] = sign * (gap - rounding)
        _store(normals, i, frame, a * ux, a * uy, np.copysign(b, z), sign)


@kernel
def capsule_distances(points, center, frame, radius, half, sign, gaps, normals):
    """Signed distances to the points within `radius` of a segment along the third row of `frame`."""
    for i in range(points.shape[0]):
        x, y, z = _local(points, i, center, frame)
        z -= min(max(z, -half), half)
        length = sqrt(x * x + y * y + z * z)
        gaps[i] = sign * (length - radius)
        if length > 0.0:
            _store(normals, i, frame, x / length, y / length, z / length, sign)
        else:
            _store(normals, i, frame, 1.0, 0.0, 0.0, sign)
