"""Plane meshes of triangles and of quadrilaterals, for bodies in plane strain or plane stress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.checks import read_only, some
from continua.mesh.structured import checked_counts, checked_lengths
from continua.mesh.volume_mesh import VolumeMesh
from continua.validation import choice, numbers, shortened, vector

__all__ = ["PlaneMesh", "QuadMesh", "TriMesh", "rectangle"]

# Area over the square of the longest edge; below, an element lies flat to round-off.
FLAT = 1e-10


class PlaneMesh(VolumeMesh):
    """Base of `TriMesh` and `QuadMesh`: a sheet in the plane z = 0 that stands for a long prism, or a thin plate.

    Nodes have three coordinates like everywhere else; the third is zero. `boundary_faces` are the edges of the
    outline, and `boundary_triangles` the front of the sheet, which is what pictures show.

    Attributes:
        thickness: Length along z [m] that masses and forces are meant for.
    """

    thickness: float = 1.0

    def __init__(
        self,
        points: ArrayLike,
        cells: ArrayLike,
        regions: Mapping[str, ArrayLike] | None = None,
        notes: tuple[str, ...] = (),
        thickness: float = 1.0,
    ) -> None:
        self.thickness = float(checked_lengths([thickness], "thickness", 1)[0])
        super().__init__(_in_plane(points), cells, regions, notes)

    def child_mesh(self, points: NDArray, cells: NDArray, parents: NDArray[np.int32]) -> Self:
        """Make a mesh whose elements lie in elements `parents` of this one; see `VolumeMesh`."""
        mesh = super().child_mesh(points, cells, parents)
        mesh.thickness = self.thickness
        return mesh

    @property
    def signed_areas(self) -> NDArray[np.float64]:
        """Area of each element [m2], shape [m]."""
        return _areas(self.points, self.cells)

    @cached_property
    def volumes(self) -> NDArray[np.float64]:
        """Volume of each element [m3], its area times the thickness; shape [m], all positive."""
        return read_only(self.thickness * self.signed_areas)

    def _orient(self, cells: NDArray[np.int32]) -> tuple[str, ...]:
        areas = _areas(self.points, cells)
        wrong = areas < 0.0
        cells[wrong] = cells[wrong][:, ::-1]
        bad = np.flatnonzero(_smallest_corner(self.points, cells) <= FLAT * self._longest_edges(cells) ** 2)
        if bad.size:
            raise InputError(f"{self.NAME} {some(bad)} have no area or are folded; mend their nodes")
        if not wrong.any():
            return ()
        return (f"turned {int(wrong.sum())} of {len(cells)} {self.NAME} that ran clockwise",)

    def _check_not_tangled(self) -> None:
        """Raise if two elements lie on the same side of their common edge, which means they overlap."""
        inner = np.flatnonzero(self.face_elements[:, 1] >= 0)
        (a, b), (i, j) = self.face_elements[inner].T, self._faces.locals[inner].T
        here = self.cells[a, self.FACES[i, 0]]
        there = self.cells[b, self.FACES[j, 0]]
        bad = np.flatnonzero(here == there)
        if bad.size:
            raise InputError(
                f"{bad.size} pairs of {self.NAME} lie on the same side of a common edge and so overlap "
                f"({a[bad[0]]} and {b[bad[0]]}); mend the mesh where it is folded"
            )

    def _pinches(self) -> Iterator[str]:
        """A sheet that touches itself at a node is nothing to remark."""
        return iter(())

    def transformed(
        self,
        translate: ArrayLike = (0.0, 0.0, 0.0),
        rotate: ArrayLike | None = None,
        scale: float | ArrayLike = 1.0,
    ) -> Self:
        """Return the mesh scaled, turned and moved (see `VolumeMesh.transformed`); it has to stay in its plane."""
        moved = super().transformed(translate, rotate, scale)
        _in_plane(moved.points)
        moved.thickness = self.thickness
        return moved

    def _mirrored_cells(self) -> NDArray[np.int32]:
        return self.cells[:, ::-1]


class TriMesh(PlaneMesh):
    """A plane mesh of triangles. All arrays are read-only; topology is made when first asked for.

    Args:
        points: Node positions [m], shape [n, 2], or [n, 3] with z = 0.
        cells: Node numbers of each triangle, shape [m, 3]; clockwise ones are turned.
        regions: Named parts: lists of element numbers by name.
        thickness: Length along z [m] that masses and forces are meant for.

    Attributes:
        FACES: Local nodes of the three edges, counter-clockwise; edge i lies opposite node i.
    """

    NAME: ClassVar[str] = "triangles"
    WIDTH: ClassVar[int] = 3
    FACES = np.array([[1, 2], [2, 0], [0, 1]], dtype=np.int32)
    EDGES = FACES

    @property
    def boundary_triangles(self) -> NDArray[np.int32]:
        """The front of the sheet, shape [m, 3]."""
        return self.cells


class QuadMesh(PlaneMesh):
    """A plane mesh of quadrilaterals. All arrays are read-only; topology is made when first asked for.

    Args:
        points: Node positions [m], shape [n, 2], or [n, 3] with z = 0.
        cells: Node numbers around each quadrilateral, shape [m, 4]; clockwise ones are turned.
        regions: Named parts: lists of element numbers by name.
        thickness: Length along z [m] that masses and forces are meant for.

    Attributes:
        FACES: Local nodes of the four edges, counter-clockwise.
    """

    NAME: ClassVar[str] = "quads"
    WIDTH: ClassVar[int] = 4
    FACES = np.array([[0, 1], [1, 2], [2, 3], [3, 0]], dtype=np.int32)
    EDGES = FACES

    @cached_property
    def boundary_triangles(self) -> NDArray[np.int32]:
        """The front of the sheet, two triangles an element, shape [2 m, 3]."""
        return read_only(self.cells[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3))


def rectangle(
    size: ArrayLike = (1.0, 1.0),
    cells: ArrayLike = (4, 4),
    *,
    kind: str = "quads",
    origin: ArrayLike = (0.0, 0.0),
    thickness: float = 1.0,
) -> TriMesh | QuadMesh:
    """Return a plane rectangle of `cells` equal cells in the x-y plane.

    Args:
        size: Lengths along x and y [m].
        cells: Number of cells along x and y.
        kind: "quads", or "triangles": two a cell, the diagonal turning from cell to cell.
        origin: The corner with the smallest coordinates [m].
        thickness: Length along z [m] that masses and forces are meant for.
    """
    choice(kind, "the kind of a rectangle's elements", ("quads", "triangles"))
    nx, ny = checked_counts(cells, ("x", "y"), 2)
    lengths = checked_lengths(size, "size", 2)
    start = vector(origin, "origin", 2)
    axes = [start[a] + lengths[a] * np.arange(n + 1) / n for a, n in enumerate((nx, ny))]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    node = np.arange((nx + 1) * (ny + 1)).reshape(nx + 1, ny + 1)
    quads = np.stack([node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]], axis=-1)
    if kind == "quads":
        return QuadMesh(points, quads.reshape(-1, 4), thickness=thickness)
    turned = (np.add.outer(np.arange(nx), np.arange(ny)) % 2)[..., None, None] == 1
    one, other = quads[..., [[0, 1, 2], [0, 2, 3]]], quads[..., [[0, 1, 3], [1, 2, 3]]]
    return TriMesh(points, np.where(turned, other, one).reshape(-1, 3), thickness=thickness)


def _in_plane(points: ArrayLike) -> NDArray:
    """Return points [n, 3] with z = 0 from plane ones [n, 2]; refuse what leaves the plane."""
    given = numbers(points)
    if given is None or given.ndim != 2 or given.shape[1] not in (2, 3):
        raise InputError(
            f"the points of a plane mesh must be numbers of shape [n, 2], not {shortened(points)}"
        )
    if given.shape[1] == 2:
        return np.concatenate([given, np.zeros((len(given), 1))], axis=1)
    if (given[:, 2] != 0.0).any():
        raise InputError("a plane mesh lies in the plane z = 0, but some of its nodes do not")
    return given


def _areas(points: NDArray[np.float64], cells: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return signed areas of polygons [m2], shape [m]."""
    x, y = points[cells, 0], points[cells, 1]
    return 0.5 * (x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1)).sum(axis=1)


def _smallest_corner(points: NDArray[np.float64], cells: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the smallest cross product of the two edges at a corner of each element [m2], shape [m]."""
    corners = points[cells][..., :2]
    ahead, behind = np.roll(corners, -1, axis=1) - corners, np.roll(corners, 1, axis=1) - corners
    return (ahead[..., 0] * behind[..., 1] - ahead[..., 1] * behind[..., 0]).min(axis=1)
