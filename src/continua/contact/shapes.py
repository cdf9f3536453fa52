"""Fixed shapes that bodies can touch: infinite planes and spheres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.surroundings import as_vector

__all__ = ["Plane", "Shape", "Sphere"]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What all shapes share.

    Attributes:
        friction: Coulomb's coefficient.
        stiffness: Pressure a depth of penetration [Pa/m]; None takes it from the touching body's own
            stiffness, so that the depth stays small against the size of its elements.
        damping: Part of the critical damping of the contact that acts while a node comes in.
    """

    kind: ClassVar[str]
    friction: float = 0.5
    stiffness: float | None = None
    damping: float = 0.2

    def _check(self) -> None:
        for key in ("friction", "stiffness", "damping"):
            value = getattr(self, key)
            if value is not None and not (isfinite(value) and value >= 0.0):
                raise InputError(f"a {self.kind}'s {key} must be a finite number of at least 0, not {value}")

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances [n] (negative inside) and unit normals [n, 3] away from the shape."""
        raise TypeError(f"{type(self).__name__} has no distance")

    def description(self) -> Mapping[str, object]:
        """Return the shape as plain data, for drawing."""
        raise TypeError(f"{type(self).__name__} has no description")


@dataclass(frozen=True)
class Plane(Shape):
    """The half-space below a plane: `normal` points to the free side."""

    kind = "plane"
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 1.0, 0.0)

    def __post_init__(self) -> None:
        self._check()
        as_vector(self.point, "a plane's point")
        normal = as_vector(self.normal, "a plane's normal")
        length = float(np.linalg.norm(normal))
        if length == 0.0:
            raise InputError("a plane's normal must not be zero")
        object.__setattr__(self, "point", tuple(float(c) for c in self.point))
        object.__setattr__(self, "normal", tuple((normal / length).tolist()))

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances and the plane's normal for every point."""
        normal = np.asarray(self.normal)
        return (points - np.asarray(self.point)) @ normal, np.broadcast_to(normal, points.shape)

    def description(self) -> Mapping[str, object]:
        """Return the plane as plain data."""
        return {"kind": "plane", "point": self.point, "normal": self.normal}


@dataclass(frozen=True)
class Sphere(Shape):
    """A solid ball, or with `inside` a hollow one that keeps bodies in."""

    kind = "sphere"
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 1.0
    inside: bool = False

    def __post_init__(self) -> None:
        self._check()
        as_vector(self.center, "a sphere's center")
        object.__setattr__(self, "center", tuple(float(c) for c in self.center))
        if not (isfinite(self.radius) and self.radius > 0.0):
            raise InputError(f"a sphere's radius must be greater than 0 m, not {self.radius}")

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances and normals; a point at the very centre gets the direction up."""
        offset = points - np.asarray(self.center)
        length = np.linalg.norm(offset, axis=1)
        safe = np.maximum(length, 1e-300)[:, None]
        normals = np.where(length[:, None] > 0.0, offset / safe, np.array([0.0, 1.0, 0.0]))
        sign = -1.0 if self.inside else 1.0
        return sign * (length - self.radius), sign * normals

    def description(self) -> Mapping[str, object]:
        """Return the sphere as plain data."""
        return {"kind": "sphere", "center": self.center, "radius": self.radius, "inside": self.inside}
