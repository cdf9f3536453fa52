"""Compiled functions of the mesh room: sorting of faces and edges, inverted adjacency, colouring."""

from __future__ import annotations

import numpy as np

from continua.numerics import kernel


@kernel
def unique_rows(rows, count):
    """Find the different rows of an integer table by a counting sort on each column, last column first.

    Args:
        rows: int32, shape [m, k], values from 0 to `count` - 1.
        count: Number of possible values.

    Returns:
        The different rows in lexicographic order [u, k]; for each row the number of its group [m]; the
        rows' numbers in sorted order [m] (stable); the start of each group in that order [u + 1].
    """
    m, k = rows.shape
    order = np.arange(m).astype(np.int32)
    other = np.empty(m, np.int32)
    for column in range(k - 1, -1, -1):
        start = np.zeros(count + 1, np.int32)
        for i in range(m):
            start[rows[i, column] + 1] += 1
        for v in range(count):
            start[v + 1] += start[v]
        for i in range(m):
            row = order[i]
            value = rows[row, column]
            other[start[value]] = row
            start[value] += 1
        order, other = other, order
    group = np.empty(m, np.int32)
    starts = np.empty(m + 1, np.int32)
    groups = 0
    for i in range(m):
        fresh = i == 0
        if not fresh:
            for c in range(k):
                if rows[order[i], c] != rows[order[i - 1], c]:
                    fresh = True
        if fresh:
            starts[groups] = i
            groups += 1
        group[order[i]] = groups - 1
    starts[groups] = m
    different = np.empty((groups, k), np.int32)
    for g in range(groups):
        for c in range(k):
            different[g, c] = rows[order[starts[g]], c]
    return different, group, order, starts[: groups + 1].copy()


@kernel
def invert_table(table, count):
    """List for each value from 0 to `count` - 1 the rows of `table` [m, k] that hold it, as CSR."""
    m, k = table.shape
    indptr = np.zeros(count + 1, np.int32)
    for i in range(m):
        for c in range(k):
            indptr[table[i, c] + 1] += 1
    for v in range(count):
        indptr[v + 1] += indptr[v]
    place = indptr[:-1].copy()
    indices = np.empty(m * k, np.int32)
    for i in range(m):
        for c in range(k):
            v = table[i, c]
            indices[place[v]] = i
            place[v] += 1
    return indptr, indices


@kernel
def color_nodes(indptr, indices):
    """Give each node the smallest colour that none of its earlier neighbours has (greedy, in order)."""
    n = indptr.size - 1
    colors = np.full(n, -1, np.int32)
    mark = np.full(n + 1, -1, np.int32)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            c = colors[indices[p]]
            if c >= 0:
                mark[c] = i
        c = 0
        while mark[c] == i:
            c += 1
        colors[i] = c
    return colors


@kernel
def color_elements(cells, indptr, indices):
    """Give each element the smallest colour that no earlier element with a common node has."""
    m, k = cells.shape
    colors = np.full(m, -1, np.int32)
    mark = np.full(m + 1, -1, np.int32)
    for e in range(m):
        for j in range(k):
            v = cells[e, j]
            for p in range(indptr[v], indptr[v + 1]):
                c = colors[indices[p]]
                if c >= 0:
                    mark[c] = e
        c = 0
        while mark[c] == e:
            c += 1
        colors[e] = c
    return colors
