"""Isosurfaces in deforming tetrahedra (marching tetrahedra).

A field that is linear in each tetrahedron has a planar isosurface there, a triangle or a quadrilateral, whatever the
deformation (Georgii 2007 draws the same surface without geometry). Nothing has to be sorted or rebuilt when the body
moves: the surface depends only on nodal positions and values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame

__all__ = ["iso_surface", "tets_of"]

_EDGES = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])


def _triangles_of_case(above: int) -> list[tuple[int, int, int]]:
    """Return triangles of edge numbers that separate the corners in the bits of `above`, normals upwards."""
    high = [corner for corner in range(4) if above >> corner & 1]
    low = [corner for corner in range(4) if not above >> corner & 1]
    edge = {frozenset(pair): number for number, pair in enumerate(_EDGES.tolist())}
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    if not high or not low:
        return []
    if len(high) == 2:
        (a, b), (c, d) = high, low
        loop = [edge[frozenset(pair)] for pair in ((a, c), (a, d), (b, d), (b, c))]
        found = [(loop[0], loop[1], loop[2]), (loop[0], loop[2], loop[3])]
    else:
        one, rest = (high[0], low) if len(high) == 1 else (low[0], high)
        i, j, k = (edge[frozenset((one, other))] for other in rest)
        found = [(i, j, k)]
    upwards = corners[high].mean(axis=0) - corners[low].mean(axis=0)
    midpoints = corners[_EDGES].mean(axis=1)
    oriented = []
    for i, j, k in found:
        normal = np.cross(midpoints[j] - midpoints[i], midpoints[k] - midpoints[i])
        oriented.append((i, j, k) if normal @ upwards > 0.0 else (i, k, j))
    return oriented


_CASES = [_triangles_of_case(above) for above in range(16)]


def tets_of(body: BodyFrame) -> NDArray[np.int32]:
    """Return the corners of a body's tetrahedra, shape [m, 4]; none for other bodies."""
    found = [
        np.asarray(cells)[:, :4]
        for kind, cells in body.cells.items()
        if kind.startswith("tetra") and len(cells)
    ]
    return np.concatenate(found) if found else np.zeros((0, 4), np.int32)


def iso_surface(
    positions: NDArray[np.float64], tets: NDArray[np.integer], values: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return points [p, 3] and triangles [k, 3] of an isosurface; normals point to higher values.

    Args:
        positions: Nodal positions [m], shape [n, 3].
        tets: Positively oriented tetrahedra, shape [m, 4].
        values: Nodal values, shape [n].
        level: The isovalue.
    """
    above = values[tets] > level
    case = above @ np.array([1, 2, 4, 8])
    pieces = []
    for number, triangles in enumerate(_CASES):
        mine = tets[case == number]
        if not triangles or not len(mine):
            continue
        pieces.append(mine[:, _EDGES][:, np.array(triangles)].reshape(-1, 3, 2))
    if not pieces:
        return np.zeros((0, 3)), np.zeros((0, 3), np.int32)
    ends = np.sort(np.concatenate(pieces).reshape(-1, 2), axis=1).astype(np.int64)
    keys, inverse = np.unique(ends[:, 0] * len(positions) + ends[:, 1], return_inverse=True)
    low, high = keys // len(positions), keys % len(positions)
    share = (level - values[low]) / (values[high] - values[low])
    points = positions[low] + share[:, None] * (positions[high] - positions[low])
    return points, inverse.reshape(-1, 3).astype(np.int32)
