"""The staggered (MAC) grid: where pressures and velocities are sampled, and the memory they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.validation import check_memory, number, numbers, shortened, vector, whole_numbers

__all__ = ["SIDES", "Grid", "make_grid", "padded_zeros"]

SIDES = ("left", "right", "bottom", "top", "back", "front")
MAX_CELLS = 2**31 - 1
BYTES_PER_CELL = 150  # pressure, velocities, their copies and smoke in float32


@dataclass(frozen=True)
class Grid:
    """A box of equal cubic cells, or of squares in the plane z = 0.

    Pressure and scalars are sampled at cell centres, velocity components at the centres of the faces they cross. Every
    array has three axes, the last one contiguous. A plane grid has one layer along the first array axis; x and y are
    the second and the third axis.

    Attributes:
        cells: Number of cells along x, y (and z).
        spacing: Edge length of a cell [m].
        origin: Corner with the smallest coordinates [m], as long as `cells`.
    """

    cells: tuple[int, ...]
    spacing: float
    origin: tuple[float, ...]

    @property
    def dim(self) -> int:
        """2 or 3."""
        return len(self.cells)

    @property
    def x_axis(self) -> int:
        """The array axis of x: 0 in space, 1 in a plane."""
        return 3 - self.dim

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of an array with one value per cell."""
        n = (1,) * self.x_axis + self.cells
        return n[0], n[1], n[2]

    @property
    def axes(self) -> range:
        """The array axes of x, y (and z)."""
        return range(self.x_axis, 3)

    @property
    def cell_count(self) -> int:
        """Number of cells."""
        return int(np.prod(self.cells))

    @property
    def size(self) -> tuple[float, ...]:
        """Lengths along x, y (and z) [m]."""
        return tuple(n * self.spacing for n in self.cells)

    @property
    def corners_shape(self) -> tuple[int, int, int]:
        """Shape of an array with one value per cell corner; a plane grid has one layer of corners."""
        n = (1,) * self.x_axis + tuple(c + 1 for c in self.cells)
        return n[0], n[1], n[2]

    def faces_shape(self, axis: int) -> tuple[int, int, int]:
        """Shape of an array with one value per face across the array axis `axis`."""
        n = list(self.shape)
        n[axis] += 1
        return n[0], n[1], n[2]

    def points(self, shape: Sequence[int], offset: Sequence[float]) -> NDArray[np.float64]:
        """Return the positions [m] of samples, shape [n, 3].

        Args:
            shape: Number of samples along each array axis.
            offset: Position of the first sample, in cells from the origin along each array axis.
        """
        result = np.zeros((*shape, 3))
        for d in range(self.dim):
            axis = self.x_axis + d
            line = self.origin[d] + self.spacing * (np.arange(shape[axis]) + offset[axis])
            result[..., d] = line.reshape([-1 if a == axis else 1 for a in range(3)])
        return result.reshape(-1, 3)

    def centers(self) -> NDArray[np.float64]:
        """Return the centres of the cells [m], shape [n, 3]."""
        return self.points(self.shape, (0.5, 0.5, 0.5))

    def face_centers(self, axis: int) -> NDArray[np.float64]:
        """Return the centres of the faces across the array axis `axis` [m], shape [n, 3]."""
        return self.points(self.faces_shape(axis), [0.0 if a == axis else 0.5 for a in range(3)])

    def to_cell_coordinates(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points [m], shape [n, 3], as coordinates along the array axes in cells from the origin, [n, 3]."""
        result = np.full((len(points), 3), 0.5)
        for d in range(self.dim):
            result[:, self.x_axis + d] = (points[:, d] - self.origin[d]) / self.spacing
        return result


def make_grid(
    size: Sequence[float], cells: Sequence[int], origin: Sequence[float] | None = None, *, what: str = "grid"
) -> Grid:
    """Return the grid of a box of `size` [m] in `cells`; raise InputError unless cells are cubes and fit in memory."""
    lengths_given = numbers(size)
    dim = 0 if lengths_given is None or lengths_given.ndim != 1 else len(lengths_given)
    if dim not in (2, 3):
        raise InputError(f"a {what}'s size must be two or three lengths [m], not {shortened(size)}")
    size = [
        number(part, f"each length of a {what}'s size", above=0.0, unit="m")
        for part in vector(size, what, dim)
    ]
    counts = whole_numbers(cells, f"the cells of a {what}, which its multigrid needs,", (dim,), low=4)
    cells = counts.tolist()
    lengths = [s / n for s, n in zip(size, cells)]
    if max(lengths) > min(lengths) * (1.0 + 1e-6):
        fitting = [max(4, round(s / max(lengths))) for s in size]
        raise InputError(
            f"the cells of a {what} must be cubes: {list(cells)} cells for a size of {list(size)} m are not; "
            f"use for instance {fitting}"
        )
    start = (0.0,) * dim if origin is None else tuple(vector(origin, f"a {what}'s origin", dim).tolist())
    check_memory(prod(cells), BYTES_PER_CELL, f"a {what}", "cells", "use fewer cells", MAX_CELLS)
    return Grid(tuple(cells), lengths[0], start)


def padded_zeros(shape: Sequence[int], dtype: Any) -> NDArray:
    """Return zeros aligned to a cache line, with readable zeros before and after."""
    size, item = int(np.prod(shape)), np.dtype(dtype).itemsize
    memory = np.zeros(size + 48, dtype)
    start = 16 + (-memory.ctypes.data // item) % 16
    return memory[start : start + size].reshape(shape)
