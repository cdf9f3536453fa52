"""The particles of a liquid: they carry its velocity, and keep drops and sheets that a grid would lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.free_surface import particle_kernels as kernels
from continua.grid_fluids.free_surface import particle_motion_kernels as motion
from continua.grid_fluids.free_surface import particle_simd as wide
from continua.grid_fluids.geometry.grid import Grid
from continua.numerics.stages import timed

__all__ = ["Particles"]

_PARALLEL_FROM = 16384
_MARGIN = 0.02  # cells that particles keep from walls
_OUT = 0.1  # cells above the surface from which on a particle is no part of the level set
_DEEP = -4.0  # cells below the surface from which on nobody asks how many particles there are
_FLY = 0.75  # cells above the surface from which on it flies alone
_ACROSS = {2: 3, 3: 2}  # particles along an axis of a cell


class Particles:
    """Particles on a grid, sorted by its cells.

    Args:
        grid: The grid.
        dtype: `numpy.float32` or `numpy.float64`.
        seed: Of the jitter of new particles.

    Attributes:
        rows: Particles, shape [n, 15]; see `particle_kernels`.
        aside: Where each is: in the liquid (0), just above its surface (1), or alone in the air (2).
        seeded: How often new particles were put in.
    """

    def __init__(self, grid: Grid, dtype: Any, seed: int) -> None:
        self.grid, self.seed = grid, seed
        self.across = _ACROSS[grid.dim]
        self.rows = np.zeros((0, kernels.WIDTH), dtype)
        self._store, self._spare = self.rows, self.rows
        self.aside = np.zeros(0, np.uint8)
        self.seeded = 0
        self._cells = np.zeros(0, np.int64)
        self._new = np.zeros((0, kernels.WIDTH), dtype)
        self._starts = np.zeros(grid.cell_count + 1, np.int64)
        slowest, others = grid.shape[grid.first], grid.cell_count // grid.shape[grid.first]
        self._layer, self._slabs = others, -(-slowest // kernels.SLAB)
        self._sums = [
            np.zeros((*grid.faces_shape(a), 2) if a in grid.axes else (0, 0, 0, 2), dtype) for a in range(3)
        ]
        self._near = np.zeros([n + 2 if a in grid.axes else 1 for a, n in enumerate(grid.shape)], dtype)

    @property
    def per_cell(self) -> int:
        """Particles of a full cell."""
        return int(self.across**self.grid.dim)

    @property
    def _parallel(self) -> bool:
        return len(self.rows) >= _PARALLEL_FROM

    @timed("particles")
    def to_grid(self, velocity: Sequence[NDArray], old: Sequence[NDArray]) -> None:
        """Set the velocities of faces near particles, and copy all to `old`; particles must be sorted."""
        for total in self._sums:
            total[:] = 0
        for colour in (0, 1):
            kernels.scatter.pick(self._parallel)(
                self.rows, self.aside, self._starts, self._layer, self._slabs, colour, *self.grid.shape,
                *[total.reshape(-1) for total in self._sums],
            )  # fmt: skip
        for axis in self.grid.axes:
            kernels.velocities.pick(velocity[axis].size >= _PARALLEL_FROM)(
                self._sums[axis], velocity[axis], old[axis]
            )

    def density(self, phi: NDArray | None = None) -> NDArray:
        """Return how many particles are around the middle of each cell; they must be sorted.

        Args:
            phi: The level set in cells; what it says to be deep may get too few.
        """
        self._near[:] = 0
        phi = np.zeros(self.grid.shape, self.rows.dtype) if phi is None else phi
        for colour in (0, 1):
            kernels.density.pick(self._parallel)(
                self.rows, self._starts, self._slabs, colour, phi, _DEEP, self._near
            )
        return self._near[tuple(slice(1, -1) if a in self.grid.axes else slice(None) for a in range(3))]

    @timed("particles")
    def move(
        self,
        velocity: Sequence[NDArray],
        old: Sequence[NDArray],
        flip: float,
        s: float,
        fall: Sequence[float],
        corners: NDArray[np.float64],
    ) -> None:
        """Take over the velocity of the grid and move along; `fall` is what free fall adds [m/s] (see `move`)."""
        real = self.rows.dtype.type
        kernel = wide.move if self.rows.dtype == np.float32 else motion.move
        kernel.pick(self._parallel)(
            self.rows, self.aside, *velocity, *old, real(flip), real(s), *[real(v) for v in fall],
            corners, self.grid.spacing,
        )  # fmt: skip

    def drift(self, displacement: Sequence[NDArray]) -> None:
        """Move by a displacement on the faces, in cells, with the same velocity as before."""
        motion.drift.pick(self._parallel)(self.rows, self.aside, *displacement)

    def push_out(self, corners: NDArray, leave: NDArray[np.bool_]) -> int:
        """Keep particles inside the box, unless its ends are open (`leave`, shape [3, 2]), and out of obstacles.

        Returns:
            How many particles above the surface left.
        """
        self._cells = np.empty(len(self.rows), np.int64)
        real = self.rows.dtype.type
        motion.push_out.pick(self._parallel)(
            self.rows, corners, self.grid.spacing, real(_MARGIN), leave[:, 0].copy(), leave[:, 1].copy(),
            *self.grid.shape, self.aside, self._cells,
        )  # fmt: skip
        return int(((self.aside > 0) & (self._cells == self.grid.cell_count)).sum()) if leave.any() else 0

    def _cells_of(self, rows: NDArray) -> NDArray[np.int64]:
        cells = np.empty(len(rows), np.int64)
        kernels.cells_of(rows, *self.grid.shape, cells)
        return cells

    def drop(self, cells: NDArray[np.bool_]) -> None:
        """Take away all particles in some cells."""
        there = np.append(cells.ravel(), False)[self._cells]
        self._cells[there] = self.grid.cell_count

    def thin_out(self, most: int) -> NDArray[np.int64]:
        """Leave at most so many particles in a cell; return how many each has."""
        counts = np.zeros(self.grid.cell_count, np.int64)
        gone = np.zeros(len(self.rows), bool)
        kernels.thin(self._cells, counts, most, gone)
        self._cells[gone] = self.grid.cell_count
        return counts

    def seed_into(
        self,
        phi: NDArray,
        counts: NDArray[np.int64],
        shut: NDArray[np.bool_],
        velocity: Sequence[NDArray],
        *,
        below: float,
        least: int,
    ) -> None:
        """Put particles into cells with fewer than `least`, where the level set is less than `below`.

        They take part after the next sorting, and have the velocity of the flow.
        """
        key = np.uint64((self.seed * 1_000_003 + self.seeded) % 2**63)
        self.seeded += 1
        none = np.zeros((0, kernels.WIDTH), self.rows.dtype)
        given = (phi, counts, shut.ravel(), self.across, below, least, key, *velocity)
        new = np.zeros((kernels.seed_cells(*given, none), kernels.WIDTH), self.rows.dtype)
        if len(new):
            kernels.seed_cells(*given, new)
            self._new = np.concatenate([self._new, new])

    def put(self, rows: NDArray) -> None:
        """Take these particles, sorted, instead of the present ones."""
        self.rows = self._store = np.array(rows, dtype=self.rows.dtype).reshape(-1, kernels.WIDTH)
        self.aside = np.zeros(len(self.rows), np.uint8)
        self._cells = self._cells_of(self.rows)
        self.sort()

    def sort(self) -> None:
        """Sort by cells with the new ones, and forget particles that are gone; `find_flying` has to follow."""
        cells = np.concatenate([self._cells, self._cells_of(self._new)]) if len(self._new) else self._cells
        order = np.empty(len(cells), np.int64)
        kernels.sort_order(cells, self._starts, order)
        order = order[: self._starts[-1]]
        if len(order) > len(self._spare):  # two arrays in turn: new memory is slow to touch
            self._spare = np.empty((len(order) + len(order) // 8, kernels.WIDTH), self.rows.dtype)
        out = self._spare[: len(order)]
        kernels.pick_rows.pick(self._parallel)(self.rows, self._new, order, out)
        self._spare, self._store = self._store, self._spare
        self.rows, self._new = out, np.zeros((0, kernels.WIDTH), out.dtype)

    def find_flying(self, phi: NDArray) -> None:
        """Find the particles above the surface."""
        self.aside = np.empty(len(self.rows), np.uint8)
        motion.fly.pick(self._parallel)(self.rows, self._starts, phi, _OUT, _FLY, self.aside)

    @property
    def outside(self) -> float:
        """Volume of the particles above the surface, which the level set does not know, in cells."""
        return float((self.aside > 0).sum()) / self.per_cell

    def sums(self) -> NDArray[np.float64]:
        """Return the sum of the squares of velocities [m2/s2], and those of the places in cells, shape [4]."""
        parts = np.zeros((-(-len(self.rows) // motion.GROUP) + 1, 4))
        kernels.energies(self.rows, parts)
        return np.cumsum(parts, axis=0)[-1]
