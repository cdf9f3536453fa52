"""Conservative transport of smoke and heat: what a region loses has passed through its border."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import DivergedError
from continua.grid_fluids.advection import extrapolation_kernels
from continua.grid_fluids.advection import transport_kernels as kernels
from continua.grid_fluids.geometry.cut_cells import Window
from continua.grid_fluids.geometry.domain import FlowDomain
from continua.grid_fluids.pressure.multigrid import PoissonMultigrid
from continua.numerics.timers import timed

__all__ = ["Transport"]

_PARALLEL_FROM = 16384
_PARALLEL_GROUPS = 4096
_LAYERS = 3  # of cells behind walls that are extrapolated
_MARGIN = 1.05  # of the sub-steps over the least number in which no cell is emptied
_VOLUME_RTOL = 1e-3  # of the fluxes that fill the volumes that moving obstacles leave
_MAX_SUBSTEPS = 10_000


class Transport:
    """Moves amounts of cell quantities with the volumes of fluid that cross the faces.

    In each sweep along an axis the fluxes are integrals over piecewise parabolas (Colella and Woodward 1984), and the
    volumes of cells change with what enters and leaves: a constant stays constant, and values stay in their range.
    The number of sub-steps is even, with alternating order of the axes, so that no cell loses more than it has in
    a sweep. Cells of which obstacles leave less than half are merged with neighbours.

    Args:
        domain: The domain.
        dtype: `numpy.float32` or `numpy.float64`.

    Attributes:
        volume: Open volume of each cell, in cells.
    """

    def __init__(self, domain: FlowDomain, dtype: np.dtype) -> None:
        self.domain, self.dtype = domain, dtype
        grid = domain.grid
        self.volume = np.ones(grid.shape, dtype)
        self._solid_layers = np.zeros(grid.shape, np.uint8)
        self._held: NDArray | None = None  # open volumes that the quantities fill; None: `volume`
        self._open_before: list[NDArray] = []
        self._groups: tuple[NDArray, NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]] | None = None

    # obstacles

    def update(self, window: Window) -> None:
        """Update the open volumes after the cut cells changed in `window`."""
        low, high = window
        cut_cells, grid = self.domain.cut_cells, self.domain.grid
        if not (high > low).all():
            return
        self._groups = None
        cells = tuple(slice(int(a), int(b)) for a, b in zip(low, high))
        if cut_cells.voxels:
            self.volume[...] = np.where(cut_cells.solid_cells, 0, 1)
        else:
            kernels.cell_volumes.variant(self.volume[cells].size >= _PARALLEL_FROM)(
                cut_cells.corner_distances, grid.spacing, cut_cells.solid_cells, low, high, self.volume
            )
        near_low, near_high = np.maximum(low - _LAYERS, 0), np.minimum(high + _LAYERS, np.array(grid.shape))
        near = tuple(slice(int(a), int(b)) for a, b in zip(near_low, near_high))
        self._solid_layers[near] = np.where(cut_cells.solid_cells[near], 255, 0)
        for number in range(1, _LAYERS + 1):
            extrapolation_kernels.mark_layer_within.variant(self._solid_layers.size >= _PARALLEL_FROM)(
                self._solid_layers, number, near_low, near_high
            )

    def begin_step(self) -> None:
        """Note the faces that are open at the beginning of a step, before obstacles move."""
        if self._held is None:
            self._held = self.volume.copy()
        self._open_before = [part.copy() for part in self.domain.cut_cells.face_fractions]

    def forget_volumes(self) -> None:
        """Take the quantities, not the amounts, as given in the geometry at the beginning of the next step."""
        self._held = None

    def held_volume(self) -> NDArray:
        """Return the volumes that the quantities fill, for a restart with moving obstacles; -1 if not known yet."""
        return np.full_like(self.volume, -1) if self._held is None else self._held.copy()

    def restore_volume(self, held: Any = None) -> None:
        """Restore the result of `held_volume()`."""
        known = held is not None and bool((np.asarray(held) >= 0).all())
        self._held = np.array(held, self.dtype) if known else None

    def _find_groups(self) -> tuple[NDArray, NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Return the order of each cell, and the groups of merged cells: starts, members, and group of each cell."""
        fractions = self.domain.cut_cells.face_fractions
        volume = self.volume if self._held is None else self._held
        opened = self._open_before if self._open_before else fractions
        label = np.empty(volume.shape, np.int32)
        members, parent = np.empty(volume.size, np.int64), np.empty(volume.size, np.int64)
        count = kernels.merge_small_cells(
            volume, self.volume, *opened, *fractions, np.empty_like(volume), label, members, parent
        )
        members, parent = members[:count], parent[:count]
        sequence = np.argsort(parent, kind="stable")
        members = members[sequence]
        _, start = np.unique(parent[sequence], return_index=True)
        start = np.append(start, count).astype(np.int64)
        order = np.ones(volume.shape, self.dtype)
        order.reshape(-1)[members] = 0
        label[...] = -1
        label.reshape(-1)[members] = np.repeat(np.arange(len(start) - 1), np.diff(start))
        return order, start, members, label

    # transport

    @timed("advection")
    def advect(
        self, scalars: dict[str, NDArray], velocity: Sequence[NDArray], s: float, solver: PoissonMultigrid
    ) -> None:
        """Move the quantities with a velocity that is free of divergence in the present geometry.

        Args:
            scalars: The quantities at cell centres by name; they are changed.
            velocity: Velocity components on the faces [m/s].
            s: Time step over the spacing of the grid [s/m].
            solver: The solver of the pressure, which fits the fluxes to the volumes that moving obstacles leave.
        """
        if not scalars:
            return
        grid, real = self.domain.grid, self.dtype.type
        parallel = self.volume.size >= _PARALLEL_FROM
        fluxes = [np.zeros((0, 0, 0), self.dtype)] * 3
        for axis in grid.axes:
            fluxes[axis] = np.empty_like(velocity[axis])
            kernels.volume_fluxes.variant(parallel)(
                velocity[axis], self.domain.cut_cells.face_fractions[axis], real(s), fluxes[axis]
            )
        moved = len(self._open_before) > 0
        if self._groups is None or moved:
            self._groups = self._find_groups()
        order, start, members, _ = self._groups
        idle = (order == 1) & (self.volume == 0)
        volume = np.array(self.volume if self._held is None else self._held)
        volume[idle] = 1
        if moved and self._held is not None:
            self._fit_fluxes(fluxes, self._held, solver)
        count = self._substep_count(fluxes, volume)
        if count == 0 and not moved:
            return
        part = real(1.0 / max(count, 1))
        amount = [np.empty_like(flux) for flux in fluxes]
        spare, spare_volume = np.empty_like(volume), np.empty_like(volume)
        merged = len(members) > 0
        many = len(start) > _PARALLEL_GROUPS
        values = {name: np.ascontiguousarray(q) for name, q in scalars.items()}
        if merged:
            for q in values.values():
                q.reshape(-1)[members] *= volume.reshape(-1)[members]
                kernels.group_means.variant(many)(q, volume, start, members)
        for substep in range(count):
            for axis in grid.axes if substep % 2 == 0 else reversed(grid.axes):
                for name, q in values.items():
                    kernels.mass_fluxes.variant(parallel)(
                        q, volume, order, fluxes[axis], axis, part, amount[axis]
                    )
                    kernels.apply_fluxes.variant(parallel)(
                        q, volume, order, fluxes[axis], axis, part, amount[axis], spare, spare_volume
                    )
                    if merged:
                        kernels.group_means.variant(many)(spare, spare_volume, start, members)
                    values[name], spare = spare, q
                volume, spare_volume = spare_volume, volume
        final = np.where(idle, 1, self.volume).astype(self.dtype)
        for name, q in values.items():
            kernels.restore_volumes.variant(parallel)(q, volume, order, final)
            if merged:
                kernels.group_means.variant(many)(q, final, start, members)
            scalars[name] = q
        self._extrapolate(scalars)
        if moved:
            self._held, self._open_before, self._groups = self.volume.copy(), [], None

    def _fit_fluxes(self, fluxes: Sequence[NDArray], old: NDArray, solver: PoissonMultigrid) -> None:
        """Change the fluxes by a gradient, so that they fill exactly the volumes that moving obstacles leave.

        The projection knows the velocity of the walls, which gives the change of a cell's volume only to first order in
        the step.
        """
        assert self._groups is not None
        _, start, members, _ = self._groups
        grid, fractions = self.domain.grid, self.domain.cut_cells.face_fractions
        missing = self.volume - old
        for axis in grid.axes:
            missing += np.diff(fluxes[axis], axis=axis)
        if not len(members):
            return
        flat, room = missing.reshape(-1), self.volume.reshape(-1)[members]
        sums = np.add.reduceat(flat[members].astype(np.float64), start[:-1])
        widest = np.lexsort((-room, np.repeat(np.arange(len(start) - 1), np.diff(start))))[start[:-1]]
        flat[members] = 0
        flat[members[widest]] = sums
        potential = np.zeros(grid.shape)
        solver.solve(-missing, potential, rtol=_VOLUME_RTOL)
        for axis in grid.axes:
            inner = [slice(None)] * 3
            inner[axis] = slice(1, -1)
            fluxes[axis][tuple(inner)] -= fractions[axis][tuple(inner)] * np.diff(potential, axis=axis)
        for side in self.domain.sides:
            if side.kind == "open":
                at = side.layer()
                fluxes[side.axis][at] -= fractions[side.axis][at] * (2.0 * side.inward * potential[at])

    def _substep_count(self, fluxes: Sequence[NDArray], volume: NDArray) -> int:
        """Return the even number of sub-steps in which no cell loses more than it has in a sweep; 0 at rest."""
        assert self._groups is not None
        order, start, members, group = self._groups
        rows = np.empty(volume.shape[0] * volume.shape[1], self.dtype)
        kernels.courant_rows.variant(volume.size >= _PARALLEL_FROM)(*fluxes, volume, order, rows)
        largest = float(rows.max())
        if len(members):
            largest = max(largest, kernels.group_courant(*fluxes, volume, start, members, group))
        if not np.isfinite(largest):
            raise DivergedError("the velocity of the grid fluid is not finite")
        count = 2 * ceil(0.5 * _MARGIN * largest)
        if count > _MAX_SUBSTEPS:
            raise DivergedError(f"smoke would need {count} sub-steps; use a smaller dt")
        return count

    def _extrapolate(self, scalars: Mapping[str, NDArray]) -> None:
        """Extrapolate the quantities behind walls, as means, so that they stay in their range."""
        low, high = self.domain.cut_cells.obstacle_window()
        parallel = bool(np.prod(high - low) >= _PARALLEL_FROM)
        for q in scalars.values():
            for number in range(1, _LAYERS + 1):
                extrapolation_kernels.extrapolate_layer_within.variant(parallel)(
                    q, self._solid_layers, number, low, high
                )
