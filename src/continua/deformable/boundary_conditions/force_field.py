"""Body forces that vary in space and time: travelling waves and radial sources."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.pickling import check_picklable
from continua.short_repr import function_name
from continua.validation import array, number, numbers, rows3, unit_vector, vector3
from continua.validation import function as check_function

__all__ = ["ForceField"]


class ForceField:
    """A force density in space: `at(time, positions)` gives it [N/m3] at positions [m], shape [n, 3].

    Make one with `wave` or `radial`, join several with `+`, or wrap a function of (time, positions) of your own, which
    may return one vector for all positions.
    """

    def __init__(self, function: Callable) -> None:
        self._function: Callable = check_function(
            function, "a force field", "a function of (time, positions) that returns forces"
        )

    def at(self, time: float, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the force density [N/m3] at `time` [s] and positions [m], shape [n, 3]."""
        time, positions = number(time, "the time of a force field"), rows3(positions, "positions")
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is refused below
            force = self._function(time, positions)
        found = numbers(force)
        if found is not None and found.shape == (3,):
            force = np.tile(found, (len(positions), 1))
        return array(force, f"what a force field returns at t = {time:g} s", positions.shape)

    def __add__(self, other: ForceField) -> ForceField:
        """Return the sum of both fields."""
        if not isinstance(other, ForceField):
            return NotImplemented
        return ForceField(partial(_sum, self, other))

    def __repr__(self) -> str:
        return f"ForceField({function_name(self._function)})"

    def __getstate__(self) -> dict[str, object]:
        check_picklable(self._function, "a force field")
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
        length = number(length, "a wave's length", above=0.0, unit="m")
        period = number(period, "a wave's period", above=0.0, unit="s")
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
        force = number(force, "a radial field's force")
        radius = number(radius, "a radial field's radius", above=0.0, unit="m")
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
