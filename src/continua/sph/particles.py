"""The particles of all fluids of a world, kept sorted along a space-filling curve, with their neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from continua.short_repr import ShortRepr
from continua.sph import density_kernels, neighbour_search_kernels
from continua.sph.boundary.model import BoundarySums
from continua.sph.neighbour_search import CellGrid, NeighbourLists

__all__ = ["PARALLEL_FROM", "Particles"]

_MAX_CORRECTION = (
    0.02  # of the density, in the longest step of a fluid at rest; proportionally less in shorter ones
)
_MAX_CORRECTION_MOVING = (
    0.05  # of the density, in addition, for each diameter that the fastest particle moves in the step
)
PARALLEL_FROM = 8192  # particles; below, a pass takes less time than starting the threads
_MIN_GRADIENT = 1e-6  # of (1/radius)^2: particles with a smaller gradient have no pressure


@dataclass(repr=False)
class Particles(ShortRepr):
    """State and scratch of n particles. Vectors are four float32 per particle, the last one free for a scalar.

    Attributes:
        radius: Radius of the kernel [m].
        volume: Volume of a particle [m3].
        rest_densities: Rest density of each fluid [kg/m3].
        viscosities: Dynamic viscosity of each fluid [Pa s].
        xyzp: Positions relative to the origin [m] and, in the last lane, the pressure solver's unknown; shape [4 n].
        velocities: Velocities [m/s], the last lane 0, shape [4 n].
        fluid_index: Index of the fluid of each particle, shape [n].
        ids: Number of each particle in its fluid, shape [n].
        warm_start: Arrays [n] that pressure solvers keep from step to step, by name.
        density: Density relative to rest, shape [n].
        alpha: Inverse diagonal of the pressure system, shape [n].
        boundary: Contributions of all boundaries.
        contact_cosine: Cosine of the contact angle at the boundaries near each particle, with surface tension only.
        max_speed: Largest speed at the start of the step [m/s].
        max_dt: Longest allowed step [s].
    """

    radius: float
    volume: float
    rest_densities: NDArray[np.float64]
    viscosities: NDArray[np.float64]
    xyzp: NDArray[np.float32]
    velocities: NDArray[np.float32]
    fluid_index: NDArray[np.uint8]
    ids: NDArray[np.int32]
    warm_start: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    boundary: BoundarySums = field(default_factory=BoundarySums)
    contact_cosine: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    grid: CellGrid = field(init=False)
    neighbour_lists: NeighbourLists = field(default_factory=NeighbourLists)
    max_speed: float = 0.0
    max_dt: float = 0.0

    def __post_init__(self) -> None:
        self.grid = CellGrid(self.radius)
        self._swap = [np.zeros(0, np.float32)]
        self.resize()

    @property
    def count(self) -> int:
        """Number of particles."""
        return len(self.ids)

    @property
    def parallel(self) -> bool:
        """Whether passes run on all threads; it depends only on the number of particles."""
        return self.count >= PARALLEL_FROM

    @property
    def neighbour_arrays(self) -> tuple[NDArray, ...]:
        """The arrays of the neighbour lists, as arguments of compiled passes."""
        return (
            self.neighbour_lists.begin,
            self.neighbour_lists.end,
            self.neighbour_lists.neighbours,
            self.neighbour_lists.weights,
        )

    def resize(self) -> None:
        """Allocate scratch arrays after the number of particles changed."""
        n = self.count
        self.density, self.alpha = np.ones(n, np.float32), np.zeros(n, np.float32)
        self.accelerations, self.velocity_changes = np.zeros(4 * n, np.float32), np.zeros(4 * n, np.float32)
        self.source, self.scratch = np.zeros(n, np.float32), np.zeros(n, np.float32)
        self._swap = [np.empty(4 * n, np.float32)]
        self._set_fluid_constants()

    def _set_fluid_constants(self) -> None:
        """Set the constants of each particle from its fluid."""
        self.inverse_density = (1.0 / self.rest_densities).astype(np.float32)[self.fluid_index]
        self.viscosity = self.viscosities.astype(np.float32)[self.fluid_index]

    def sort(self) -> None:
        """Sort the particles by cell along the Z-order curve."""
        order = self.grid.sort(self.xyzp)
        for name in ("xyzp", "velocities"):
            source = getattr(self, name)
            neighbour_search_kernels.gather_rows.variant(self.parallel)(source, order, self._swap[0])
            setattr(self, name, self._swap[0])
            self._swap[0] = source
        self.ids = self.ids[order]
        self.warm_start = {name: values[order] for name, values in self.warm_start.items()}
        if len(self.rest_densities) > 1:
            self.fluid_index = self.fluid_index[order]
            self._set_fluid_constants()

    def find_neighbours(self) -> None:
        """Build the neighbour lists; particles must be sorted."""
        self.neighbour_lists.update(self.grid, self.xyzp)

    def compute_density(self) -> None:
        """Compute densities; neighbours and boundary sums must be up to date."""
        density_kernels.densities.variant(self.parallel)(
            self.xyzp, *self.neighbour_arrays, 1.0 / self.radius, self.volume, self.inverse_density,
            len(self.rest_densities) > 1,
            self.boundary.gradient, self.boundary.density, np.float32(_MIN_GRADIENT / self.radius**2),
            self.density, self.alpha,
        )  # fmt: skip

    def density_correction(self, dt: float) -> NDArray[np.float32]:
        """Return the part of each relative density that a step of `dt` [s] has to remove; negative below rest density.

        A fluid that starts too dense expands over several steps, at a rate that does not depend on their length. In one
        step it would burst with a speed that grows as the step, which must follow the speed, shrinks. Moving fluid may
        expand faster, as it must after impacts.
        """
        crossing_rate = self.max_speed / np.cbrt(self.volume)
        fraction = dt * max(1.0 / max(self.max_dt, dt), min(crossing_rate, 1.0 / dt))
        limit = _MAX_CORRECTION * dt / max(self.max_dt, dt) + _MAX_CORRECTION_MOVING * dt * crossing_rate
        return np.minimum(np.float32(fraction) * (self.density - np.float32(1.0)), np.float32(limit))

    def compute_density_rates(self, vectors: NDArray[np.float32], result: NDArray[np.float32]) -> None:
        """Compute the rate of each relative density [1/s] if particles move with `vectors`, and boundaries as given."""
        density_kernels.density_rates.variant(self.parallel)(
            self.xyzp, vectors, *self.neighbour_arrays, self.boundary.gradient, self.boundary.rate, result
        )

    def nbytes(self) -> int:
        """Return the memory of state, scratch and lists [bytes]."""
        arrays: list[NDArray] = [
            self.xyzp, self.velocities, self.fluid_index, self.ids, *self.warm_start.values(), self.density, self.alpha,
            self.inverse_density, self.viscosity, self.accelerations, self.velocity_changes, self.source,
            self.scratch, *self._swap,
            self.boundary.density, self.boundary.gradient, self.boundary.rate, self.boundary.weighted_velocity,
            self.grid.starts, self.grid.order, self.grid.first, self.grid._codes,
        ]  # fmt: skip
        return sum(array.nbytes for array in arrays) + self.neighbour_lists.nbytes()
