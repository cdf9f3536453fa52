"""Compiled connected components of open cells: rows are split into runs, and connected runs are merged."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel, kernel_pair

__all__ = [
    "CHUNK",
    "fill_labels",
    "label_runs",
    "list_runs",
    "region_sums",
    "region_sums_serial",
    "subtract_means",
]

CHUNK = 64  # rows per partial sum


@inline
def _root(parent, a):
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


@inline
def _is_connected_row(along):
    """Return whether all cells of a row are connected."""
    shut = 0
    for k in range(1, along.shape[0] - 1):
        shut += 1 if along[k] <= 0.0 else 0
    return shut == 0 and along.shape[0] > 2


@inline
def _is_open(w0, w1, w2, dirichlet, i, j, k):
    """Return whether a cell has an open face or a Dirichlet term."""
    total = w1[i, j, k] + w1[i, j + 1, k] + w2[i, j, k] + w2[i, j, k + 1] + dirichlet[i, j, k]
    if dirichlet.shape[0] > 1:
        total += w0[i, j, k] + w0[i + 1, j, k]
    return total > 0.0


@inline
def _row_runs(w0, w1, w2, dirichlet, i, j, runs, count):
    """Append the bounds of the runs of a row to `runs` from `count` on, as far as they fit; return the new count."""
    n2 = dirichlet.shape[2]
    along = w2[i, j]
    first = 0
    for k in range(1, n2 + 1):
        if k < n2 and along[k] > 0.0:
            continue
        if k - first > 1 or _is_open(
            w0, w1, w2, dirichlet, i, j, first
        ):  # longer runs are open along the row
            if count < runs.shape[0]:
                runs[count, 0], runs[count, 1] = first, k
            count += 1
        first = k
    return count


@kernel
def list_runs(w0, w1, w2, dirichlet, runs, start):
    """List the runs of connected cells of all rows, and the first run of each row; return the number of runs.

    Runs that do not fit into `runs` [n, 2] are only counted.
    """
    n0, n1, n2 = dirichlet.shape
    count = 0
    for r in range(n0 * n1):
        i, j = r // n1, r % n1
        start[r] = count
        if _is_connected_row(w2[i, j]):
            if count < runs.shape[0]:
                runs[count, 0], runs[count, 1] = 0, n2
            count += 1
        else:
            count = _row_runs(w0, w1, w2, dirichlet, i, j, runs, count)
    start[n0 * n1] = count
    return count


@inline
def _connected(weights, low, high):
    for k in range(low, high):  # noqa: SIM110
        if weights[k] > 0.0:
            return True
    return False


@inline
def _merge_rows(weights, runs, parent, a, a_end, b, b_end):
    """Merge the runs from a and from b of two rows where the faces between them are open; the smaller root stays."""
    while a < a_end and b < b_end:
        low, high = max(runs[a, 0], runs[b, 0]), min(runs[a, 1], runs[b, 1])
        if low < high:
            one, two = _root(parent, a), _root(parent, b)
            if one != two and _connected(weights, low, high):
                parent[max(one, two)] = min(one, two)
        if runs[a, 1] < runs[b, 1]:
            a += 1
        else:
            b += 1


@kernel
def label_runs(w0, w1, dirichlet, runs, start, number):
    """Set `number` to the region of each run; return the cells of each region, 0 for one with a Dirichlet term."""
    n0, n1, _ = dirichlet.shape
    parent = np.arange(runs.shape[0])
    for r in range(n0 * n1):
        i, j = r // n1, r % n1
        if j > 0:
            _merge_rows(w1[i, j], runs, parent, start[r], start[r + 1], start[r - 1], start[r])
        if i > 0:
            _merge_rows(w0[i, j], runs, parent, start[r], start[r + 1], start[r - n1], start[r - n1 + 1])
    count = 0
    for a in range(runs.shape[0]):
        root = _root(parent, a)
        if root == a:
            number[a] = count
            count += 1
        else:
            number[a] = number[root]
    sizes = np.zeros(count, np.int64)
    has_dirichlet = np.zeros(count, np.bool_)
    rows = n0 * n1
    for turn in range(rows):  # from both ends: Dirichlet terms are mostly at a side of the box
        r = turn // 2 if turn % 2 == 0 else rows - 1 - turn // 2
        for a in range(start[r], start[r + 1]):
            label = number[a]
            sizes[label] += runs[a, 1] - runs[a, 0]
            if not has_dirichlet[label]:
                row = dirichlet[r // n1, r % n1, runs[a, 0] : runs[a, 1]]
                some = 0
                for k in range(row.shape[0]):
                    some += 1 if row[k] > 0.0 else 0
                has_dirichlet[label] = some > 0
    for a in range(count):
        if has_dirichlet[a]:
            sizes[a] = 0
    return sizes


@kernel
def fill_labels(runs, start, number, labels):
    """Label each cell with its region, -1 for a cell without open faces."""
    n1 = labels.shape[1]
    for r in range(start.shape[0] - 1):
        row = labels[r // n1, r % n1]
        row[:] = -1
        for a in range(start[r], start[r + 1]):
            for k in range(runs[a, 0], runs[a, 1]):
                row[k] = number[a]


@kernel_pair
def region_sums(values, labels, parts):
    """Set `parts` [chunks, regions] to the sums of each region over chunks of rows."""
    n0, n1, n2 = values.shape
    rows = n0 * n1
    for c in prange(parts.shape[0]):
        sums = parts[c]
        sums[:] = 0.0
        for r in range(c * CHUNK, min(rows, (c + 1) * CHUNK)):
            row, label = values[r // n1, r % n1], labels[r // n1, r % n1]
            for k in range(n2):
                if label[k] >= 0:
                    sums[label[k]] += row[k]


@kernel
def region_sums_serial(values, labels, sums):
    """Add the values of each region to `sums`, in one thread; for few cells or many regions."""
    n0, n1, n2 = values.shape
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                if labels[i, j, k] >= 0:
                    sums[labels[i, j, k]] += values[i, j, k]


@kernel_pair
def subtract_means(values, labels, means):
    """Subtract the mean of its region from each value."""
    n0, n1, n2 = values.shape
    for r in prange(n0 * n1):
        row, label = values[r // n1, r % n1], labels[r // n1, r % n1]
        for k in range(n2):
            if label[k] >= 0:
                row[k] -= means[label[k]]
