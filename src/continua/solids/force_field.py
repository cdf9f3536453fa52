"""Forces on matter that depend on where it is and when: waves that run through, and what blows from a point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.surroundings import as_vector

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
        """Return both fields together."""
        return ForceField(lambda t, x: self.at(t, x) + other.at(t, x))

    @staticmethod
    def wave(force: ArrayLike, direction: ArrayLike, length: float, period: float) -> ForceField:
        """A wave that runs along `direction`: force sin(2 pi (x.d / length - t / period)).

        Args:
            force: Amplitude [N/m3].
            direction: Where it runs to.
            length: Wavelength [m].
            period: Time from crest to crest [s].
        """
        amplitude = as_vector(force, "a wave's force")
        way = as_vector(direction, "a wave's direction")
        if not way.any():
            raise InputError("a wave's direction must not be zero")
        way = way / np.linalg.norm(way)
        _positive(length, "a wave's length")
        _positive(period, "a wave's period")
        return ForceField(
            lambda t, x: np.outer(np.sin(2.0 * np.pi * (x @ way / length - t / period)), amplitude)
        )

    @staticmethod
    def radial(center: ArrayLike, force: float, radius: float) -> ForceField:
        """A source that pushes away from a point, or with a negative force a sink that draws in.

        It grows from nothing at the centre to `force` at the distance `radius` and dies away beyond:
        force (r/radius) exp((1 - (r/radius)^2) / 2).

        Args:
            center: The point [m].
            force: Largest force density [N/m3].
            radius: Where it is reached [m].
        """
        middle = as_vector(center, "a radial field's center")
        if not np.isfinite(force):
            raise InputError(f"a radial field's force must be a finite number, not {force}")
        _positive(radius, "a radial field's radius")

        def blow(_: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
            arms = (x - middle) / radius
            square = np.einsum("ni,ni->n", arms, arms)
            return force * np.exp(0.5 * (1.0 - square))[:, None] * arms

        return ForceField(blow)


def _positive(value: float, what: str) -> None:
    if not (np.isfinite(value) and value > 0.0):
        raise InputError(f"{what} must be a finite number greater than 0, not {value}")
