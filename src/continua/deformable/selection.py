"""Selection of nodes, elements and faces: by a function of rest positions, a mask, indices, a region or a side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh import VolumeMesh
from continua.validation import shortened

__all__ = [
    "SIDES",
    "Where",
    "choose",
    "on_side",
    "region_elements",
    "select_elements",
    "select_nodes",
    "side_of",
]

Where = Callable[[NDArray[np.float64]], NDArray[np.bool_]] | NDArray | list[int] | str | int

SIDES = {"left": (0, 0), "right": (0, 1), "bottom": (1, 0), "top": (1, 1), "back": (2, 0), "front": (2, 1)}
"""The sides of a body: the axis, and 0 for its lower or 1 for its upper end."""

_SIDE_SLACK = 1e-6  # of the size of a body


def on_side(word: str, points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of `points` [n, 3] are on one of `SIDES` of their bounding box, or True for all if it is "all"."""
    if word == "all":
        return np.ones(len(points), dtype=bool)
    axis, end = SIDES[word]
    low, high = points.min(axis=0), points.max(axis=0)
    slack = _SIDE_SLACK * float(np.linalg.norm(high - low))
    return points[:, axis] >= high[axis] - slack if end else points[:, axis] <= low[axis] + slack


def side_of(where: Any, points: NDArray[np.float64], mesh: VolumeMesh) -> NDArray[np.bool_] | None:
    """Return which of `points` [n, 3] are on a side, or None if `where` is no side; regions of that name go first."""
    is_side = isinstance(where, str) and where in SIDES and where not in mesh.regions
    return on_side(where, points) if is_side else None


def select_nodes(
    where: Any, rest: NDArray[np.float64], elements: NDArray[np.int32], mesh: VolumeMesh, what: str
) -> NDArray[np.int32]:
    """Return the sorted indices of the selected nodes; an empty selection is an error that names `what`.

    Args:
        where: Function of rest positions [n, 3] that returns a mask, or a mask [n], or node indices, or the
            name of a region of the mesh ("all" is everything), or one of `SIDES`.
        rest: Rest positions of the nodes [n, 3].
        elements: Nodes of the elements, for regions.
        mesh: The mesh, for regions.
        what: What the selection is for, such as "pin".
    """
    if (side := side_of(where, rest, mesh)) is not None:
        where = side
    if isinstance(where, str):
        return np.unique(elements[region_elements(where, mesh, what)]).astype(np.int32)
    return choose(where, rest, what, "node")


def select_elements(where: Any, mesh: VolumeMesh, what: str) -> NDArray[np.int32]:
    """Return the sorted numbers of the selected elements; functions and sides get the element centres [m, 3]."""
    centers = mesh.points[mesh.cells].mean(axis=1)
    if (side := side_of(where, centers, mesh)) is not None:
        where = side
    if isinstance(where, str):
        return region_elements(where, mesh, what)
    return choose(where, centers, what, "element")


def region_elements(name: str, mesh: VolumeMesh, what: str) -> NDArray[np.int32]:
    """Return the elements of a region; "all" selects every element, unless a region has that name."""
    if name == "all" and name not in mesh.regions:
        return np.arange(mesh.element_count, dtype=np.int32)
    if name not in mesh.regions:
        names = ", ".join(sorted(mesh.regions)) or "none"
        raise InputError(
            f"{what}: the mesh has no region called '{name}' (it has: {names}), and the sides are {', '.join(SIDES)}"
        )
    return mesh.regions[name]


def choose(where: Any, rest: NDArray[np.float64], what: str, kind: str) -> NDArray[np.int32]:
    """Return the numbers of nodes, elements or faces (`kind`) at `rest` that a function, mask or indices select."""
    n = len(rest)
    given = where(rest.copy()) if callable(where) else where
    try:
        chosen = np.asarray(given)
    except Exception:  # such as a ragged list
        chosen = np.zeros(0, dtype=object)
    if chosen.dtype == bool:
        if chosen.shape != (n,):
            raise InputError(f"{what}: the mask has shape {chosen.shape}, but the body has {n} {kind}s")
        nodes = np.flatnonzero(chosen)
    elif np.issubdtype(chosen.dtype, np.integer):
        nodes = np.unique(chosen)
        if len(nodes) and (nodes[0] < 0 or nodes[-1] >= n):
            raise InputError(
                f"{what}: {kind} numbers must be from 0 to {n - 1}, not {nodes[0]} to {nodes[-1]}"
            )
    else:
        raise InputError(
            f"{what}: choose {kind}s by a function, a mask, integers or a region's name, not by {shortened(given)}"
        )
    if not len(nodes):
        raise InputError(
            f"{what}: no {kind} of the body was chosen; check the selection against the body's bounds"
        )
    return nodes.astype(np.int32)
