"""A matrix on coarser and coarser levels, kept up to date in place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from continua.linalg import cycle, galerkin, graphs, kernels
from continua.linalg.geometry import Geometry
from continua.linalg.matrix import PARALLEL_FROM, BlockMatrix
from continua.linalg.transfer import aggregate, coarsen

__all__ = ["Hierarchy"]

_LEAST_ROWS = 256  # rows of a part that is worth a thread's while
_SLOW = 0.6  # a coarser level with more than this part of the nodes is not worth having


@dataclass(frozen=True, eq=False)
class _Level:
    """A level below the first: its pattern, its values and how they come from the level above."""

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    diagonal: NDArray[np.int32]
    blocks: NDArray[np.float64]
    starts: NDArray[np.int64]
    sources: NDArray[np.int32]
    factors: NDArray[np.float64]
    mirror: NDArray[np.int32]
    parallel: bool


def _blocks(count: int, kind: type = np.float64) -> NDArray:
    """Return blocks with a little memory behind them, which products read."""
    return np.zeros((count + 1, 9), kind)[:-1]


def _order(indptr: NDArray[np.int32], indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the order in which to sweep rows: as they are, unless neighbours are far apart."""
    n = len(indptr) - 1
    same = np.arange(n, dtype=np.int32)
    width = graphs.farthest_columns(indptr, indices, same, same) - same
    if width.max(initial=0) <= max(_LEAST_ROWS, n // 16):
        return same
    graph = sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(n, n))
    return np.ascontiguousarray(reverse_cuthill_mckee(graph, symmetric_mode=True), dtype=np.int32)


class Hierarchy:
    """All levels of a matrix, made once a pattern; `update` takes over new values.

    Args:
        matrix: The finest matrix.
        geometry: Where its unknowns are, or None.
        coarsest: Nodes of a level that is solved directly.
        precision: Type of the numbers that the smoother reads.
    """

    def __init__(
        self, matrix: BlockMatrix, geometry: Geometry | None, coarsest: int = 60, precision: type = np.float32
    ) -> None:
        p = matrix.pattern
        self.interpolations: list[sparse.csr_array] = []
        self.levels: list[_Level] = []
        order = _order(p.indptr, p.indices)
        self._rows = [(p.indptr, p.indices, order)]
        self.order, self.rank = order, _inverse_of(order)
        self.orders = [1 if geometry is None else geometry.order]
        self._coarsen(p.indptr, p.indices, geometry, coarsest)
        self._lay_out(precision)
        self.held = np.zeros(self.row_count, np.uint8)
        self.free = np.zeros((0, 6))
        self._fixed: NDArray[np.uint8] | None = None
        self._projected: NDArray[np.float64] | None = None
        self._masked = [level.factors for level in self.levels[:1]]
        self._row_of = np.repeat(np.arange(p.node_count, dtype=np.int32), np.diff(p.indptr))

    def _coarsen(
        self,
        indptr: NDArray[np.int32],
        indices: NDArray[np.int32],
        geometry: Geometry | None,
        coarsest: int,
    ) -> None:
        """Add levels until one is small, or as long as they become smaller."""
        points = None if geometry is None else geometry.points
        known = None if geometry is None else geometry.coarser
        edges: NDArray[np.int32] | None = None
        mixed: NDArray[np.int32] | None = None  # how the nodes of this level were renumbered
        n = len(indptr) - 1
        while n > coarsest:
            order = 1
            if known is not None:
                P, geometry = known()
                P = sparse.csr_array(P if mixed is None else P[mixed])
                points, known, order = geometry.points, geometry.coarser, geometry.order
                edges = None
            else:
                P, points, edges = coarsen(points, indptr, indices, edges)
                if P.shape[1] > _SLOW * n:
                    P, points, edges = aggregate(indptr, indices), None, None
            if P.shape[1] > _SLOW * n and order == 1:
                break
            mixed = self._add_level(indptr, indices, P)
            self.orders.append(order)
            points = None if points is None else points[mixed]
            edges = None if edges is None else _inverse_of(mixed)[edges]
            level = self.levels[-1]
            indptr, indices, n = level.indptr, level.indices, P.shape[1]

    @property
    def node_counts(self) -> list[int]:
        """Nodes of every level, the finest first."""
        return [int(last - first) for first, last in self.table[:, :2]]

    @property
    def complexity(self) -> float:
        """Blocks of all levels over the blocks of the finest (operator complexity)."""
        counts = [len(self._rows[0][1])] + [len(level.indices) for level in self.levels]
        return sum(counts) / counts[0]

    def _add_level(
        self, indptr: NDArray[np.int32], indices: NDArray[np.int32], P: sparse.csr_array
    ) -> NDArray[np.int32]:
        """Work out the next coarser level; return the order its nodes are numbered in, so that neighbours are near."""
        graph = sparse.csr_array(
            (np.ones(len(indices), np.float32), indices, indptr), shape=(P.shape[0],) * 2
        )
        pattern = sparse.csr_array(abs(P).astype(np.float32))
        coupled = sparse.csr_array(pattern.T @ graph @ pattern)
        coupled.sort_indices()
        order = _order(coupled.indptr.astype(np.int32), coupled.indices.astype(np.int32))
        P = sparse.csr_array(P[:, order])
        P.sort_indices()
        R = sparse.csr_array(P.T)
        R.sort_indices()
        p_arrays = (P.indptr.astype(np.int32), P.indices.astype(np.int32))
        r_arrays = (R.indptr.astype(np.int32), R.indices.astype(np.int32))
        c_indptr, c_indices, terms = galerkin.coarse_pattern(
            indptr, indices, *p_arrays, *r_arrays, P.shape[1]
        )
        starts, sources, factors, mirror = galerkin.stream(
            indptr, indices, *p_arrays, P.data, *r_arrays, R.data, c_indptr, c_indices, terms
        )
        diagonal = kernels.diagonal_slots(c_indptr, c_indices)
        blocks = _blocks(len(c_indices))
        parallel = terms >= PARALLEL_FROM
        self.levels.append(
            _Level(c_indptr, c_indices, diagonal, blocks, starts, sources, factors, mirror, parallel)
        )
        same = np.arange(P.shape[1], dtype=np.int32)
        self._rows.append((c_indptr, c_indices, same))
        self.interpolations.append(P)
        return order

    def _lay_out(self, precision: type) -> None:
        """Put all levels one behind the other."""
        counts = [len(indptr) - 1 for indptr, _, _ in self._rows]
        firsts = np.concatenate([[0], np.cumsum(counts)])
        self.row_count = int(firsts[-1])
        table, cuts, early, late = [], [np.zeros(0, np.int64)], [], []
        parts = 0
        for level, (indptr, indices, order) in enumerate(self._rows):
            rank = _inverse_of(order)
            wide = len(indices) >= PARALLEL_FROM
            least = _LEAST_ROWS if wide else counts[level]
            last = graphs.farthest_columns(indptr, indices, order, rank)
            starts = graphs.part_starts(last, max(1, least))
            split = graphs.sweep_order(indptr, indices, order, rank, starts, firsts[level])
            early.append(split[:3])
            late.append(split[3:])
            cuts.append(starts + firsts[level])
            table.append(
                [firsts[level], firsts[level + 1], parts, parts + len(starts) - 1, wide and len(starts) > 4]
            )
            parts += len(starts)
        self.table = np.array(table, np.int64)
        self.wide = bool(self.table[0, cycle.WIDE])
        self.cuts = np.concatenate(cuts)
        self._early_from, self.early = _joined(early, precision)
        self._late_from, self.late = _joined(late, precision)
        self.up, self.down = self._transfers(firsts, counts)
        n = self.row_count
        self.diagonal, self.inverse = np.zeros((n, 6)), np.zeros((n, 6))
        self.b, self.x, self.r = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
        self.dense = np.zeros((3 * counts[-1], 3 * counts[-1]))
        self._visits = np.zeros(len(counts), np.int64)

    def _transfers(self, firsts: NDArray[np.int64], counts: list[int]) -> tuple[tuple, tuple]:
        """Return the interpolations and their transposes over the rows of all levels as CSR arrays."""
        big = sparse.coo_array((self.row_count, self.row_count))
        rows, columns, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for level, P in enumerate(self.interpolations):
            coo = sparse.coo_array(P if level else P[self.order])
            rows.append(coo.row + firsts[level])
            columns.append(coo.col + firsts[level + 1])
            values.append(coo.data)
        big = sparse.csr_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
            shape=(self.row_count, self.row_count),
        )
        both = []
        for matrix in (big, sparse.csr_array(big.T)):
            matrix.sort_indices()
            both.append((matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data))
        return both[0], both[1]

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64],
        inverse: NDArray[np.float64],
    ) -> None:
        """Take over values, constraints and the inverse diagonal blocks of the finest level."""
        p = matrix.pattern
        n = p.node_count
        self._take_constraints(fixed, projections)
        blocks = matrix.blocks
        if self._projected is not None:
            cycle.project_blocks.pick(p.parallel)(
                p.indptr, p.indices, blocks, fixed, projections, self._projected
            )
            blocks = self._projected
        for number, level in enumerate(self.levels):
            factors = self._masked[0] if number == 0 else level.factors
            galerkin.product.pick(level.parallel)(
                blocks if number == 0 else self.levels[number - 1].blocks,
                level.starts,
                level.sources,
                factors,
                level.mirror,
                level.indptr,
                level.indices,
                level.blocks,
            )
        self._copy(blocks, p.diagonal, p.parallel)
        self.inverse[:n] = inverse[self.order]
        self._factorise(blocks)

    def _take_constraints(self, fixed: NDArray[np.uint8], projections: NDArray[np.float64]) -> None:
        if self._fixed is not None and (self._fixed == fixed).all() and not (fixed == 2).any():
            return
        self._fixed = fixed.copy()
        n = len(fixed)
        self.held[:n] = fixed[self.order]
        partly = bool((fixed == 2).any())
        self.free = np.zeros((0, 6))
        if partly:
            self.free = np.ascontiguousarray(projections[self.order])
            if self._projected is None:
                self._projected = _blocks(len(self._rows[0][1]))
        else:
            self._projected = None
        if self.levels:
            level = self.levels[0]
            if self._masked[0] is level.factors and fixed.any():
                self._masked[0] = level.factors.copy()
            if fixed.any():
                galerkin.masked_factors.pick(level.parallel)(
                    level.sources, level.factors, self._row_of, self._rows[0][1], fixed, self._masked[0]
                )
            else:
                self._masked[0] = level.factors

    def _copy(self, blocks: NDArray[np.float64], diagonal: NDArray[np.int32], parallel: bool) -> None:
        """Copy the blocks of all levels into the order in which the smoother reads them."""
        for number in range(len(self._rows)):
            own = blocks if number == 0 else self.levels[number - 1].blocks
            at = diagonal[self.order] if number == 0 else self.levels[number - 1].diagonal
            wide = parallel and len(self._rows[number][1]) >= PARALLEL_FROM
            first, last = self.table[number, :2]
            cycle.copy_blocks.pick(wide)(
                own,
                first,
                last,
                self.early[0],
                self._early_from,
                self.early[2],
                self.late[0],
                self._late_from,
                self.late[2],
            )
            cycle.take_diagonal.pick(wide)(own, at, first, self.diagonal, self.inverse)

    def _factorise(self, blocks: NDArray[np.float64]) -> None:
        """Invert the coarsest matrix, which may be the only one."""
        if self.levels:
            level = self.levels[-1]
            cycle.dense_matrix(level.indptr, level.indices, level.blocks, self.dense)
        else:
            indptr, indices, order = self._rows[0]
            cycle.dense_matrix(indptr, indices, blocks, self.dense)
            fixed = np.repeat(self.held[self.rank] == 1, 3)
            self.dense[fixed] = 0.0
            self.dense[:, fixed] = 0.0
            place = (3 * order[:, None] + np.arange(3)).ravel()
            self.dense[:] = self.dense[np.ix_(place, place)]
        cycle.invert_dense(self.dense)

    def full_cycle(
        self, matrix: BlockMatrix, residual: NDArray[np.float64], repeats: int, sweeps: int
    ) -> NDArray[np.float64]:
        """Return a full multigrid correction for a residual [n, 3]: from the coarsest level up, a cycle on each."""
        P = self.interpolations
        loads = [residual]
        for interpolation in P:
            loads.append(interpolation.T @ loads[-1])
        first, last = self.table[-1, :2]
        u = (self.dense @ loads[-1].ravel()).reshape(-1, 3)
        for number in range(len(P) - 1, -1, -1):
            u = P[number] @ u
            order = self.order if number == 0 else np.arange(len(u))
            self._hold(u, number)
            if number == 0:
                left = loads[0] - matrix.multiply(u)
            else:
                level = self.levels[number - 1]
                product = np.empty_like(u)
                kernels.multiply.serial(level.indptr, level.indices, level.blocks, u, product)
                left = loads[number] - product
            first, last = self.table[number, :2]
            self.b[first:last] = left[order]
            self.cycle(number, repeats, sweeps)
            u[order] += self.x[first:last]
        return u

    def _hold(self, u: NDArray[np.float64], number: int) -> None:
        """Take away what constraints forbid, on the finest level."""
        if number:
            return
        held = self.held[self.rank]
        u[held == 1] = 0.0
        partly = np.flatnonzero(held == 2)
        if len(partly):
            s = self.free[self.rank[partly]][:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
            u[partly] = np.einsum("kij,kj->ki", s, u[partly])

    def cycle(self, top: int = 0, repeats: int = 1, sweeps: int = 1) -> None:
        """Set `x` on level `top` to one cycle from zero for the right-hand side in `b`."""
        cycle.gauss_seidel_cycle.pick(self.wide)(
            self.table, self.cuts, *self.early, *self.late, self.diagonal, self.inverse, self.held, self.free,
            *self.up, *self.down, self.dense, self.b, self.x, self.r, top, repeats, sweeps, self._visits,
        )  # fmt: skip


def _inverse_of(order: NDArray[np.int32]) -> NDArray[np.int32]:
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=order.dtype)
    return rank


def _joined(splits: list[tuple], precision: type) -> tuple[NDArray[np.int32], tuple]:
    """Join the (pointers, columns, sources) of all levels; return the sources, and the arrays of the cycle."""
    pointers, columns, sources = [np.zeros(1, np.int64)], [], []
    total = 0
    for ptr, cols, source in splits:
        pointers.append(ptr[1:] + total)
        columns.append(cols)
        sources.append(source)
        total += len(cols)
    return np.concatenate(sources), (
        np.concatenate(pointers),
        np.concatenate(columns),
        _blocks(total, precision),
    )
