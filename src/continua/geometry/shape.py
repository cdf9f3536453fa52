"""The shape of a collider or a rigid body: a signed distance, at rest or on a prescribed rigid motion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.geometry.surface_coefficients import check_coefficient
from continua.motion import Motion
from continua.short_repr import tuple_repr
from continua.validation import flag, instance_of, name, number, rows3, triple, unit_vector

__all__ = ["Pose", "Shape", "refuse_deforming"]

_IDENTITY = np.eye(3)
_CORNERS = np.vstack([np.zeros(3), _IDENTITY])


class Pose(NamedTuple):
    """Pose of a moving shape: x = rotation @ rest + translation."""

    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]

    def __repr__(self) -> str:
        return tuple_repr(self)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Base class of all shapes.

    Attributes:
        deforms: Whether the shape itself changes with time; it then has no pose, see `AnimatedMeshShape`.
        friction: Coulomb's friction coefficient; None uses the world's, see `Contact`.
        restitution: Coefficient of restitution; None uses the world's.
        slip: Slip length of particle fluids [m], see `continua.Fluid`; None uses the fluid's `wall_slip`.
        contact_angle: Contact angle of particle fluids with surface tension [deg]; None uses the fluid's.
        name: Name by which the pairs of `Contact` refer to the shape.
        motion: Prescribed rigid motion; None keeps the shape at rest.
    """

    kind: ClassVar[str]
    deforms: ClassVar[bool] = False
    friction: float | None = None
    restitution: float | None = None
    slip: float | None = None
    contact_angle: float | None = None
    name: str = ""
    motion: Motion | None = None

    def check_options(self) -> None:
        """Raise InputError if friction, restitution, slip, contact angle, name or motion are not valid."""
        if self.motion is not None:
            instance_of(self.motion, Motion, f"a {self.kind}'s motion")
        self._set("name", name(self.name, f"a {self.kind}'s name"))
        self._set("friction", check_coefficient(self.friction, f"a {self.kind}'s friction"))
        self._set("restitution", check_coefficient(self.restitution, f"a {self.kind}'s restitution", 1.0))
        if self.slip is not None:
            what = f"a {self.kind}'s slip"
            self._set("slip", number(self.slip, what, low=0.0, unit="m", infinite=True))
        if self.contact_angle is not None:
            what = f"a {self.kind}'s contact_angle"
            self._set("contact_angle", number(self.contact_angle, what, low=0.0, high=180.0, unit="degrees"))

    def _set(self, key: str, value: object) -> None:
        """Set an attribute while the shape is made."""
        object.__setattr__(self, key, value)

    def _check_flag(self, key: str) -> None:
        self._set(key, flag(getattr(self, key), f"a {self.kind}'s '{key}'"))

    def _check_lengths(self, *keys: str) -> None:
        for key in keys:
            self._set(key, number(getattr(self, key), f"a {self.kind}'s {key}", above=0.0, unit="m"))

    def _check_vectors(self, *keys: str) -> None:
        for key in keys:
            self._set(key, triple(getattr(self, key), f"a {self.kind}'s {key}"))

    def _check_direction(self, key: str) -> NDArray[np.float64]:
        """Make a direction a unit vector, and return it."""
        direction = unit_vector(getattr(self, key), f"a {self.kind}'s {key}")
        self._set(key, tuple(direction.tolist()))
        return direction

    def _points(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return points at which a distance is asked for, shape [n, 3]."""
        return rows3(points, f"the points at which a {self.kind}'s distance is asked for")

    def pose(self, time: float) -> Pose | None:
        """Return the pose at `time` [s], or None if the shape never moves."""
        time = number(time, "the time of a pose")
        if self.motion is None:
            return None
        corners = self.motion.at(time, _CORNERS)
        rotation = (corners[1:] - corners[0]).T
        if not (np.abs(rotation.T @ rotation - _IDENTITY) <= 1e-5).all():
            raise InputError(
                f"the motion of a {self.kind} must be rigid; at t = {time:g} s it deforms the shape"
            )
        return Pose(rotation, corners[0])

    def distances_at(
        self, points: NDArray[np.float64], time: float, dt: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return distances and normals at points [n, 3] at `time` [s], and the shape's velocity there [m/s], [n, 3].

        The velocity is the mean over the next `dt` [s]; it is zero if `dt` is 0.
        """
        points, dt = self._points(points), number(dt, "dt", low=0.0)
        now = self.pose(time)
        if now is None:
            return *self.distances(points), np.zeros_like(points)
        local = (points - now.translation) @ now.rotation
        gaps, normals = self.distances(local)
        velocities = np.zeros_like(points)
        then = self.pose(time + dt)
        if then is not None and dt > 0.0:
            velocities = (local @ then.rotation.T + then.translation - points) / dt
        return gaps, normals @ now.rotation.T, velocities

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances [n] (negative inside) and unit normals [n, 3] away from the shape at rest."""
        raise InputError(f"a {type(self).__name__} has no distance")

    def description(self) -> Mapping[str, object]:
        """Return the shape at rest as plain data, for drawing."""
        raise InputError(f"a {type(self).__name__} has no description")

    def drawn_at(self, time: float) -> Mapping[str, object]:
        """Return what changes in the description at `time` [s]: the pose of a shape that moves."""
        pose = self.pose(time)
        return {} if pose is None else {"pose": np.column_stack([pose.rotation, pose.translation]).tolist()}


def refuse_deforming(shapes: Iterable[Shape], who: str) -> None:
    """Raise InputError if one of the shapes deforms; `who` can touch rigid ones only."""
    for shape in shapes:
        if shape.deforms:
            label = f"'{shape.name}'" if shape.name else f"the {shape.kind}"
            raise InputError(
                f"{who} cannot touch a collider that deforms, such as {label}; use a collider that moves as a whole, "
                "or remove one of the two"
            )
