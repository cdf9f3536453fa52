"""Boxes, cylinders and capsules, with sharp or rounded edges, solid or hollow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.contact import shape_kernels
from continua.contact.outlines import axis_frame, box_outline, revolved
from continua.contact.shapes import Shape
from continua.errors import InputError
from continua.mesh.transform import rotation_matrix
from continua.surroundings import as_vector
from continua.values import isfinite

__all__ = ["Box", "Capsule", "Cylinder"]

_Distances = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class _Framed(Shape):
    """A shape with a centre and axes of its own."""

    inside: bool = False
    _center: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _frame: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    @property
    def _sign(self) -> float:
        return -1.0 if self.inside else 1.0

    def _lengths(self, *keys: str) -> None:
        for key in keys:
            value = getattr(self, key)
            if not (isfinite(value) and value > 0.0):
                raise InputError(f"a {self.kind}'s {key} must be greater than 0 m, not {value}")

    def _rounding(self, rounding: float, most: float) -> None:
        if not (isfinite(rounding) and 0.0 <= rounding <= most):
            raise InputError(
                f"a {self.kind}'s rounding must be from 0 to {most:g} m, half of its smallest side, not {rounding}"
            )

    def _vector(self, key: str) -> None:
        value = as_vector(getattr(self, key), f"a {self.kind}'s {key}")
        object.__setattr__(self, key, tuple(value.tolist()))

    def _place(self, center: ArrayLike, frame: NDArray[np.float64]) -> None:
        """Keep the centre and the axes, as rows."""
        object.__setattr__(self, "_center", np.array(center, dtype=np.float64))
        object.__setattr__(self, "_frame", np.ascontiguousarray(frame))

    def _outline(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        raise TypeError(f"{type(self).__name__} has no outline")

    def description(self) -> Mapping[str, object]:
        """Return the shape as a mesh of triangles; those of a hollow one face inwards."""
        points, triangles = self._outline()
        placed = points @ self._frame + self._center
        if self.inside:
            triangles = np.ascontiguousarray(triangles[:, ::-1])
        return {"kind": "mesh", "points": placed, "triangles": triangles, "inside": self.inside}


@dataclass(frozen=True)
class Box(_Framed):
    """A block, or with `inside` a room that keeps bodies in.

    Attributes:
        center: Middle [m].
        size: Lengths along its own x, y and z [m].
        rotate: How it is turned about its middle: a vector along the axis whose length is the angle [rad].
        rounding: Radius of its edges and corners [m]; the lengths stay.
    """

    kind = "box"
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    size: tuple[float, float, float] = (1.0, 1.0, 1.0)
    rotate: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rounding: float = 0.0

    def __post_init__(self) -> None:
        self._check()
        for key in ("center", "size", "rotate"):
            self._vector(key)
        if not min(self.size) > 0.0:
            raise InputError(f"a box's size must be three lengths greater than 0 m, not {list(self.size)}")
        self._rounding(self.rounding, 0.5 * min(self.size))
        self._place(self.center, rotation_matrix(self.rotate).T)

    def distances(self, points: NDArray[np.float64]) -> _Distances:
        """Return signed distances and normals, exact everywhere; in the middle the nearest side's."""
        gaps, normals = np.empty(len(points)), np.empty((len(points), 3))
        half = 0.5 * np.asarray(self.size)
        shape_kernels.box_distances(
            np.ascontiguousarray(points), self._center, self._frame, half, float(self.rounding), self._sign,
            gaps, normals,
        )  # fmt: skip
        return gaps, normals

    def _outline(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        return box_outline(0.5 * np.asarray(self.size), self.rounding)


@dataclass(frozen=True)
class Cylinder(_Framed):
    """A round rod with flat ends, or with `inside` a drum that keeps bodies in.

    Attributes:
        center: Middle [m].
        axis: Direction of its axis.
        radius: Radius [m].
        height: Length along the axis [m].
        rounding: Radius of the edges at its ends [m]; the lengths stay.
    """

    kind = "cylinder"
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] = (0.0, 1.0, 0.0)
    radius: float = 0.5
    height: float = 1.0
    rounding: float = 0.0

    def __post_init__(self) -> None:
        self._check()
        self._lengths("radius", "height")
        self._rounding(self.rounding, min(self.radius, 0.5 * self.height))
        self._vector("center")
        axis = as_vector(self.axis, "a cylinder's axis")
        length = float(np.linalg.norm(axis))
        if length == 0.0:
            raise InputError("a cylinder's axis must not be zero")
        object.__setattr__(self, "axis", tuple((axis / length).tolist()))
        self._place(self.center, axis_frame(axis / length))

    def distances(self, points: NDArray[np.float64]) -> _Distances:
        """Return signed distances and normals, exact everywhere."""
        gaps, normals = np.empty(len(points)), np.empty((len(points), 3))
        shape_kernels.cylinder_distances(
            np.ascontiguousarray(points), self._center, self._frame, float(self.radius), 0.5 * self.height,
            float(self.rounding), self._sign, gaps, normals,
        )  # fmt: skip
        return gaps, normals

    def _outline(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        tilt = np.linspace(0.0, np.pi / 2, 7) if self.rounding > 0.0 else np.zeros(1)
        half, r = 0.5 * self.height, self.rounding
        top = np.column_stack([self.radius - r + r * np.cos(tilt), half - r + r * np.sin(tilt)])
        return revolved(np.concatenate([(top * [1.0, -1.0])[::-1], top]))


@dataclass(frozen=True)
class Capsule(_Framed):
    """All points within `radius` [m] of the segment from `start` to `end` [m]: a rod with round ends."""

    kind = "capsule"
    start: tuple[float, float, float] = (0.0, -0.5, 0.0)
    end: tuple[float, float, float] = (0.0, 0.5, 0.0)
    radius: float = 0.25
    _half: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check()
        self._lengths("radius")
        self._vector("start")
        self._vector("end")
        way = np.subtract(self.end, self.start)
        length = float(np.linalg.norm(way))
        if length == 0.0:
            raise InputError("a capsule needs two different ends; take a sphere for a ball")
        self._place(0.5 * np.add(self.start, self.end), axis_frame(way / length))
        object.__setattr__(self, "_half", 0.5 * length)

    def distances(self, points: NDArray[np.float64]) -> _Distances:
        """Return signed distances and normals, exact everywhere."""
        gaps, normals = np.empty(len(points)), np.empty((len(points), 3))
        shape_kernels.capsule_distances(
            np.ascontiguousarray(points), self._center, self._frame, float(self.radius), self._half, self._sign,
            gaps, normals,
        )  # fmt: skip
        return gaps, normals

    def _outline(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        tilt = np.linspace(0.0, np.pi / 2, 17)[:-1]
        top = np.column_stack([self.radius * np.cos(tilt), self._half + self.radius * np.sin(tilt)])
        points, triangles = revolved(np.concatenate([(top * [1.0, -1.0])[::-1], top]))
        points = points.copy()
        points[-2:, 2] = [-self._half - self.radius, self._half + self.radius]
        return points, triangles
