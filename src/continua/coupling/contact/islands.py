"""Islands of bodies that are connected by contacts, and the contacts of an island in its own numbering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver import ConstraintRows
from continua.coupling.contact.island_kernels import connect_bodies, to_local_entries

__all__ = ["find_islands", "to_local_rows"]


def find_islands(
    rows: ConstraintRows, starts: NDArray[np.integer], bodies: Sequence[int]
) -> list[tuple[list[int], NDArray[np.int64]]]:
    """Return islands of bodies that are connected by contacts, each with the indices of its contacts.

    Args:
        rows: Contacts in the numbering of all bodies.
        starts: First row of every body, and the end.
        bodies: Bodies that are solved for; the motion of the others is known, and they do not connect islands.
    """
    count = len(starts) - 1
    solved = np.zeros(count, np.bool_)
    solved[np.asarray(bodies, np.int64)] = True
    island_of, label = np.arange(count), np.empty(len(rows), np.int64)
    connect_bodies(rows.ptr, rows.row, np.asarray(starts, np.int64), solved, island_of, label)
    islands: dict[int, list[int]] = {}
    for i in bodies:
        islands.setdefault(int(island_of[i]), []).append(i)
    order = np.argsort(label, kind="stable")
    first, end = (np.searchsorted(label[order], list(islands), side=side) for side in ("left", "right"))
    return [
        (island, order[a:b])
        for island, a, b in zip(islands.values(), first.tolist(), end.tolist(), strict=True)
    ]


def to_local_rows(
    rows: ConstraintRows,
    which: NDArray[np.int64],
    starts: NDArray[np.integer],
    bodies: Sequence[int],
    V: NDArray[np.float64],
) -> ConstraintRows:
    """Return some contacts with rows numbered within `bodies`; others move with V."""
    local = np.full(starts[-1], -1, np.int32)
    first = 0
    for i in bodies:
        count = starts[i + 1] - starts[i]
        local[starts[i] : starts[i + 1]] = np.arange(first, first + count)
        first += count
    some = rows.take(which)
    some.offset = some.offset.copy()
    count = to_local_entries(some.ptr, some.row, some.block, some.offset, local, V)
    some.row, some.block = some.row[:count], some.block[:count]
    return some
