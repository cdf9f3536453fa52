"""Unique rows of integer tables, from which edges and faces of meshes are made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.mesh import kernels

__all__ = ["UniqueRows", "unique_rows"]

_MANY = 100_000  # rows; fewer are sorted in milliseconds without a compiled kernel

UniqueRows = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""The unique rows in lexicographic order [u, k]; for each row the index of its group [m]; the rows' numbers in sorted
order [m] (stable); the start of each group in that order [u + 1]."""


def unique_rows(rows: NDArray[np.int32], count: int) -> UniqueRows:
    """Find the unique rows of a table [m, k] of values from 0 to `count` - 1.

    A small table needs no compiled kernel, so that the first picture of a scene does not wait for one.
    """
    if len(rows) > _MANY:
        return kernels.unique_rows(rows, count)
    order = np.lexsort(rows.T[::-1]).astype(np.int32)
    fresh = np.ones(len(rows), bool)
    fresh[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    firsts = np.flatnonzero(fresh)
    group = np.empty(len(rows), np.int32)
    group[order] = np.cumsum(fresh) - 1
    starts = np.append(firsts, len(rows)).astype(np.int32)
    return np.ascontiguousarray(rows[order[firsts]], np.int32), group, order, starts
