"""Triangles in space with a thickness: the mesh of a sheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh import SurfaceMesh, VolumeMesh
from continua.mesh.checks import read_only, some
from continua.mesh.structured import checked_lengths
from continua.validation import array, instance_of

__all__ = ["SheetMesh"]

FLAT = 1e-10
"""Area over the square of the longest edge below which a triangle is flat to rounding."""


class SheetMesh(VolumeMesh):
    """A sheet of triangles in space, open or closed. All arrays are read-only; topology is made when first asked for.

    Args:
        points: Node positions [m], shape [n, 3].
        cells: Node numbers of each triangle, shape [m, 3].
        regions: Named parts: lists of element numbers by name.
        thickness: Thickness of the sheet [m].
        flat: The corners of every triangle at rest in the plane of its pattern [m], shape [m, 3, 2], the warp along the
            first axis. None: the triangles are at rest at `points`.

    Attributes:
        FACES: Local nodes of the three edges; edge i lies opposite node i.
    """

    NAME: ClassVar[str] = "triangles"
    WIDTH: ClassVar[int] = 3
    FACES = np.array([[1, 2], [2, 0], [0, 1]], dtype=np.int32)
    EDGES = FACES

    thickness: float
    flat: NDArray[np.float64] | None = None

    def __init__(
        self,
        points: ArrayLike,
        cells: ArrayLike,
        regions: Mapping[str, ArrayLike] | None = None,
        notes: tuple[str, ...] = (),
        thickness: float = 1e-3,
        flat: ArrayLike | None = None,
    ) -> None:
        self.thickness = float(checked_lengths([thickness], "thickness", 1)[0])
        super().__init__(points, cells, regions, notes)
        if flat is not None:
            self.flat = read_only(array(flat, "the flat triangles of a sheet", (len(self.cells), 3, 2)))
            if not (_areas(self.corners) > 0.0).all():
                raise InputError("the flat triangles of a sheet must have an area")

    @classmethod
    def from_surface(cls, surface: SurfaceMesh, thickness: float) -> Self:
        """Return the sheet of a surface; triangles without area and edges of three triangles are refused."""
        instance_of(surface, SurfaceMesh, "the surface of a sheet")
        return cls(surface.points, surface.triangles, None, surface.notes, thickness)

    def child_mesh(self, points: NDArray, cells: NDArray, parents: NDArray[np.int32]) -> Self:
        """Make a mesh whose elements lie in elements `parents` of this one; see `VolumeMesh`."""
        mesh = super().child_mesh(points, cells, parents)
        mesh.thickness = self.thickness
        if self.flat is not None:
            a, b, c = (self.points[self.cells[parents, i]] for i in range(3))
            basis = np.linalg.pinv(np.stack([b - a, c - a], axis=2))
            along = np.einsum("mab,mkb->mka", basis, mesh.points[mesh.cells] - a[:, None])
            edges = self.flat[parents][:, 1:] - self.flat[parents][:, :1]
            mesh.flat = read_only(self.flat[parents][:, :1] + np.einsum("mka,mab->mkb", along, edges))
        return mesh

    @cached_property
    def corners(self) -> NDArray[np.float64]:
        """The corners of every triangle at rest [m], shape [m, 3, 3]; those of a pattern are in its plane, z = 0."""
        if self.flat is None:
            return read_only(self.points[self.cells])
        return read_only(np.concatenate([self.flat, np.zeros((len(self.flat), 3, 1))], axis=2))

    @cached_property
    def areas(self) -> NDArray[np.float64]:
        """Area of each triangle [m2], shape [m]."""
        return read_only(_areas(self.corners))

    @cached_property
    def volumes(self) -> NDArray[np.float64]:
        """Volume of each triangle [m3], its area times the thickness; shape [m]."""
        return read_only(self.thickness * self.areas)

    @property
    def boundary_triangles(self) -> NDArray[np.int32]:
        """The sheet itself, shape [m, 3]."""
        return self.cells

    @property
    def is_closed(self) -> bool:
        """Whether every edge has two triangles, so that there is an inside."""
        return bool((self.face_elements[:, 1] >= 0).all())

    @cached_property
    def is_oriented(self) -> bool:
        """Whether neighbours run through their common edge in opposite directions."""
        inner = self.face_elements[:, 1] >= 0
        (a, b), (i, j) = self.face_elements[inner].T, self._faces.locals[inner].T
        return bool((self.cells[a, self.FACES[i, 0]] == self.cells[b, self.FACES[j, 1]]).all())

    @cached_property
    def hinges(self) -> NDArray[np.int32]:
        """Pairs of adjacent triangles, shape [h, 4]: a corner, the common edge, and the opposite corner."""
        inner = np.flatnonzero(self.face_elements[:, 1] >= 0)
        (a, b), (i, j) = self.face_elements[inner].T, self._faces.locals[inner].T
        edge = self.cells[a[:, None], self.FACES[i]]
        return read_only(
            np.column_stack([self.cells[a, i], edge[:, 0], edge[:, 1], self.cells[b, j]]).astype(np.int32)
        )

    @cached_property
    def hinge_heights(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The rest shape of the triangles of each hinge.

        Returns the length of the edge [m], shape [h]; the heights of both corners over it [m], shape [h, 2]; and where
        these meet the edge, from 0 at its first node to 1 at the other, shape [h, 2].
        """
        inner = np.flatnonzero(self.face_elements[:, 1] >= 0)
        lengths, heights, feet = [], [], []
        for side in range(2):
            e, i = self.face_elements[inner, side], self._faces.locals[inner, side]
            start, end = self.FACES[i].T
            swapped = self.cells[e, start] != self.hinges[:, 1]
            start, end = np.where(swapped, end, start), np.where(swapped, start, end)
            corners = self.corners
            edge = corners[e, end] - corners[e, start]
            square = np.einsum("hi,hi->h", edge, edge)
            lengths.append(np.sqrt(square))
            heights.append(2.0 * self.areas[e] / lengths[-1])
            feet.append(np.einsum("hi,hi->h", corners[e, i] - corners[e, start], edge) / square)
        return 0.5 * (lengths[0] + lengths[1]), np.stack(heights, axis=1), np.stack(feet, axis=1)

    @cached_property
    def hinge_triangles(self) -> NDArray[np.int32]:
        """The two triangles of each hinge, shape [h, 2]."""
        return read_only(self.face_elements[self.face_elements[:, 1] >= 0].copy())

    def transformed(
        self,
        translate: ArrayLike = (0.0, 0.0, 0.0),
        rotate: ArrayLike | None = None,
        scale: float | ArrayLike = 1.0,
    ) -> Self:
        """Return the sheet scaled, turned and moved (see `VolumeMesh.transformed`); the thickness stays."""
        moved = super().transformed(translate, rotate, scale)
        moved.thickness = self.thickness
        if self.flat is not None:
            factors = np.unique(np.abs(np.asarray(scale, np.float64)))
            if len(factors) > 1:
                raise InputError("a sewn sheet can be scaled by one factor only, as its patterns are flat")
            corners = self.flat * factors[0]
            moved.flat = read_only(corners[:, ::-1] if (moved.cells != self.cells).any() else corners)
        return moved

    def _orient(self, cells: NDArray[np.int32]) -> tuple[str, ...]:
        areas = _areas(self.points[cells])
        bad = np.flatnonzero(~(areas > FLAT * self._longest_edges(cells) ** 2))
        if bad.size:
            raise InputError(f"triangles {some(bad)} of a sheet have no area; mend or remove them")
        _check_manifold(cells, len(self.points))
        return ()

    def _check_not_tangled(self) -> None:
        """Neighbours may run through their common edge in the same direction: hinges need no orientation."""

    def _pinches(self) -> Iterator[str]:
        """A sheet that touches itself at a node is nothing to remark."""
        return iter(())

    def _mirrored_cells(self) -> NDArray[np.int32]:
        return self.cells[:, ::-1]


def _areas(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def _check_manifold(cells: NDArray[np.int32], node_count: int) -> None:
    sides = np.sort(cells[:, SheetMesh.FACES].reshape(-1, 2), axis=1)
    keys = sides[:, 0].astype(np.int64) * node_count + sides[:, 1]
    _, inverse, uses = np.unique(keys, return_inverse=True, return_counts=True)
    crowded = np.flatnonzero(uses > 2)
    if crowded.size:
        triangles = np.flatnonzero((uses[inverse] > 2).reshape(-1, 3).any(axis=1))
        raise InputError(
            f"the sheet is not a manifold: {len(crowded)} of its edges belong to more than two triangles "
            f"(triangles {some(triangles)}); make it of several bodies, or remove doubled triangles"
        )
