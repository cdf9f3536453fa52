"""Surfaces embedded in elements of order 2 and 3: bound to all nodes of an element, so that they follow its curve.

An element of order p is cut into p^3 tetrahedra between its nodes (Freudenthal 1942). A point of the surface belongs to
the one that holds it, or extrapolates it least, at rest: so it moves with the four nodes around it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from continua.deformable.boundary_surface import embed_surface, remap_embedded_surface
from continua.deformable.elements import Elements
from continua.frames import EmbeddedSurface
from continua.mesh import SurfaceMesh, TopologyChange, VolumeMesh
from continua.numerics.bernstein import bernstein_tables

__all__ = ["embed_in_elements", "remap_embedded"]


def embed_in_elements(
    skin: SurfaceMesh, mesh: VolumeMesh, elements: Elements
) -> tuple[EmbeddedSurface, NDArray[np.int32]]:
    """Embed a surface in elements at rest.

    Returns:
        The embedded surface, and the element that holds each of its nodes, shape [s].
    """
    surface, holders = embed_surface(skin, mesh)
    return _to_nodes(surface, holders, elements), holders


def remap_embedded(
    skin: EmbeddedSurface, holders: NDArray[np.int32], change: TopologyChange, elements: Elements
) -> tuple[EmbeddedSurface, NDArray[np.int32]]:
    """Embed a surface in the elements after a change; see `remap_embedded_surface`.

    Args:
        skin: The surface, embedded before the change.
        holders: The element that holds each of its nodes, shape [s].
        change: The change.
        elements: The elements after it.
    """
    if elements.order > 1:  # back to the corners
        corners = change.before.cells[holders][:, :4].astype(np.int32)
        weights = _barycentric(change.before.points[corners], skin.rest)
        skin = replace(skin, nodes=corners, weights=weights)
    surface, found = remap_embedded_surface(skin, holders, change)
    return _to_nodes(surface, found, elements), found


def _to_nodes(surface: EmbeddedSurface, holders: NDArray[np.int32], elements: Elements) -> EmbeddedSurface:
    """Bind a surface that is bound to corners to all nodes of its elements."""
    if elements.order == 1 or not len(holders):
        return surface
    parts = elements.elements[holders][:, _tetrahedra(elements.order)]
    weights = np.stack(
        [_barycentric(elements.rest_positions[parts[:, k]], surface.rest) for k in range(parts.shape[1])],
        axis=1,
    )
    best = weights.min(axis=2).argmax(axis=1)
    each = np.arange(len(holders))
    return replace(surface, nodes=parts[each, best].astype(np.int32), weights=weights[each, best])


@cache
def _tetrahedra(order: int) -> NDArray[np.int64]:
    """Return the tetrahedra between the nodes of an element, shape [p^3, 4].

    A node with the index (i, j, k, l) is the point (p - i, p - i - j, l) of a lattice, in the simplex of falling
    coordinates, and cubes of the lattice are cut along their diagonals.
    """
    number = {tuple(index): k for k, index in enumerate(bernstein_tables(order).indices.tolist())}
    found = []
    for corner, axes in product(product(range(order), repeat=3), permutations(range(3))):
        path = [np.array(corner)]
        for axis in axes:
            path.append(path[-1] + np.eye(3, dtype=int)[axis])
        if all(order >= y[0] >= y[1] >= y[2] >= 0 for y in path):
            found.append(
                [number[int(order - y[0]), int(y[0] - y[1]), int(y[1] - y[2]), int(y[2])] for y in path]
            )
    return np.array(found)


def _barycentric(corners: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the barycentric coordinates [s, 4] of points [s, 3] in tetrahedra [s, 4, 3]."""
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    inner = np.linalg.solve(edges, (points - corners[:, 0])[:, :, None])[:, :, 0]
    return np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)
