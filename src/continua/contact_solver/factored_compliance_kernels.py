"""Compiled functions of `factored_compliance`: a matrix of nodes as one of pairs of nodes, and columns of its inverse.

Place k of a node is row k % 2 of pair k // 2. Factors are those of `block_cholesky`, with 6x6 blocks.
"""

from __future__ import annotations

from continua.contact_solver.block_cholesky import find_block
from continua.numerics import kernel


@kernel
def fill_pairs(indptr, indices, blocks, fixed, place, ptr, row, out):
    """Write a symmetric matrix of 3x3 blocks into the lower blocks of a factor, with unit rows where it is fixed.

    Args:
        indptr: First blocks of the rows.
        indices: Columns of the blocks.
        blocks: Blocks of the matrix, by columns [b, 9].
        fixed: Which rows are fixed, shape [n].
        place: Place of each row, shape [n].
        ptr: First blocks of the columns of the factor.
        row: Rows of its blocks.
        out: Its blocks [., 36], zero before.
    """
    for c in range(ptr.shape[0] - 1):
        for k in range(6):
            out[ptr[c], 7 * k] = 1.0  # stays where a row is fixed, or a pair has one node
    for i in range(place.shape[0]):
        pair_i, at_i = place[i] // 2, 3 * (place[i] % 2)
        if fixed[i] != 0:
            continue
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            pair_j, at_j = place[j] // 2, 3 * (place[j] % 2)
            if fixed[j] != 0 or pair_j > pair_i:
                continue
            block = find_block(ptr, row, pair_i, pair_j)
            for a in range(3):
                for b in range(3):
                    out[block, 6 * (at_i + a) + at_j + b] = blocks[e, 3 * b + a]


@kernel
def unit_columns(ptr, row, L, place, fixed, out):
    """Set out[a] [3, rows] to the columns L^-1 E of the node at place[a], for unit loads in three directions.

    They remain zero where fixed[a] is not.
    """
    count = ptr.shape[0] - 1
    for a in range(place.shape[0]):
        if fixed[a] != 0:
            continue
        x = out[a].reshape(3, count, 6)
        first = place[a] // 2
        for i in range(3):
            x[i, first, 3 * (place[a] % 2) + i] = 1.0
        for c in range(first, count):
            d = ptr[c]
            for s in range(3):
                for i in range(6):
                    total = x[s, c, i]
                    for m in range(i):
                        total -= L[d, 6 * i + m] * x[s, c, m]
                    x[s, c, i] = total / L[d, 7 * i]
            for k in range(d + 1, ptr[c + 1]):
                r = row[k]
                for i in range(6):
                    t0, t1, t2 = 0.0, 0.0, 0.0
                    for m in range(6):
                        v = L[k, 6 * i + m]
                        t0 += v * x[0, c, m]
                        t1 += v * x[1, c, m]
                        t2 += v * x[2, c, m]
                    x[0, r, i] -= t0
                    x[1, r, i] -= t1
                    x[2, r, i] -= t2


@kernel
def add_products(values, place, first, out):
    """Set the blocks of out = X^T X [3 k, 3 k] that belong to columns `first` and later; X [k, 3, rows] as they are."""
    count, rows = values.shape[0], values.shape[2]
    for a in range(first, count):
        for b in range(a + 1):
            begin = 6 * max(place[a] // 2, place[b] // 2)
            s00, s01, s02, s10, s11, s12, s20, s21, s22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(begin, rows):
                x0, x1, x2 = values[a, 0, k], values[a, 1, k], values[a, 2, k]
                y0, y1, y2 = values[b, 0, k], values[b, 1, k], values[b, 2, k]
                s00 += x0 * y0
                s01 += x0 * y1
                s02 += x0 * y2
                s10 += x1 * y0
                s11 += x1 * y1
                s12 += x1 * y2
                s20 += x2 * y0
                s21 += x2 * y1
                s22 += x2 * y2
            block = (s00, s01, s02, s10, s11, s12, s20, s21, s22)
            for i in range(3):
                for j in range(3):
                    out[3 * a + i, 3 * b + j] = block[3 * i + j]
                    out[3 * b + j, 3 * a + i] = block[3 * i + j]
