"""The surface of a liquid as a level set on a grid: advection, reinitialisation, volume.

The level set is the signed distance to the surface at cell centres, negative in the liquid, in cells. It is exact in a
narrow band around the surface and constant beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, radians
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.advection import extrapolation_kernels
from continua.grid_fluids.free_surface import level_set_kernels as kernels
from continua.grid_fluids.free_surface import level_set_simd as simd
from continua.grid_fluids.geometry.cut_cells import CutCells
from continua.grid_fluids.geometry.grid import Grid
from continua.numerics.timers import timed

__all__ = ["LevelSet"]

_PARALLEL_FROM = 16384
_SOLID_LAYERS = 3
_EXTRA_UPDATES = 2  # distance updates after all layers are reached


class LevelSet:
    """The level set of a liquid.

    Args:
        grid: The grid.
        dtype: `numpy.float32` or `numpy.float64`.
        band_width: Number of cells the surface may move in a step.
        contact_angle: Angle in the liquid at which the surface meets walls [degrees]; None if it goes straight on.

    Attributes:
        phi: The level set at cell centres, in cells.
        open_volume: Fraction of each cell outside obstacles.
    """

    def __init__(
        self, grid: Grid, dtype: Any, band_width: int, *, contact_angle: float | None = None
    ) -> None:
        self.grid, self.band_width = grid, band_width
        self.contact_cosine = None if contact_angle is None else cos(radians(contact_angle))
        self.phi = np.full(grid.shape, band_width + 3.0, dtype)
        self.open_volume = np.ones(grid.shape, dtype)
        self._open_part = np.ones(grid.shape, dtype)
        self._corners = self._wall_distances = np.zeros((0, 0, 0))
        self._solid_layers: NDArray[np.uint8] | None = None
        self._state = np.empty(grid.shape, np.uint8)
        self._row_volumes = np.empty(grid.shape[0] * grid.shape[1])
        self._cells, self._ranges = np.empty((3, 0), np.int32), np.empty((2, 0), dtype)
        self._parallel = self.phi.size >= _PARALLEL_FROM

    @property
    def inside_solid(self) -> NDArray[np.bool_]:
        """Mask of cells whose centre is inside an obstacle; empty if there is none."""
        return np.zeros((0, 0, 0), bool) if self._solid_layers is None else self._solid_layers > 0

    def set_solid(self, cut_cells: CutCells) -> None:
        """Update the solid cells and open volumes from the cut cells."""
        grid = self.grid
        self._solid_layers = None
        self.open_volume[:] = 1
        if cut_cells.obstacles:
            kernels.open_volumes(cut_cells.corner_distances, grid.spacing, self.open_volume)
            self._wall_distances = np.clip(cut_cells.cell_distances() / grid.spacing, -10.0, 10.0)
            inside = self._wall_distances <= 0.0
            if inside.any():
                self._solid_layers = np.where(inside, 255, 0).astype(np.uint8)
                for number in range(1, _SOLID_LAYERS + 1):
                    extrapolation_kernels.mark_layer.variant(self._parallel)(self._solid_layers, number)
        self._find_open_parts(cut_cells)

    def _find_open_parts(self, cut_cells: CutCells) -> None:
        """Compute which part of the linear weights around each cell centre is open."""
        part = np.ones(self.grid.shape, self.phi.dtype)
        for axis in self.grid.axes:
            smoothed = np.empty_like(part)
            kernels.smooth_along(part, axis, smoothed)
            part = smoothed
        self._open_part, self._corners = part, np.zeros((0, 0, 0))
        if cut_cells.obstacles:
            self._corners = cut_cells.corner_distances
            kernels.subtract_obstacles(self._corners, part)

    def advect(self, velocity: Sequence[NDArray], s: float) -> None:
        """Advect the surface (MacCormack); `s` is the time step over the spacing [s/m]."""
        q, band = self.phi, float(self.band_width + 1)
        if q.dtype == np.float32:
            self._advect_simd(velocity, s, band)
            return
        advected, out, low, high = np.empty_like(q), np.empty_like(q), np.empty_like(q), np.empty_like(q)
        real = q.dtype.type
        kernels.advect_band.variant(self._parallel)(q, *velocity, real(s), band, advected, low, high)
        kernels.correct_band.variant(self._parallel)(q, advected, *velocity, real(s), band, low, high, out)
        self.phi = out

    def _advect_simd(self, velocity: Sequence[NDArray], s: float, band: float) -> None:
        q = self.phi
        count = simd.list_band(q, band, self._cell_list())
        low, high = self._ranges
        parallel = count >= _PARALLEL_FROM
        advected = q.copy()
        simd.advect_cells.variant(parallel)(
            q, *velocity, np.float32(s), self._cells, count, advected, low, high
        )
        out = advected.copy()
        simd.correct_cells.variant(parallel)(
            q, advected, *velocity, np.float32(s), self._cells, count, low, high, out
        )
        self.phi = out

    def merge_particles(self, density: NDArray, deep: float, full: float, least: float, most: float) -> None:
        """Correct the level set where it contradicts the particles; see `level_set_kernels.merge_particles`."""
        kernels.merge_particles(self.phi, density, self._open_part, self._corners, deep, full, least, most)

    def extrapolate_into_solid(self) -> None:
        """Extrapolate the surface into obstacles: straight, or at the contact angle."""
        if self._solid_layers is None:
            return
        for number in range(1, _SOLID_LAYERS + 1):
            if self.contact_cosine is not None:
                kernels.extrapolate_at_angle.variant(self._parallel)(
                    self.phi, self._solid_layers, number, self._wall_distances, self.contact_cosine
                )
            else:
                kernels.extrapolate_surface.variant(self._parallel)(self.phi, self._solid_layers, number)

    def padded_by_walls(self) -> NDArray:
        """Return the level set with a layer beyond the sides of the box, where it continues at the contact angle."""
        padding = [(1, 1) if a in self.grid.axes else (0, 0) for a in range(3)]
        padded = np.pad(self.phi, padding, mode="edge")
        slope = padded.dtype.type(0.0 if self.contact_cosine is None else self.contact_cosine)
        for axis in self.grid.axes:
            for layer in (slice(0, 1), slice(-1, None)):
                at = [slice(None)] * 3
                at[axis] = layer
                padded[tuple(at)] -= slope
        return padded

    @timed("re-distancing")
    def reinitialise(self) -> None:
        """Reinitialise the level set to a signed distance; the surface stays in place."""
        out = np.empty_like(self.phi)
        kernels.interface_distances.variant(self._parallel)(self.phi, self._state, out)
        layers, far = self.band_width + 2, self.band_width + 3.0
        if out.dtype == np.float32:
            self._solve_eikonal(out, layers, far)
        else:
            kernels.march_layers(out, self._state, layers)
            kernels.clamp_far(out, self._state, far)
        self.phi = out

    def _solve_eikonal(self, out: NDArray, layers: int, far: float) -> None:
        """Compute the distances in `layers` layers around the surface by Jacobi iterations of the eikonal equation."""
        state, spare = self._state, np.empty_like(self._state)
        for number in range(1, layers + 1):
            simd.add_layer.variant(self._parallel)(spare, state, np.uint8(number))
            state, spare = spare, state
        count = simd.list_layers(state, self._cell_list())
        old, new = np.empty_like(out), np.empty_like(out)
        simd.init_magnitudes.variant(self._parallel)(out, state, np.float32(far), old, new)
        for _ in range(layers + _EXTRA_UPDATES):
            simd.reinitialise.variant(count >= _PARALLEL_FROM)(old, self._cells, count, new)
            old, new = new, old
        simd.apply_magnitudes.variant(self._parallel)(out, old)

    def _cell_list(self) -> NDArray[np.int32]:
        """Return the work array for a list of cells."""
        if not self._cells.size:
            size = self.phi.size + simd.WIDE
            self._cells, self._ranges = np.empty((3, size), np.int32), np.empty((2, size), self.phi.dtype)
        return self._cells

    def volume(self) -> float:
        """Return the volume below the surface, in cells."""
        kernels.liquid_volumes.variant(self._parallel)(self.phi, self.open_volume, self._row_volumes)
        return float(np.cumsum(self._row_volumes)[-1])
