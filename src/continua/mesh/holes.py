"""Holes of surfaces: the loops of edges around them, and triangles that close them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh import kernels
from continua.mesh.surface_mesh import SurfaceMesh
from continua.validation import instance_of

__all__ = ["close_holes", "holes"]

_LARGE = 400  # edges of a loop; more are closed from a new node in the middle


def holes(surface: SurfaceMesh) -> list[NDArray[np.int32]]:
    """Return the loops of nodes around the holes of a surface, the longest first.

    Each loop runs so that triangles along it face the way of their neighbours.
    """
    _, sides, uses, _ = instance_of(surface, SurfaceMesh, "the surface")._edges
    pairs = surface.triangles[:, [[1, 0], [2, 1], [0, 2]]].reshape(-1, 2)
    border = pairs[(uses[sides] == 1).ravel()]
    if not len(border):
        return []
    following: dict[int, list[int]] = {}
    for start, end in border.tolist():
        following.setdefault(start, []).append(end)
    loops = []
    while following:
        start = min(following)
        loop, node = [], start
        while node in following:
            ends = following[node]
            step = ends.pop()
            if not ends:
                del following[node]
            loop.append(node)
            node = step
            if node in loop:  # a loop is complete, perhaps one that hangs on another at a node
                cut = loop.index(node)
                loops.append(np.array(loop[cut:], np.int32))
                del loop[cut:]
                if not loop and node != start:
                    break
        if loop:
            raise InputError(
                f"the surface cannot be closed: the edges around a hole do not meet again at node {node}; "
                "neighbouring triangles may face opposite sides"
            )
    return sorted(loops, key=len, reverse=True)


def close_holes(surface: SurfaceMesh) -> SurfaceMesh:
    """Return the surface with every hole closed by triangles that fold as little as they can (Liepa 2003).

    Nodes keep their numbers and triangles come after those there are. A hole with more than 400 edges gets a node in
    its middle. New triangles have texture coordinates of the triangles around the hole.
    """
    loops = holes(surface)
    points, fills = [surface.points], []
    count = surface.node_count
    for loop in loops:
        if len(loop) < 3:
            raise InputError(
                f"the surface cannot be closed: nodes {loop.tolist()} are joined by two open edges"
            )
        if len(loop) > _LARGE:
            points.append(surface.points[loop].mean(axis=0, keepdims=True))
            fills.append(np.stack([loop, np.roll(loop, -1), np.full(len(loop), count, np.int32)], axis=1))
            count += 1
        else:
            fills.append(loop[kernels.fill_polygon(surface.points[loop], _beyond(surface, loop))])
    if not loops:
        return surface
    note = f"closed {len(loops)} hole{'s' if len(loops) > 1 else ''}"
    triangles = np.concatenate([surface.triangles, *fills])
    every = np.concatenate(points)
    return SurfaceMesh(
        every,
        triangles,
        (*surface.notes, note),
        uv=_filled_uv(surface, triangles, len(every)),
        texture=surface.texture,
    )


def _filled_uv(surface: SurfaceMesh, triangles: NDArray[np.int32], count: int) -> NDArray[np.float64] | None:
    """Return the texture coordinates of a surface with more triangles; new corners take those of their nodes."""
    if surface.uv is None:
        return None
    nodal = np.tile(surface.uv.mean(axis=(0, 1)), (count, 1))
    nodal[surface.triangles.ravel()] = surface.uv.reshape(-1, 2)
    return np.concatenate([surface.uv, nodal[triangles[surface.triangle_count :]]])


def _beyond(surface: SurfaceMesh, loop: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the unit normal of the triangle at the edge from each node of a loop to the next, shape [n, 3]."""
    edges, sides, _, _ = surface._edges
    owner = np.empty(len(edges), np.int64)
    owner[sides.ravel()] = np.repeat(np.arange(surface.triangle_count), 3)
    pairs = np.sort(np.stack([loop, np.roll(loop, -1)], axis=1), axis=1).astype(np.int64)
    keys = edges[:, 0].astype(np.int64) * surface.node_count + edges[:, 1]
    vectors = surface.area_vectors[
        owner[np.searchsorted(keys, pairs[:, 0] * surface.node_count + pairs[:, 1])]
    ]
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)
