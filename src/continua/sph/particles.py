"""The particles of all fluids of a world, kept sorted along a space-filling curve, with their neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from continua.sph import neighbour_search_kernels as grid_kernels
from continua.sph.boundary.model import WallSums
from continua.sph.neighbour_search import CellGrid, NeighbourLists
from continua.sph.pressure import pressure_kernels

__all__ = ["PARALLEL_FROM", "Particles"]

_LET_OUT = 0.02  # part of the density that the longest step may let out of a fluid at rest, shorter ones less
_LET_OUT_MOVING = 0.05  # the same, more, for each diameter that the fastest particle moves in the step
PARALLEL_FROM = 8192  # particles; below, a pass takes less time than starting the threads
_LEAST_SLOPE = 1e-6  # of (1/radius)^2: particles with fewer neighbours than that feel no pressure


@dataclass
class Particles:
    """State and scratch of n particles. Rows of four float32 hold a vector and one number more.

    Attributes:
        radius: Radius of the kernel [m].
        volume: Volume of a particle [m3].
        rest_densities: Rest density of each fluid [kg/m3].
        viscosities: Dynamic viscosity of each fluid [Pa s].
        rows: Positions from the origin [m]; the last lane belongs to the pressure solver; shape [4 n].
        velocities: Velocities [m/s], the last lane 0, shape [4 n].
        fluid: Number of the fluid of each particle, shape [n].
        ids: Number of each particle in its fluid, shape [n].
        carried: What solvers carry from step to step, arrays [n] by name.
        density: Density relative to rest, shape [n].
        alpha: Inverse diagonal of the pressure system, shape [n].
        walls: What particles feel of walls.
        speed: Largest speed at the start of the step [m/s].
        longest: The longest step there may be [s].
    """

    radius: float
    volume: float
    rest_densities: NDArray[np.float64]
    viscosities: NDArray[np.float64]
    rows: NDArray[np.float32]
    velocities: NDArray[np.float32]
    fluid: NDArray[np.uint8]
    ids: NDArray[np.int32]
    carried: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    walls: WallSums = field(default_factory=WallSums)
    grid: CellGrid = field(init=False)
    lists: NeighbourLists = field(default_factory=NeighbourLists)
    speed: float = 0.0
    longest: float = 0.0

    def __post_init__(self) -> None:
        self.grid = CellGrid(self.radius)
        self._spare = [np.zeros(0, np.float32)]
        self.fit()

    @property
    def count(self) -> int:
        """Number of particles."""
        return len(self.ids)

    @property
    def parallel(self) -> bool:
        """Whether passes run on all threads; it depends on the number of particles alone."""
        return self.count >= PARALLEL_FROM

    @property
    def links(self) -> tuple[NDArray, ...]:
        """The neighbour lists as passes take them."""
        return self.lists.begin, self.lists.end, self.lists.neighbours, self.lists.weights

    def fit(self) -> None:
        """Make room for scratch after the number of particles changed."""
        n = self.count
        self.density, self.alpha = np.ones(n, np.float32), np.zeros(n, np.float32)
        self.accelerations, self.pushes = np.zeros(4 * n, np.float32), np.zeros(4 * n, np.float32)
        self.source, self.scratch = np.zeros(n, np.float32), np.zeros(n, np.float32)
        self._spare = [np.empty(4 * n, np.float32)]
        self._constants()

    def _constants(self) -> None:
        """Take the constants of each particle from its fluid."""
        self.light = (1.0 / self.rest_densities).astype(np.float32)[self.fluid]
        self.viscosity = self.viscosities.astype(np.float32)[self.fluid]

    def sort(self) -> None:
        """Sort the particles by cell along the curve."""
        order = self.grid.sort(self.rows)
        for name in ("rows", "velocities"):
            source = getattr(self, name)
            grid_kernels.take_rows.pick(self.parallel)(source, order, self._spare[0])
            setattr(self, name, self._spare[0])
            self._spare[0] = source
        self.ids = self.ids[order]
        self.carried = {name: values[order] for name, values in self.carried.items()}
        if len(self.rest_densities) > 1:
            self.fluid = self.fluid[order]
            self._constants()

    def find(self) -> None:
        """Make the lists of neighbours; particles must be sorted."""
        self.lists.update(self.grid, self.rows)

    def weigh(self) -> None:
        """Measure densities; neighbours and walls must be known."""
        pressure_kernels.densities.pick(self.parallel)(
            self.rows, *self.links, 1.0 / self.radius, self.volume, self.light, len(self.rest_densities) > 1,
            self.walls.gradient, self.walls.density, np.float32(_LEAST_SLOPE / self.radius**2),
            self.density, self.alpha,
        )  # fmt: skip

    def excess(self, dt: float) -> NDArray[np.float32]:
        """Return what a step of `dt` [s] shall take away of each relative density; below 0 where there is room.

        A fluid that starts too dense is let out over several steps, at a rate that does not depend on their length.
        In one step it would burst with a speed that grows as the step, which must follow the speed, shrinks. Fluid in
        motion may be let out faster, as it must after impacts.
        """
        pace = self.speed / np.cbrt(self.volume)
        part = dt * max(1.0 / max(self.longest, dt), min(pace, 1.0 / dt))
        most = _LET_OUT * dt / max(self.longest, dt) + _LET_OUT_MOVING * dt * pace
        return np.minimum(np.float32(part) * (self.density - np.float32(1.0)), np.float32(most))

    def rates(self, vectors: NDArray[np.float32], result: NDArray[np.float32]) -> None:
        """Measure the rate of each relative density [1/s] if particles move with `vectors`, and walls as they do."""
        pressure_kernels.density_rates.pick(self.parallel)(
            self.rows, vectors, *self.links, self.walls.gradient, self.walls.rate, result
        )

    def nbytes(self) -> int:
        """Return the memory of state, scratch and lists [bytes]."""
        arrays: list[NDArray] = [
            self.rows, self.velocities, self.fluid, self.ids, *self.carried.values(), self.density, self.alpha,
            self.light, self.viscosity, self.accelerations, self.pushes, self.source, self.scratch, *self._spare,
            self.walls.density, self.walls.gradient, self.walls.rate, self.walls.drift,
            self.grid.starts, self.grid.order, self.grid.first, self.grid._keys,
        ]  # fmt: skip
        return sum(array.nbytes for array in arrays) + self.lists.nbytes()
