"""Emitters and drains: where fluid enters and leaves while a simulation runs."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from math import inf, pi

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.validation import check_memory, number, rows3, unit_vector, vector3, whole_number

__all__ = ["Drain", "Emitter"]


@dataclass(frozen=True)
class Emitter:
    """A round nozzle that emits fluid at a constant speed: its area times the speed, whatever the particles.

    The opening must be at least as wide as a particle.

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

    def check_particles(self, diameter: float) -> None:
        """Raise InputError if particles of a diameter [m] are wider than the opening."""
        diameter = _diameter(diameter)
        if 2.0 * self.radius < diameter * (1.0 - 1e-9):
            raise InputError(
                f"an emitter of radius {self.radius:g} m is narrower than a particle of radius {0.5 * diameter:g} m; "
                f"use a particle_radius of at most {self.radius:g} m"
            )

    def layer(self, diameter: float) -> NDArray[np.float64]:
        """Return one layer of particles in the opening [m], shape [k, 3]: a square lattice that covers its area."""
        diameter = _diameter(diameter)
        self.check_particles(diameter)
        wanted = pi * (self.radius / diameter) ** 2
        check_memory(wanted, 100, "an emitter", "particles in its opening", "use larger particles")
        axis = unit_vector(self.direction, "an emitter's direction")
        first = np.cross(np.eye(3)[np.abs(axis).argmin()], axis)
        first /= np.linalg.norm(first)
        second = np.cross(axis, first)
        u, v = _lattice_disc(wanted).T
        spacing = self.radius * np.sqrt(pi / len(u))
        return np.asarray(self.center) + spacing * (u[:, None] * first + v[:, None] * second)

    def layer_spacing(self, diameter: float) -> float:
        """Return the distance of layers [m] at which they carry the area of the opening times the speed."""
        return len(self.layer(diameter)) * _diameter(diameter) ** 3 / (pi * self.radius**2)

    def layers_due(self, time: float, diameter: float) -> int:
        """Return how many layers have left the opening up to `time` [s], each when half of its fluid has."""
        spacing = self.layer_spacing(diameter)
        open_for = min(number(time, "the time of an emitter"), self.stop) - self.start
        return max(int(np.floor(open_for * self.speed / spacing + 0.5 + 1e-6)), 0)

    def layer_age(self, index: int, time: float, diameter: float) -> float:
        """Return for how long layer `index` has been out of the opening at `time` [s]; negative before."""
        spacing, time = self.layer_spacing(diameter), number(time, "the time of an emitter")
        index = whole_number(index, "the number of a layer", low=0)
        return time - self.start - (index + 0.5) * spacing / self.speed

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
        min: Smallest coordinates [m].
        max: Largest coordinates [m].
    """

    min: tuple[float, float, float]
    max: tuple[float, float, float]

    def __post_init__(self) -> None:
        low, high = vector3(self.min, "a drain's min"), vector3(self.max, "a drain's max")
        if not (low < high).all():
            raise InputError("a drain's max must lie above its min along every axis")

    def contains(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which points [n, 3] are in the drain."""
        points = rows3(points, "points")
        within = (points >= np.asarray(self.min)) & (points <= np.asarray(self.max))
        return np.asarray(within.all(axis=1))


def _diameter(value: float) -> float:
    return number(value, "the diameter of particles", above=0.0, unit="m")


@lru_cache(maxsize=64)
def _lattice_disc(area: float) -> NDArray[np.float64]:
    """Return the points of a square lattice of spacing 1 in a disc around the origin, shape [k, 2].

    Of the discs around a point, a cell and an edge of the lattice the one whose number of points is nearest to `area`
    is taken; points at equal distance go together.
    """
    extent = int(np.sqrt(area / pi)) + 2
    steps = np.arange(-extent, extent + 1.0)
    best: tuple[float, NDArray[np.float64]] | None = None
    for offset in ((0.0, 0.0), (0.5, 0.5), (0.5, 0.0)):
        u, v = (grid.ravel() for grid in np.meshgrid(steps + offset[0], steps + offset[1], indexing="ij"))
        squares = u * u + v * v
        levels, counts = np.unique(squares, return_counts=True)
        totals = np.cumsum(counts)
        k = int(np.abs(np.log(totals / area)).argmin())
        misfit = float(abs(np.log(totals[k] / area)))
        if best is None or misfit < best[0] - 1e-12:
            inside = squares <= levels[k]
            best = misfit, np.stack([u[inside], v[inside]], axis=1)
    assert best is not None
    return best[1]
