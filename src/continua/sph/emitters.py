"""Emitters and drains: where fluid enters and leaves while a simulation runs."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.validation import isfinite, unit_vector, vector3

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
    radius: float
    speed: float
    start: float = 0.0
    stop: float = inf

    def __post_init__(self) -> None:
        vector3(self.center, "an emitter's center")
        unit_vector(self.direction, "an emitter's direction")
        for key in ("radius", "speed"):
            value = getattr(self, key)
            if not (isfinite(value) and value > 0.0):
                raise InputError(f"an emitter's {key} must be a finite number greater than 0, not {value}")
        if not (isfinite(self.start) and self.start >= 0.0 and self.stop > self.start):
            raise InputError("an emitter must start at 0 s or later, and stop after that")

    def layer(self, diameter: float) -> NDArray[np.float64]:
        """Return one layer of particles in the opening [m], shape [k, 3]."""
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
        open_for = min(time, self.stop) - self.start
        return int(np.floor(open_for * self.speed / diameter + 1e-6)) + 1 if open_for >= 0.0 else 0

    def contains(self, points: NDArray[np.float64], time: float, diameter: float) -> NDArray[np.bool_]:
        """Return which points [n, 3] are still in the nozzle at `time` [s]; their velocity is prescribed."""
        if not self.start <= time < self.stop:
            return np.zeros(len(points), bool)
        axis = self.velocity() / self.speed
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
        within = (points >= np.asarray(self.low)) & (points <= np.asarray(self.high))
        return np.asarray(within.all(axis=1))
