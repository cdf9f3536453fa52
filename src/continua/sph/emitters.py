"""Emitters and drains: where fluid enters and leaves while a simulation runs."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.validation import check_memory, number, rows3, unit_vector, vector3

__all__ = ["Drain", "Emitter"]


@dataclass(frozen=True)
class Emitter:
    """A round nozzle that emits fluid at a constant speed.

    Attributes:
        center: Centre of the opening [m].
        direction: Direction of the flow.
        radius: Of the opening [m].
        speed: Of the fluid [m/s].
        start: When it opens [s].
        stop: When it closes [s].
    """

    center: tuple[float, float, float]
    direction: tuple[float, float, float]
    _: KW_ONLY
    radius: float
    speed: float
    start: float = 0.0
    stop: float = inf

    def __post_init__(self) -> None:
        vector3(self.center, "an emitter's center")
        unit_vector(self.direction, "an emitter's direction")
        for key, unit in (("radius", "m"), ("speed", "m/s")):
            number(getattr(self, key), f"an emitter's {key}", above=0.0, unit=unit)
        start = number(self.start, "the start of an emitter", low=0.0, unit="s")
        if not number(self.stop, "the end of an emitter", infinite=True, unit="s") > start:
            raise InputError(f"an emitter must stop after its start at {start:g} s, not at {self.stop:g} s")

    def layer(self, diameter: float) -> NDArray[np.float64]:
        """Return one layer of particles in the opening [m], shape [k, 3]."""
        diameter = _diameter(diameter)
        check_memory(
            (2.0 * self.radius / diameter) ** 2,
            100,
            "an emitter",
            "particles in its opening",
            "use larger particles",
        )
        axis = unit_vector(self.direction, "an emitter's direction")
        first = np.cross(np.eye(3)[np.abs(axis).argmin()], axis)
        first /= np.linalg.norm(first)
        second = np.cross(axis, first)
        extent = int(self.radius / diameter) + 1
        steps = diameter * np.arange(-extent, extent + 1)
        u, v = (grid.ravel() for grid in np.meshgrid(steps, steps, indexing="ij"))
        inside = np.hypot(u, v) <= max(self.radius - 0.5 * diameter, 0.0) + 1e-9 * diameter
        u, v = u[inside], v[inside]
        return np.asarray(self.center) + u[:, None] * first + v[:, None] * second

    def layers_due(self, time: float, diameter: float) -> int:
        """Return how many layers have been emitted up to `time` [s]."""
        diameter = _diameter(diameter)
        open_for = min(number(time, "the time of an emitter"), self.stop) - self.start
        return int(np.floor(open_for * self.speed / diameter + 1e-6)) + 1 if open_for >= 0.0 else 0

    def contains(self, points: NDArray[np.float64], time: float, diameter: float) -> NDArray[np.bool_]:
        """Return which points [n, 3] are still in the nozzle at `time` [s]; their velocity is prescribed."""
        points, diameter = rows3(points, "points"), _diameter(diameter)
        if not self.start <= number(time, "the time of an emitter") < self.stop:
            return np.zeros(len(points), bool)
        axis = self.velocity() / self.speed
        with np.errstate(over="ignore", invalid="ignore"):
            offset = points - np.asarray(self.center)
            axial = offset @ axis
            radial_squared = np.einsum("ij,ij->i", offset, offset) - axial**2
            return (np.abs(axial - 0.5 * diameter) <= diameter) & (
                radial_squared <= (self.radius + 0.5 * diameter) ** 2
            )

    def velocity(self) -> NDArray[np.float64]:
        """Return the velocity of the fluid [m/s], shape [3]."""
        return self.speed * unit_vector(self.direction, "an emitter's direction")


@dataclass(frozen=True)
class Drain:
    """A box in which fluid is removed.

    Attributes:
        low: Smallest coordinates [m].
        high: Largest coordinates [m].
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]

    def __post_init__(self) -> None:
        low, high = vector3(self.low, "a drain's low corner"), vector3(self.high, "a drain's high corner")
        if not (low < high).all():
            raise InputError("a drain's high corner must lie above its low corner along every axis")

    def contains(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which points [n, 3] are in the drain."""
        points = rows3(points, "points")
        within = (points >= np.asarray(self.low)) & (points <= np.asarray(self.high))
        return np.asarray(within.all(axis=1))


def _diameter(value: float) -> float:
    return number(value, "the diameter of particles", above=0.0, unit="m")
