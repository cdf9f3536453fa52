"""A triangulated slice through a grid, for pictures and for viewers without grid support."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.geometry.grid import Grid

__all__ = ["SliceMesh"]


class SliceMesh:
    """The corners of the central layer of cells across z, with two triangles per cell.

    Attributes:
        positions: Corners [m], shape [n, 3].
        triangles: Shape [k, 3], facing +z.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        nx, ny = grid.cells[:2]
        x = grid.origin[0] + grid.spacing * np.arange(nx + 1)
        y = grid.origin[1] + grid.spacing * np.arange(ny + 1)
        z = 0.0 if grid.dim == 2 else grid.origin[2] + grid.spacing * (grid.cells[2] // 2 + 0.5)
        self.positions = np.stack(np.broadcast_arrays(x[:, None], y[None, :], z), axis=-1).reshape(-1, 3)
        corner = np.arange((nx + 1) * (ny + 1), dtype=np.int32).reshape(nx + 1, ny + 1)
        a, b, c, d = corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]
        pairs = [np.stack(three, axis=-1).reshape(-1, 3) for three in ((a, b, c), (a, c, d))]
        self.triangles = np.concatenate(pairs)
        for array in (self.positions, self.triangles):
            array.flags.writeable = False

    def layer(self, cells: NDArray) -> NDArray:
        """Return the values of the cells of the slice, shape [nx, ny, ...]."""
        return cells[0] if self.grid.dim == 2 else cells[:, :, self.grid.cells[2] // 2]

    def values(self, cells: NDArray, solid: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return a quantity at the corners: the mean of the fluid cells around each, shape [n] or [n, 3]."""
        q = self.layer(cells).astype(np.float64)
        weight = np.where(self.layer(solid), 1e-9, 1.0)
        q = q * (weight if q.ndim == 2 else weight[..., None])
        total, count = _sum_around(q), _sum_around(weight)
        result = total / (count if q.ndim == 2 else count[..., None])
        return result.reshape(len(self.positions), *q.shape[2:]).astype(np.float32)


def _sum_around(q: NDArray) -> NDArray:
    """Return the sum of the four cells around each corner."""
    padded = np.zeros((q.shape[0] + 2, q.shape[1] + 2, *q.shape[2:]))
    padded[1:-1, 1:-1] = q
    return padded[:-1, :-1] + padded[1:, :-1] + padded[:-1, 1:] + padded[1:, 1:]
