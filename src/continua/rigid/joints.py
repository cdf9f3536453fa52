"""Joints between rigid bodies, or between a rigid body and the world."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi
from typing import ClassVar

import numpy as np

from continua.errors import InputError
from continua.rigid.body import RigidBody, RigidGroup
from continua.rigid.joint_kernels import (
    ACROSS,
    ANGLE_HIGH,
    ANGLE_LOW,
    POINT,
    SLIDE,
    SPIN,
    TILT,
    TURN,
    WAY_HIGH,
    WAY_LOW,
)
from continua.surroundings import as_vector
from continua.values import isfinite

__all__ = ["Ball", "Fixed", "Hinge", "Joint", "Motor", "Slider"]

End = RigidGroup | tuple[RigidGroup, int]
_Vector = tuple[float, float, float]


@dataclass(eq=False)
class Joint:
    """What all joints share.

    Attributes:
        a: A rigid body, or a group and the number of a copy.
        b: The other one; None is the world.
        collide: Whether the two can touch each other.
    """

    rows: ClassVar[tuple[tuple[int, int], ...]]  # kinds of rows and which of their directions
    a: End
    b: End | None = None
    collide: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for end in (self.a, self.b):
            group, copy = ends_of(end)
            if group is not None and not (isinstance(group, RigidGroup) and 0 <= copy < group.count):
                raise InputError(
                    f"a {type(self).__name__} joins rigid bodies, or a group and the number of a copy, not {end!r}"
                )
        if ends_of(self.a)[0] is None:
            raise InputError(f"a {type(self).__name__} needs a rigid body as 'a'; only 'b' may be the world")
        if ends_of(self.a) == ends_of(self.b):
            raise InputError(f"a {type(self).__name__} cannot join a rigid body to itself")

    @property
    def spot(self) -> np.ndarray:
        """Where the joint is at the start [m], shape [3]."""
        point = getattr(self, "point", None)
        if point is not None:
            return as_vector(point, f"the point of a {type(self).__name__}")
        group, copy = ends_of(self.a)
        assert group is not None
        return group._rest_x[copy].copy()

    @property
    def direction(self) -> np.ndarray:
        """Its axis at the start, a unit vector."""
        axis = as_vector(getattr(self, "axis", (0.0, 0.0, 1.0)), f"the axis of a {type(self).__name__}")
        length = float(np.linalg.norm(axis))
        if length == 0.0:
            raise InputError(f"the axis of a {type(self).__name__} must not be zero")
        return axis / length

    def all_rows(self) -> list[tuple[int, int, float]]:
        """Return kind, direction and value (a limit) of every row."""
        return [(kind, part, 0.0) for kind, part in self.rows]


@dataclass(eq=False)
class Ball(Joint):
    """Holds a point of one body at a point of the other; all turns are free.

    Attributes:
        point: Where it is at the start [m].
    """

    rows = ((POINT, 0), (POINT, 1), (POINT, 2))
    point: _Vector = (0.0, 0.0, 0.0)


@dataclass(eq=False)
class Hinge(Joint):
    """Lets one body turn about an axis of the other.

    Attributes:
        point: A point of the axis at the start [m].
        axis: Direction of the axis at the start.
        limits: Least and largest angle of `a` against `b` from the start [rad], by the right-hand rule; or None.
    """

    rows = ((POINT, 0), (POINT, 1), (POINT, 2), (TILT, 0), (TILT, 1))
    point: _Vector = (0.0, 0.0, 0.0)
    axis: _Vector = (0.0, 0.0, 1.0)
    limits: tuple[float, float] | None = None

    def all_rows(self) -> list[tuple[int, int, float]]:
        """Return kind, direction and value of every row."""
        return super().all_rows() + _limits(self.limits, "Hinge", (ANGLE_LOW, ANGLE_HIGH), pi)


@dataclass(eq=False)
class Slider(Joint):
    """Lets one body slide along an axis of the other, without turning.

    Attributes:
        point: A point of the axis at the start [m]; None takes the centre of `a`.
        axis: Direction of the axis at the start.
        limits: Least and largest way of `a` against `b` from the start [m]; or None.
    """

    rows = ((ACROSS, 0), (ACROSS, 1), (TURN, 0), (TURN, 1), (TURN, 2))
    point: _Vector | None = None
    axis: _Vector = (1.0, 0.0, 0.0)
    limits: tuple[float, float] | None = None

    def all_rows(self) -> list[tuple[int, int, float]]:
        """Return kind, direction and value of every row."""
        return super().all_rows() + _limits(self.limits, "Slider", (WAY_LOW, WAY_HIGH), np.inf)


@dataclass(eq=False)
class Fixed(Joint):
    """Holds one body to the other as if they were one.

    Attributes:
        point: Where they are held [m]; None takes the centre of `a`.
    """

    rows = ((POINT, 0), (POINT, 1), (POINT, 2), (TURN, 0), (TURN, 1), (TURN, 2))
    point: _Vector | None = None


class Motor:
    """Drives a hinge or a slider with a speed, as far as its strength goes.

    Args:
        joint: The hinge or slider; it must be among the world's joints as well.
        speed: Speed of `a` against `b` [rad/s or m/s]; set it at any time.
        strength: Largest torque [N m] or force [N].
    """

    def __init__(self, joint: Hinge | Slider, speed: float, strength: float) -> None:
        if not isinstance(joint, (Hinge, Slider)):
            raise InputError(f"a Motor drives a Hinge or a Slider, not a {type(joint).__name__}")
        if not isfinite(speed):
            raise InputError(f"the speed of a Motor must be a finite number, not {speed}")
        if not (isfinite(strength) and strength > 0.0):
            raise InputError(
                f"the strength of a Motor must be a finite number greater than 0, not {strength}"
            )
        self.joint = joint
        self.speed = float(speed)
        self.strength = float(strength)
        self.kind = SPIN if isinstance(joint, Hinge) else SLIDE


def ends_of(end: End | None) -> tuple[RigidGroup | None, int]:
    """Return the group and the number of the copy that a joint's end names."""
    if end is None:
        return None, 0
    if isinstance(end, tuple) and len(end) == 2:
        return end[0], int(end[1])
    if isinstance(end, RigidGroup) and not isinstance(end, RigidBody) and end.count > 1:
        raise InputError(f"a joint to the group '{end.name}' must say which copy: (group, number)")
    return end, 0


def _limits(
    limits: tuple[float, float] | None, what: str, kinds: tuple[int, int], most: float
) -> list[tuple[int, int, float]]:
    if limits is None:
        return []
    low, high = (float(value) for value in limits)
    if not (-most <= low <= high <= most):
        reach = "" if most == np.inf else " within half a turn"
        raise InputError(f"the limits of a {what} must be two numbers, the least first{reach}, not {limits}")
    return [(kinds[0], 0, low), (kinds[1], 0, high)]
