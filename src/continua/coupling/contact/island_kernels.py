"""Compiled helpers of groups and islands: boxes around bodies, and the renumbering of constraint rows."""

from __future__ import annotations

from continua.numerics import kernel


@kernel
def to_local_entries(ptr, row, block, offset, local, V):
    """Renumber rows by `local`, and move entries of rows outside into the offset; returns the entries that remain."""
    kept = 0
    start = ptr[0]
    for c in range(ptr.shape[0] - 1):
        end = ptr[c + 1]
        for e in range(start, end):
            i = row[e]
            if local[i] >= 0:
                row[kept] = local[i]
                for k in range(9):
                    block[kept, k] = block[e, k]
                kept += 1
            else:
                for k in range(3):
                    for j in range(3):
                        offset[c, k] += block[e, 3 * k + j] * V[i, j]
        start = end
        ptr[c + 1] = kept
    return kept


@kernel
def widen_bounds(points, bounds):
    """Widen `bounds` [6], smallest and largest coordinates, so that they contain points [n, 3]."""
    lx, ly, lz, hx, hy, hz = bounds[0], bounds[1], bounds[2], bounds[3], bounds[4], bounds[5]
    for p in range(points.shape[0]):
        lx, hx = min(lx, points[p, 0]), max(hx, points[p, 0])
        ly, hy = min(ly, points[p, 1]), max(hy, points[p, 1])
        lz, hz = min(lz, points[p, 2]), max(hz, points[p, 2])
    bounds[0], bounds[1], bounds[2], bounds[3], bounds[4], bounds[5] = lx, ly, lz, hx, hy, hz
