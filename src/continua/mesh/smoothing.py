"""Better shapes by moving inner nodes; the boundary stays."""

from __future__ import annotations

import numpy as np

from continua.mesh import kernels
from continua.mesh.quality import dihedral_angles
from continua.mesh.tet_mesh import TetMesh

__all__ = ["smoothed"]

_PASSES = 30


def smoothed(mesh: TetMesh, min_dihedral: float) -> TetMesh:
    """Move inner nodes of tets with an angle below `min_dihedral` [degrees] so that the worst angles grow.

    Each move must make the smallest angle around the node larger, so no tet gets worse than the worst was.
    """
    boundary = np.zeros(mesh.node_count, dtype=bool)
    boundary[mesh.boundary_triangles] = True
    points = mesh.points.copy()
    for _ in range(_PASSES):
        low = dihedral_angles(points[mesh.tets]).min(axis=1) < min_dihedral
        nodes = np.unique(mesh.tets[low])
        nodes = nodes[~boundary[nodes]].astype(np.int32)
        if nodes.size == 0:
            break
        moved = kernels.improve_nodes(points, mesh.tets, *mesh.node_tets, nodes)
        if not moved:
            break
    return TetMesh._trusted(points, mesh.tets, mesh.regions, mesh.notes)
