"""Splitting a mesh along faces of its elements, faces between two groups of elements, and connected pieces."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.checks import some
from continua.mesh.locate import components
from continua.mesh.topology import TopologyChange, chosen_numbers, copied_nodes
from continua.mesh.volume_mesh import VolumeMesh
from continua.validation import instance_of

__all__ = ["connected_pieces", "faces_between", "split_faces"]


def connected_pieces(mesh: VolumeMesh) -> NDArray[np.int32]:
    """Return the number of the connected piece of each element, shape [m]; pieces have no node in common.

    Pieces are numbered in the order of their first elements.
    """
    corners = instance_of(mesh, VolumeMesh, "the mesh").cells[:, :1]
    pairs = np.stack([np.broadcast_to(corners, mesh.cells[:, 1:].shape), mesh.cells[:, 1:]], axis=2)
    labels = components(pairs.reshape(-1, 2), mesh.node_count)[mesh.cells[:, 0]]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first, kind="stable"))[inverse].astype(np.int32)


def faces_between(mesh: VolumeMesh, elements: ArrayLike) -> NDArray[np.int32]:
    """Return the interior faces between the given elements (numbers, or a mask [m]) and all others.

    The numbers are those of `mesh.faces`.
    """
    instance_of(mesh, VolumeMesh, "the mesh")
    inside = np.zeros(mesh.element_count + 1, bool)  # the last stands for the outside
    inside[chosen_numbers(elements, mesh.element_count, "elements")] = True
    one, other = mesh.face_elements.T
    return np.flatnonzero((other >= 0) & (inside[one] != inside[other])).astype(np.int32)


def refuse_cut(mesh: VolumeMesh, what: str) -> None:
    """Raise InputError for a mesh with cuts through its elements."""
    if getattr(mesh, "subdomains", None) is not None:
        raise InputError(
            f"a mesh with cuts through its elements cannot be {what}; do that before the first cut"
        )


def split_faces(mesh: VolumeMesh, faces: ArrayLike) -> TopologyChange:
    """Cut a mesh open along interior faces: each node gets a copy for every group of elements that the cut separates.

    The groups of a node are the parts of its elements that are connected across faces which are not cut. Nodes on
    the border of a cut that ends inside the mesh keep one group, so a crack need not separate the body. All nodes keep
    their numbers and the copies follow; elements keep their order.

    Args:
        mesh: A mesh of any kind of elements.
        faces: Numbers of the faces, as in `mesh.faces` (see `faces_between`), or a mask.
    """
    refuse_cut(mesh, "split along faces")
    numbers = chosen_numbers(faces, len(instance_of(mesh, VolumeMesh, "the mesh").faces), "faces")
    outer = numbers[mesh.face_elements[numbers, 1] < 0]
    if len(outer):
        raise InputError(f"faces {some(outer)} lie on the boundary; only interior faces can be cut")
    cut = np.zeros(len(mesh.faces), bool)
    cut[numbers] = True
    groups = _corner_groups(mesh, ~cut)
    whole = _corner_groups(mesh, np.ones(len(cut), bool))  # elements that share a node only stay attached
    count = int(groups.max()) + 1
    node, before, first = np.full(count, -1), np.full(count, -1), np.full(count, groups.size)
    node[groups], before[groups] = mesh.cells.ravel(), whole
    np.minimum.at(first, groups, np.arange(groups.size))
    order = np.lexsort((first, before))  # parts of a group that was connected, by their first elements
    kept = np.ones(count, bool)
    kept[order[1:]] = before[order[1:]] != before[order[:-1]]
    copies = order[~kept[order]]
    copies = copies[np.lexsort((first[copies], node[copies]))]
    if not len(copies):
        raise InputError(
            "the chosen faces do not open the mesh: all of their nodes lie on the border of the cut; choose more faces"
        )
    number = node.copy()
    number[copies] = mesh.node_count + np.arange(len(copies))
    cells = number[groups].reshape(mesh.cells.shape)
    origins = np.concatenate([np.arange(mesh.node_count), node[copies]])
    parents, weights = copied_nodes(origins)
    elements = np.arange(mesh.element_count, dtype=np.int32)
    new = mesh.child_mesh(mesh.points[origins], cells, elements)
    new.is_split = True
    return TopologyChange(mesh, new, parents, weights, elements)


def _corner_groups(mesh: VolumeMesh, closed: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Number the groups of element corners at the same node that are connected across `closed` faces [f].

    Returns:
        The group of each corner of each element, shape [m k].
    """
    inner = np.flatnonzero((mesh.face_elements[:, 1] >= 0) & closed)
    (one, other), (i, j) = mesh.face_elements[inner].T, mesh._faces.locals[inner].T
    here, there = mesh.FACES[i], mesh.FACES[j]
    nodes, across = mesh.cells[one[:, None], here], mesh.cells[other[:, None], there]
    match = (nodes[:, :, None] == across[:, None, :]).argmax(axis=2)
    width = mesh.cells.shape[1]
    pairs = np.stack(
        [one[:, None] * width + here, other[:, None] * width + np.take_along_axis(there, match, axis=1)],
        axis=2,
    )
    return components(pairs.reshape(-1, 2), mesh.cells.size)
