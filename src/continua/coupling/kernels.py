"""Compiled functions on the contacts of several bodies."""

from __future__ import annotations

from continua.numerics import kernel


@kernel
def keep_entries(ptr, row, block, offset, local, V):
    """Renumber rows by `local`, and put entries of rows that have none into the offset; returns how many are left."""
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
