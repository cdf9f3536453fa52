"""Compiled open fractions of cell faces from signed distances at the corners, clipped exactly as linear functions."""

from __future__ import annotations

from numba import prange

from continua.numerics import inline, kernel, kernel_pair

__all__ = [
    "edge_fraction",
    "face_fractions",
    "list_wall_cells",
    "mark_solid_cells",
    "mark_valid_faces",
    "merge_distances",
    "snap_corners",
    "square_fraction",
    "triangle_fraction",
]


@inline
def _corner_fraction(a, b, c):
    """Fraction of a triangle around its corner a, whose sign differs from that of b and c."""
    return a * a / ((a - b) * (a - c))


@inline
def triangle_fraction(a, b, c):
    """Fraction of a triangle where the linear function with the corner values a, b, c is positive."""
    count = (1 if a > 0.0 else 0) + (1 if b > 0.0 else 0) + (1 if c > 0.0 else 0)
    if count == 0:
        return 0.0
    if count == 3:
        return 1.0
    if count == 1:
        if a > 0.0:
            return _corner_fraction(a, b, c)
        return _corner_fraction(b, c, a) if b > 0.0 else _corner_fraction(c, a, b)
    if a <= 0.0:
        return 1.0 - _corner_fraction(a, b, c)
    return 1.0 - (_corner_fraction(b, c, a) if b <= 0.0 else _corner_fraction(c, a, b))


@inline
def square_fraction(a, b, c, d):
    """Open fraction of a square with the corner values a, b, c, d in order: four triangles around its centre."""
    low = min(min(a, b), min(c, d))
    high = max(max(a, b), max(c, d))
    if low > 0.0:
        return 1.0
    if high <= 0.0:
        return 0.0
    m = 0.25 * (a + b + c + d)
    fractions = (
        triangle_fraction(a, b, m)
        + triangle_fraction(b, c, m)
        + triangle_fraction(c, d, m)
        + triangle_fraction(d, a, m)
    )
    return 0.25 * fractions


@inline
def edge_fraction(a, b):
    """Open fraction of an edge with the end values a and b."""
    if a > 0.0:
        return 1.0 if b > 0.0 else a / (a - b)
    return b / (b - a) if b > 0.0 else 0.0


@kernel_pair
def face_fractions(phi, low, high, a0, a1, a2):
    """Set the open fractions of all faces of the cells from `low` to `high` (three indices each)."""
    flat = phi.shape[0] == 1
    for r in prange((high[0] - low[0] + 1) * (high[1] - low[1] + 1)):
        i = low[0] + r // (high[1] - low[1] + 1)
        j = low[1] + r % (high[1] - low[1] + 1)
        inside0, inside1 = i < high[0], j < high[1]
        for k in range(low[2], high[2] + 1):
            inside2 = k < high[2]
            if flat:
                if inside0 and inside2:
                    a1[i, j, k] = edge_fraction(phi[i, j, k], phi[i, j, k + 1])
                if inside0 and inside1:
                    a2[i, j, k] = edge_fraction(phi[i, j, k], phi[i, j + 1, k])
                continue
            if inside1 and inside2:
                a0[i, j, k] = square_fraction(
                    phi[i, j, k], phi[i, j + 1, k], phi[i, j + 1, k + 1], phi[i, j, k + 1]
                )
            if inside0 and inside2:
                a1[i, j, k] = square_fraction(
                    phi[i, j, k], phi[i + 1, j, k], phi[i + 1, j, k + 1], phi[i, j, k + 1]
                )
            if inside0 and inside1:
                a2[i, j, k] = square_fraction(
                    phi[i, j, k], phi[i + 1, j, k], phi[i + 1, j + 1, k], phi[i, j + 1, k]
                )


@kernel_pair
def snap_corners(phi, least):
    """Close corners that are open by less than `least`, so that no face is left open by a sliver."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        row = phi[r // n1, r % n1]
        for k in range(n2):
            row[k] = 0.0 if 0.0 < row[k] < least else row[k]


@kernel_pair
def merge_distances(phi, others, low):
    """Union of two distance fields: the smaller distance goes into `phi`; `others` starts at the corner `low`."""
    m0, m1, m2 = others.shape
    for r in prange(m0 * m1):
        i, j = r // m1, r % m1
        row, new = phi[low[0] + i, low[1] + j, low[2] : low[2] + m2], others[i, j]
        for k in range(m2):
            row[k] = min(row[k], new[k])


@kernel_pair
def mark_solid_cells(a0, a1, a2, solid, low, high):
    """Mark the cells in [low, high) without an open face."""
    n0 = solid.shape[0]
    wide = high[1] - low[1]
    for r in prange((high[0] - low[0]) * wide):
        i, j = low[0] + r // wide, low[1] + r % wide
        for k in range(low[2], high[2]):
            total = a1[i, j, k] + a1[i, j + 1, k] + a2[i, j, k] + a2[i, j, k + 1]
            if n0 > 1:
                total += a0[i, j, k] + a0[i + 1, j, k]
            solid[i, j, k] = total == 0.0


@kernel_pair
def mark_valid_faces(fraction, least, state, low, high):
    """Set the state of faces in [low, high): 0 if the open fraction is at least `least`, else 255."""
    wide = high[1] - low[1]
    for r in prange((high[0] - low[0]) * wide):
        row, out = (
            fraction[low[0] + r // wide, low[1] + r % wide],
            state[low[0] + r // wide, low[1] + r % wide],
        )
        for k in range(low[2], high[2]):
            out[k] = 0 if row[k] >= least else 255


@kernel
def list_wall_cells(a0, a1, a2, low, high, cells, areas):
    """List the cells with a wall by flat index, and the wall areas along the array axes; return their number.

    Only cells in [low, high) are searched. With an empty `cells` they are only counted.
    """
    n1, n2 = a0.shape[1], a0.shape[2]
    count = 0
    for i in range(low[0], high[0]):
        for j in range(low[1], high[1]):
            for k in range(low[2], high[2]):
                x = a0[i, j, k] - a0[i + 1, j, k]
                y = a1[i, j, k] - a1[i, j + 1, k]
                z = a2[i, j, k] - a2[i, j, k + 1]
                if x != 0.0 or y != 0.0 or z != 0.0:
                    if cells.size > 0:
                        cells[count] = (i * n1 + j) * n2 + k
                        areas[count, 0], areas[count, 1], areas[count, 2] = x, y, z
                    count += 1
    return count
