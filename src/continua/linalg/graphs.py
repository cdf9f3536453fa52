"""Compiled functions on the graph of a matrix: how rows are cut into parts, and in which order they are swept."""

from __future__ import annotations

import numpy as np

from continua.numerics import kernel


@kernel
def farthest_columns(indptr, indices, order, rank):
    """Return for every row of the renumbered matrix its last column; row i is `order[i]`, which has `rank` i."""
    n = indptr.shape[0] - 1
    last = np.zeros(n, np.int64)
    for i in range(n):
        old = order[i]
        for k in range(indptr[old], indptr[old + 1]):
            last[i] = max(last[i], rank[indices[k]])
    return last


@kernel
def part_starts(last, least):
    """Cut rows into parts of at least `least` rows, so that a part couples with the parts beside it only."""
    n = last.shape[0]
    starts = [0]
    reached = 0  # first row that no row of the parts before the newest reaches
    row = 0
    while row < n:
        end = min(n, max(row + least, reached))
        for i in range(row, end):
            reached = max(reached, last[i] + 1)
        starts.append(end)
        row = end
    return np.array(starts)


@kernel
def sweep_order(indptr, indices, order, rank, starts, first):
    """Split the off-diagonal blocks of every row into those of columns that a sweep visits before it, and after.

    A sweep takes the even parts, then the odd ones, and each part row by row. Returns (pointers, columns, sources) of
    the early and of the late blocks: columns count from `first`, sources are numbers of blocks of the matrix.
    """
    n = indptr.shape[0] - 1
    size = indices.shape[0]
    part = np.empty(n, np.int64)
    for p in range(starts.shape[0] - 1):
        part[starts[p] : starts[p + 1]] = p
    early_ptr = np.zeros(n + 1, np.int64)
    late_ptr = np.zeros(n + 1, np.int64)
    early_cols = np.empty(size, np.int32)
    late_cols = np.empty(size, np.int32)
    early_from = np.empty(size, np.int32)
    late_from = np.empty(size, np.int32)
    for i in range(n):
        old = order[i]
        a = early_ptr[i]
        b = late_ptr[i]
        columns = rank[indices[indptr[old] : indptr[old + 1]]]
        for s in np.argsort(columns):
            j = columns[s]
            k = indptr[old] + s
            if j == i:
                continue
            if (part[j] == part[i] and j < i) or (part[j] != part[i] and part[i] % 2 == 1):
                early_cols[a] = first + j
                early_from[a] = k
                a += 1
            else:
                late_cols[b] = first + j
                late_from[b] = k
                b += 1
        early_ptr[i + 1] = a
        late_ptr[i + 1] = b
    a = early_ptr[n]
    b = late_ptr[n]
    return early_ptr, early_cols[:a], early_from[:a], late_ptr, late_cols[:b], late_from[:b]
