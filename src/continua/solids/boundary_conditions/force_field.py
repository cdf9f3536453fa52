"""Body forces that vary in space and time: travelling waves and radial sources."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.pickling import check_function
from continua.short_repr import function_name
from continua.validation import unit_vector, vector3

__all__ = ["ForceField"]


class ForceField:
    """A force density in space: `at(time, positions)` gives it [N/m3] at positions [m], shape [n, 3].

    Make one with `wave` or `radial`, join several with `+`, or wrap a function of (time, positions) of your own, which
    may return one vector for all positions.
    """

    def __init__(self, function: Callable) -> None:
        if not callable(function):
            raise InputError("a force field is a function of (time, positions) that returns forces")
        self._function = function

    def at(self, time: float, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the force density [N/m3] at `time` [s] and positions [m], shape [n, 3]."""
        force = np.asarray(self._function(time, positions), dtype=np.float64)
        if force.shape == (3,):
            force = np.tile(force, (len(positions), 1))
        if force.shape != positions.shape or not np.isfinite(force).all():
            raise InputError(
                f"a force field must return finite forces of shape (3,) or {positions.shape}; "
                f"at t = {time:g} s it did not"
            )
        return force

    def __add__(self, other: ForceField) -> ForceField:
        """Return the sum of both fields."""
        return ForceField(partial(_sum, self, other))

    def __repr__(self) -> str:
        return f"ForceField({function_name(self._function)})"

    def __getstate__(self) -> dict[str, object]:
        check_function(self._function, "a force field")
        return vars(self)

    @staticmethod
    def wave(force: ArrayLike, direction: ArrayLike, length: float, period: float) -> ForceField:
        """A travelling wave along `direction`: force sin(2 pi (x.d / length - t / period)).

        Args:
            force: Amplitude [N/m3].
            direction: Direction of propagation.
            length: Wavelength [m].
            period: Period [s].
        """
        amplitude = vector3(force, "a wave's force")
        unit = unit_vector(direction, "a wave's direction")
        _positive(length, "a wave's length")
        _positive(period, "a wave's period")
        return ForceField(partial(_wave, amplitude, unit, length, period))

    @staticmethod
    def radial(center: ArrayLike, force: float, radius: float) -> ForceField:
        """A source that pushes away from a point, or with a negative force a sink.

        It grows from zero at the centre to `force` at the distance `radius` and decays beyond:
        force (r/radius) exp((1 - (r/radius)^2) / 2).

        Args:
            center: The point [m].
            force: Largest force density [N/m3].
            radius: Distance of the maximum from the centre [m].
        """
        origin = vector3(center, "a radial field's center")
        if not np.isfinite(force):
            raise InputError(f"a radial field's force must be a finite number, not {force}")
        _positive(radius, "a radial field's radius")
        return ForceField(partial(_radial, origin, force, radius))


# The functions of the fields above: at the top level, so that fields can be pickled.


def _sum(one: ForceField, other: ForceField, t: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    return one.at(t, x) + other.at(t, x)


def _wave(
    amplitude: NDArray[np.float64],
    unit: NDArray[np.float64],
    length: float,
    period: float,
    t: float,
    x: NDArray[np.float64],
) -> NDArray[np.float64]:
    return np.outer(np.sin(2.0 * np.pi * (x @ unit / length - t / period)), amplitude)


def _radial(
    origin: NDArray[np.float64], force: float, radius: float, _: float, x: NDArray[np.float64]
) -> NDArray[np.float64]:
    arms = (x - origin) / radius
    square = np.einsum("ni,ni->n", arms, arms)
    return force * np.exp(0.5 * (1.0 - square))[:, None] * arms


def _positive(value: float, what: str) -> None:
    if not (np.isfinite(value) and value > 0.0):
        raise InputError(f"{what} must be a finite number greater than 0, not {value}")
