"""Compiled sparse Cholesky factorisation of matrices with 6x6 blocks, one block row per rigid body.

The pattern of the factor is computed once per graph (`block_pattern`); values are filled in, factored and solved with
as often as needed. Blocks of L are stored column by column, the diagonal block first, rows in order.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from continua.numerics import inline, kernel

__all__ = ["block_pattern", "factor_in_place", "find_block", "solve_in_place"]


def block_pattern(
    count: int, edges: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return an elimination order and the pattern of the factor for a graph.

    Args:
        count: Number of nodes.
        edges: Pairs of different nodes [e, 2]; they may repeat.

    Returns:
        place [count]: position of each node in the factor; ptr [count + 1] and row: the rows of each column.
    """
    from scipy import sparse
    from scipy.sparse import csgraph

    i, j = edges[:, 0], edges[:, 1]
    ones = np.ones(2 * len(edges), np.int8)
    graph = sparse.csr_array((ones, (np.r_[i, j], np.r_[j, i])), (count, count))
    order = csgraph.reverse_cuthill_mckee(graph, symmetric_mode=True)
    place = np.empty(count, np.int32)
    place[order] = np.arange(count, dtype=np.int32)
    low, high = np.minimum(place[i], place[j]), np.maximum(place[i], place[j])
    pairs = np.unique(low.astype(np.int64) * count + high)
    start = np.searchsorted(pairs, np.arange(count + 1, dtype=np.int64) * count).astype(np.int32)
    ptr = np.zeros(count + 1, np.int32)
    rows = (pairs % max(count, 1)).astype(np.int32)
    _fill(count, start, rows, ptr, np.zeros(0, np.int32), False)
    row = np.empty(int(ptr[-1]), np.int32)
    _fill(count, start, rows, ptr, row, True)
    return place, ptr, row


@kernel
def _fill(count, start, rows, ptr, row, write):
    """Count or write the rows of each column of the factor: those of the graph and the fill-in."""
    parent = np.full(count, -1, np.int64)
    mark = np.full(count, -1, np.int64)
    # row k of the factor holds the columns on the paths from its neighbours up the elimination tree (Liu 1990)
    counts = np.ones(count, np.int64)  # the diagonal
    fill = np.empty(count, np.int64)
    if write:
        for k in range(count):
            row[ptr[k]] = k
            fill[k] = ptr[k] + 1
    # lower neighbours: transpose of the upper pattern
    begin = np.zeros(count + 1, np.int64)
    for k in range(rows.shape[0]):
        begin[rows[k] + 1] += 1
    for k in range(count):
        begin[k + 1] += begin[k]
    lower = np.empty(rows.shape[0], np.int64)
    at = begin[:-1].copy()
    for c in range(count):
        for k in range(start[c], start[c + 1]):
            lower[at[rows[k]]] = c
            at[rows[k]] += 1
    for k in range(count):
        mark[k] = k
        for m in range(begin[k], begin[k + 1]):
            c = lower[m]
            while mark[c] != k:
                if parent[c] < 0:
                    parent[c] = k
                if write:
                    row[fill[c]] = k
                    fill[c] += 1
                counts[c] += 1
                mark[c] = k
                c = parent[c]
    if not write:
        ptr[0] = 0
        for k in range(count):
            ptr[k + 1] = ptr[k] + counts[k]


@inline
def find_block(ptr, row, i, j):
    """Return the index of the block in row i and column j <= i."""
    low, high = ptr[j], ptr[j + 1]
    while low < high:
        middle = (low + high) // 2
        if row[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low


@inline
def _cholesky6(L, k):
    """Factor the 6x6 block k in place (lower triangle)."""
    for j in range(6):
        total = L[k, 7 * j]
        for m in range(j):
            total -= L[k, 6 * j + m] * L[k, 6 * j + m]
        d = sqrt(max(total, 1e-300))
        L[k, 7 * j] = d
        for i in range(j + 1, 6):
            total = L[k, 6 * i + j]
            for m in range(j):
                total -= L[k, 6 * i + m] * L[k, 6 * j + m]
            L[k, 6 * i + j] = total / d


@inline
def factor_in_place(ptr, row, L):
    """Replace the lower blocks of a matrix by those of its Cholesky factor."""
    for c in range(ptr.shape[0] - 1):
        d = ptr[c]
        _cholesky6(L, d)
        end = ptr[c + 1]
        for k in range(d + 1, end):  # L_kc = A_kc L_cc^-T
            for r in range(6):
                for j in range(6):
                    total = L[k, 6 * r + j]
                    for m in range(j):
                        total -= L[k, 6 * r + m] * L[d, 6 * j + m]
                    L[k, 6 * r + j] = total / L[d, 7 * j]
        for q in range(d + 1, end):
            at = ptr[row[q]]
            for k in range(q, end):
                while row[at] != row[k]:
                    at += 1
                for r in range(6):
                    for j in range(6):
                        total = 0.0
                        for m in range(6):
                            total += L[k, 6 * r + m] * L[q, 6 * j + m]
                        L[at, 6 * r + j] -= total


@inline
def solve_in_place(ptr, row, L, x):
    """Replace x [count, 6] by the solution of L L^T x = b."""
    n = ptr.shape[0] - 1
    for c in range(n):
        d = ptr[c]
        for i in range(6):
            total = x[c, i]
            for m in range(i):
                total -= L[d, 6 * i + m] * x[c, m]
            x[c, i] = total / L[d, 7 * i]
        for k in range(d + 1, ptr[c + 1]):
            r = row[k]
            for i in range(6):
                total = 0.0
                for m in range(6):
                    total += L[k, 6 * i + m] * x[c, m]
                x[r, i] -= total
    for back in range(n):
        c = n - 1 - back
        d = ptr[c]
        for k in range(d + 1, ptr[c + 1]):
            r = row[k]
            for m in range(6):
                total = 0.0
                for i in range(6):
                    total += L[k, 6 * i + m] * x[r, i]
                x[c, m] -= total
        for back6 in range(6):
            i = 5 - back6
            total = x[c, i]
            for m in range(i + 1, 6):
                total -= L[d, 6 * m + i] * x[c, m]
            x[c, i] = total / L[d, 7 * i]
