"""Uniform subdivision of triangles and tetrahedra that share corners, and base meshes of round shapes."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from continua.mesh.unique_rows import unique_rows

__all__ = ["disc", "icosahedron", "subdivide"]


def _path_lattice(n: int, dimension: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Cut the simplex n >= a >= b >= ... >= 0 into n^d path simplices of the unit lattice.

    Returns:
        Whole-number barycentric weights of the lattice points [p, d + 1], each row adding up to n, and the
        simplices [n^d, d + 1].
    """
    cells = np.stack(np.meshgrid(*[np.arange(n)] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    cells = cells[(np.diff(cells, axis=1) <= 0).all(axis=1)]
    unit = np.eye(dimension, dtype=int)
    parts = []
    for order in permutations(range(dimension)):
        path = np.concatenate([np.zeros((1, dimension), int), np.cumsum(unit[list(order)], axis=0)])
        corners = cells[:, None, :] + path
        parts.append(corners[(np.diff(corners, axis=2) <= 0).all(axis=(1, 2))])
    corners = np.concatenate(parts)
    flat = np.ascontiguousarray(corners.reshape(-1, dimension), dtype=np.int32)
    points, group, _, _ = unique_rows(flat, n + 1)
    padded = np.concatenate([np.full((len(points), 1), n), points, np.zeros((len(points), 1))], axis=1)
    weights = -np.diff(padded, axis=1)
    return weights.astype(np.int32), group.reshape(-1, dimension + 1)


def subdivide(simplices: NDArray[np.int64], n: int) -> tuple[NDArray, NDArray[np.int32], NDArray[np.int32]]:
    """Subdivide each simplex into n^d, with shared points numbered once.

    The result is conforming if every simplex lists its corners in ascending order, because the pattern on a face
    then depends on the face alone (Edelsbrunner and Grayson 2000).

    Args:
        simplices: Corner indices, ascending in each row, shape [s, d + 1].
        n: Subdivisions of each edge.

    Returns:
        For each new point the corners that it mixes [p, d + 1] and their weights out of n [p, d + 1] (a
        weight 0 may go with any corner), and the new simplices [s n^d, d + 1].
    """
    weights, pattern = _path_lattice(n, simplices.shape[1] - 1)
    none = int(simplices.max()) + 1
    mixed = np.broadcast_to(weights, (len(simplices), *weights.shape))
    corners = np.broadcast_to(simplices[:, None, :], mixed.shape)
    keys = np.concatenate([np.where(mixed > 0, corners, none), mixed], axis=2)
    # The same point seen from two simplices must give the same row: unused corners go last.
    order = np.argsort(keys[..., : simplices.shape[1]], axis=2, kind="stable")
    ids = np.take_along_axis(keys[..., : simplices.shape[1]], order, axis=2)
    parts = np.take_along_axis(mixed, order, axis=2)
    rows = np.concatenate([ids, parts], axis=2).reshape(-1, 2 * simplices.shape[1]).astype(np.int32)
    unique, group, _, _ = unique_rows(rows, max(none, n) + 1)
    width = simplices.shape[1]
    corner = np.where(unique[:, :width] == none, 0, unique[:, :width])
    cells = group.reshape(len(simplices), -1)[:, pattern].reshape(-1, width)
    return corner, unique[:, width:], cells


def icosahedron() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the 12 corners on the unit sphere and the 20 faces, corner numbers ascending in each."""
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    base = np.array([[0.0, a, b * golden] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    corners = np.concatenate([np.roll(base, shift, axis=1) for shift in range(3)])
    near = np.linalg.norm(corners[:, None] - corners[None], axis=2) < 2.1
    faces = [
        (i, j, k)
        for i in range(12)
        for j in range(i + 1, 12)
        for k in range(j + 1, 12)
        if near[i, j] and near[j, k] and near[i, k]
    ]
    return corners / np.linalg.norm(corners[0]), np.array(faces)


def disc(n: int) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Triangulate the unit disc: a hexagon of 6 n^2 triangles, each ring of it projected to a circle.

    Returns:
        Points [p, 2], triangles turning left [6 n^2, 3], and the 6 n rim nodes in turning order.
    """
    angles = np.pi / 3.0 * np.arange(6)
    corners = np.concatenate([np.zeros((1, 2)), np.stack([np.cos(angles), np.sin(angles)], axis=1)])
    fan = np.array([sorted((0, 1 + i, 1 + (i + 1) % 6)) for i in range(6)])
    corner, weights, triangles = subdivide(fan, n)
    points, ring = extrude(corners, corner, weights, n)
    a, b, c = (points[triangles[:, i]] for i in range(3))
    left = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0] > 0.0
    triangles = np.where(left[:, None], triangles, triangles[:, ::-1])
    rim = np.flatnonzero(ring == n)
    turn = np.arctan2(points[rim, 1], points[rim, 0])
    return points, triangles, rim[np.argsort(turn)].astype(np.int32)


def extrude(
    corners: NDArray[np.float64], corner: NDArray, weights: NDArray[np.int32], n: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Move mixed points of a fan around corner 0 radially, so that ring k lies on a circle of k / n.

    Returns:
        The points, and the ring number of each, 0 in the centre and n on the rim.
    """
    straight = np.einsum("pc,pcd->pd", weights / n, corners[corner])
    ring = (weights * (corner != 0)).sum(axis=1)
    length = np.linalg.norm(straight, axis=1, keepdims=True)
    return straight / np.where(length > 0.0, length, 1.0) * (ring / n)[:, None], ring
