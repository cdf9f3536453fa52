"""Checks of the arrays of a mesh. Each failure is one sentence that names the elements or nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.validation import LARGEST, array, numbers, shortened, whole_numbers

__all__ = ["as_cells", "as_points", "check_no_unused_nodes", "compact", "read_only", "some"]


def some(numbers: NDArray, limit: int = 5) -> str:
    """Return the first few numbers as text: "3, 7, 9 and 12 more"."""
    head = ", ".join(str(int(number)) for number in numbers[:limit])
    return head if len(numbers) <= limit else f"{head} and {len(numbers) - limit} more"


def read_only(array: NDArray) -> NDArray:
    """Make `array` read-only in place and return it."""
    array.flags.writeable = False
    return array


def _as_table(values: ArrayLike, width: int, what: str) -> NDArray[np.float64]:
    """Return a new table of numbers [n, width]."""
    table = numbers(values)
    if table is None:
        raise InputError(f"{what} must be a table of numbers with {width} columns, not {shortened(values)}")
    if table.ndim != 2 or table.shape[1] != width:
        shape = " x ".join(str(n) for n in table.shape) or "a single number"
        raise InputError(f"{what} must be a table with {width} columns, not of shape {shape}")
    return table


def as_points(values: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only float64 copy of node positions [n, 3], all finite."""
    points = _as_table(values, 3, "points")
    if len(points) == 0:
        raise InputError("a mesh needs at least one node, and points is empty")
    bad = np.flatnonzero(~(np.abs(points) <= LARGEST).all(axis=1))
    if bad.size:
        raise InputError(f"positions must be finite numbers, but those of nodes {some(bad)} are not")
    return read_only(points)


def as_cells(values: ArrayLike, width: int, count: int, name: str) -> NDArray[np.int32]:
    """Return an int32 copy of elements [m, width] with distinct nodes from 0 to `count` - 1."""
    table = _as_table(values, width, name)
    if np.asarray(values).dtype.kind not in "iu" and len(table):
        raise InputError(f"{name} must hold whole numbers, the numbers of nodes")
    if len(table) == 0:
        raise InputError(f"a mesh needs at least one element, and {name} is empty")
    bad = np.flatnonzero(((table < 0) | (table >= count)).any(axis=1))
    if bad.size:
        raise InputError(f"{name} {some(bad)} refer to nodes that do not exist (there are {count} nodes)")
    cells = table.astype(np.int32)
    ordered = np.sort(cells, axis=1)
    bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if bad.size:
        raise InputError(f"{name} {some(bad)} refer to the same node twice; remove or repair these elements")
    return cells


def check_no_unused_nodes(cells: NDArray[np.int32], count: int, name: str) -> None:
    """Raise if a node belongs to no element: its mass would be zero and every solve singular."""
    used = np.zeros(count, dtype=bool)
    used[cells] = True
    bad = np.flatnonzero(~used)
    if bad.size:
        raise InputError(f"nodes {some(bad)} belong to none of the {name}; drop them with mesh.compact")


def compact(points: NDArray, cells: NDArray) -> tuple[NDArray, NDArray[np.int32], NDArray[np.int32]]:
    """Drop the nodes that no element uses.

    Returns:
        The remaining points [k, 3], the elements with new node indices, and the old index of each remaining node [k].
    """
    rows = isinstance(points, np.ndarray) and points.ndim == 2 and points.dtype.kind in "iuf"
    nodes = points if rows else array(points, "points", (None, None), finite=False)
    elements = whole_numbers(cells, "cells", (None, None))
    kept, inverse = np.unique(elements, return_inverse=True)
    if len(kept) and kept[-1] >= len(nodes):
        raise InputError(
            f"cells refer to node {kept[-1]}, which does not exist (there are {len(nodes)} nodes)"
        )
    renumbered = inverse.reshape(elements.shape).astype(np.int32)
    return nodes[kept], renumbered, kept.astype(np.int32)
