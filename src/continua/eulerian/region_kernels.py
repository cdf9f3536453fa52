"""Connected regions of open cells: rows are cut into runs, and runs of neighbouring rows that touch are joined."""

from __future__ import annotations

import numpy as np

from continua.numerics import inline, kernel

__all__ = ["label_regions", "region_sums", "take_means"]


@inline
def _root(parent, a):
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


@inline
def _join(parent, a, b):
    """Join two sets; the smaller number stays, so that the result does not depend on the order."""
    a, b = _root(parent, a), _root(parent, b)
    if a < b:
        parent[b] = a
    elif b < a:
        parent[a] = b


@kernel
def label_regions(w0, w1, w2, fixed, labels):
    """Number the connected regions of cells.

    Args:
        w0: Weights of the faces across the first axis; `w1` and `w2` of the others.
        fixed: What fixes the value of each cell; a region with any of it is not singular.
        labels: Receives the number of each cell's region; -1 for a cell without open faces.

    Returns:
        How many cells each region has, or 0 for a region that something fixes.
    """
    n0, n1, n2 = labels.shape
    runs = 0
    for i in range(n0):
        for j in range(n1):
            inside = False
            for k in range(n2):
                total = w1[i, j, k] + w1[i, j + 1, k] + w2[i, j, k] + w2[i, j, k + 1]
                if n0 > 1:
                    total += w0[i, j, k] + w0[i + 1, j, k]
                if total + fixed[i, j, k] <= 0.0:
                    labels[i, j, k] = -1
                    inside = False
                    continue
                if not (inside and w2[i, j, k] > 0.0):
                    runs += 1
                labels[i, j, k] = runs - 1
                inside = True
    parent = np.arange(runs)
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                mine = labels[i, j, k]
                if mine < 0:
                    continue
                if j > 0 and w1[i, j, k] > 0.0:
                    _join(parent, mine, labels[i, j - 1, k])
                if i > 0 and w0[i, j, k] > 0.0:
                    _join(parent, mine, labels[i - 1, j, k])
    number = np.full(runs, -1)
    count = 0
    for a in range(runs):
        root = _root(parent, a)
        if number[root] < 0:
            number[root] = count
            count += 1
        number[a] = number[root]
    sizes = np.zeros(count, np.int64)
    held = np.zeros(count, np.bool_)
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                if labels[i, j, k] >= 0:
                    mine = number[labels[i, j, k]]
                    labels[i, j, k] = mine
                    sizes[mine] += 1
                    if fixed[i, j, k] > 0.0:
                        held[mine] = True
    for a in range(count):
        if held[a]:
            sizes[a] = 0
    return sizes


@kernel
def region_sums(values, labels, sums):
    """Add the values of each region to `sums`."""
    n0, n1, n2 = values.shape
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                if labels[i, j, k] >= 0:
                    sums[labels[i, j, k]] += values[i, j, k]


@kernel
def take_means(values, labels, means):
    """Subtract the mean of its region from each value."""
    n0, n1, n2 = values.shape
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                if labels[i, j, k] >= 0:
                    values[i, j, k] -= means[labels[i, j, k]]
