"""Improvement of element quality by moving inner nodes; the boundary is fixed."""

from __future__ import annotations

import numpy as np

from continua.mesh import kernels
from continua.mesh.quality import dihedral_angles, radius_edge_ratios
from continua.mesh.tet_mesh import TetMesh

__all__ = ["smoothed"]

_PASSES = 30
_FLAT = 10.0  # degrees


def smoothed(mesh: TetMesh, min_dihedral: float | None, max_radius_edge: float | None = None) -> TetMesh:
    """Move inner nodes of tets that miss a target so that the worst elements improve.

    Each move must improve the worst element around the node, so no tet becomes worse than the worst was.

    Args:
        mesh: The mesh.
        min_dihedral: Target minimum dihedral angle [degrees], or None.
        max_radius_edge: Target maximum ratio of circumradius to shortest edge, or None.
    """
    # A good radius-edge ratio alone would permit slivers, so an angle is always required.
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
