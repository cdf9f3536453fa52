"""Tetrahedral meshes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh.checks import read_only, some
from continua.mesh.quality import Quality, mean_ratios, tet_quality
from continua.mesh.subdomains import MatterSurface, Subdomains
from continua.mesh.volume_mesh import Csr, VolumeMesh
from continua.validation import instance_of

if TYPE_CHECKING:
    from continua.mesh.refinement import Refinement

__all__ = ["TetMesh", "tet_volumes"]

# Volume over the cube of the longest edge. A regular tetrahedron has 0.118; below this one lies flat to
# round-off, and its shape functions have no gradient.
FLAT = 1e-12


def tet_volumes(points: NDArray[np.float64], tets: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the signed volumes det[p1 - p0, p2 - p0, p3 - p0] / 6 [m3], shape [m]."""
    p0, p1, p2, p3 = (points[tets[:, i]] for i in range(4))
    return np.einsum("ij,ij->i", np.cross(p1 - p0, p2 - p0), p3 - p0) / 6.0


class TetMesh(VolumeMesh):
    """A mesh of tetrahedra. All arrays are read-only; topology is made when first asked for.

    Elements with negative volume are turned (`notes` says how many). Flat elements, faces with more than
    two elements, overlapping neighbours, nodes without element, and numbers out of range raise `InputError`.

    Args:
        points: Node positions [m], shape [n, 3].
        cells: Node numbers of each element, shape [m, 4]; `tets` afterwards.
        regions: Named parts: lists of element numbers by name.

    Attributes:
        FACES: Local nodes of the four faces, outward; face i lies opposite node i.
        EDGES: Local nodes of the six edges, in the order of VTK's quadratic tetrahedron.
        refinement: Where the mesh came from if it was refined; solvers coarsen along it.
        root_shapes: For a mesh that was refined locally, the shape (see `quality.mean_ratios`) of the original element
            in which each element lies, shape [m]; local refinement keeps shapes within a bound of it.
        subdomains: Of a mesh that was cut: the matter in its elements. `volumes` are then those of the matter, and the
            boundary is that of the matter.
    """

    refinement: Refinement | None = None
    root_shapes: NDArray[np.float64] | None = None
    subdomains: Subdomains | None = None

    NAME: ClassVar[str] = "tets"
    WIDTH: ClassVar[int] = 4
    FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]], dtype=np.int32)
    EDGES = np.array([[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]], dtype=np.int32)

    @property
    def tets(self) -> NDArray[np.int32]:
        """Node numbers of each element, positively oriented, shape [m, 4]."""
        return self.cells

    def set_subdomains(self, subdomains: Subdomains) -> None:
        """Set the matter in the elements; for a mesh that was just made."""
        self.subdomains = instance_of(subdomains, Subdomains, "the subdomains of a mesh")

    @cached_property
    def whole_volumes(self) -> NDArray[np.float64]:
        """Volume of each tetrahedron [m3], also of one that is only in part matter, shape [m]."""
        return read_only(tet_volumes(self.points, self.cells))

    @cached_property
    def volumes(self) -> NDArray[np.float64]:
        """Volume of the matter of each element [m3], shape [m], all positive."""
        if self.subdomains is None:
            return self.whole_volumes
        return read_only(self.whole_volumes * self.subdomains.fractions(self, self.whole_volumes))

    @cached_property
    def matter_surface(self) -> MatterSurface | None:
        """The surface of the matter of a cut mesh; None without cuts."""
        return None if self.subdomains is None else self.subdomains.surface(self)

    @cached_property
    def boundary_faces(self) -> NDArray[np.int32]:
        """Outward faces of the boundary, shape [k, 3].

        Of a cut mesh they are the faces of the elements in which the triangles of `matter_surface` lie; a triangle of a
        flank, which lies in none, has the three nodes with most weight.
        """
        surface = self.matter_surface
        if surface is None:
            return read_only(self.faces[self._boundary])
        corners = self.cells[self.boundary_elements]
        weights = surface.weights[surface.triangles].sum(axis=1)
        flank = surface.faces < 0
        face = np.where(flank, weights.argmin(axis=1), surface.faces)
        return read_only(np.take_along_axis(corners, self.FACES[face], axis=1))

    @cached_property
    def boundary_elements(self) -> NDArray[np.int32]:
        """The element behind each boundary face, shape [k]."""
        surface = self.matter_surface
        if surface is None:
            return read_only(self.face_elements[self._boundary, 0])
        return surface.triangle_elements

    @property
    def boundary_sides(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The element behind each boundary face, and which of its faces it is (-1: none), shape [k] each."""
        surface = self.matter_surface
        return super().boundary_sides if surface is None else (surface.triangle_elements, surface.faces)

    @property
    def boundary_triangles(self) -> NDArray[np.int32]:
        """Outward triangles of the boundary, shape [k, 3]; numbers of this mesh's nodes."""
        return self.boundary_faces

    @property
    def boundary_tets(self) -> NDArray[np.int32]:
        """The element behind each boundary triangle, shape [k]."""
        return self.boundary_elements

    @property
    def node_tets(self) -> Csr:
        """The elements of each node, ascending, as CSR (indptr, indices)."""
        return self.node_elements

    def quality(self) -> Quality:
        """Return figures about the shapes of the elements; `print` shows them as a table."""
        return tet_quality(self.points[self.cells])

    def child_mesh(self, points: NDArray, cells: NDArray, parents: NDArray[np.int32]) -> Self:
        """Make a mesh whose elements lie in elements `parents` of this one; see `VolumeMesh`."""
        mesh = super().child_mesh(points, cells, parents)
        shapes = mean_ratios(self.points[self.cells]) if self.root_shapes is None else self.root_shapes
        mesh.root_shapes = read_only(shapes[parents])
        return mesh

    def _orient(self, cells: NDArray[np.int32]) -> tuple[str, ...]:
        volumes = tet_volumes(self.points, cells)
        longest = self._longest_edges(cells)
        flat = np.flatnonzero(np.abs(volumes) <= FLAT * longest**3)
        if flat.size:
            raise InputError(f"tets {some(flat)} have no volume; remove these elements or mend their nodes")
        wrong = volumes < 0.0
        if not wrong.any():
            return ()
        cells[wrong] = cells[wrong][:, [0, 3, 2, 1]]
        return (f"turned {int(wrong.sum())} of {len(cells)} tets that had negative volume",)

    def _mirrored_cells(self) -> NDArray[np.int32]:
        return self.cells[:, [0, 3, 2, 1]]
