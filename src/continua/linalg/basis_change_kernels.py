"""Compiled functions of a change of unknowns; see `linalg.basis_change`."""

from __future__ import annotations

from continua.numerics import inline, kernel

__all__ = ["congruence"]


@inline
def find_block(indptr, indices, row, column):
    """Return the index of a block of the pattern."""
    low, high = indptr[row], indptr[row + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def congruence(indptr, indices, node, ptr, column, weight, blocks, moved):
    """Replace a symmetric pattern's `blocks` of A by those of T^T A T, in place.

    T is the identity but for the rows `node` [h], whose entries are `column` and `weight` from `ptr[h]` to
    `ptr[h + 1]`. Every column couples to all neighbours of its node. `moved` is work space, as many blocks as these
    rows of the pattern have.
    """
    at = 0
    for h in range(len(node)):  # A T: the columns of these nodes go to the columns that they depend on
        i = node[h]
        for e in range(indptr[i], indptr[i + 1]):
            b = find_block(indptr, indices, indices[e], i)
            for q in range(9):
                moved[at, q] = blocks[b, q]
                blocks[b, q] = 0.0
            at += 1
    at = 0
    for h in range(len(node)):
        i = node[h]
        for e in range(indptr[i], indptr[i + 1]):
            for t in range(ptr[h], ptr[h + 1]):
                b = find_block(indptr, indices, indices[e], column[t])
                for q in range(9):
                    blocks[b, q] += weight[t] * moved[at, q]
            at += 1
    at = 0
    for h in range(len(node)):  # and the same with the rows
        i = node[h]
        for e in range(indptr[i], indptr[i + 1]):
            for q in range(9):
                moved[at, q] = blocks[e, q]
                blocks[e, q] = 0.0
            at += 1
    at = 0
    for h in range(len(node)):
        i = node[h]
        for e in range(indptr[i], indptr[i + 1]):
            for t in range(ptr[h], ptr[h + 1]):
                b = find_block(indptr, indices, column[t], indices[e])
                for q in range(9):
                    blocks[b, q] += weight[t] * moved[at, q]
            at += 1
