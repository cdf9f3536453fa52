"""Neighbour search: particles sorted by cell along a Z-order curve, and neighbour lists built once per step.

Cells are as wide as the search radius, so that all neighbours lie in the 27 cells around a particle. A cell's Morton
code interleaves the bits of its three indices, of which only the lowest few are used: the table of codes stays small
however far a splash flies, and cells that share a code only cost a few distance tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.numerics import counting_sort_into
from continua.short_repr import ShortRepr
from continua.sph import neighbour_search_kernels as kernels

__all__ = ["CellGrid", "NeighbourLists", "find_neighbours"]

_PARALLEL_FROM = 8192  # particles; below, starting the threads takes longer than the work
_GROWTH = 1.15  # of the capacity when lists overflow


def _bits(extents: NDArray[np.float64], budget: int) -> list[int]:
    """Return how many bits of a cell's index are used along each axis, at most `budget` in total."""
    bits = [max(2, int(np.ceil(np.log2(max(extent, 1.0) + 2.0)))) for extent in extents]
    while sum(bits) > budget:
        bits[int(np.argmax(bits))] -= 1
    return bits


def _morton_tables(bits: list[int]) -> list[NDArray[np.int32]]:
    """Return for each axis the contribution of a cell's index to its Morton code: bits alternate, lowest first."""
    tables = [np.zeros(1 << count, np.int32) for count in bits]
    bit_position = 0
    for bit in range(max(bits)):
        for axis in range(3):
            if bit < bits[axis]:
                numbers = np.arange(1 << bits[axis])
                tables[axis] |= (((numbers >> bit) & 1) << bit_position).astype(np.int32)
                bit_position += 1
    return tables


@dataclass(repr=False)
class CellGrid(ShortRepr):
    """Points sorted by cell.

    Attributes:
        radius: Width of a cell [m].
        tables: Contribution of a cell's index along each axis to its Morton code.
        starts: First sorted point of each code, shape [codes + 1].
        order: Index of each sorted point before the sort, shape [n].
        first: First point of each occupied cell, then n.
        group_cell: First occupied cell of each group of points.
    """

    radius: float
    tables: list[NDArray[np.int32]] = field(default_factory=lambda: _morton_tables([2, 2, 2]))
    starts: NDArray[np.int32] = field(default_factory=lambda: np.zeros(65, np.int32))
    order: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    first: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))
    group_cell: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))
    _codes: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        if not (np.isfinite(self.radius) and self.radius > 0.0):
            raise InputError(f"the radius of a neighbour search must be greater than 0 m, not {self.radius}")

    def sort(self, xyzw: NDArray[np.float32]) -> NDArray[np.int32]:
        """Find the order of points along the curve; the sort is stable.

        Args:
            xyzw: Positions and a fourth value, shape [4 n].

        Returns:
            The indices of the points in their new order, shape [n]; the points themselves are not moved.
        """
        n = len(xyzw) // 4
        self._resize(xyzw, n)
        kernels.morton_codes.variant(n >= _PARALLEL_FROM)(xyzw, self.inverse, *self.tables, self._codes)
        counting_sort_into(self._codes, self.starts, self.order)
        kernels.occupied_cells(self._codes, self.order, self.first, self.group_cell)
        return self.order

    @property
    def inverse(self) -> np.float32:
        """One over the width of a cell [1/m]."""
        return np.float32(1.0 / self.radius)

    def _resize(self, xyzw: NDArray[np.float32], n: int) -> None:
        """Choose tables for the extents of the points, and allocate arrays."""
        low, high = np.zeros(4, np.float32), np.zeros(4, np.float32)
        if n:
            kernels.extents(xyzw, low, high)
        extents = (high[:3] - low[:3]) / self.radius
        budget = max(12, int(np.ceil(np.log2(max(n, 1)))) + 2)
        bits = _bits(np.asarray(extents, np.float64), budget)
        if [len(table) for table in self.tables] != [1 << count for count in bits]:
            self.tables = _morton_tables(bits)
            self.starts = np.zeros((1 << sum(bits)) + 1, np.int32)
        if len(self.order) != n:
            groups = (n + kernels.GROUP - 1) // kernels.GROUP
            self.order, self._codes = np.zeros(n, np.int32), np.zeros(n, np.int32)
            self.first, self.group_cell = np.zeros(n + 1, np.int32), np.zeros(groups + 1, np.int32)


@dataclass(repr=False)
class NeighbourLists(ShortRepr):
    """Neighbour lists: those of particle i are `neighbours[begin[i]:end[i]]`, without i itself.

    Attributes:
        begin: Start of each list, shape [n].
        end: End of each list, shape [n].
        neighbours: Indices of particles.
        weights: One value per entry: squared distances [m2] after the search; the density pass replaces them by the
            factor of the kernel's gradient.
    """

    begin: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    end: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    neighbours: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    weights: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    _capacity: int = 0

    def update(self, grid: CellGrid, xyzw: NDArray[np.float32]) -> None:
        """Rebuild the lists for points [4 n] that are sorted in `grid`."""
        n = len(xyzw) // 4
        groups = len(grid.group_cell) - 1
        if len(self.begin) != n:
            self.begin, self.end = np.zeros(n, np.int64), np.zeros(n, np.int64)
        overflow = np.zeros(groups, np.uint8)
        limit = np.float32(grid.radius) ** 2
        fill = kernels.neighbour_lists.variant(n >= _PARALLEL_FROM)
        while True:
            if len(self.neighbours) < groups * self._capacity or self._capacity == 0:
                self._capacity = self._capacity or 48 * kernels.GROUP
                self.neighbours = np.empty(groups * self._capacity, np.int32)
                self.weights = np.empty(groups * self._capacity, np.float32)
            fill(
                xyzw, grid.inverse, *grid.tables, grid.starts, grid.first, grid.group_cell, self._capacity, limit,
                self.begin, self.end, self.neighbours, self.weights, overflow,
            )  # fmt: skip
            if not overflow.any():
                return
            self._capacity = int(_GROWTH * self._capacity) + kernels.GROUP
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
    """Find all neighbours of each point that are closer than `radius`.

    Args:
        points: Positions [m], shape [n, 3]; they are rounded to single precision.
        radius: Distance [m].

    Returns:
        `starts` [n + 1] and `neighbours`: those of point i are `neighbours[starts[i]:starts[i + 1]]`, ascending.
    """
    xyzw = np.zeros((len(points), 4), np.float32)
    xyzw[:, :3] = points
    grid, lists = CellGrid(radius), NeighbourLists()
    order = grid.sort(xyzw.ravel())
    lists.update(grid, np.ascontiguousarray(xyzw[order]).ravel())
    back = np.empty_like(order)
    back[order] = np.arange(len(order), dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum(lists.counts[back])])
    lists_of = [np.sort(order[lists.neighbours[lists.begin[k] : lists.end[k]]]) for k in back]
    return starts, np.concatenate(lists_of) if lists_of else np.zeros(0, np.int32)
