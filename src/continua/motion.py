"""Prescribed motions of driven nodes, as functions of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.numerics.rotations import axis_angle_matrix, rotation_matrix
from continua.pickling import check_picklable
from continua.short_repr import function_name
from continua.validation import array, number, rows3, shortened, unit_vector, vector3
from continua.validation import function as check_function

__all__ = ["Motion"]

Path = Callable[[float, NDArray[np.float64]], NDArray[np.float64]]


class Motion:
    """A motion of points: `at(time, rest_positions)` returns their positions [m].

    Create one with `translate`, `rotate` or `keyframes`, combine several with `+`, or wrap a custom function.
    """

    def __init__(self, function: Path) -> None:
        self._function: Path = check_function(
            function, "a motion", "a function of (time, rest_positions) that returns positions"
        )

    def at(self, time: float, rest: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions [m] at `time` [s] of points that are at `rest` in the undeformed body."""
        time, rest = number(time, "the time of a motion"), rows3(rest, "the rest positions of a motion")
        return array(self._function(time, rest), f"what a motion returns at t = {time:g} s", rest.shape)

    def __add__(self, other: Motion) -> Motion:
        """Return the sum of both motions: displacements from rest are added."""
        if not isinstance(other, Motion):
            return NotImplemented
        return Motion(partial(_sum, self, other))

    def __repr__(self) -> str:
        return f"Motion({function_name(self._function)})"

    def __getstate__(self) -> dict[str, object]:
        check_picklable(self._function, "a motion")
        return vars(self)

    @staticmethod
    def translate(velocity: ArrayLike, *, until: float = inf) -> Motion:
        """Move with constant velocity [m/s], and stop at time `until` [s]."""
        v = vector3(velocity, "a motion's velocity")
        until = number(until, "the end of a motion", infinite=True)
        return Motion(partial(_translated, v, until))

    @staticmethod
    def rotate(axis: ArrayLike, point: ArrayLike, rate: float, *, until: float = inf) -> Motion:
        """Rotate about the line through `point` along `axis` with `rate` [rad/s], and stop at time `until` [s]."""
        a = unit_vector(axis, "a motion's axis")
        p = vector3(point, "a motion's point")
        rate = number(rate, "a motion's rate")
        until = number(until, "the end of a motion", infinite=True)
        return Motion(partial(_rotated, a, p, rate, until))

    @staticmethod
    def keyframes(
        times: Sequence[float],
        offsets: ArrayLike | None = None,
        *,
        rotations: ArrayLike | None = None,
        point: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Motion:
        """Rotate about a point and move by offsets; linear between the keys, constant before and after.

        Args:
            times: Increasing times of the keys [s], shape [k].
            offsets: Displacement at each key [m], shape [k, 3]; zero by default.
            rotations: Rotation vector (axis times angle [rad]) at each key, shape [k, 3]; none by default. The vectors
                are interpolated, so that keys along one axis turn at a constant rate, several turns included.
            point: The point of the undeformed body about which it rotates [m]; the offsets move it.
        """
        keys = array(times, "the times of keyframes", (None,), empty=False)
        if not (np.diff(keys) > 0).all():
            raise InputError(f"the times of keyframes must increase, which {shortened(times)} do not")
        if offsets is None and rotations is None:
            raise InputError("keyframes need offsets, rotations or both")
        shape = (len(keys), 3)
        moved = np.zeros(shape) if offsets is None else array(offsets, "the offsets of keyframes", shape)
        if rotations is None:
            return Motion(partial(_keyed, keys, moved))
        turned = array(rotations, "the rotations of keyframes", shape)
        return Motion(partial(_keyed_pose, keys, moved, turned, vector3(point, "the point of keyframes")))


# The functions of the motions above: at the top level, so that motions can be pickled.


def _sum(one: Motion, other: Motion, t: float, rest: NDArray[np.float64]) -> NDArray[np.float64]:
    return one.at(t, rest) + other.at(t, rest) - rest


def _translated(
    velocity: NDArray[np.float64], until: float, t: float, rest: NDArray[np.float64]
) -> NDArray[np.float64]:
    return rest + velocity * min(t, until)


def _rotated(
    axis: NDArray[np.float64],
    point: NDArray[np.float64],
    rate: float,
    until: float,
    t: float,
    rest: NDArray[np.float64],
) -> NDArray[np.float64]:
    return point + (rest - point) @ axis_angle_matrix(axis, rate * min(t, until)).T


def _interpolated(times: NDArray[np.float64], keys: NDArray[np.float64], t: float) -> NDArray[np.float64]:
    return np.array([np.interp(t, times, keys[:, c]) for c in range(3)])


def _keyed(
    times: NDArray[np.float64], offsets: NDArray[np.float64], t: float, rest: NDArray[np.float64]
) -> NDArray[np.float64]:
    return rest + _interpolated(times, offsets, t)


def _keyed_pose(
    times: NDArray[np.float64],
    offsets: NDArray[np.float64],
    rotations: NDArray[np.float64],
    point: NDArray[np.float64],
    t: float,
    rest: NDArray[np.float64],
) -> NDArray[np.float64]:
    turn = rotation_matrix(_interpolated(times, rotations, t))
    return point + (rest - point) @ turn.T + _interpolated(times, offsets, t)
