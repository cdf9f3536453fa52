"""Hexahedral meshes."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh.checks import read_only, some
from continua.mesh.quality import HexQuality, hex_quality
from continua.mesh.tet_mesh import FLAT, TetMesh
from continua.mesh.volume_mesh import VolumeMesh

__all__ = ["HexMesh", "hex_jacobians"]

# Corners of the reference cell [-1, 1]^3 in VTK's order.
CORNERS = np.array(
    [
        [-1, -1, -1],
        [1, -1, -1],
        [1, 1, -1],
        [-1, 1, -1],
        [-1, -1, 1],
        [1, -1, 1],
        [1, 1, 1],
        [-1, 1, 1],
    ],
    dtype=np.float64,
)


def hex_jacobians(
    points: NDArray[np.float64], hexes: NDArray[np.int32], at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the Jacobian matrices dx/dξ of the trilinear map at one reference point `at`, [m, 3, 3]."""
    factors = 1.0 + CORNERS * at
    slopes = np.stack(
        [
            CORNERS[:, 0] * factors[:, 1] * factors[:, 2],
            CORNERS[:, 1] * factors[:, 0] * factors[:, 2],
            CORNERS[:, 2] * factors[:, 0] * factors[:, 1],
        ],
        axis=1,
    )
    return np.einsum("mci,cj->mij", points[hexes], slopes / 8.0)


def _hex_volumes(points: NDArray[np.float64], hexes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return exact signed volumes [m3]: the determinant is quadratic along each axis, so 2^3 points do."""
    total = np.zeros(len(hexes))
    for corner in CORNERS:
        total += np.linalg.det(hex_jacobians(points, hexes, corner / np.sqrt(3.0)))
    return total


class HexMesh(VolumeMesh):
    """A mesh of hexahedra, nodes in VTK's order. All arrays are read-only; topology is computed on first use.

    Elements with negative volume are reoriented (`notes` says how many). Elements that are flat or folded at a
    corner, and everything that `TetMesh` rejects, raise `InputError`.

    Args:
        points: Node positions [m], shape [n, 3].
        cells: Node numbers, four around the bottom and four around the top, shape [m, 8].
        regions: Named parts: lists of element numbers by name.

    Attributes:
        FACES: Local nodes of the six faces, outward.
        EDGES: Local nodes of the twelve edges.
    """

    NAME: ClassVar[str] = "hexes"
    WIDTH: ClassVar[int] = 8
    FACES = np.array(
        [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]], dtype=np.int32
    )
    EDGES = np.array(
        [
            [0, 1],
            [1, 2],
            [2, 3],
            [3, 0],
            [4, 5],
            [5, 6],
            [6, 7],
            [7, 4],
            [0, 4],
            [1, 5],
            [2, 6],
            [3, 7],
        ],
        dtype=np.int32,
    )

    @property
    def hexes(self) -> NDArray[np.int32]:
        """Node indices of each element, positively oriented, shape [m, 8]."""
        return self.cells

    @cached_property
    def volumes(self) -> NDArray[np.float64]:
        """Volume of each element [m3], shape [m], all positive."""
        return read_only(_hex_volumes(self.points, self.cells))

    @cached_property
    def boundary_triangles(self) -> NDArray[np.int32]:
        """Outward triangles of the boundary, two per face, shape [k, 3]; indices of this mesh's nodes."""
        return read_only(self.boundary_faces[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3))

    @cached_property
    def element_faces(self) -> NDArray[np.int32]:
        """The face indices of each element, in the order of `FACES`; shape [m, 6]."""
        table = np.empty((self.element_count, len(self.FACES)), dtype=np.int32)
        for side in range(2):
            here = np.flatnonzero(self.face_elements[:, side] >= 0)
            table[self.face_elements[here, side], self._faces.locals[here, side]] = here
        return read_only(table)

    def to_tets(self) -> TetMesh:
        """Return the mesh with each cell split into 24 tetrahedra: cell centre, face centre and an edge of the face.

        Nodes are those of this mesh, then one per face, then one per cell; regions are kept. The result is conforming
        for any numbering.
        """
        first_face, first_cell = self.node_count, self.node_count + len(self.faces)
        points = np.concatenate(
            [self.points, self.points[self.faces].mean(axis=1), self.points[self.cells].mean(axis=1)]
        )
        around = self.cells[:, self.FACES]
        tets = np.empty((self.element_count, 6, 4, 4), dtype=np.int32)
        tets[..., 0] = (first_cell + np.arange(self.element_count))[:, None, None]
        tets[..., 1] = (first_face + self.element_faces)[:, :, None]
        tets[..., 2] = around
        tets[..., 3] = np.roll(around, -1, axis=2)
        regions = {name: (24 * e[:, None] + np.arange(24)).ravel() for name, e in self.regions.items()}
        return TetMesh(points, tets.reshape(-1, 4), regions, self.notes)

    def quality(self) -> HexQuality:
        """Return quality measures of the elements."""
        jacobians = np.stack([hex_jacobians(self.points, self.cells, corner) for corner in CORNERS], axis=1)
        return hex_quality(jacobians, self.volumes)

    def _orient(self, cells: NDArray[np.int32]) -> tuple[str, ...]:
        wrong = _hex_volumes(self.points, cells) < 0.0
        cells[wrong] = cells[wrong][:, [4, 5, 6, 7, 0, 1, 2, 3]]
        longest = self._longest_edges(cells)
        smallest = np.full(len(cells), np.inf)
        for corner in CORNERS:
            np.minimum(smallest, np.linalg.det(hex_jacobians(self.points, cells, corner)), out=smallest)
        bad = np.flatnonzero(smallest <= FLAT * longest**3)
        if bad.size:
            raise InputError(
                f"hexes {some(bad)} have zero volume or are folded at a corner; repair their nodes"
            )
        if not wrong.any():
            return ()
        return (f"turned {int(wrong.sum())} of {len(cells)} hexes that had negative volume",)

    def _mirrored_cells(self) -> NDArray[np.int32]:
        return self.cells[:, [4, 5, 6, 7, 0, 1, 2, 3]]
