"""Compiled helpers of groups and islands: boxes around bodies, and the renumbering of constraint rows."""

from __future__ import annotations

from continua.numerics import inline, kernel

__all__ = ["column_sums", "connect_bodies", "to_local_entries", "widen_bounds"]


@inline
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def connect_bodies(ptr, row, starts, solved, parent, label):
    """Find the islands of bodies that contacts connect; the number of an island is that of its first body.

    Args:
        ptr: Start of each contact's entries, shape [c + 1].
        row: Row of each entry.
        starts: First row of every body, and the end.
        solved: Whether each body is solved for; the others connect nothing.
        parent: The number of each body; receives its island.
        label: Receives the island of each contact, -1 if none of its bodies is solved for, shape [c].
    """
    bodies = solved.shape[0]
    for c in range(ptr.shape[0] - 1):
        label[c] = -1
        for e in range(ptr[c], ptr[c + 1]):
            low, high = 0, bodies
            while high - low > 1:
                middle = (low + high) // 2
                if starts[middle] <= row[e]:
                    low = middle
                else:
                    high = middle
            if not solved[low]:
                continue
            if label[c] < 0:
                label[c] = low
                continue
            one, other = _root(parent, label[c]), _root(parent, low)
            parent[max(one, other)] = min(one, other)
    for i in range(bodies):
        parent[i] = _root(parent, i)
    for c in range(label.shape[0]):
        if label[c] >= 0:
            label[c] = parent[label[c]]


@kernel
def column_sums(values, sums):
    """Sum the rows of `values` [n, k] in their order."""
    sums[:] = 0.0
    for i in range(values.shape[0]):
        for k in range(values.shape[1]):
            sums[k] += values[i, k]


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
