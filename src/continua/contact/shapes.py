"""Shapes that bodies can touch, at rest or on a prescribed motion: planes, spheres and gears."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.contact.options import check_constant
from continua.errors import InputError
from continua.motion import Motion
from continua.surroundings import as_vector
from continua.values import isfinite

__all__ = ["Gear", "Plane", "Pose", "Shape", "Sphere"]

_CORNERS = np.vstack([np.zeros(3), np.eye(3)])


class Pose(NamedTuple):
    """Where a moving shape is: x = turn @ rest + shift."""

    turn: NDArray[np.float64]
    shift: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What all shapes share.

    Attributes:
        friction: Coulomb's coefficient; None takes the world's, see `Contact`.
        restitution: Part of the normal speed that a hit gives back; None takes the world's.
        name: Name by which pairs of `Contact` know the shape.
        motion: How the shape moves, as a rigid body; None leaves it where it is.
    """

    kind: ClassVar[str]
    friction: float | None = None
    restitution: float | None = None
    name: str = ""
    motion: Motion | None = None

    def _check(self) -> None:
        if self.motion is not None and not isinstance(self.motion, Motion):
            raise InputError(f"a {self.kind}'s motion must be a Motion, not {type(self.motion).__name__}")
        check_constant(self.friction, f"a {self.kind}'s friction")
        check_constant(self.restitution, f"a {self.kind}'s restitution", 1.0)

    def pose(self, time: float) -> Pose | None:
        """Return where the shape is at `time` [s], or None if it never moves."""
        if self.motion is None:
            return None
        corners = self.motion.at(time, _CORNERS)
        turn = (corners[1:] - corners[0]).T
        if not np.allclose(turn.T @ turn, np.eye(3), atol=1e-6):
            raise InputError(
                f"the motion of a {self.kind} must keep its shape; at t = {time:g} s it does not"
            )
        return Pose(turn, corners[0])

    def meet(
        self, points: NDArray[np.float64], time: float, dt: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return distances and normals of points [n, 3] at `time` [s], and the shape's velocity there [m/s], [n, 3].

        The velocity is the mean one over the next `dt` [s]; with 0 the shape is taken to rest.
        """
        now = self.pose(time)
        if now is None:
            return *self.distances(points), np.zeros_like(points)
        local = (points - now.shift) @ now.turn
        gaps, normals = self.distances(local)
        velocities = np.zeros_like(points)
        then = self.pose(time + dt)
        if then is not None and dt > 0.0:
            velocities = (local @ then.turn.T + then.shift - points) / dt
        return gaps, normals @ now.turn.T, velocities

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances [n] (negative inside) and unit normals [n, 3] away from the shape at rest."""
        raise TypeError(f"{type(self).__name__} has no distance")

    def description(self) -> Mapping[str, object]:
        """Return the shape at rest as plain data, for drawing."""
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


@dataclass(frozen=True)
class Gear(Shape):
    """A toothed wheel: teeth with rounded flanks around a disc.

    Attributes:
        center: Centre [m].
        axis: Direction of the axle.
        radius: Mean radius [m].
        width: Length along the axle [m].
        teeth: Number of teeth.
        depth: Height of a tooth from foot to tip [m].
    """

    kind = "gear"
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    radius: float = 1.0
    width: float = 1.0
    teeth: int = 12
    depth: float = 0.2

    def __post_init__(self) -> None:
        self._check()
        as_vector(self.center, "a gear's center")
        axis = as_vector(self.axis, "a gear's axis")
        length = float(np.linalg.norm(axis))
        if length == 0.0:
            raise InputError("a gear's axis must not be zero")
        object.__setattr__(self, "center", tuple(float(c) for c in self.center))
        object.__setattr__(self, "axis", tuple((axis / length).tolist()))
        for key in ("radius", "width", "depth"):
            value = getattr(self, key)
            if not (isfinite(value) and value > 0.0):
                raise InputError(f"a gear's {key} must be greater than 0 m, not {value}")
        if not (isfinite(self.teeth) and self.teeth >= 3):
            raise InputError(f"a gear needs at least 3 teeth, not {self.teeth}")
        if self.depth >= self.radius:
            raise InputError(f"a gear's teeth must be less deep than its radius {self.radius:g} m")

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return distances, near the surface exact to second order, and normals of the flanks and the sides."""
        frame = self._frame()
        x, y, z = ((points - np.asarray(self.center)) @ frame).T
        rho = np.maximum(np.hypot(x, y), 1e-9 * self.radius)
        profile, slope = self._profile(np.arctan2(y, x))
        tilt = slope / rho
        scale = 1.0 / np.sqrt(1.0 + tilt * tilt)
        rim = (rho - profile) * scale
        flank = np.stack([x + tilt * y, y - tilt * x, np.zeros_like(x)], axis=1) * (scale / rho)[:, None]
        side = np.abs(z) - 0.5 * self.width
        flat = np.zeros_like(flank)
        flat[:, 2] = np.where(z < 0.0, -1.0, 1.0)
        normals = np.where((side > rim)[:, None], flat, flank)
        return np.maximum(rim, side), normals @ frame.T

    def description(self) -> Mapping[str, object]:
        """Return the gear as a mesh of triangles."""
        around = 24 * self.teeth
        angle = 2.0 * np.pi * np.arange(around) / around
        profile, _ = self._profile(angle)
        ring = np.stack([profile * np.cos(angle), profile * np.sin(angle)], axis=1)
        half = 0.5 * self.width
        local = np.concatenate(
            [np.column_stack([ring, np.full(around, h)]) for h in (-half, half)]
            + [np.array([[0.0, 0.0, -half], [0.0, 0.0, half]])]
        )
        i = np.arange(around)
        j = (i + 1) % around
        parts = [(i, j, j + around), (i, j + around, i + around)]
        parts += [
            (j, i, np.full(around, 2 * around)),
            (i + around, j + around, np.full(around, 2 * around + 1)),
        ]
        triangles = np.concatenate([np.stack(part, axis=1) for part in parts]).astype(np.int32)
        points = local @ self._frame().T + np.asarray(self.center)
        return {"kind": "mesh", "points": points, "triangles": triangles}

    def _frame(self) -> NDArray[np.float64]:
        """Return two directions across the axle and the axle, as columns."""
        axis = np.asarray(self.axis)
        helper = np.eye(3)[np.abs(axis).argmin()]
        first = np.cross(helper, axis)
        first /= np.linalg.norm(first)
        return np.stack([first, np.cross(axis, first), axis], axis=1)

    def _profile(self, angle: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the radius [m] at an angle and how it changes [m/rad]."""
        steep = 2.0
        wave, change = np.sin(self.teeth * angle), self.teeth * np.cos(self.teeth * angle)
        tooth = np.tanh(steep * wave) / np.tanh(steep)
        slope = steep * (1.0 - np.tanh(steep * wave) ** 2) / np.tanh(steep) * change
        return self.radius + 0.5 * self.depth * tooth, 0.5 * self.depth * slope
