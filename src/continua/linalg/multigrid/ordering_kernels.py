"""Compiled functions on the graph of a matrix: partition of the rows into parts, and sweep order."""

from __future__ import annotations

import numpy as np

from continua.numerics import kernel


@kernel
def last_columns(indptr, indices, order, rank):
    """Return the last column of every row of the renumbered matrix; row i is `order[i]`, which has `rank` i."""
    n = indptr.shape[0] - 1
    last = np.zeros(n, np.int64)
    for i in range(n):
        old = order[i]
        for k in range(indptr[old], indptr[old + 1]):
            last[i] = max(last[i], rank[indices[k]])
    return last


@kernel
def part_starts(last, least):
    """Partition rows into parts of at least `least` rows, so that a part couples with adjacent parts only."""
    n = last.shape[0]
    starts = [0]
    reached = 0  # first row that earlier parts do not couple with
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
    """Split the off-diagonal blocks of every row into those whose columns a sweep visits before and after it.

    A sweep takes the even parts, then the odd ones, and each part row by row. Returns (pointers, columns, sources) of
    the lower and of the upper blocks: columns count from `first`, sources are block indices of the matrix.
    """
    n = indptr.shape[0] - 1
    size = indices.shape[0]
    part = np.empty(n, np.int64)
    for p in range(starts.shape[0] - 1):
        part[starts[p] : starts[p + 1]] = p
    lower_ptr = np.zeros(n + 1, np.int64)
    upper_ptr = np.zeros(n + 1, np.int64)
    lower_cols = np.empty(size, np.int32)
    upper_cols = np.empty(size, np.int32)
    lower_from = np.empty(size, np.int32)
    upper_from = np.empty(size, np.int32)
    for i in range(n):
        old = order[i]
        a = lower_ptr[i]
        b = upper_ptr[i]
        columns = rank[indices[indptr[old] : indptr[old + 1]]]
        for s in np.argsort(columns):
            j = columns[s]
            k = indptr[old] + s
            if j == i:
                continue
            if (part[j] == part[i] and j < i) or (part[j] != part[i] and part[i] % 2 == 1):
                lower_cols[a] = first + j
                lower_from[a] = k
                a += 1
            else:
                upper_cols[b] = first + j
                upper_from[b] = k
                b += 1
        lower_ptr[i + 1] = a
        upper_ptr[i + 1] = b
    a = lower_ptr[n]
    b = upper_ptr[n]
    return lower_ptr, lower_cols[:a], lower_from[:a], upper_ptr, upper_cols[:b], upper_from[:b]
