"""Cutting soft bodies without remeshing: surfaces of cuts, and the dissection of tetrahedral meshes along them.

A cut tetrahedron keeps its shape functions for each of its parts, and integrals are over the matter of each part: the
extended finite element method in the basis of Hansbo and Hansbo. See docs/theory/cutting.md.
"""

from typing import Any

from continua.cutting.cut_surface import CutSurface, as_cut_surface
from continua.cutting.dissection import cut_tets
from continua.mesh import TetMesh, TopologyChange
from continua.registry import register_mesh_operation

__all__ = ["CutSurface", "cut_tets"]


def _cut(mesh: TetMesh, surface: Any, whole: bool) -> TopologyChange:
    return cut_tets(mesh, as_cut_surface(surface), whole=whole)


register_mesh_operation("cut", _cut)
