"""What the selectors of a scene choose: nodes, elements and faces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import continua.mesh as meshes
from continua import deformable
from continua.deformable.selection import on_side
from continua.errors import InputError
from continua.scene import selectors
from continua.scene.errors import Location
from continua.scene.models import Scene
from continua.validation import unit_vector

__all__ = ["select", "select_nodes", "select_parts"]


def select(where: Any, mesh: meshes.VolumeMesh, positions: NDArray[np.float64]) -> NDArray[np.intp] | str:
    """Return what a selector chooses among rest `positions` [n, 3]: numbers of nodes, or a region's name."""
    if isinstance(where, str):
        return np.flatnonzero(on_side(where, positions))
    match where:
        case selectors.BoxSelector():
            inside = (positions >= np.array(where.min)) & (positions <= np.array(where.max))
            return np.flatnonzero(inside.all(axis=1))
        case selectors.SphereSelector():
            distance = np.linalg.norm(positions - np.array(where.center), axis=1)
            return np.flatnonzero(distance <= where.radius)
        case selectors.HalfSpaceSelector():
            return np.flatnonzero(
                (positions - np.array(where.point)) @ unit_vector(where.normal, "a normal") <= 0.0
            )
        case selectors.NodesSelector():
            if max(where.nodes) >= mesh.node_count:
                raise InputError(
                    f"node {max(where.nodes)} does not exist; the mesh has {mesh.node_count} nodes"
                )
            return np.unique(np.array(where.nodes, dtype=np.intp))
        case selectors.FacesSelector():
            raise InputError("face numbers choose faces only, for 'press' and 'load_faces'")
        case selectors.RegionSelector():
            return where.region
    raise TypeError(f"unknown selector {where!r}")


def select_parts(
    scene: Scene,
    key: tuple[str | int, ...],
    where: Any,
    mesh: meshes.VolumeMesh,
    centers: NDArray[np.float64],
    kind: str,
) -> NDArray[np.intp] | str:
    """Return the elements or faces that a selector chooses by their centres."""
    with scene.at(*key):
        if isinstance(where, selectors.FacesSelector) and kind == "face":
            if max(where.faces) >= len(centers):
                raise InputError(
                    f"face {max(where.faces)} does not exist; the surface has {len(centers)} faces"
                )
            return np.unique(np.array(where.faces, dtype=np.intp))
        if isinstance(where, selectors.NodesSelector):
            raise InputError(
                f"node numbers cannot choose {kind}s; use a box, a sphere, a half space or a region"
            )
        chosen = select(where, mesh, centers)
        if len(chosen) == 0:
            low, high = mesh.bounds
            raise InputError(f"selects no {kind}; the body reaches from {_text(low)} to {_text(high)}")
    return chosen


def select_nodes(
    where: Any, mesh: meshes.VolumeMesh, body: deformable.DeformableBody, place: Location
) -> NDArray[np.intp] | str:
    """Return the nodes of `body` that a selector chooses, which must be at least one."""
    with place:
        nodes = select(where, mesh, body.rest_positions)
        if len(nodes) == 0:
            low, high = body.rest_positions.min(axis=0), body.rest_positions.max(axis=0)
            raise InputError(
                f"selects no node of '{body.name}', which reaches from {_text(low)} to {_text(high)}"
            )
    return nodes


def _text(vector: NDArray[np.float64]) -> str:
    return "[" + ", ".join(f"{value:.4g}" for value in vector) + "]"
