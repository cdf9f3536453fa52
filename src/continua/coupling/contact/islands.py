"""Islands of bodies that are connected by contacts, and the contacts of an island in its own numbering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver import ConstraintRows
from continua.coupling.contact.island_kernels import to_local_entries

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
    parent = {i: i for i in bodies}

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    owner = np.searchsorted(starts, rows.row, side="right") - 1
    solved = np.isin(owner, np.asarray(bodies))
    contact = np.repeat(np.arange(len(rows)), np.diff(rows.ptr))
    # the first body of a contact that is solved for, and links from it to the others
    home = np.full(len(rows), -1, np.int64)
    home[contact[solved][::-1]] = owner[solved][::-1]
    links = np.unique(np.column_stack([home[contact[solved]], owner[solved]]), axis=0)
    for a, b in links.tolist():
        ra, rb = root(a), root(b)
        if ra != rb:
            parent[max(ra, rb)] = min(ra, rb)
    islands: dict[int, list[int]] = {}
    for i in bodies:
        islands.setdefault(root(i), []).append(i)
    label = np.full(len(starts), -1, np.int64)
    for i in bodies:
        label[i] = root(i)
    of_contact = np.where(home >= 0, label[home], -1)
    return [(island, np.flatnonzero(of_contact == key)) for key, island in islands.items()]


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
