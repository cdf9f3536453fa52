"""Which bodies hang together by contacts, and the contacts of some bodies in their own numbering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.contact import ContactRows
from continua.coupling.kernels import keep_entries

__all__ = ["find_islands", "localise"]


def find_islands(
    rows: ContactRows, starts: NDArray[np.integer], bodies: Sequence[int]
) -> list[tuple[list[int], NDArray[np.int64]]]:
    """Return the bodies in groups that hang together by contacts, each with the numbers of its contacts.

    Args:
        rows: Contacts in the numbering of all bodies.
        starts: First row of every body, and the end.
        bodies: Bodies that are solved for; the motion of the others is known, and they connect nothing.
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
    # the first body of a contact that is solved for, and all links from it to others
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
    return [(members, np.flatnonzero(of_contact == key)) for key, members in islands.items()]


def localise(
    rows: ContactRows,
    which: NDArray[np.int64],
    starts: NDArray[np.integer],
    bodies: Sequence[int],
    V: NDArray[np.float64],
) -> ContactRows:
    """Return some contacts with rows counted through `bodies` alone; others move as V says."""
    local = np.full(starts[-1], -1, np.int32)
    first = 0
    for i in bodies:
        count = starts[i + 1] - starts[i]
        local[starts[i] : starts[i + 1]] = np.arange(first, first + count)
        first += count
    some = rows.take(which)
    some.offset = some.offset.copy()
    count = keep_entries(some.ptr, some.row, some.block, some.offset, local, V)
    some.row, some.block = some.row[:count], some.block[:count]
    return some
