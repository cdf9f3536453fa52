"""Finding neighbours: particles sorted by cell along a Z-order curve, and lists of neighbours made once a step.

Cells are as wide as the radius within which particles see each other, so that all neighbours lie in the 27 cells around
a particle. A cell's place on the curve mixes the bits of its three numbers, of which only the last few of each
are used: the table of places stays small however far a splash flies, and cells that share a place cost a few
distance tests, nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.numerics import counting_sort_into
from continua.sph import neighbour_search_kernels as kernels

__all__ = ["CellGrid", "NeighbourLists", "find_neighbours"]

_PARALLEL_FROM = 8192  # particles; below, the work takes less time than starting the threads
_SPARE = 1.15  # how much longer lists are made than they were needed


def _bits(extents: NDArray[np.float64], budget: int) -> list[int]:
    """Return how many bits of a cell's number count along each axis, together at most `budget`."""
    bits = [max(2, int(np.ceil(np.log2(max(extent, 1.0) + 2.0)))) for extent in extents]
    while sum(bits) > budget:
        bits[int(np.argmax(bits))] -= 1
    return bits


def _curve_tables(bits: list[int]) -> list[NDArray[np.int32]]:
    """Return for each axis what a cell's number adds to its place: bits are dealt out in turns, lowest first."""
    tables = [np.zeros(1 << count, np.int32) for count in bits]
    place = 0
    for bit in range(max(bits)):
        for axis in range(3):
            if bit < bits[axis]:
                numbers = np.arange(1 << bits[axis])
                tables[axis] |= (((numbers >> bit) & 1) << place).astype(np.int32)
                place += 1
    return tables


@dataclass
class CellGrid:
    """Points sorted by cell.

    Attributes:
        radius: Width of a cell [m].
        tables: What a cell's number along each axis adds to its place on the curve.
        starts: First sorted point at each place, shape [places + 1].
        order: Number that each sorted point had before the sort, shape [n].
        first: First point of each occupied cell, then n.
        group_cell: First occupied cell of each group of points.
    """

    radius: float
    tables: list[NDArray[np.int32]] = field(default_factory=lambda: _curve_tables([2, 2, 2]))
    starts: NDArray[np.int32] = field(default_factory=lambda: np.zeros(65, np.int32))
    order: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    first: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))
    group_cell: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))
    _keys: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        if not (np.isfinite(self.radius) and self.radius > 0.0):
            raise InputError(f"the radius of a neighbour search must be greater than 0 m, not {self.radius}")

    def sort(self, rows: NDArray[np.float32]) -> NDArray[np.int32]:
        """Find the order of points along the curve; equal cells keep their order.

        Args:
            rows: Positions and one number more, shape [4 n].

        Returns:
            The numbers of the points in their new order, shape [n]; the points themselves are not moved.
        """
        n = len(rows) // 4
        self._fit(rows, n)
        kernels.cell_keys.pick(n >= _PARALLEL_FROM)(rows, self.inverse, *self.tables, self._keys)
        counting_sort_into(self._keys, self.starts, self.order)
        kernels.occupied_cells(self._keys, self.order, self.first, self.group_cell)
        return self.order

    @property
    def inverse(self) -> np.float32:
        """One over the width of a cell [1/m]."""
        return np.float32(1.0 / self.radius)

    def _fit(self, rows: NDArray[np.float32], n: int) -> None:
        """Choose the tables for where the points are, and make room."""
        low, high = np.zeros(4, np.float32), np.zeros(4, np.float32)
        if n:
            kernels.extents(rows, low, high)
        extents = (high[:3] - low[:3]) / self.radius
        budget = max(12, int(np.ceil(np.log2(max(n, 1)))) + 2)
        bits = _bits(np.asarray(extents, np.float64), budget)
        if [len(table) for table in self.tables] != [1 << count for count in bits]:
            self.tables = _curve_tables(bits)
            self.starts = np.zeros((1 << sum(bits)) + 1, np.int32)
        if len(self.order) != n:
            groups = (n + kernels.GROUP - 1) // kernels.GROUP
            self.order, self._keys = np.zeros(n, np.int32), np.zeros(n, np.int32)
            self.first, self.group_cell = np.zeros(n + 1, np.int32), np.zeros(groups + 1, np.int32)


@dataclass
class NeighbourLists:
    """Lists of neighbours: those of particle i are `neighbours[begin[i]:end[i]]`, itself left out.

    Attributes:
        begin: Where each list begins, shape [n].
        end: Where each list ends, shape [n].
        neighbours: Numbers of particles.
        weights: One number for each entry: squares of distances [m2] after the search; the density pass puts
            the factor of the kernel's gradient in their place.
    """

    begin: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    end: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    neighbours: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    weights: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    _capacity: int = 0

    def update(self, grid: CellGrid, rows: NDArray[np.float32]) -> None:
        """Make the lists anew for points [4 n] that are sorted in `grid`."""
        n = len(rows) // 4
        groups = len(grid.group_cell) - 1
        if len(self.begin) != n:
            self.begin, self.end = np.zeros(n, np.int64), np.zeros(n, np.int64)
        missing = np.zeros(groups, np.uint8)
        limit = np.float32(grid.radius) ** 2
        fill = kernels.neighbour_lists.pick(n >= _PARALLEL_FROM)
        while True:
            if len(self.neighbours) < groups * self._capacity or self._capacity == 0:
                self._capacity = self._capacity or 48 * kernels.GROUP
                self.neighbours = np.empty(groups * self._capacity, np.int32)
                self.weights = np.empty(groups * self._capacity, np.float32)
            fill(
                rows, grid.inverse, *grid.tables, grid.starts, grid.first, grid.group_cell, self._capacity, limit,
                self.begin, self.end, self.neighbours, self.weights, missing,
            )  # fmt: skip
            if not missing.any():
                return
            self._capacity = int(_SPARE * self._capacity) + kernels.GROUP
            self.neighbours, self.weights = np.zeros(0, np.int32), np.zeros(0, np.float32)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of neighbours of each particle, shape [n]."""
        return self.end - self.begin

    def nbytes(self) -> int:
        """Return the memory of the lists [bytes]."""
        return sum(a.nbytes for a in (self.begin, self.end, self.neighbours, self.weights))


def find_neighbours(
    points: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Find for each point all others closer than `radius`.

    Args:
        points: Positions [m], shape [n, 3]; they are rounded to single precision.
        radius: Distance [m].

    Returns:
        `starts` [n + 1] and `neighbours`: those of point i are `neighbours[starts[i]:starts[i + 1]]`, rising.
    """
    rows = np.zeros((len(points), 4), np.float32)
    rows[:, :3] = points
    grid, lists = CellGrid(radius), NeighbourLists()
    order = grid.sort(rows.ravel())
    lists.update(grid, np.ascontiguousarray(rows[order]).ravel())
    back = np.empty_like(order)
    back[order] = np.arange(len(order), dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum(lists.counts[back])])
    rows_of = [np.sort(order[lists.neighbours[lists.begin[k] : lists.end[k]]]) for k in back]
    return starts, np.concatenate(rows_of) if rows_of else np.zeros(0, np.int32)
