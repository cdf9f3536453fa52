"""Better shapes by moving inner nodes; the boundary stays."""

from __future__ import annotations

import numpy as np

from continua.mesh import kernels
from continua.mesh.quality import dihedral_angles, radius_edge_ratios
from continua.mesh.tet_mesh import TetMesh

__all__ = ["smoothed"]

_PASSES = 30
_FLAT = 10.0  # degrees


def smoothed(mesh: TetMesh, min_dihedral: float | None, max_radius_edge: float | None = None) -> TetMesh:
    """Move inner nodes of tets that miss a wish so that the worst shapes become better.

    Each move must make the worst shape around the node better, so no tet gets worse than the worst was.

    Args:
        mesh: The mesh.
        min_dihedral: Wanted smallest angle between faces [degrees], or None.
        max_radius_edge: Wanted largest circumradius over shortest edge, or None.
    """
    # A good ratio of radius to edge alone would let tets become flat, so some angle counts always.
    by_sine = float(np.sin(np.radians(min_dihedral or _FLAT)))
    by_ratio = 1.0 / max_radius_edge if max_radius_edge else 0.0
    boundary = np.zeros(mesh.node_count, dtype=bool)
    boundary[mesh.boundary_triangles] = True
    points = mesh.points.copy()
    for _ in range(_PASSES):
        corners = points[mesh.tets]
        bad = np.zeros(len(corners), dtype=bool)
        if min_dihedral:
            bad |= dihedral_angles(corners).min(axis=1) < min_dihedral
        if max_radius_edge:
            bad |= radius_edge_ratios(corners) > max_radius_edge
        nodes = np.unique(mesh.tets[bad])
        nodes = nodes[~boundary[nodes]].astype(np.int32)
        if nodes.size == 0:
            break
        moved = kernels.smooth_nodes(points, mesh.tets, *mesh.node_tets, nodes, by_sine, by_ratio)
        if not moved:
            break
    return TetMesh._trusted(points, mesh.tets, mesh.regions, mesh.notes)
