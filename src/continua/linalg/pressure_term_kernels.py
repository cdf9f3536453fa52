"""Compiled functions of pressure terms; see `pressure_term`."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import kernel, kernel_pair


@kernel
def slots_within(indptr, indices, wide_indptr, wide_indices):
    """Return for every block of a wide pattern its index in a narrower one, or -1 if it is not in it."""
    slots = np.full(wide_indices.shape[0], -1, np.int32)
    for i in range(indptr.shape[0] - 1):
        k = indptr[i]
        for w in range(wide_indptr[i], wide_indptr[i + 1]):
            if k < indptr[i + 1] and indices[k] == wide_indices[w]:
                slots[w] = k
                k += 1
    return slots


@kernel_pair
def without_products(
    starts, t_indptr, t_rows, t_entries, offsets, places, values, indptr, blocks, slots, result
):
    """Set `result` to the blocks of a narrower pattern of A - G^T G.

    Args:
        starts: Row starts of G.
        t_indptr, t_rows, t_entries: Rows of G of each node, and the entry of the node in the row.
        offsets, places: Offset in row i of A of every node of each of these rows.
        values: Entries of G [nnz, 3].
        indptr, blocks: Row starts and blocks of A.
        slots: Index in `result` of every block of A, or -1.
        result: Blocks [k, 9], column by column.
    """
    for i in prange(indptr.shape[0] - 1):
        row = indptr[i]
        for w in range(row, indptr[i + 1]):
            if slots[w] >= 0:
                for c in range(9):
                    result[slots[w], c] = blocks[w, c]
        for t in range(t_indptr[i], t_indptr[i + 1]):
            start = starts[t_rows[t]]
            o = t_entries[t]
            b0, b1, b2 = values[o, 0], values[o, 1], values[o, 2]
            for s in range(start, starts[t_rows[t] + 1]):
                k = slots[row + places[offsets[t] + s - start]]
                if k >= 0:
                    for c in range(3):
                        d = values[s, c]
                        result[k, 3 * c] -= b0 * d
                        result[k, 3 * c + 1] -= b1 * d
                        result[k, 3 * c + 2] -= b2 * d
