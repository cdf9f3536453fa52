"""The faces of a sheet, on which pressure, traction and wind act."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.deformable.boundary_conditions.boundary_faces import BoundaryFaces
from continua.shells import wind_kernels
from continua.shells.sheet_mesh import SheetMesh

__all__ = ["SheetFaces", "sheet_faces"]


@dataclass(frozen=True, eq=False)
class SheetFaces(BoundaryFaces):
    """The triangles of a sheet, on which wind acts from both sides.

    Attributes:
        drag: Coefficient of the force along the normal, see `Cloth`.
        skin_friction: Coefficient of the force along the face.
    """

    drag: float = 1.2
    skin_friction: float = 0.02

    def add_wind(
        self,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        wind: NDArray[np.float64],
        density: float,
        force: NDArray[np.float64],
    ) -> None:
        """Add to `force` [N] the drag and lift of all triangles in the wind [m/s]."""
        wind_kernels.add_wind(x, v, self.nodes, wind, 0.5 * density, self.drag, self.skin_friction, force)


def sheet_faces(mesh: SheetMesh, drag: float, skin_friction: float) -> BoundaryFaces:
    """Return the triangles of a sheet as faces; pressure acts on the side that their normals point to.

    The wind blows against both sides of an open sheet. It does not reach the inside of a closed one.
    """
    corners = np.array([[2.0, 0.5, 0.5], [0.5, 2.0, 0.5], [0.5, 0.5, 2.0]]) / 3.0
    slopes = np.tile(np.array([[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]]), (3, 1, 1))
    weights: NDArray[np.float64] = np.full(3, 1.0 / 6.0)
    elements = np.arange(mesh.element_count, dtype=np.int32)
    faces = BoundaryFaces.from_shapes(mesh.cells, elements, corners, slopes, weights, mesh.points)
    if mesh.is_closed:
        return faces
    return SheetFaces(**vars(faces), drag=drag, skin_friction=skin_friction)
