"""The surface of a liquid as a level set on a grid: carried along, made a distance again, measured.

The level set is the distance to the surface in the middles of cells, negative in the liquid, in cells. It is right in a
band around the surface and constant beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.advection import advection_kernels
from continua.grid_fluids.free_surface import level_set_kernels as kernels
from continua.grid_fluids.free_surface import level_set_simd as wide
from continua.grid_fluids.geometry import cut_cell_kernels as cut_kernels
from continua.grid_fluids.geometry.cut_cells import CutCells
from continua.grid_fluids.geometry.grid import Grid
from continua.numerics.stages import timed

__all__ = ["LevelSet"]

_PARALLEL_FROM = 16384
_HIDDEN_LAYERS = 3
_MORE_ROUNDS = 2  # of distances from neighbours after all layers are reached


class LevelSet:
    """The level set of a liquid.

    Args:
        grid: The grid.
        dtype: `numpy.float32` or `numpy.float64`.
        reach: How many cells the surface may move in a step.

    Attributes:
        phi: The level set in the middles of cells, in cells.
        open_volume: The part of each cell outside of obstacles.
    """

    def __init__(self, grid: Grid, dtype: Any, reach: int) -> None:
        self.grid, self.reach = grid, reach
        self.phi = np.full(grid.shape, reach + 3.0, dtype)
        self.open_volume = np.ones(grid.shape, dtype)
        self._open_part = np.ones(grid.shape, dtype)
        self._hidden: NDArray[np.uint8] | None = None
        self._state = np.empty(grid.shape, np.uint8)
        self._rows = np.empty(grid.shape[0] * grid.shape[1])
        self._cells, self._ranges = np.empty((3, 0), np.int32), np.empty((2, 0), dtype)
        self._parallel = self.phi.size >= _PARALLEL_FROM

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Which cells have their middle inside of an obstacle; empty if there is none."""
        return np.zeros((0, 0, 0), bool) if self._hidden is None else self._hidden > 0

    def see(self, cut: CutCells) -> None:
        """Take in where obstacles are."""
        grid = self.grid
        self._hidden = None
        self.open_volume[:] = 1
        if cut.obstacles:
            kernels.open_volumes(cut.corners, grid.spacing, self.open_volume)
            inside = cut.cell_distances() <= 0.0
            if inside.any():
                self._hidden = np.where(inside, 255, 0).astype(np.uint8)
                for number in range(1, _HIDDEN_LAYERS + 1):
                    cut_kernels.layers.pick(self._parallel)(self._hidden, number)
        part = self.open_volume
        for axis in grid.axes:
            smoothed = np.empty_like(part)
            kernels.smooth_open(part, axis, smoothed)
            part = smoothed
        self._open_part = part

    def carry(self, velocity: Sequence[NDArray], s: float) -> None:
        """Carry the surface along the flow (MacCormack); `s` is the time over the spacing [s/m]."""
        q, band = self.phi, float(self.reach + 1)
        if q.dtype == np.float32:
            self._carry_wide(velocity, s, band)
            return
        once, out, low, high = np.empty_like(q), np.empty_like(q), np.empty_like(q), np.empty_like(q)
        real = q.dtype.type
        kernels.advect_band.pick(self._parallel)(q, *velocity, real(s), band, once, low, high)
        kernels.correct_band.pick(self._parallel)(q, once, *velocity, real(s), band, low, high, out)
        self.phi = out

    def _carry_wide(self, velocity: Sequence[NDArray], s: float, band: float) -> None:
        q = self.phi
        count = wide.list_band(q, band, self._listed())
        low, high = self._ranges
        parallel = count >= _PARALLEL_FROM
        once = q.copy()
        wide.advect_cells.pick(parallel)(q, *velocity, np.float32(s), self._cells, count, once, low, high)
        out = once.copy()
        wide.correct_cells.pick(parallel)(
            q, once, *velocity, np.float32(s), self._cells, count, low, high, out
        )
        self.phi = out

    def limit(self, density: NDArray, deep: float, full: float, least: float, most: float) -> None:
        """Keep the level set near what particles say; see `level_set_kernels.limit`."""
        kernels.limit(self.phi, density, self._open_part, deep, full, least, most)

    def continue_into_obstacles(self) -> None:
        """Continue the surface behind walls, so that it meets them at a right angle."""
        if self._hidden is not None:
            for number in range(1, _HIDDEN_LAYERS + 1):
                advection_kernels.fill_layer.pick(self._parallel)(self.phi, self._hidden, number)

    @timed("re-distancing")
    def redistance(self) -> None:
        """Make the level set a distance again, from the surface on, which stays where it is."""
        out = np.empty_like(self.phi)
        kernels.near_surface.pick(self._parallel)(self.phi, self._state, out)
        layers, far = self.reach + 2, self.reach + 3.0
        if out.dtype == np.float32:
            self._approach(out, layers, far)
        else:
            kernels.march(out, self._state, layers)
            kernels.finish(out, self._state, far)
        self.phi = out

    def _approach(self, out: NDArray, layers: int, far: float) -> None:
        """Find the distances in so many layers around the surface: each cell's from its neighbours, round by round."""
        state, spare = self._state, np.empty_like(self._state)
        for number in range(1, layers + 1):
            wide.add_layer.pick(self._parallel)(spare, state, np.uint8(number))
            state, spare = spare, state
        count = wide.list_layers(state, self._listed())
        old, new = np.empty_like(out), np.empty_like(out)
        wide.sizes.pick(self._parallel)(out, state, np.float32(far), old, new)
        for _ in range(layers + _MORE_ROUNDS):
            wide.approach.pick(count >= _PARALLEL_FROM)(old, self._cells, count, new)
            old, new = new, old
        wide.signs.pick(self._parallel)(out, old)

    def _listed(self) -> NDArray[np.int32]:
        """Return room for a list of cells."""
        if not self._cells.size:
            room = self.phi.size + wide.WIDE
            self._cells, self._ranges = np.empty((3, room), np.int32), np.empty((2, room), self.phi.dtype)
        return self._cells

    def volume(self) -> float:
        """Return the volume below the surface, in cells."""
        kernels.wet_volumes.pick(self._parallel)(self.phi, self.open_volume, self._rows)
        return float(np.cumsum(self._rows)[-1])
