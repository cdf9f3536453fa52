"""Bounding volume hierarchy of a triangle surface, with the pseudo-normals of all its features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.mesh import SurfaceMesh
from continua.sdf import bvh_kernels
from continua.short_repr import tuple_repr

__all__ = ["TriangleBvh", "triangle_bvh"]


class TriangleBvh(NamedTuple):
    """The arrays that `kernels.closest_on_mesh` reads; kernels take the tuple as an argument.

    Attributes:
        nodes: Bounds of the two children of each inner node [m]: lower, upper, lower, upper; shape [i, 12].
        links: Children of each inner node, see `bvh_kernels.build`, shape [i, 2].
        corners: Corners of each triangle in the order of the tree [m], and its unit normal, shape [k, 12].
        order: Number in the mesh of each triangle in the order of the tree, shape [k].
        features: Row in `normals` of each triangle's face, edges 0-1, 1-2, 2-0 and corners 0, 1, 2; [k, 7],
            in the order of the tree.
        normals: Pseudo-normals of length 1 of faces, edges and nodes (Baerentzen and Aanaes 2005), [., 3].
    """

    nodes: NDArray[np.float64]
    links: NDArray[np.int32]
    corners: NDArray[np.float64]
    order: NDArray[np.int32]
    features: NDArray[np.int32]
    normals: NDArray[np.float64]

    def __repr__(self) -> str:
        return tuple_repr(self)


def triangle_bvh(mesh: SurfaceMesh) -> TriangleBvh:
    """Build the tree of `mesh`. Degenerate triangles are used for the topology only."""
    flat = is_flat(mesh)
    used = np.flatnonzero(~flat)
    corners = mesh.points[mesh.triangles[used]]
    boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
    nodes = np.empty((len(used), 12))
    links = np.empty((len(used), 2), np.int32)
    order = np.empty(len(used), np.int32)
    count = bvh_kernels.build(boxes, nodes, links, order)
    normals, features = pseudo_normals(mesh, flat)
    return TriangleBvh(
        nodes[:count].copy(),
        links[:count].copy(),
        np.concatenate([corners[order].reshape(-1, 9), normals[used[order]]], axis=1),
        used[order].astype(np.int32),
        np.ascontiguousarray(features[used[order]]),
        normals,
    )


def is_flat(mesh: SurfaceMesh) -> NDArray[np.bool_]:
    """Return which triangles are degenerate, to round-off, and have no normal; shape [k]."""
    a, b, c = (mesh.points[mesh.triangles[:, i]] for i in range(3))
    longest = np.maximum.reduce([((q - p) ** 2).sum(axis=1) for p, q in ((a, b), (b, c), (c, a))])
    return mesh.areas <= 1e-14 * longest


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)


def pseudo_normals(
    mesh: SurfaceMesh, flat: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return unit normals of faces, edges and nodes, one after the other, and each triangle's seven rows.

    The normal of an edge is the sum of its triangles'; that of a node the sum weighted by the triangles' angles
    there. A degenerate triangle has the mean of its neighbours' normals.
    """
    faces = _unit(mesh.area_vectors)
    faces[flat] = 0.0
    edges = _sum_at(mesh.triangle_edges, np.repeat(faces, 3, axis=0), len(mesh.edges))
    if flat.any():
        faces[flat] = _unit(edges[mesh.triangle_edges[flat]].sum(axis=1))
        edges = _sum_at(mesh.triangle_edges, np.repeat(faces, 3, axis=0), len(mesh.edges))
    corners = mesh.points[mesh.triangles]
    before, after = (_unit((np.roll(corners, s, axis=1) - corners).reshape(-1, 3)) for s in (1, -1))
    cross = np.linalg.norm(np.cross(before, after), axis=1)
    angles = np.arctan2(cross, np.einsum("ij,ij->i", before, after))
    nodes = _sum_at(mesh.triangles, np.repeat(faces, 3, axis=0) * angles[:, None], mesh.node_count)
    k, e = mesh.triangle_count, len(mesh.edges)
    features = np.concatenate(
        [np.arange(k)[:, None], k + mesh.triangle_edges, k + e + mesh.triangles], axis=1
    ).astype(np.int32)
    return np.concatenate([faces, _unit(edges), _unit(nodes)]), features


def _sum_at(rows: NDArray[np.int32], vectors: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return np.stack([np.bincount(rows.ravel(), vectors[:, d], minlength=count) for d in range(3)], axis=1)
