"""Curved boundaries of meshes: where the nodes of elements of order 2 and 3 lie on the surface of the body.

A mesh stores its corners. One with a `curved_boundary` also knows the surface between them: the closest points of a
sphere, a cylinder, a torus or any other surface, or the second-order nodes of a file. Points of the straight edges and
faces are projected, so that the curved faces are images of the straight ones under a smooth map, as optimal orders of
convergence need (Lenoir 1986).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.pickling import check_picklable
from continua.validation import array

if TYPE_CHECKING:
    from continua.mesh.volume_mesh import VolumeMesh

__all__ = [
    "BoundaryNodes",
    "ConicalRim",
    "CurvedBoundary",
    "CylinderSide",
    "GivenCoefficients",
    "ImplicitSurface",
    "MovedBoundary",
    "ProjectedBoundary",
    "SecondOrderEdges",
    "Sphere",
    "Surface",
    "Torus",
    "UserSurface",
    "edge_numbers",
]

_NEAR = 1e-9  # of a radius: how far corners of a face may lie from the surface they belong to
_NEWTON = 12
_MAX_PASSES = 20


class BoundaryNodes(NamedTuple):
    """Nodes on curved edges and faces.

    Attributes:
        edges: Numbers of the edges, shape [k].
        edge_points: Nodes on them [m], from the end with the smaller number to the other, shape [k, order - 1, 3].
        faces: Numbers of the faces, shape [f]; none below order 3.
        face_points: Nodes at their centres [m], shape [f, 3].
    """

    edges: NDArray[np.intp]
    edge_points: NDArray[np.float64]
    faces: NDArray[np.intp]
    face_points: NDArray[np.float64]


class CurvedBoundary(ABC):
    """The curved boundary of a mesh."""

    @abstractmethod
    def nodes(self, mesh: VolumeMesh, order: int, points: NDArray[np.float64]) -> BoundaryNodes:
        """Return the nodes of order 2 or 3 on the curved edges and faces of a mesh with these corners [m]."""

    def geometry_bytes(self, mesh: VolumeMesh, order: int) -> bytes:
        """Return the curved shape as bytes, to recognise it."""
        return b"".join(part.tobytes() for part in self.nodes(mesh, order, mesh.points))


class Surface(ABC):
    """A smooth surface."""

    @abstractmethod
    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points of the surface near the given ones [n, 3]."""

    def selects(self, corners: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which boundary faces with these corners [f, c, 3] lie on the surface."""
        return np.ones(len(corners), bool)


@dataclass(frozen=True)
class Sphere(Surface):
    """A sphere around the origin."""

    radius: float

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the closest points."""
        return points * (self.radius / np.maximum(np.linalg.norm(points, axis=1), 1e-300))[:, None]

    def selects(self, corners: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which faces have all corners on the sphere."""
        gap = np.abs(np.linalg.norm(corners, axis=2) - self.radius)
        return np.asarray((gap <= _NEAR * self.radius).all(axis=1))


@dataclass(frozen=True)
class CylinderSide(Surface):
    """The side of a cylinder around the y axis."""

    radius: float

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the closest points."""
        result = points.copy()
        out = np.maximum(np.hypot(points[:, 0], points[:, 2]), 1e-300)
        result[:, [0, 2]] *= (self.radius / out)[:, None]
        return result

    def selects(self, corners: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which faces have all corners on the side and are not level."""
        gap = np.abs(np.hypot(corners[:, :, 0], corners[:, :, 2]) - self.radius)
        level = np.ptp(corners[:, :, 1], axis=1) <= _NEAR * self.radius
        return np.asarray((gap <= _NEAR * self.radius).all(axis=1) & ~level)


@dataclass(frozen=True)
class Torus(Surface):
    """A torus around the y axis."""

    radius: float
    tube: float

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the closest points."""
        out = np.maximum(np.hypot(points[:, 0], points[:, 2]), 1e-300)
        center = points * np.array([1.0, 0.0, 1.0]) * (self.radius / out)[:, None]
        arm = points - center
        return center + arm * (self.tube / np.maximum(np.linalg.norm(arm, axis=1), 1e-300))[:, None]


@dataclass(frozen=True)
class ConicalRim(Surface):
    """The cone around the y axis with its tip at the origin, `angle` [rad] from the downward axis."""

    angle: float

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points of the cone at the same distance from its tip."""
        out = np.hypot(points[:, 0], points[:, 2])
        size = np.linalg.norm(points, axis=1)
        result = points * (size * np.sin(self.angle) / np.maximum(out, 1e-300))[:, None]
        result[:, 1] = -size * np.cos(self.angle)
        return result

    def selects(self, corners: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which faces have all corners on the cone."""
        angle = np.arctan2(np.hypot(corners[:, :, 0], corners[:, :, 2]), -corners[:, :, 1])
        return np.asarray((np.abs(angle - self.angle) <= _NEAR).all(axis=1))


class ImplicitSurface(Surface):
    """The zero level set of a function of points [n, 3], which is near to a distance there.

    Points are moved along its gradient. Points that do not reach the surface within `size` [m] are not moved.
    """

    def __init__(self, distance: Callable[[NDArray[np.float64]], NDArray[np.float64]], size: float) -> None:
        self._distance, self._size = distance, size

    def __getstate__(self) -> dict:
        check_picklable(self._distance, "the function of a curved surface")
        return dict(self.__dict__)

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points of the surface."""
        x, h = points.copy(), 1e-5 * self._size
        value = self._distance(x)
        for _ in range(_NEWTON):
            if (np.abs(value) <= 1e-13 * self._size).all():
                break
            slope = np.empty_like(x)
            for axis in range(3):
                step = h * np.eye(3)[axis]
                slope[:, axis] = (self._distance(x + step) - self._distance(x - step)) / (2.0 * h)
            x = x - (value / np.maximum((slope * slope).sum(axis=1), 1e-12))[:, None] * slope
            value = self._distance(x)
        with np.errstate(invalid="ignore"):
            lost = ~(np.abs(value) <= 1e-6 * self._size)
            lost |= ~(np.linalg.norm(x - points, axis=1) <= self._size)
        x[lost] = points[lost]
        return x


class UserSurface(Surface):
    """A surface given by a function of points [n, 3] that returns points of the surface."""

    def __init__(self, project: Callable[[NDArray[np.float64]], ArrayLike]) -> None:
        self._project = project

    def __getstate__(self) -> dict:
        check_picklable(self._project, "the function of a curved surface")
        return dict(self.__dict__)

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points of the surface."""
        return array(self._project(points.copy()), "what the function of a surface returns", points.shape)


class ProjectedBoundary(CurvedBoundary):
    """Boundary faces that lie on smooth surfaces.

    Nodes of an edge between two surfaces are projected to both in turn until they rest.

    Args:
        patches: Surfaces, each with the numbers of its faces in `mesh.boundary_faces`, or None for those that it
            selects itself.
    """

    def __init__(self, *patches: tuple[Surface, NDArray[np.int32] | None]) -> None:
        self._patches = patches

    def with_patch(self, surface: Surface, faces: NDArray[np.int32]) -> ProjectedBoundary:
        """Return this boundary with one more surface."""
        return ProjectedBoundary(*self._patches, (surface, faces))

    def nodes(self, mesh: VolumeMesh, order: int, points: NDArray[np.float64]) -> BoundaryNodes:
        """Return the nodes on the curved edges and faces."""
        faces = mesh.boundary_faces
        on_edges, on_faces = [], []
        for surface, given in self._patches:
            chosen = np.flatnonzero(surface.selects(points[faces])) if given is None else given
            ring = faces[chosen]
            sides = ring if ring.shape[1] == 2 else np.stack([ring, np.roll(ring, -1, axis=1)], axis=2)
            on_edges.append(np.unique(edge_numbers(mesh, sides.reshape(-1, 2))))
            on_faces.append(mesh._boundary[chosen])
        edges = np.unique(np.concatenate(on_edges)) if on_edges else np.zeros(0, np.intp)
        ends = points[mesh.edges[edges]]
        t = np.arange(1, order) / order
        start = (1.0 - t)[:, None] * ends[:, None, 0] + t[:, None] * ends[:, None, 1]
        rows = [np.isin(edges, numbers) for numbers in on_edges]
        edge_points = self._project(start, rows)
        numbers, centers = np.zeros(0, np.intp), np.zeros((0, 3))
        if order == 3 and faces.shape[1] == 3:
            numbers = np.unique(np.concatenate(on_faces)) if on_faces else numbers
            rows = [np.isin(numbers, own) for own in on_faces]
            centers = self._project(points[mesh.faces[numbers]].mean(axis=1)[:, None], rows)[:, 0]
        return BoundaryNodes(edges, edge_points, numbers, centers)

    def _project(self, points: NDArray[np.float64], rows: list[NDArray[np.bool_]]) -> NDArray[np.float64]:
        """Project points [k, a, 3], with those rows that lie on each surface."""
        result = points.copy()
        several = np.sum(rows, axis=0) > 1 if rows else np.zeros(len(points), bool)
        for number in range(_MAX_PASSES):
            before = result[several].copy()
            for (surface, _), own in zip(self._patches, rows, strict=True):
                chosen = own if number == 0 else own & several
                if chosen.any():
                    result[chosen] = surface.project(result[chosen].reshape(-1, 3)).reshape(
                        result[chosen].shape
                    )
            size = max(float(np.abs(result).max(initial=0.0)), 1e-300)
            if np.abs(result[several] - before).max(initial=0.0) <= 1e-15 * size:
                break
        return result


class SecondOrderEdges(CurvedBoundary):
    """Nodes in the middle of edges, as files have them.

    Args:
        edges: Ends of the edges, the smaller number first, shape [k, 2].
        middles: The node on each [m], shape [k, 3].
    """

    def __init__(self, edges: NDArray[np.int32], middles: NDArray[np.float64]) -> None:
        self._edges, self._middles = edges, middles

    def nodes(self, mesh: VolumeMesh, order: int, points: NDArray[np.float64]) -> BoundaryNodes:
        """Return points of the quadratic edges and faces through the nodes."""
        numbers = edge_numbers(mesh, self._edges)
        ends = points[self._edges]
        t = (np.arange(1, order) / order)[:, None]
        own = [(1.0 - t) * (1.0 - 2.0 * t), t * (2.0 * t - 1.0), 4.0 * t * (1.0 - t)]
        edge_points = own[0] * ends[:, None, 0] + own[1] * ends[:, None, 1] + own[2] * self._middles[:, None]
        order_of = np.argsort(numbers)
        faces, centers = np.zeros(0, np.intp), np.zeros((0, 3))
        if order == 3 and mesh.FACES.shape[1] == 3:
            bend = np.zeros((len(mesh.edges), 3))
            bend[numbers] = self._middles - ends.mean(axis=1)
            sides = np.stack([mesh.faces, np.roll(mesh.faces, -1, axis=1)], axis=2)
            shift = bend[edge_numbers(mesh, sides.reshape(-1, 2))].reshape(-1, 3, 3).sum(axis=1)
            faces = np.flatnonzero((shift != 0.0).any(axis=1))
            centers = points[mesh.faces[faces]].mean(axis=1) + 4.0 / 9.0 * shift[faces]
        return BoundaryNodes(numbers[order_of], edge_points[order_of], faces, centers)


class MovedBoundary(CurvedBoundary):
    """A curved boundary under the affine map x -> A x + b."""

    def __init__(
        self, source: CurvedBoundary, matrix: NDArray[np.float64], shift: NDArray[np.float64]
    ) -> None:
        self._source, self._matrix, self._shift = source, matrix, shift
        self._inverse = np.linalg.inv(matrix)

    def nodes(self, mesh: VolumeMesh, order: int, points: NDArray[np.float64]) -> BoundaryNodes:
        """Return the moved nodes."""
        found = self._source.nodes(mesh, order, (points - self._shift) @ self._inverse.T)
        edge_points, face_points = (
            x @ self._matrix.T + self._shift for x in (found.edge_points, found.face_points)
        )
        return BoundaryNodes(found.edges, edge_points, found.faces, face_points)


class GivenCoefficients(CurvedBoundary):
    """Bernstein coefficients of all nodes of one order, of a mesh whose elements are parts of curved ones.

    Attributes:
        order: The order.
        coefficients: The coefficients [m], shape [n, 3].
    """

    def __init__(self, order: int, coefficients: NDArray[np.float64]) -> None:
        self.order, self.coefficients = order, coefficients

    def nodes(self, mesh: VolumeMesh, order: int, points: NDArray[np.float64]) -> BoundaryNodes:
        """Return none: only elements of the given order are curved."""
        return BoundaryNodes(
            np.zeros(0, np.intp), np.zeros((0, order - 1, 3)), np.zeros(0, np.intp), np.zeros((0, 3))
        )

    def geometry_bytes(self, mesh: VolumeMesh, order: int) -> bytes:
        """Return the coefficients as bytes."""
        return self.coefficients.tobytes()


def edge_numbers(mesh: VolumeMesh, pairs: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the numbers of the edges between pairs of nodes [k, 2]."""
    count = mesh.node_count
    keys = mesh.edges[:, 0].astype(np.int64) * count + mesh.edges[:, 1]
    low, high = pairs.min(axis=1).astype(np.int64), pairs.max(axis=1)
    wanted = low * count + high
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    if (keys[found] != wanted).any():
        raise InputError("a curved edge is not an edge of the mesh")
    return found
