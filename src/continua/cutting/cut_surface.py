"""Surfaces of cuts: triangles in the undeformed body, from a plane, a mesh, or a curve that is swept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.cutting.dissection_kernels import elements_near
from continua.errors import InputError
from continua.mesh import SurfaceMesh, TetMesh
from continua.pickling import KeepsReadOnlyArrays
from continua.validation import array, flag, instance_of, shortened, vector3

__all__ = ["CutSurface", "as_cut_surface"]

_FLAT = 1e-12
"""Area of a triangle over the square of its longest edge below which it has no plane."""


@dataclass(frozen=True, eq=False)
class CutSurface(KeepsReadOnlyArrays):
    """Triangles along which a body is cut. They may reach beyond the body, and need not be closed.

    Attributes:
        triangles: Corners of the triangles [m], shape [k, 3, 3].
        free_edges: Edges of the border of the surface: two ends and a unit vector across in the surface, shape
            [e, 3, 3].
        origin: A point of the plane if the surface is an infinite plane [m], shape [3]; else None.
        normal: Its unit normal, or None.
    """

    triangles: NDArray[np.float64]
    free_edges: NDArray[np.float64]
    origin: NDArray[np.float64] | None = None
    normal: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for values in (self.triangles, self.free_edges):
            if array(values, "the triangles and edges of a cut surface").shape[1:] != (3, 3):
                raise InputError("a cut surface is made by CutSurface.plane, mesh or swept")
        for vector in (self.origin, self.normal):
            if vector is not None:
                vector3(vector, "the origin and the normal of a cutting plane")

    @classmethod
    def plane(cls, point: ArrayLike, normal: ArrayLike) -> CutSurface:
        """Return an infinite plane.

        Args:
            point: A point of it [m], shape [3].
            normal: Its normal, of any length, shape [3].
        """
        origin, direction = (
            vector3(point, "the point of a cutting plane"),
            vector3(normal, "the normal of a plane"),
        )
        length = float(np.linalg.norm(direction))
        if not length > 0.0:
            raise InputError("the normal of a cutting plane must not be zero")
        return cls(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)), origin, direction / length)

    @classmethod
    def mesh(cls, points: ArrayLike | SurfaceMesh, triangles: ArrayLike | None = None) -> CutSurface:
        """Return a surface of triangles.

        Args:
            points: A surface mesh; or points [m], shape [n, 3].
            triangles: Numbers of the corners of each triangle, shape [k, 3], if points are given.
        """
        if isinstance(points, SurfaceMesh):
            return cls._of(np.asarray(points.points), np.asarray(points.triangles))
        nodes = array(points, "the points of a cut surface")
        if nodes.ndim != 2 or nodes.shape[1] != 3:
            raise InputError(f"the points of a cut surface must be an array [n, 3], not {shortened(points)}")
        try:
            table = np.asarray(triangles)
        except ValueError:  # ragged
            table = np.zeros(0)
        if table.ndim != 2 or table.shape[1] != 3 or table.dtype.kind not in "iu" or not len(table):
            raise InputError(
                f"the triangles of a cut surface must be whole numbers [k, 3], not {shortened(triangles)}"
            )
        if table.min() < 0 or table.max() >= len(nodes):
            raise InputError(
                f"the triangles of a cut surface name points that do not exist (there are {len(nodes)})"
            )
        return cls._of(nodes, table)

    @classmethod
    def swept(cls, curve: ArrayLike, direction: ArrayLike, *, closed: bool = False) -> CutSurface:
        """Return the surface that a polyline sweeps along a straight line.

        Args:
            curve: Points of the polyline [m], shape [n, 3].
            direction: The whole displacement [m], shape [3].
            closed: Whether the last point is joined to the first.
        """
        line = array(curve, "the curve of a cut")
        along = vector3(direction, "the direction of a cut")
        if line.ndim != 2 or line.shape[1] != 3 or len(line) < 2 + bool(closed):
            raise InputError(
                f"a swept cut needs a curve of at least {2 + bool(closed)} points [n, 3], not {shortened(curve)}"
            )
        if not np.linalg.norm(along) > 0.0:
            raise InputError("the direction in which the curve of a cut is swept must not be zero")
        ends = np.roll(line, -1, axis=0) if flag(closed, "'closed' of a swept cut") else line[1:]
        count = len(ends)
        first = np.arange(count)
        second = (first + 1) % len(line)
        low, high = first, second
        quads = np.stack([low, high, high + len(line), low + len(line)], axis=1)
        table = quads[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
        return cls._of(np.concatenate([line, line + along]), table)

    @classmethod
    def _of(cls, points: NDArray[np.float64], triangles: NDArray) -> CutSurface:
        """Return the surface of triangles over points; those without area are left out."""
        _, where, number = np.unique(points, axis=0, return_index=True, return_inverse=True)
        table = number.ravel()[triangles]
        corners = points[where][table]
        sides = np.roll(corners, -1, axis=1) - corners
        longest = np.linalg.norm(sides, axis=2).max(axis=1)
        area = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
        kept = area > _FLAT * longest**2
        if not kept.any():
            raise InputError("the triangles of a cut surface have no area")
        table, corners = table[kept], corners[kept]
        edges = np.sort(np.stack([table, np.roll(table, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
        different, index, uses = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
        free = np.flatnonzero(uses[index.ravel()] == 1)
        triangle, side = np.divmod(free, 3)
        start, end = corners[triangle, side], corners[triangle, (side + 1) % 3]
        normal = np.cross(
            corners[triangle, 1] - corners[triangle, 0], corners[triangle, 2] - corners[triangle, 0]
        )
        across = np.cross(end - start, normal)
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        del different
        return cls(corners, np.stack([start, end, across], axis=1).reshape(-1, 3, 3))

    def within(self, bounds: NDArray[np.float64]) -> CutSurface:
        """Return the surface as triangles: of an infinite plane those that cover a box, shape [2, 3] [m]."""
        bounds = array(bounds, "the box of a body", (2, 3))
        if self.origin is None or self.normal is None:
            return self
        center = bounds.mean(axis=0)
        radius = 2.0 * float(np.linalg.norm(bounds[1] - bounds[0]))
        middle = center - self.normal * float((center - self.origin) @ self.normal)
        smallest = np.eye(3)[np.abs(self.normal).argmin()]
        u = np.cross(self.normal, smallest)
        u /= np.linalg.norm(u)
        v = np.cross(self.normal, u)
        a, b, c = (middle + radius * (s * u + t * v) for s, t in ((-1.8, -1.0), (1.8, -1.0), (0.0, 2.0)))
        return CutSurface(np.stack([a, b, c])[None], np.zeros((0, 3, 3)), self.origin, self.normal)

    def meets(self, mesh: TetMesh) -> bool:
        """Return whether the surface comes near an element of a mesh; it may still only touch it."""
        surface = self.within(instance_of(mesh, TetMesh, "the mesh").bounds)
        counts = np.full(len(surface.triangles), 3)
        margin = 1e-9 * float(np.linalg.norm(mesh.bounds[1] - mesh.bounds[0]))
        near = elements_near(mesh.points, mesh.cells, surface.triangles, counts, *surface.planes, margin)
        return bool(near.any())

    @property
    def planes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A point and the unit normal of each triangle, shape [k, 3] each."""
        if self.origin is not None and self.normal is not None and len(self.triangles) == 1:
            return self.origin[None], self.normal[None]
        a, b, c = (self.triangles[:, i] for i in range(3))
        # the two shortest edges give the normal of a needle more exactly
        edges = np.stack([b - a, c - b, a - c], axis=1)
        longest = np.linalg.norm(edges, axis=2).argmax(axis=1)
        row = np.arange(len(edges))
        one, other = edges[row, (longest + 1) % 3], edges[row, (longest + 2) % 3]
        normal = np.cross(one, other)
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        return self.triangles.mean(axis=1), normal


def as_cut_surface(surface: Any) -> CutSurface:
    """Return a cut surface, also from a surface mesh."""
    if isinstance(surface, CutSurface):
        return surface
    if isinstance(surface, SurfaceMesh):
        return CutSurface.mesh(surface)
    raise InputError(
        "a cut needs a CutSurface (see CutSurface.plane, mesh and swept) or a SurfaceMesh, not "
        + shortened(surface)
    )
