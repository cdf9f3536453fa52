"""Compiled renumbering of constraint rows for an island."""

from __future__ import annotations

from continua.numerics import kernel


@kernel
def to_local_entries(ptr, row, block, offset, local, V):
    """Renumber rows by `local`, and move entries of rows outside into the offset; returns the entries that remain."""
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
