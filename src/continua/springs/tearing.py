"""What is left of a network in which springs are torn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.springs.network import SpringNetwork

__all__ = ["remaining_cells"]


def remaining_cells(
    network: SpringNetwork, torn: NDArray[np.uint8]
) -> tuple[dict[str, NDArray[np.int32]], NDArray[np.int32]]:
    """Return the cells, for output, and the triangles without a torn spring along an edge.

    Cells are the tetrahedra, else the triangles, else the springs.
    """
    if len(network.tets):
        tets = network.tets[_whole(network, network.tets, torn)]
        if not torn.any():
            return {"tetra": tets}, network.triangles
        return {"tetra": tets}, _outer_faces(tets)
    if len(network.triangles):
        triangles = network.triangles[_whole(network, network.triangles, torn)]
        return {"triangle": triangles}, triangles
    return {"line": network.springs[torn == 0]}, network.triangles


def _whole(network: SpringNetwork, cells: NDArray[np.int32], torn: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which cells have no torn spring along an edge."""
    whole = np.ones(len(cells), bool)
    if not torn.any():
        return whole
    n = network.node_count
    broken = np.sort(network.springs[torn == 1].astype(np.int64), axis=1)
    keys = np.unique(broken[:, 0] * n + broken[:, 1])
    for a in range(cells.shape[1]):
        for b in range(a):
            pair = np.sort(cells[:, [a, b]].astype(np.int64), axis=1)
            whole &= ~np.isin(pair[:, 0] * n + pair[:, 1], keys)
    return whole


def _outer_faces(tets: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the faces of tetrahedra that no other has, outward oriented, shape [k, 3]."""
    faces = tets[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]].reshape(-1, 3)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return np.ascontiguousarray(faces[np.sort(first[count == 1])])
