"""A look inside: the elements on one side of a plane, whole, with the surface that they have by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame, Frame

__all__ = ["Cut", "outside_of"]

_FACES = {
    "tetra": ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)),
    "hexahedron": ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
}
"""Faces of cells by the numbers of their corners, outward, in the order of VTK."""


@dataclass(frozen=True)
class Cut:
    """A plane across an axis.

    Attributes:
        axis: 0, 1 or 2 for x, y and z.
        place: Where between the smallest and the largest coordinate of all bodies at rest, from 0 to 1.
        flip: Whether what lies beyond the plane is kept, instead of what lies before it.
    """

    axis: int
    place: float
    flip: bool = False

    def height(self, frame: Frame) -> float:
        """Return the coordinate of the plane [m]."""
        ends = [
            (body.rest_positions[:, self.axis].min(), body.rest_positions[:, self.axis].max())
            for body in frame
            if body.cells and len(body.rest_positions) and body.point_radius is None
        ]
        if not ends:
            return 0.0
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        return float(low + self.place * (high - low))

    def triangles(self, body: BodyFrame, height: float) -> NDArray[np.integer]:
        """Return the surface of the elements that are kept, outward, [k, 3]; that of a body without any stays."""
        found: list[NDArray[np.integer]] = [body.triangles[:0]]
        for kind, cells in body.cells.items():
            name = "tetra" if kind.startswith("tetra") else kind
            if name not in _FACES:
                return body.triangles
            corners = np.asarray(cells)[:, : 4 if name == "tetra" else 8]
            found.append(outside_of(self.kept(body, corners, height), name))
        return np.concatenate(found) if body.cells else body.triangles

    def kept(self, body: BodyFrame, corners: NDArray[np.integer], height: float) -> NDArray[np.integer]:
        """Return the cells on the side that is kept, of those with these corners."""
        middles = body.rest_positions[corners][:, :, self.axis].mean(axis=1)
        return corners[(middles > height) if self.flip else (middles <= height)]


def outside_of(cells: NDArray[np.integer], kind: str = "tetra") -> NDArray[np.integer]:
    """Return the faces that only one of the cells has, as triangles, outward, [k, 3]."""
    sides = np.concatenate([cells[:, list(face)] for face in _FACES[kind]])
    _, first, counts = np.unique(np.sort(sides, axis=1), axis=0, return_index=True, return_counts=True)
    outer = sides[np.sort(first[counts == 1])]
    if outer.shape[1] == 3:
        return outer
    return np.concatenate([outer[:, [0, 1, 2]], outer[:, [0, 2, 3]]])
