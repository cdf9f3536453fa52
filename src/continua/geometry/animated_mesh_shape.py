"""Colliders that deform on a prescribed path, and motions of points that follow such a surface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.geometry.mesh_shape import MeshShape
from continua.geometry.shape import Pose, Shape
from continua.mesh import MeshAnimation, SurfaceMesh
from continua.motion import Motion
from continua.sdf import exact
from continua.validation import instance_of, number

__all__ = ["AnimatedMeshShape", "follow_surface"]


@dataclass(frozen=True, eq=False)
class AnimatedMeshShape(Shape):
    """A surface on a prescribed path as a collider: a character that touches soft bodies.

    Contacts are those of its triangles, edges and nodes with the surfaces of soft bodies, on their paths over a step:
    what touches it moves with it exactly, and nothing passes through. Rigid bodies and fluids do not touch it.

    Attributes:
        animation: The surface and its path; outward oriented if it is closed.
        rounding: Thickness around the surface [m].
        two_sided: Whether it is touched from both sides; None: if it is open. A closed surface keeps bodies outside.
        motion: A motion of the whole surface on top of the animation.
    """

    kind = "animated mesh"
    deforms = True
    animation: MeshAnimation
    rounding: float = 0.0
    two_sided: bool | None = None

    def __post_init__(self) -> None:
        self.check_options()
        instance_of(self.animation, MeshAnimation, "an animated mesh's animation")
        self._set("rounding", number(self.rounding, "an animated mesh's rounding", low=0.0, unit="m"))
        surface = self.animation.surface
        solid = surface.is_closed and surface.is_manifold and surface.is_oriented
        if self.two_sided is None:
            self._set("two_sided", not solid)
        self._check_flag("two_sided")
        if not self.two_sided:
            if not solid:
                raise InputError(
                    "an animated mesh that is open, or whose triangles do not face one way, has no inside; close it, "
                    "or leave 'two_sided' out"
                )
            if surface.volume < 0.0:
                raise InputError("the triangles of an animated mesh face inwards; flip them")

    def positions_at(self, time: float) -> NDArray[np.float64]:
        """Return the nodes of the surface at `time` [s], shape [n, 3] [m]."""
        points = self.animation.positions(time)
        return points if self.motion is None else self.motion.at(time, points)

    def surface_at(self, time: float) -> SurfaceMesh:
        """Return the surface at `time` [s]."""
        first = self.animation.surface
        return SurfaceMesh(self.positions_at(time), first.triangles, uv=first.uv, texture=first.texture)

    def frozen(self, time: float) -> MeshShape:
        """Return the collider that stays as this one is at `time` [s]; it has to be closed."""
        if self.two_sided:
            raise InputError(
                "a static equilibrium with an animated mesh needs a closed surface; close it, or let the bodies come "
                "to rest in steps"
            )
        return MeshShape(
            self.surface_at(time),
            rounding=self.rounding,
            friction=self.friction,
            restitution=self.restitution,
            name=self.name,
        )

    def pose(self, time: float) -> Pose | None:
        """Return None: the surface is not moved as a whole."""
        number(time, "the time of a pose")
        return None

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return distances and unit normals at time 0; of a two-sided surface, those of the side of the point."""
        gaps, normals, _ = self.distances_at(points, 0.0, 0.0)
        return gaps, normals

    def distances_at(
        self, points: NDArray[np.float64], time: float, dt: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return distances and normals at points [n, 3] at `time` [s], and the velocity of the nearest surface point.

        The velocity is the mean over the next `dt` [s]; it is zero if `dt` is 0.
        """
        points, dt = self._points(points), number(dt, "dt", low=0.0)
        surface = self.surface_at(time)
        found = exact(surface, sign="winding" if self.two_sided else "normals").closest(points)
        gaps, normals = found.distances, found.gradients
        if self.two_sided:
            side = np.where(gaps < 0.0, -1.0, 1.0)
            gaps, normals = side * gaps, side[:, None] * normals
        velocities = np.zeros_like(points)
        if dt > 0.0:
            corners = surface.triangles[found.triangles]
            weights = _barycentric(surface.points[corners], found.points)
            move = self.positions_at(time + dt) - surface.points
            velocities = np.einsum("nk,nki->ni", weights, move[corners]) / dt
        return gaps - self.rounding, normals, velocities

    def description(self) -> Mapping[str, object]:
        """Return the surface at time 0."""
        first = self.animation.surface
        about = {
            "kind": "mesh",
            "points": self._drawn_points(0.0),
            "triangles": first.triangles,
            "inside": False,
            "deforms": True,
        }
        return about if first.texture is None else about | {"uv": first.uv, "texture": first.texture}

    def drawn_at(self, time: float) -> Mapping[str, object]:
        """Return the points of the surface at `time` [s]."""
        return {"points": self._drawn_points(time)}

    def _drawn_points(self, time: float) -> NDArray[np.float64]:
        points = self.positions_at(time)
        if self.rounding > 0.0 and not self.two_sided:
            points = points + self.rounding * SurfaceMesh(points, self.animation.surface.triangles).normals
        return points


def _barycentric(corners: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of the corners [n, 3, 3] of triangles at points [n, 3] in their planes, shape [n, 3]."""
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    w = points - corners[:, 0]
    uu, uv, vv = (np.einsum("ni,ni->n", a, b) for a, b in ((u, u), (u, v), (v, v)))
    wu, wv = np.einsum("ni,ni->n", w, u), np.einsum("ni,ni->n", w, v)
    area = uu * vv - uv * uv
    safe = np.where(area > 0.0, area, 1.0)
    s, t = (vv * wu - uv * wv) / safe, (uu * wv - uv * wu) / safe
    return np.column_stack([1.0 - s - t, s, t])


def _frames(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return axes of triangles [n, 3, 3] as rows: along the first edge, across it, and the normal; shape [n, 3, 3]."""
    along = corners[:, 1] - corners[:, 0]
    normal = np.cross(along, corners[:, 2] - corners[:, 0])
    along, normal = (a / np.maximum(np.linalg.norm(a, axis=1), 1e-300)[:, None] for a in (along, normal))
    return np.stack([along, np.cross(normal, along), normal], axis=1)


class _SurfaceFollower:
    """Positions of points that follow a surface: each keeps its place in the frame of one triangle.

    A point is bound to the nearest triangle of the surface at time 0: to the nearest point in it, by barycentric
    weights, and to its offset from there along the triangle's own axes.
    """

    def __init__(self, animation: MeshAnimation) -> None:
        self._animation = animation
        self._rest = np.zeros((0, 3))
        self._corners = np.zeros((0, 3), np.int32)
        self._weights, self._offsets = np.zeros((0, 3)), np.zeros((0, 3))

    def __call__(self, time: float, rest: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions [m] at `time` [s] of points that are at `rest` at time 0."""
        if not np.array_equal(rest, self._rest):
            self._bind(rest)
        corners = self._animation.positions(time)[self._corners]
        base = np.einsum("nk,nki->ni", self._weights, corners)
        return base + np.einsum("nj,nji->ni", self._offsets, _frames(corners))

    def _bind(self, rest: NDArray[np.float64]) -> None:
        surface = SurfaceMesh(self._animation.positions(0.0), self._animation.surface.triangles)
        found = exact(surface, sign="winding").closest(rest)
        self._rest, self._corners = rest.copy(), surface.triangles[found.triangles]
        corners = surface.points[self._corners]
        self._weights = _barycentric(corners, found.points)
        base = np.einsum("nk,nki->ni", self._weights, corners)
        self._offsets = np.einsum("ni,nji->nj", rest - base, _frames(corners))


def follow_surface(animation: MeshAnimation) -> Motion:
    """Return the motion of points that are bound to the nearest triangle of an animated surface.

    Args:
        animation: The surface. A point keeps its place in the axes of the triangle that is nearest to it at time 0.
    """
    return Motion(_SurfaceFollower(instance_of(animation, MeshAnimation, "the animation that points follow")))
