"""Selection of nodes, elements and faces: by a function of rest positions, a mask, indices, or a region's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh import VolumeMesh
from continua.validation import shortened

__all__ = ["Where", "choose", "region_elements", "select_elements", "select_nodes"]

Where = Callable[[NDArray[np.float64]], NDArray[np.bool_]] | NDArray | list[int] | str | int


def select_nodes(
    where: Any, rest: NDArray[np.float64], elements: NDArray[np.int32], mesh: VolumeMesh, what: str
) -> NDArray[np.int32]:
    """Return the sorted indices of the selected nodes; an empty selection is an error that names `what`.

    Args:
        where: Function of rest positions [n, 3] that returns a mask, or a mask [n], or node indices, or the
            name of a region of the mesh ("all" is everything).
        rest: Rest positions of the nodes [n, 3].
        elements: Nodes of the elements, for regions.
        mesh: The mesh, for regions.
        what: What the selection is for, such as "pin".
    """
    if isinstance(where, str):
        return np.unique(elements[region_elements(where, mesh, what)]).astype(np.int32)
    return choose(where, rest, what, "node")


def select_elements(where: Any, mesh: VolumeMesh, what: str) -> NDArray[np.int32]:
    """Return the sorted numbers of the selected elements; functions get the element centres [m, 3]."""
    if isinstance(where, str):
        return region_elements(where, mesh, what)
    return choose(where, mesh.points[mesh.cells].mean(axis=1), what, "element")


def region_elements(name: str, mesh: VolumeMesh, what: str) -> NDArray[np.int32]:
    """Return the elements of a region; "all" selects every element, unless a region has that name."""
    if name == "all" and name not in mesh.regions:
        return np.arange(mesh.element_count, dtype=np.int32)
    if name not in mesh.regions:
        names = ", ".join(sorted(mesh.regions)) or "none"
        raise InputError(f"{what}: the mesh has no region called '{name}' (it has: {names})")
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
