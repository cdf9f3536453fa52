"""Planes, spheres, boxes, cylinders and capsules; sharp or rounded edges, solid or hollow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.geometry import shape_kernels
from continua.geometry.shape import Shape
from continua.geometry.shape_meshes import TriangleArrays, box_triangles, revolved_triangles
from continua.numerics.rotations import axis_frame, rotation_matrix
from continua.validation import number, positive_triple

__all__ = ["Box", "Capsule", "Cylinder", "Plane", "Sphere"]

_Distances = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Plane(Shape):
    """The half-space below a plane: `normal` points to the free side."""

    kind = "plane"
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 1.0, 0.0)

    def __post_init__(self) -> None:
        self.check_options()
        self._check_vectors("point")
        self._check_direction("normal")

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances and the plane's normal for every point."""
        normal, points = np.asarray(self.normal), self._points(points)
        with np.errstate(over="ignore", invalid="ignore"):
            return (points - np.asarray(self.point)) @ normal, np.broadcast_to(normal, points.shape)

    def description(self) -> Mapping[str, object]:
        """Return the plane as plain data."""
        return {"kind": "plane", "point": self.point, "normal": self.normal}


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball, or with `inside` a hollow sphere that keeps bodies in."""

    kind = "sphere"
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 1.0
    inside: bool = False

    def __post_init__(self) -> None:
        self.check_options()
        self._check_vectors("center")
        self._check_lengths("radius")
        self._check_flag("inside")

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances and normals; at the centre the normal is +y."""
        sign = -1.0 if self.inside else 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            offset = self._points(points) - np.asarray(self.center)
            length = np.linalg.norm(offset, axis=1)
            safe = np.maximum(length, 1e-300)[:, None]
            normals = np.where(length[:, None] > 0.0, offset / safe, np.array([0.0, 1.0, 0.0]))
            return sign * (length - self.radius), sign * normals

    def description(self) -> Mapping[str, object]:
        """Return the sphere as plain data."""
        return {"kind": "sphere", "center": self.center, "radius": self.radius, "inside": self.inside}


@dataclass(frozen=True, kw_only=True)
class _FramedShape(Shape):
    """A shape with a centre and axes of its own.

    Attributes:
        inside: Keep bodies inside instead of outside.
        origin: Centre [m], shape [3].
        axes: Own axes as rows of a rotation, shape [3, 3].
    """

    inside: bool = False
    origin: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    axes: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    @property
    def _sign(self) -> float:
        return -1.0 if self.inside else 1.0

    def _check_rounding(self, rounding: float, most: float) -> None:
        """Check the radius of the edges; `most` is half of the smallest side [m]."""
        self._set("rounding", number(rounding, f"a {self.kind}'s rounding", low=0.0, high=most, unit="m"))

    def _set_frame(self, center: ArrayLike, axes: NDArray[np.float64]) -> None:
        """Set the centre and the axes, given as rows."""
        self._set("origin", np.array(center, dtype=np.float64))
        self._set("axes", np.ascontiguousarray(axes))

    def local_triangles(self) -> TriangleArrays:
        """Return points [m] and triangles of the surface around the origin, in the shape's own axes."""
        raise InputError(f"a {type(self).__name__} has no triangles")

    def description(self) -> Mapping[str, object]:
        """Return the shape as a triangle mesh; the triangles of a hollow shape face inwards."""
        points, triangles = self.local_triangles()
        placed = points @ self.axes + self.origin
        if self.inside:
            triangles = np.ascontiguousarray(triangles[:, ::-1])
        return {"kind": "mesh", "points": placed, "triangles": triangles, "inside": self.inside}


@dataclass(frozen=True)
class Box(_FramedShape):
    """A block, or with `inside` a container that keeps bodies in.

    Attributes:
        center: Centre [m].
        size: Lengths along its own x, y and z [m].
        rotate: Rotation about its centre, as axis times angle [rad].
        rounding: Radius of its edges and corners [m]; the lengths stay.
    """

    kind = "box"
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    size: tuple[float, float, float] = (1.0, 1.0, 1.0)
    _: KW_ONLY
    rotate: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rounding: float = 0.0

    def __post_init__(self) -> None:
        self.check_options()
        self._check_flag("inside")
        self._check_vectors("center", "rotate")
        self._set("size", positive_triple(self.size, "a box's size", "m"))
        self._check_rounding(self.rounding, 0.5 * min(self.size))
        self._set_frame(self.center, rotation_matrix(self.rotate).T)

    def distances(self, points: NDArray[np.float64]) -> _Distances:
        """Return signed distances and normals, exact everywhere; inside the normal is that of the nearest face."""
        points = np.ascontiguousarray(self._points(points))
        gaps, normals = np.empty(len(points)), np.empty((len(points), 3))
        half = 0.5 * np.asarray(self.size)
        shape_kernels.box_distances(
            points, self.origin, self.axes, half, float(self.rounding), self._sign,
            gaps, normals,
        )  # fmt: skip
        return gaps, normals

    def local_triangles(self) -> TriangleArrays:
        """Return points [m] and triangles around the origin, along the shape's own axes."""
        return box_triangles(0.5 * np.asarray(self.size), self.rounding)


@dataclass(frozen=True)
class Cylinder(_FramedShape):
    """A cylinder with flat ends, or with `inside` a drum that keeps bodies in.

    Attributes:
        center: Centre [m].
        axis: Direction of its axis.
        radius: Radius [m].
        height: Length along the axis [m].
        rounding: Radius of the edges at its ends [m]; the lengths stay.
    """

    kind = "cylinder"
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    _: KW_ONLY
    axis: tuple[float, float, float] = (0.0, 1.0, 0.0)
    radius: float = 0.5
    height: float = 1.0
    rounding: float = 0.0

    def __post_init__(self) -> None:
        self.check_options()
        self._check_flag("inside")
        self._check_lengths("radius", "height")
        self._check_rounding(self.rounding, min(self.radius, 0.5 * self.height))
        self._check_vectors("center")
        self._set_frame(self.center, axis_frame(self._check_direction("axis")))

    def distances(self, points: NDArray[np.float64]) -> _Distances:
        """Return signed distances and normals, exact everywhere."""
        points = np.ascontiguousarray(self._points(points))
        gaps, normals = np.empty(len(points)), np.empty((len(points), 3))
        shape_kernels.cylinder_distances(
            points, self.origin, self.axes, float(self.radius), 0.5 * self.height,
            float(self.rounding), self._sign, gaps, normals,
        )  # fmt: skip
        return gaps, normals

    def local_triangles(self) -> TriangleArrays:
        """Return points [m] and triangles around the origin, along the shape's own axes."""
        tilt = np.linspace(0.0, np.pi / 2, 7) if self.rounding > 0.0 else np.zeros(1)
        half, r = 0.5 * self.height, self.rounding
        top = np.column_stack([self.radius - r + r * np.cos(tilt), half - r + r * np.sin(tilt)])
        return revolved_triangles(np.concatenate([(top * [1.0, -1.0])[::-1], top]))


@dataclass(frozen=True)
class Capsule(_FramedShape):
    """All points within `radius` [m] of the segment from `start` to `end` [m]."""

    kind = "capsule"
    start: tuple[float, float, float] = (0.0, -0.5, 0.0)
    end: tuple[float, float, float] = (0.0, 0.5, 0.0)
    radius: float = 0.25
    half_length: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.check_options()
        self._check_flag("inside")
        self._check_lengths("radius")
        self._check_vectors("start", "end")
        segment = np.subtract(self.end, self.start)
        length = float(np.linalg.norm(segment))
        if length == 0.0:
            raise InputError("a capsule needs two different ends; take a sphere for a ball")
        self._set_frame(0.5 * np.add(self.start, self.end), axis_frame(segment / length))
        self._set("half_length", 0.5 * length)

    def distances(self, points: NDArray[np.float64]) -> _Distances:
        """Return signed distances and normals, exact everywhere."""
        points = np.ascontiguousarray(self._points(points))
        gaps, normals = np.empty(len(points)), np.empty((len(points), 3))
        shape_kernels.capsule_distances(
            points, self.origin, self.axes, float(self.radius), self.half_length, self._sign,
            gaps, normals,
        )  # fmt: skip
        return gaps, normals

    def local_triangles(self) -> TriangleArrays:
        """Return points [m] and triangles around the origin, along the shape's own axes."""
        tilt = np.linspace(0.0, np.pi / 2, 17)[:-1]
        top = np.column_stack([self.radius * np.cos(tilt), self.half_length + self.radius * np.sin(tilt)])
        points, triangles = revolved_triangles(np.concatenate([(top * [1.0, -1.0])[::-1], top]))
        points = points.copy()
        points[-2:, 2] = [-self.half_length - self.radius, self.half_length + self.radius]
        return points, triangles
