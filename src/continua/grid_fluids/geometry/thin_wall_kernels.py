"""Compiled detection of walls that pass between the corners of a grid."""

from __future__ import annotations

import numpy as np

from continua.numerics import inline, kernel

__all__ = ["has_thin_wall"]

_OPPOSED_COSINE = -0.5  # between the normals of two corners on opposite sides of a thin wall
_UNLIKE_COSINE = 0.5  # below this a wall may lie between two corners: detours do not cross such edges
_THICK_DEPTH = -0.25  # spacings: distance of corners inside a thick part


@inline
def _cosine(phi, number, normals, near, i, j, k, a, b, c):
    """Return the cosine between the normals of two open corners, 1 if they are too far from any wall between them."""
    if number[a, b, c] < 0 or phi[a, b, c] <= 0.0 or phi[i, j, k] + phi[a, b, c] >= near:
        return 1.0
    n, m = number[i, j, k], number[a, b, c]
    return normals[n, 0] * normals[m, 0] + normals[n, 1] * normals[m, 1] + normals[n, 2] * normals[m, 2]


@inline
def _list_separated(phi, number, normals, spacing, pairs, crossed):
    """List pairs of corners of a cell with a wall between them, [n, 6]; mark edges it may cross; return their number.

    With empty `pairs` they are only counted.
    """
    n0, n1, n2 = phi.shape
    count = 0
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                if number[i, j, k] < 0 or not 0.0 < phi[i, j, k] < 1.8 * spacing:
                    continue
                for direction in range(14, 27):  # one of each two opposite directions
                    da, db, dc = direction // 9 - 1, (direction // 3) % 3 - 1, direction % 3 - 1
                    a, b, c = i + da, j + db, k + dc
                    if a < 0 or b < 0 or c < 0 or a >= n0 or b >= n1 or c >= n2:
                        continue
                    near = spacing * np.sqrt(float(da * da + db * db + dc * dc))
                    cosine = _cosine(phi, number, normals, near, i, j, k, a, b, c)
                    if cosine < _UNLIKE_COSINE and da * da + db * db + dc * dc == 1:
                        crossed[0 if da == 1 else (1 if db == 1 else 2), i, j, k] = True
                    if cosine < _OPPOSED_COSINE:
                        if pairs.size > 0:
                            pairs[count, 0], pairs[count, 1], pairs[count, 2] = i, j, k
                            pairs[count, 3], pairs[count, 4], pairs[count, 5] = a, b, c
                        count += 1
    return count


@inline
def _find_detour(phi, crossed, deep, start, end, radius):
    """Return whether open corners nearby lead from `start` to `end`, and whether the wall is thick nearby.

    The path follows edges that no wall crosses, at most `radius` corners away from `start` along each axis.
    """
    shape = phi.shape
    low, size = np.empty(3, np.int64), np.empty(3, np.int64)
    for a in range(3):
        low[a] = max(start[a] - radius, 0)
        size[a] = min(start[a] + radius, shape[a] - 1) - low[a] + 1
    seen = np.zeros((size[0], size[1], size[2]), np.bool_)
    stack = np.empty((seen.size, 3), np.int64)
    thick = False
    for i in range(size[0]):
        for j in range(size[1]):
            for k in range(size[2]):
                thick = thick or phi[low[0] + i, low[1] + j, low[2] + k] < deep
    stack[0] = start
    seen[start[0] - low[0], start[1] - low[1], start[2] - low[2]] = True
    count = 1
    to = np.empty(3, np.int64)
    while count > 0:
        count -= 1
        i, j, k = stack[count]
        if i == end[0] and j == end[1] and k == end[2]:
            return True, thick
        for direction in range(6):
            axis, back = direction // 2, direction % 2
            to[0], to[1], to[2] = i, j, k
            to[axis] += 1 - 2 * back
            if to[axis] < low[axis] or to[axis] >= low[axis] + size[axis]:
                continue
            a, b, c = to[0], to[1], to[2]
            if seen[a - low[0], b - low[1], c - low[2]] or phi[a, b, c] <= 0.0:
                continue
            if crossed[axis, min(i, a), min(j, b), min(k, c)]:
                continue
            seen[a - low[0], b - low[1], c - low[2]] = True
            stack[count] = to
            count += 1
    return False, thick


@kernel
def has_thin_wall(phi, number, normals, spacing, radius):
    """Return whether a wall is lost between corners, other than the tip of a wall that is resolved elsewhere.

    Args:
        phi: Distances at the corners [m].
        number: Index of the normal of each corner, -1 without one.
        normals: Directions away from the nearest surface, shape [n, 3].
        spacing: Edge length of a cell [m].
        radius: Search radius of a detour around a tip, in corners.
    """
    crossed = np.zeros((3, phi.shape[0], phi.shape[1], phi.shape[2]), np.bool_)
    count = _list_separated(phi, number, normals, spacing, np.empty((0, 6), np.int64), crossed)
    pairs = np.empty((count, 6), np.int64)
    if count > 0:
        _list_separated(phi, number, normals, spacing, pairs, crossed)
    for n in range(count):
        detour, thick = _find_detour(phi, crossed, _THICK_DEPTH * spacing, pairs[n, :3], pairs[n, 3:], radius)
        if not (detour and thick):
            return True
    return False
