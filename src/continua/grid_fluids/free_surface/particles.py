"""APIC/FLIP particles of a liquid: they carry its velocity, and keep drops and sheets that the grid cannot resolve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.free_surface import particle_kernels as kernels
from continua.grid_fluids.free_surface import particle_motion_kernels as motion
from continua.grid_fluids.free_surface import particle_simd
from continua.grid_fluids.geometry.grid import Grid
from continua.numerics.timers import timed

__all__ = ["ApicParticles"]

_PARALLEL_FROM = 16384
_MARGIN = 0.02  # cells: least distance of particles from walls
_DETACHED_HEIGHT = 0.1  # cells above the surface: beyond this a particle is detached
_DEEP_LEVEL = -4.0  # cells below the surface: beyond this the particle density is not needed
_BALLISTIC_HEIGHT = 0.75  # cells above the surface: beyond this a particle is ballistic
_PER_AXIS = {2: 3, 3: 2}  # particles per axis of a cell, by dimension


class ApicParticles:
    """Particles on a grid, sorted by cell.

    Args:
        grid: The grid.
        dtype: `numpy.float32` or `numpy.float64`.
        seed: Random seed of the jitter of new particles.

    Attributes:
        rows: Particles, shape [n, 15]; see `particle_kernels`.
        phase: Phase of each: submerged (0), detached just above the surface (1), or ballistic (2).
        seeded: Number of reseedings so far.
    """

    def __init__(self, grid: Grid, dtype: Any, seed: int) -> None:
        self.grid, self.seed = grid, seed
        self.per_axis = _PER_AXIS[grid.dim]
        self.rows = np.zeros((0, kernels.ROW_LENGTH), dtype)
        self._buffer, self._spare_buffer = self.rows, self.rows
        self.phase = np.zeros(0, np.uint8)
        self.seeded = 0
        self._cells = np.zeros(0, np.int64)
        self._seeded_rows = np.zeros((0, kernels.ROW_LENGTH), dtype)
        self._starts = np.zeros(grid.cell_count + 1, np.int64)
        slowest, others = grid.shape[grid.x_axis], grid.cell_count // grid.shape[grid.x_axis]
        self._layer, self._slabs = others, -(-slowest // kernels.SLAB_LAYERS)
        self._face_sums = [
            np.zeros((*grid.faces_shape(a), 2) if a in grid.axes else (0, 0, 0, 2), dtype) for a in range(3)
        ]
        self._density = np.zeros([n + 2 if a in grid.axes else 1 for a, n in enumerate(grid.shape)], dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_buffer": self.rows, "_spare_buffer": self.rows[:0]}

    @property
    def per_cell(self) -> int:
        """Number of particles of a full cell."""
        return int(self.per_axis**self.grid.dim)

    @property
    def _parallel(self) -> bool:
        return len(self.rows) >= _PARALLEL_FROM

    @timed("particles")
    def to_grid(self, velocity: Sequence[NDArray], old: Sequence[NDArray]) -> None:
        """Transfer velocities to the faces near particles (APIC), and copy all to `old`; particles must be sorted."""
        for total in self._face_sums:
            total[:] = 0
        for colour in (0, 1):
            kernels.particles_to_grid.variant(self._parallel)(
                self.rows, self.phase, self._starts, self._layer, self._slabs, colour, *self.grid.shape,
                *[total.reshape(-1) for total in self._face_sums],
            )  # fmt: skip
        for axis in self.grid.axes:
            kernels.normalise_velocities.variant(velocity[axis].size >= _PARALLEL_FROM)(
                self._face_sums[axis], velocity[axis], old[axis]
            )

    def density(self, phi: NDArray | None = None) -> NDArray:
        """Return the number of particles around each cell centre, with linear weights; they must be sorted.

        Args:
            phi: The level set in cells; deep below the surface particles are not counted.
        """
        self._density[:] = 0
        phi = np.zeros(self.grid.shape, self.rows.dtype) if phi is None else phi
        for colour in (0, 1):
            kernels.density.variant(self._parallel)(
                self.rows, self._starts, self._slabs, colour, phi, _DEEP_LEVEL, self._density
            )
        return self._density[tuple(slice(1, -1) if a in self.grid.axes else slice(None) for a in range(3))]

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
        """Update velocities from the grid and advect; `fall` is the velocity gained by free fall [m/s] (see `move`)."""
        real = self.rows.dtype.type
        kernel = particle_simd.move if self.rows.dtype == np.float32 else motion.move
        kernel.variant(self._parallel)(
            self.rows, self.phase, *velocity, *old, real(flip), real(s), *[real(v) for v in fall],
            corners, self.grid.spacing,
        )  # fmt: skip

    def displace(self, displacement: Sequence[NDArray]) -> None:
        """Move by a displacement on the faces, in cells; velocities stay unchanged."""
        motion.displace.variant(self._parallel)(self.rows, self.phase, *displacement)

    def resolve_penetration(self, corners: NDArray, open_ends: NDArray[np.bool_]) -> int:
        """Push particles out of obstacles and into the box, except at its open ends (`open_ends`, shape [3, 2]).

        Returns:
            Number of detached particles that left.
        """
        self._cells = np.empty(len(self.rows), np.int64)
        real = self.rows.dtype.type
        motion.resolve_penetration.variant(self._parallel)(
            self.rows, corners, self.grid.spacing, real(_MARGIN), open_ends[:, 0].copy(), open_ends[:, 1].copy(),
            *self.grid.shape, self.phase, self._cells,
        )  # fmt: skip
        return int(((self.phase > 0) & (self._cells == self.grid.cell_count)).sum()) if open_ends.any() else 0

    def _cells_of(self, rows: NDArray) -> NDArray[np.int64]:
        cells = np.empty(len(rows), np.int64)
        kernels.cells_of(rows, *self.grid.shape, cells)
        return cells

    def remove(self, cells: NDArray[np.bool_]) -> None:
        """Remove all particles in a mask of cells."""
        inside = np.append(cells.ravel(), False)[self._cells]
        self._cells[inside] = self.grid.cell_count

    def cull(self, most: int) -> NDArray[np.int64]:
        """Remove particles beyond `most` per cell; return the number in each cell."""
        counts = np.zeros(self.grid.cell_count, np.int64)
        removed = np.zeros(len(self.rows), bool)
        kernels.cull(self._cells, counts, most, removed)
        self._cells[removed] = self.grid.cell_count
        return counts

    def reseed(
        self,
        phi: NDArray,
        counts: NDArray[np.int64],
        corners: NDArray[np.float64],
        velocity: Sequence[NDArray],
        *,
        below: float,
        least: int,
    ) -> None:
        """Seed particles in cells with fewer than `least`, where the level set is less than `below`.

        Subcells inside obstacles, whose distances at the corners of cells are `corners`, get none. The new
        particles have the velocity of the flow, and are included by the next sort.
        """
        key = np.uint64((self.seed * 1_000_003 + self.seeded) % 2**63)
        self.seeded += 1
        none = np.zeros((0, kernels.ROW_LENGTH), self.rows.dtype)
        arguments = (phi, counts, corners, self.per_axis, below, least, key, *velocity)
        new = np.zeros((kernels.seed_particles(*arguments, none), kernels.ROW_LENGTH), self.rows.dtype)
        if len(new):
            kernels.seed_particles(*arguments, new)
            self._seeded_rows = np.concatenate([self._seeded_rows, new])

    def set_rows(self, rows: NDArray) -> None:
        """Replace all particles, and sort them."""
        self.rows = self._buffer = np.array(rows, dtype=self.rows.dtype).reshape(-1, kernels.ROW_LENGTH)
        self.phase = np.zeros(len(self.rows), np.uint8)
        self._cells = self._cells_of(self.rows)
        self.sort()

    def sort(self) -> None:
        """Sort by cell, including new particles and without removed ones; call `classify` afterwards."""
        cells = (
            np.concatenate([self._cells, self._cells_of(self._seeded_rows)])
            if len(self._seeded_rows)
            else self._cells
        )
        order = np.empty(len(cells), np.int64)
        kernels.sort_order(cells, self._starts, order)
        order = order[: self._starts[-1]]
        if len(order) > len(self._spare_buffer):  # two alternating arrays: new memory is slow to touch
            self._spare_buffer = np.empty((len(order) + len(order) // 8, kernels.ROW_LENGTH), self.rows.dtype)
        out = self._spare_buffer[: len(order)]
        kernels.gather_rows.variant(self._parallel)(self.rows, self._seeded_rows, order, out)
        self._spare_buffer, self._buffer = self._buffer, self._spare_buffer
        self.rows, self._seeded_rows = out, np.zeros((0, kernels.ROW_LENGTH), out.dtype)

    def classify(self, phi: NDArray) -> None:
        """Classify particles as submerged, detached or ballistic."""
        self.phase = np.empty(len(self.rows), np.uint8)
        motion.classify_phases.variant(self._parallel)(
            self.rows, self._starts, phi, _DETACHED_HEIGHT, _BALLISTIC_HEIGHT, self.phase
        )

    @property
    def detached_volume(self) -> float:
        """Volume of detached and ballistic particles, which the level set does not include, in cells."""
        return float((self.phase > 0).sum()) / self.per_cell

    def sums(self) -> NDArray[np.float64]:
        """Return the sums of squared velocities [m2/s2] and of positions in cells, shape [4]."""
        parts = np.zeros((-(-len(self.rows) // motion.GROUP) + 1, 4))
        kernels.particle_sums(self.rows, parts)
        return np.cumsum(parts, axis=0)[-1]
