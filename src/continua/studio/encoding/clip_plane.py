"""A clip plane that shows whole elements on one of its sides, with their boundary surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame, Frame

__all__ = ["ClipPlane", "boundary_triangles"]

_FACES = {
    "tetra": ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)),
    "hexahedron": ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
}
"""Outward faces of cells by corner number, in the order of VTK."""


@dataclass(frozen=True)
class ClipPlane:
    """A plane normal to an axis.

    Attributes:
        axis: 0, 1 or 2 for x, y and z.
        position: Fraction of the extent of all bodies at rest, from 0 to 1.
        flip: Show cells beyond the plane instead of those before it.
    """

    axis: int
    position: float
    flip: bool = False

    def coordinate(self, frame: Frame) -> float:
        """Return the coordinate of the plane [m]."""
        ends = [
            (body.rest_positions[:, self.axis].min(), body.rest_positions[:, self.axis].max())
            for body in frame
            if body.cells and len(body.rest_positions) and body.point_radius is None
        ]
        if not ends:
            return 0.0
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        return float(low + self.position * (high - low))

    def triangles(self, body: BodyFrame, coordinate: float) -> NDArray[np.integer]:
        """Return the outward surface of the shown cells, [k, 3]; unchanged for a body without cells."""
        found: list[NDArray[np.integer]] = [body.triangles[:0]]
        for kind, cells in body.cells.items():
            name = kind.rstrip("0123456789")
            if name not in _FACES:
                return body.triangles
            corners = np.asarray(cells)[:, : 4 if name == "tetra" else 8]
            found.append(boundary_triangles(self.select_cells(body, corners, coordinate), name))
        return np.concatenate(found) if body.cells else body.triangles

    def select_cells(
        self, body: BodyFrame, corners: NDArray[np.integer], coordinate: float
    ) -> NDArray[np.integer]:
        """Return the cells on the shown side, of those with these corners."""
        centers = body.rest_positions[corners][:, :, self.axis].mean(axis=1)
        return corners[(centers > coordinate) if self.flip else (centers <= coordinate)]


def boundary_triangles(cells: NDArray[np.integer], kind: str = "tetra") -> NDArray[np.integer]:
    """Return the faces that belong to only one of the cells, as outward triangles, [k, 3]."""
    sides = np.concatenate([cells[:, list(face)] for face in _FACES[kind]])
    _, first, counts = np.unique(np.sort(sides, axis=1), axis=0, return_index=True, return_counts=True)
    outer = sides[np.sort(first[counts == 1])]
    if outer.shape[1] == 3:
        return outer
    return np.concatenate([outer[:, [0, 1, 2]], outer[:, [0, 2, 3]]])
