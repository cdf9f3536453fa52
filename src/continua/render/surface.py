"""Surfaces for shading: smooth normals, with hard edges kept at creases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

__all__ = ["SmoothSurface", "face_normals", "split_seams"]

CREASE = 40.0


def face_normals(positions: NDArray, triangles: NDArray) -> NDArray[np.float64]:
    """Return the normal of each triangle, with twice its area [m2] as length, shape [k, 3]."""
    a, b, c = (positions[triangles[:, i]] for i in range(3))
    return np.cross(b - a, c - a)


def _unit(vectors: NDArray) -> NDArray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


class SmoothSurface:
    """Triangles whose vertices are split along creases, so that one normal per vertex is enough.

    Creases are detected once, in the undeformed body: edges with a dihedral angle above 40 degrees, or without
    exactly two faces. The shading therefore does not flicker while the body deforms.

    Attributes:
        nodes: The body's node of each vertex, shape [s].
        triangles: Vertices of each triangle, shape [k, 3]; indices into `nodes`.
    """

    def __init__(self, rest_positions: NDArray, triangles: NDArray, crease: float = CREASE) -> None:
        triangles = np.asarray(triangles)
        count = len(triangles)
        normals = _unit(face_normals(np.asarray(rest_positions, dtype=float), triangles))
        # Corner 3 f + i of face f. Each side runs from corner i to corner i + 1.
        corner = np.arange(3 * count).reshape(count, 3)
        start, end = corner.ravel(), np.roll(corner, -1, axis=1).ravel()
        node = triangles.ravel()
        low, high = np.minimum(node[start], node[end]), np.maximum(node[start], node[end])
        order = np.lexsort((high, low))
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)
        first = np.flatnonzero(new)
        pairs = first[np.diff(np.append(first, len(order))) == 2]
        one, two = order[pairs], order[pairs + 1]
        smooth = np.einsum("ij,ij->i", normals[one // 3], normals[two // 3]) > np.cos(np.radians(crease))
        one, two = one[smooth], two[smooth]
        same_way = node[start[one]] == node[start[two]]
        rows = np.concatenate([start[one], end[one]])
        cols = np.concatenate(
            [np.where(same_way, start[two], end[two]), np.where(same_way, end[two], start[two])]
        )
        graph = coo_matrix((np.ones(len(rows), np.int8), (rows, cols)), shape=(3 * count, 3 * count))
        total, label = connected_components(graph, directed=False)
        self.nodes = np.empty(total, np.int32)
        self.nodes[label] = node
        self.triangles = label.reshape(count, 3).astype(np.int32)

    def normals(self, positions: NDArray) -> NDArray[np.float64]:
        """Return unit normals of the vertices, the faces weighted by their angle, shape [s, 3].

        Args:
            positions: Positions of all nodes of the body [m], shape [n, 3].
        """
        points = np.asarray(positions, dtype=float)[self.nodes]
        sides = points[np.roll(self.triangles, -1, axis=1)] - points[self.triangles]
        along = _unit(sides)
        cosine = -np.einsum("fij,fij->fi", along, np.roll(along, 1, axis=1))
        angle = np.arccos(np.clip(cosine, -1.0, 1.0))
        weighted = angle[:, :, None] * _unit(np.cross(sides[:, 0], sides[:, 1]))[:, None, :]
        result = np.empty((len(self.nodes), 3))
        for axis in range(3):
            result[:, axis] = np.bincount(
                self.triangles.ravel(), weighted[:, :, axis].ravel(), minlength=len(self.nodes)
            )
        return _unit(result)


def split_seams(
    triangles: NDArray[np.int32], uv: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Split vertices along the seams of an image, so that one pair of texture coordinates per vertex is enough.

    Args:
        triangles: Shape [k, 3].
        uv: Texture coordinates of the corners, shape [k, 3, 2].

    Returns:
        The old vertex of each new one [s], the triangles of new vertices [k, 3], and their coordinates [s, 2].
    """
    flat = np.asarray(uv, dtype=np.float64).reshape(-1, 2)
    rows = np.column_stack([triangles.ravel().astype(np.float64), flat])
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    parents = triangles.ravel()[first].astype(np.int64)
    return parents, inverse.reshape(-1, 3).astype(np.int32), flat[first]
