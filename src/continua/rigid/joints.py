"""Joints between rigid bodies, or between a rigid body and the world."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi
from typing import ClassVar

import numpy as np

from continua.errors import InputError
from continua.rigid.body import RigidBody, RigidInstances
from continua.rigid.joint_kernels import (
    ACROSS,
    ANGLE_HIGH,
    ANGLE_LOW,
    ANGULAR_MOTOR,
    LINEAR_MOTOR,
    POINT,
    ROTATION,
    TILT,
    TRANSLATION_HIGH,
    TRANSLATION_LOW,
)
from continua.validation import (
    flag,
    instance_of,
    number,
    numbers,
    shortened,
    unit_vector,
    vector3,
    whole_number,
)

__all__ = ["Ball", "Fixed", "Hinge", "Joint", "Motor", "Slider"]

End = RigidInstances | tuple[RigidInstances, int]
_Vector = tuple[float, float, float]


@dataclass(eq=False)
class Joint:
    """Base class of all joints.

    Attributes:
        a: A rigid body, or rigid instances and the number of one of them.
        b: The other body; None is the world.
        collide: Whether the two can touch each other.
    """

    rows: ClassVar[tuple[tuple[int, int], ...]] = ()  # kinds of rows and their components
    a: End
    b: End | None = None
    collide: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for end in (self.a, self.b):
            body, instance = resolve_end(end)
            if body is not None and not (isinstance(body, RigidInstances) and 0 <= instance < body.count):
                raise InputError(
                    f"a {type(self).__name__} joins rigid bodies, or (instances, number), not {shortened(end)}"
                )
        if resolve_end(self.a)[0] is None:
            raise InputError(f"a {type(self).__name__} needs a rigid body as 'a'; only 'b' may be the world")
        if resolve_end(self.a) == resolve_end(self.b):
            raise InputError(f"a {type(self).__name__} cannot join a rigid body to itself")
        flag(self.collide, f"'collide' of a {type(self).__name__}")
        self.anchor, self.direction, self.all_rows()

    @property
    def anchor(self) -> np.ndarray:
        """Position of the joint at the start [m], shape [3]."""
        point = getattr(self, "point", None)
        if point is not None:
            return vector3(point, f"the point of a {type(self).__name__}")
        body, instance = resolve_end(self.a)
        assert body is not None
        return body.rest_centers[instance].copy()

    @property
    def direction(self) -> np.ndarray:
        """Its axis at the start, a unit vector."""
        return unit_vector(getattr(self, "axis", (0.0, 0.0, 1.0)), f"the axis of a {type(self).__name__}")

    def all_rows(self) -> list[tuple[int, int, float]]:
        """Return kind, component and target (a limit) of every row."""
        return [(kind, component, 0.0) for kind, component in self.rows]


@dataclass(eq=False)
class Ball(Joint):
    """Holds a point of one body at a point of the other; rotations are free.

    Attributes:
        point: Position of the joint at the start [m].
    """

    rows = ((POINT, 0), (POINT, 1), (POINT, 2))
    point: _Vector = (0.0, 0.0, 0.0)


@dataclass(eq=False)
class Hinge(Joint):
    """Lets one body rotate about an axis of the other.

    Attributes:
        point: A point of the axis at the start [m].
        axis: Direction of the axis at the start.
        limits: Smallest and largest angle of `a` against `b` from the start [rad], by the right-hand rule; or None.
    """

    rows = ((POINT, 0), (POINT, 1), (POINT, 2), (TILT, 0), (TILT, 1))
    point: _Vector = (0.0, 0.0, 0.0)
    axis: _Vector = (0.0, 0.0, 1.0)
    limits: tuple[float, float] | None = None

    def all_rows(self) -> list[tuple[int, int, float]]:
        """Return kind, component and target of every row."""
        return super().all_rows() + _limits(self.limits, "Hinge", (ANGLE_LOW, ANGLE_HIGH), pi)


@dataclass(eq=False)
class Slider(Joint):
    """Lets one body slide along an axis of the other, without rotation.

    Attributes:
        point: A point of the axis at the start [m]; None is the centre of mass of `a`.
        axis: Direction of the axis at the start.
        limits: Smallest and largest displacement of `a` against `b` from the start [m]; or None.
    """

    rows = ((ACROSS, 0), (ACROSS, 1), (ROTATION, 0), (ROTATION, 1), (ROTATION, 2))
    point: _Vector | None = None
    axis: _Vector = (1.0, 0.0, 0.0)
    limits: tuple[float, float] | None = None

    def all_rows(self) -> list[tuple[int, int, float]]:
        """Return kind, component and target of every row."""
        return super().all_rows() + _limits(
            self.limits, "Slider", (TRANSLATION_LOW, TRANSLATION_HIGH), np.inf
        )


@dataclass(eq=False)
class Fixed(Joint):
    """Fixes one body to the other.

    Attributes:
        point: Position of the joint [m]; None is the centre of mass of `a`.
    """

    rows = ((POINT, 0), (POINT, 1), (POINT, 2), (ROTATION, 0), (ROTATION, 1), (ROTATION, 2))
    point: _Vector | None = None


class Motor:
    """Drives a hinge or a slider at a speed, with limited force.

    Args:
        joint: The hinge or slider; it must be among the world's joints as well.
        speed: Speed of `a` against `b` [rad/s or m/s]; set it at any time.
        strength: Largest torque [N m] or force [N].
    """

    def __init__(self, joint: Hinge | Slider, speed: float, strength: float) -> None:
        self.joint: Hinge | Slider = instance_of(joint, (Hinge, Slider), "what a Motor drives")
        self.speed = speed
        self.strength = strength
        self.kind = ANGULAR_MOTOR if isinstance(joint, Hinge) else LINEAR_MOTOR

    @property
    def speed(self) -> float:
        """Speed of `a` against `b` [rad/s or m/s]; set it at any time."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        self._speed = number(value, "the speed of a Motor")

    @property
    def strength(self) -> float:
        """Largest torque [N m] or force [N]; set it at any time."""
        return self._strength

    @strength.setter
    def strength(self, value: float) -> None:
        self._strength = number(value, "the strength of a Motor", above=0.0)


def resolve_end(end: End | None) -> tuple[RigidInstances | None, int]:
    """Return the rigid instances and the number of the instance that a joint's end names."""
    if end is None:
        return None, 0
    if isinstance(end, tuple) and len(end) == 2:
        return end[0], whole_number(end[1], "the number of an instance that is joined", low=0)
    if isinstance(end, RigidInstances) and not isinstance(end, RigidBody) and end.count > 1:
        raise InputError(
            f"a joint to the rigid instances '{end.name}' must say which instance: (instances, number)"
        )
    return end, 0


def _limits(
    limits: tuple[float, float] | None, what: str, kinds: tuple[int, int], most: float
) -> list[tuple[int, int, float]]:
    if limits is None:
        return []
    given = numbers(limits)
    low, high = (np.nan, np.nan) if given is None or given.shape != (2,) else given.tolist()
    if not (-most <= low <= high <= most):
        reach = "" if most == np.inf else " within half a turn"
        raise InputError(
            f"the limits of a {what} must be two numbers, the least first{reach}, not {shortened(limits)}"
        )
    return [(kinds[0], 0, low), (kinds[1], 0, high)]
