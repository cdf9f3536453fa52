"""Triangle meshes of simple shapes, for drawing and for contact of their edges and faces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.mesh import surfaces

__all__ = ["TriangleArrays", "box_triangles", "revolved_triangles"]

TriangleArrays = tuple[NDArray[np.float64], NDArray[np.int32]]


def box_triangles(half: NDArray[np.float64], rounding: float) -> TriangleArrays:
    """Return points [n, 3] and triangles [k, 3] of a box around the origin with edges of radius `rounding` [m]."""
    if rounding == 0.0:
        mesh = surfaces.box(2.0 * half, origin=-half)
        return mesh.points, mesh.triangles
    steps = 6
    mesh = surfaces.box((2.0 * steps + 1,) * 3, (2 * steps + 1,) * 3)
    tilt = np.tan(np.linspace(-np.pi / 4, 0.0, steps + 1))  # equal angles on the rounded part
    inner = half - rounding
    lines = np.concatenate([rounding * tilt, -rounding * tilt[::-1]])
    offset = np.repeat([-1.0, 1.0], steps + 1)
    number = np.rint(mesh.points).astype(int)
    core = offset[number] * inner
    along = lines[number]
    along[(number == 0) | (number == 2 * steps + 1)] = (np.where(number == 0, -rounding, rounding))[
        (number == 0) | (number == 2 * steps + 1)
    ]
    length = np.linalg.norm(along, axis=1, keepdims=True)
    return core + rounding * along / length, mesh.triangles


def revolved_triangles(profile: NDArray[np.float64], around: int = 64) -> TriangleArrays:
    """Return points and triangles of a surface of revolution about z.

    Args:
        profile: Radius and height of its rings [m], from the lowest to the highest, without the two poles, [m, 2].
        around: Points of a ring.
    """
    angle = 2.0 * np.pi * np.arange(around) / around
    rings = [np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(around, z)]) for r, z in profile]
    low, high = profile[0, 1], profile[-1, 1]
    points = np.concatenate([*rings, [[0.0, 0.0, low], [0.0, 0.0, high]]])
    i = np.arange(around)
    j = (i + 1) % around
    last = (len(profile) - 1) * around
    parts = [(j, i, np.full(around, len(points) - 2)), (last + i, last + j, np.full(around, len(points) - 1))]
    for k in range(len(profile) - 1):
        a, b = k * around, (k + 1) * around
        parts += [(a + i, a + j, b + j), (a + i, b + j, b + i)]
    return points, np.concatenate([np.stack(part, axis=1) for part in parts]).astype(np.int32)
