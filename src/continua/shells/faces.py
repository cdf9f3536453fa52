"""The faces of a sheet, on which pressure, traction and wind act."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.deformable.boundary_conditions.boundary_faces import BoundaryFaces
from continua.shells.sheet_mesh import SheetMesh

__all__ = ["sheet_faces"]


def sheet_faces(mesh: SheetMesh) -> BoundaryFaces:
    """Return the triangles of a sheet as faces; pressure acts on the side that their normals point to."""
    corners = np.array([[2.0, 0.5, 0.5], [0.5, 2.0, 0.5], [0.5, 0.5, 2.0]]) / 3.0
    slopes = np.tile(np.array([[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]]), (3, 1, 1))
    weights: NDArray[np.float64] = np.full(3, 1.0 / 6.0)
    elements = np.arange(mesh.element_count, dtype=np.int32)
    return BoundaryFaces.from_shapes(mesh.cells, elements, corners, slopes, weights, mesh.points)
