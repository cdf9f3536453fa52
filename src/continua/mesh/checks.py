"""Checks of the arrays that make a mesh. Each failure is one sentence that names the elements or nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError

__all__ = ["as_cells", "as_points", "check_no_unused_nodes", "compact", "read_only", "some"]


def some(numbers: NDArray, limit: int = 5) -> str:
    """Return the first few numbers as text: "3, 7, 9 and 12 more"."""
    head = ", ".join(str(int(number)) for number in numbers[:limit])
    return head if len(numbers) <= limit else f"{head} and {len(numbers) - limit} more"


def read_only(array: NDArray) -> NDArray:
    """Make `array` read-only in place and return it."""
    array.flags.writeable = False
    return array


def _as_array(values: ArrayLike, dtype: Any, width: int, what: str) -> NDArray:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{what} must be a table of numbers with {width} columns") from error
    if array.ndim != 2 or array.shape[1] != width:
        shape = " x ".join(str(n) for n in array.shape) or "a single number"
        raise InputError(f"{what} must be a table with {width} columns, not of shape {shape}")
    whole = np.issubdtype(dtype, np.integer)
    if array.dtype.kind not in ("iu" if whole else "iuf"):
        kind = "whole numbers" if whole else "numbers"
        raise InputError(f"{what} must hold {kind}, not values of type {array.dtype}")
    return array


def as_points(values: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only float64 copy of node positions [n, 3], all finite."""
    array = _as_array(values, np.float64, 3, "points")
    points = np.array(array, dtype=np.float64, order="C")
    if len(points) == 0:
        raise InputError("a mesh needs at least one node, and points is empty")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if bad.size:
        raise InputError(f"positions must be finite numbers, but those of nodes {some(bad)} are not")
    return read_only(points)


def as_cells(values: ArrayLike, width: int, count: int, name: str) -> NDArray[np.int32]:
    """Return an int32 copy of elements [m, width] that name different nodes from 0 to `count` - 1."""
    array = _as_array(values, np.int32, width, name)
    if len(array) == 0:
        raise InputError(f"a mesh needs at least one element, and {name} is empty")
    bad = np.flatnonzero(((array < 0) | (array >= count)).any(axis=1))
    if bad.size:
        raise InputError(f"{name} {some(bad)} name nodes that do not exist (there are {count} nodes)")
    cells = np.array(array, dtype=np.int32, order="C")
    ordered = np.sort(cells, axis=1)
    bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if bad.size:
        raise InputError(f"{name} {some(bad)} name the same node twice; remove or mend these elements")
    return cells


def check_no_unused_nodes(cells: NDArray[np.int32], count: int, name: str) -> None:
    """Raise if a node belongs to no element: it would have no mass and make every solve singular."""
    used = np.zeros(count, dtype=bool)
    used[cells] = True
    bad = np.flatnonzero(~used)
    if bad.size:
        raise InputError(f"nodes {some(bad)} belong to none of the {name}; drop them with mesh.compact")


def compact(points: NDArray, cells: NDArray) -> tuple[NDArray, NDArray[np.int32], NDArray[np.int32]]:
    """Drop the nodes that no element uses.

    Returns:
        The kept points [k, 3], the elements with new node numbers, and for each kept node its old number [k].
    """
    kept, inverse = np.unique(cells, return_inverse=True)
    renumbered = inverse.reshape(np.shape(cells)).astype(np.int32)
    return np.asarray(points)[kept], renumbered, kept.astype(np.int32)
