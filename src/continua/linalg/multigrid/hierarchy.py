"""The levels of a matrix, updated in place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.linalg import block_kernels
from continua.linalg.constraints import project_free
from continua.linalg.geometry import Geometry
from continua.linalg.matrix import PARALLEL_FROM, BlockMatrix, blocks_of
from continua.linalg.multigrid import (
    gauss_seidel_cycle,
    level_kernels,
    ordering_kernels,
    polynomial_smoothers,
)
from continua.linalg.multigrid.aggregation import Aggregation, NearNullspace
from continua.linalg.multigrid.aggregation_kernels import largest_eigenvalue
from continua.linalg.multigrid.lattice_prolongation import lattice_prolongation, lattice_spacing
from continua.linalg.multigrid.scalar_prolongation_level import (
    MIN_PART_ROWS,
    ScalarProlongationLevel,
    sweep_ordering,
)
from continua.linalg.multigrid.sweep_storage import SweepOrderedBlocks, Transfer
from continua.pickling import KeepsArrayViews

__all__ = ["Hierarchy"]

_MAX_COARSENING_RATIO = 0.6  # a coarser level with a larger part of the nodes is not worth its cost


class Hierarchy(KeepsArrayViews):
    """All levels of a matrix, built once per pattern; `update` computes them for new values.

    Refined meshes, lattices and lower polynomial degrees have scalar prolongations. Coarser levels than these come from
    smoothed aggregation.

    Args:
        matrix: The finest matrix.
        geometry: Positions of its unknowns, or None.
        coarsest: Largest number of nodes of a level that is solved directly.
        precision: Type of the matrix values in the smoother.
        smoother: One of `polynomial_smoothers.SMOOTHERS`.
        sweeps: Sweeps, or degree of a polynomial smoother, before and again after the coarse-grid correction.
        cycle_index: Visits of each level per visit of the next finer level: 1 is a V-cycle, 2 a W-cycle. From 2 on, the
            levels below the finest are stored in double precision, which large contrasts of stiffness need.
        aggregates: Aggregates of the aggregation levels, if known from an earlier run.
    """

    def __init__(
        self,
        matrix: BlockMatrix,
        geometry: Geometry | None,
        coarsest: int = 60,
        precision: type = np.float32,
        smoother: str = "gauss-seidel",
        sweeps: int = 1,
        cycle_index: int = 1,
        aggregates: Sequence[NDArray[np.int64]] = (),
    ) -> None:
        self._known_aggregates = list(aggregates)
        self.smoother, self.sweeps, self._coarse_double = smoother, sweeps, cycle_index > 1
        p = matrix.pattern
        self.levels: list[ScalarProlongationLevel | Aggregation] = []
        self.order = sweep_ordering(p.indptr, p.indices)
        self.rank = _inverse_of(self.order)
        self._rows = [(p.indptr, p.indices, self.order)]
        self.orders = [1 if geometry is None else geometry.order]
        self._points: NDArray[np.float64] | None = None  # of the level above the first aggregation, at rest
        self._anchors: NDArray[np.intp] | None = np.arange(p.node_count)  # its nodes among the finest nodes
        self._coarsen(matrix, geometry, coarsest)
        self._lay_out(precision)
        self.set_cycle_index(cycle_index)
        self.held = np.zeros(self.row_count, np.uint8)
        self.free = np.zeros((0, 6))
        self._fixed: NDArray[np.uint8] | None = None
        self._projected: NDArray[np.float64] | None = None

    def _coarsen(self, matrix: BlockMatrix, geometry: Geometry | None, coarsest: int) -> None:
        """Add levels until one is small enough or coarsening stops being effective."""
        p = matrix.pattern
        indptr, indices, blocks, diagonal = p.indptr, p.indices, matrix.blocks, p.diagonal
        n = p.node_count
        row_points = np.arange(n, dtype=np.int32)  # index of each row in the geometry
        while n > coarsest:
            level: ScalarProlongationLevel | Aggregation
            found = None if geometry is None else self._prolongated(indptr, indices, geometry, row_points)
            if found is not None:
                level, geometry = found
                level.product(blocks)
                row_points = level.order
            else:
                if geometry is not None:
                    self._points, geometry = geometry.points[row_points], None
                level = self._aggregate(indptr, indices, blocks, diagonal)
            order = 1 if geometry is None else geometry.order
            if level.row_count > _MAX_COARSENING_RATIO * n and order == 1:
                break
            self.levels.append(level)
            self.orders.append(order)
            indptr, indices, blocks, diagonal = level.indptr, level.indices, level.blocks, level.diagonal
            n = level.row_count
            self._rows.append((indptr, indices, np.arange(n, dtype=np.int32)))

    def _prolongated(
        self,
        indptr: NDArray[np.int32],
        indices: NDArray[np.int32],
        geometry: Geometry,
        row_points: NDArray[np.int32],
    ) -> tuple[ScalarProlongationLevel, Geometry] | None:
        """Return a level with a scalar prolongation and its geometry, or None if it would not be much smaller."""
        if geometry.coarser is not None:
            P, below = geometry.coarser()
            P = sparse.csr_array(P[row_points])
        else:
            spacing = None if geometry.separate else lattice_spacing(geometry.points)
            if spacing is None:
                return None
            P, points = lattice_prolongation(geometry.points[row_points], 2.0 * spacing)
            below = Geometry(points)
        if P.shape[1] > _MAX_COARSENING_RATIO * P.shape[0] and below.order == 1:
            return None
        level = ScalarProlongationLevel(indptr, indices, P)
        if self._anchors is not None:  # nodes that coincide with nodes of the finest level, if all do
            P = level.P
            same = np.flatnonzero((np.diff(P.indptr) == 1) & (P.data[P.indptr[:-1]] == 1.0))
            anchors = np.full(P.shape[1], -1)
            anchors[P.indices[P.indptr[same]]] = self._anchors[same]
            self._anchors = anchors if (anchors >= 0).all() else None
        return level, below

    def _aggregate(
        self,
        indptr: NDArray[np.int32],
        indices: NDArray[np.int32],
        blocks: NDArray[np.float64],
        diagonal: NDArray[np.int32],
    ) -> Aggregation:
        """Return a level by aggregation."""
        above = self.levels[-1] if self.levels else None
        finer_has_rotations = isinstance(above, Aggregation) and above.has_rotations
        known = self._known_aggregates.pop(0) if self._known_aggregates else None
        level = Aggregation(
            indptr, indices, blocks, self._rows[-1][2], self._points is not None, finer_has_rotations, known
        )
        inverse = np.zeros((len(diagonal), 6))
        level_kernels.invert_level_diagonal.serial(blocks, diagonal, 0, np.zeros_like(inverse), inverse)
        level.update(blocks, inverse, self._near_nullspace(len(self.levels), None))
        return level

    def _near_nullspace(self, number: int, positions: NDArray[np.float64] | None) -> NearNullspace | None:
        """Return the geometry of the rigid-body modes of a level, with the finest nodes at `positions`."""
        above = self.levels[number - 1] if number else None
        if isinstance(above, Aggregation):
            return above.near_nullspace
        if self._points is None:
            return None
        if positions is None or self._anchors is None:
            return NearNullspace(self._points)
        return NearNullspace(positions[self._anchors])

    @property
    def aggregations(self) -> list[Aggregation]:
        """The aggregation levels, the finest first."""
        return [level for level in self.levels if isinstance(level, Aggregation)]

    @property
    def smoother_vectors(self) -> NDArray[np.float64]:
        """Iterates of the power method of Jacobi and Chebyshev smoothers on all levels, shape [k, 3]."""
        return np.concatenate([np.zeros((0, 3)), *self._vectors])

    def restore_smoother_vectors(self, vectors: NDArray[np.float64]) -> None:
        """Restore iterates from `smoother_vectors`."""
        self._vectors.clear()
        start = 0
        for first, last in (
            self.table[:-1, :2] if len(vectors) else ()
        ):  # the coarsest level is solved exactly
            self._vectors.append(np.array(vectors[start : start + last - first]))
            start += last - first

    @property
    def prolongations(self) -> list[sparse.sparray]:
        """Prolongation to every level from the next, [n, coarse] if scalar, [3 n, 3 coarse] from aggregates."""
        return [level.prolongation_matrix() for level in self.levels]

    @property
    def node_counts(self) -> list[int]:
        """Nodes of every level, the finest first."""
        return [int(last - first) for first, last in self.table[:, :2]]

    @property
    def block_counts(self) -> list[int]:
        """Blocks of every level's matrix, the finest first."""
        return [len(self._rows[0][1])] + [len(level.indices) for level in self.levels]

    @property
    def complexity(self) -> float:
        """Operator complexity: blocks of all levels over the blocks of the finest."""
        return sum(self.block_counts) / self.block_counts[0]

    def _lay_out(self, precision: type) -> None:
        """Store all levels consecutively in one set of arrays."""
        counts = [len(indptr) - 1 for indptr, _, _ in self._rows]
        firsts = np.concatenate([[0], np.cumsum(counts)])
        self.row_count = int(firsts[-1])
        table, cuts = [], [np.zeros(0, np.int64)]
        lower: list[tuple] = []
        upper: list[tuple] = []
        parts = 0
        for level, (indptr, indices, order) in enumerate(self._rows):
            rank = _inverse_of(order)
            parallel_level = len(indices) >= PARALLEL_FROM
            least = MIN_PART_ROWS if parallel_level else counts[level]
            last = ordering_kernels.last_columns(indptr, indices, order, rank)
            starts = ordering_kernels.part_starts(last, max(1, least))
            split = ordering_kernels.sweep_order(indptr, indices, order, rank, starts, firsts[level])
            lower.append(split[:3])
            upper.append(split[3:])
            cuts.append(starts + firsts[level])
            end = parts + len(starts) - 1
            table.append(
                [firsts[level], firsts[level + 1], parts, end, parallel_level and len(starts) > 4, 1]
            )
            parts += len(starts)
        self.table = np.array(table, np.int64)
        self.parallel = bool(self.table[0, gauss_seidel_cycle.PARALLEL])
        self._coarse_parallel = bool(self.table[1:, gauss_seidel_cycle.PARALLEL].any())
        self.cuts = np.concatenate(cuts)
        n = counts[0]
        self.finest = SweepOrderedBlocks(lower[:1], upper[:1], 0, precision)
        self.coarser = SweepOrderedBlocks(
            lower[1:], upper[1:], n, np.float64 if self._coarse_double else precision
        )
        scalars, blocks = self._transfers(firsts), self._block_transfers(firsts, precision)
        self.prolongation = Transfer(*scalars[0], *blocks[0])
        self.restriction = Transfer(*scalars[1], *blocks[1])
        n = self.row_count
        self.diagonal, self.inverse = np.zeros((n, 6)), np.zeros((n, 6))
        self.b, self.x, self.r = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
        self._d = np.zeros((0 if self.smoother == "gauss-seidel" else n, 3))
        self._vectors: list[NDArray[np.float64]] = []
        self._tables: dict[int, NDArray[np.float64]] = {}
        self.dense = np.zeros((3 * counts[-1], 3 * counts[-1]))
        self._visits = np.zeros(len(counts), np.int64)

    def _transfers(self, firsts: NDArray[np.int64]) -> tuple[tuple, tuple]:
        """Return the scalar prolongations and restrictions over the rows of all levels as CSR arrays."""
        rows, columns, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for number, level in enumerate(self.levels):
            if isinstance(level, ScalarProlongationLevel):
                coo = sparse.coo_array(level.P if number else level.P[self.order])
                rows.append(coo.row + firsts[number])
                columns.append(coo.col + firsts[number + 1])
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

    def _block_transfers(self, firsts: NDArray[np.int64], precision: type) -> tuple[tuple, tuple]:
        """Return the same for prolongations with blocks, whose values are set by every update."""
        counts = np.zeros((2, self.row_count), np.int64)
        columns: tuple[list, list] = ([np.zeros(0, np.int32)], [np.zeros(0, np.int32)])
        self._block_ranges: list[tuple[int, int, NDArray[np.int64] | slice]] = []
        total = 0
        for number, level in enumerate(self.levels):
            if not isinstance(level, Aggregation):
                self._block_ranges.append((total, total, slice(0)))
                continue
            size = len(level.p_indices)
            lengths = np.diff(level.p_indptr)
            taken: NDArray[np.int64] | slice = slice(None)
            fine, up = level.t_indices, level.p_indices
            if number == 0:  # its rows are in sweep order
                lengths = lengths[self.order]
                starts = np.cumsum(lengths) - lengths
                taken = np.repeat(level.p_indptr[:-1][self.order] - starts, lengths) + np.arange(size)
                fine, up = self.rank[fine], up[taken]
            counts[0, firsts[number] : firsts[number + 1]] = lengths
            counts[1, firsts[number + 1] : firsts[number + 2]] = np.diff(level.t_indptr)
            columns[0].append(up + np.int32(firsts[number + 1]))
            columns[1].append(fine + np.int32(firsts[number]))
            self._block_ranges.append((total, total + size, taken))
            total += size
        both = [
            (
                np.concatenate([[0], np.cumsum(counts[side])]),
                np.concatenate(columns[side]).astype(np.int32),
                blocks_of(total, precision),
            )
            for side in range(2)
        ]
        return both[0], both[1]

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64],
        inverse: NDArray[np.float64],
    ) -> None:
        """Compute all levels from the values, constraints and inverse diagonal blocks of the finest."""
        p = matrix.pattern
        n = p.node_count
        self._set_constraints(fixed, projections)
        finest = matrix.blocks
        if self._projected is not None:
            block_kernels.project_blocks.variant(p.parallel)(
                p.indptr, p.indices, finest, fixed, projections, self._projected
            )
            finest = self._projected
        blocks, parallel = finest, p.parallel
        for number, level in enumerate(self.levels):
            if isinstance(level, ScalarProlongationLevel):
                level.product(blocks)
            elif number == 0:
                level.update(blocks, inverse, self._near_nullspace(0, matrix.positions), fixed, projections)
            else:
                first, last = self.table[number, :2]
                level.update(blocks, self.inverse[first:last], self._near_nullspace(number, matrix.positions))
            if isinstance(level, Aggregation):
                first, last, taken = self._block_ranges[number]
                self.prolongation.blocks[first:last] = level.prolongation_values[taken]
                self.restriction.blocks[first:last] = level.restriction_values
            blocks = level.blocks
            self._invert_diagonal(number + 1, blocks, level.diagonal, parallel)
        self._invert_diagonal(0, finest, p.diagonal[self.order], parallel)
        self.inverse[:n] = inverse[self.order]
        self._copy(finest, parallel)
        self._factorise(finest)
        if self.smoother != "gauss-seidel":
            self._find_factors(finest, inverse)

    def _find_factors(self, finest: NDArray[np.float64], inverse: NDArray[np.float64]) -> None:
        """Compute the coefficients of polynomial smoothers on all levels from the largest eigenvalues of D^-1 A."""
        fresh = not self._vectors
        for number, (indptr, indices, _) in enumerate(self._rows[:-1]):
            first, last = self.table[number, :2]
            if fresh:
                self._vectors.append(np.random.default_rng(number).normal(size=(last - first, 3)))
            largest = largest_eigenvalue(
                indptr,
                indices,
                self.levels[number - 1].blocks if number else finest,
                self.inverse[first:last] if number else inverse,
                self._vectors[number],
                15 if fresh else 3,
            )
            self._tables[number] = polynomial_smoothers.step_coefficients(self.smoother, largest, self.sweeps)

    def _set_constraints(self, fixed: NDArray[np.uint8], projections: NDArray[np.float64]) -> None:
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
                self._projected = blocks_of(len(self._rows[0][1]))
        else:
            self._projected = None
        if self.levels and isinstance(level := self.levels[0], ScalarProlongationLevel):
            level.set_fixed(fixed)

    def _invert_diagonal(
        self, number: int, blocks: NDArray[np.float64], diagonal: NDArray[np.int32], parallel: bool
    ) -> None:
        """Invert the diagonal blocks of a level."""
        parallel_level = parallel and len(self._rows[number][1]) >= PARALLEL_FROM
        level_kernels.invert_level_diagonal.variant(parallel_level)(
            blocks, diagonal, self.table[number, 0], self.diagonal, self.inverse
        )

    def _copy(self, blocks: NDArray[np.float64], parallel: bool) -> None:
        """Copy the blocks of all levels into sweep order."""
        for number in range(len(self._rows)):
            own = blocks if number == 0 else self.levels[number - 1].blocks
            parallel_level = parallel and len(self._rows[number][1]) >= PARALLEL_FROM
            first, last = self.table[number, :2]
            self._blocks_of_level(number).copy_from(own, first, last, parallel_level)

    def _blocks_of_level(self, number: int) -> SweepOrderedBlocks:
        return self.coarser if number else self.finest

    def _factorise(self, blocks: NDArray[np.float64]) -> None:
        """Invert the coarsest matrix, which may be the only level."""
        if self.levels:
            level = self.levels[-1]
            level_kernels.dense_matrix(level.indptr, level.indices, level.blocks, self.dense)
        else:
            indptr, indices, order = self._rows[0]
            level_kernels.dense_matrix(indptr, indices, blocks, self.dense)
            fixed = np.repeat(self.held[self.rank] == 1, 3)
            self.dense[fixed] = 0.0
            self.dense[:, fixed] = 0.0
            place = (3 * order[:, None] + np.arange(3)).ravel()
            self.dense[:] = self.dense[np.ix_(place, place)]
        level_kernels.invert_dense(self.dense)

    def fmg(self, matrix: BlockMatrix, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the full multigrid correction of a residual [n, 3]: one cycle on each level, the coarsest first."""
        loads = [residual]
        for level in self.levels:
            loads.append(level.restrict(loads[-1]))
        first, last = self.table[-1, :2]
        u = (self.dense @ loads[-1].ravel()).reshape(-1, 3)
        for number in range(len(self.levels) - 1, -1, -1):
            u = self.levels[number].prolongate(u)
            order = self.order if number == 0 else np.arange(len(u))
            if number == 0:
                u = project_free(
                    u, self.held[self.rank], self.free[self.rank] if len(self.free) else self.free
                )
            if number == 0:
                left = loads[0] - matrix.multiply(u)
            else:
                level = self.levels[number - 1]
                product = np.empty_like(u)
                block_kernels.multiply.serial(level.indptr, level.indices, level.blocks, u, product)
                left = loads[number] - product
            first, last = self.table[number, :2]
            self.b[first:last] = left[order]
            self.cycle(number)
            u[order] += self.x[first:last]
        return u

    def set_cycle_index(self, cycle_index: int) -> None:
        """Set the visits of each level per visit of the next finer level: 1 for V-cycles, 2 for W-cycles."""
        self.table[1:, gauss_seidel_cycle.CYCLE_INDEX] = cycle_index

    def cycle(self, top: int = 0) -> None:
        """Set `x` on level `top` to one cycle from zero for the right-hand side in `b`."""
        if self.smoother != "gauss-seidel":
            self._polynomial_cycle(top, True)
            return
        more = top == 0 and len(self.levels) > 0
        where = (self.table, self.cuts)
        if more:
            gauss_seidel_cycle.descend.variant(self.parallel)(
                *where, self.finest.arrays, self.diagonal, self.inverse, self.held, self.free, self.restriction,
                self.b, self.x, self.r, self.sweeps,
            )  # fmt: skip
        gauss_seidel_cycle.gauss_seidel_cycle.variant(self._coarse_parallel)(
            *where, self.coarser.arrays, self.diagonal, self.inverse, self.held, self.free, self.prolongation,
            self.restriction, self.dense, self.b, self.x, self.r, top + more,
            self.table[1, gauss_seidel_cycle.CYCLE_INDEX] if more else 1, self.sweeps, self._visits,
        )  # fmt: skip
        if more:
            gauss_seidel_cycle.ascend.variant(self.parallel)(
                *where, self.finest.arrays, self.inverse, self.held, self.free, self.prolongation,
                self.b, self.x, self.sweeps,
            )  # fmt: skip

    def _polynomial_cycle(self, number: int, fresh: bool) -> None:
        """Do a cycle on level `number` and coarser ones with a polynomial smoother, from zero if `fresh`."""
        first, last = (int(row) for row in self.table[number, :2])
        if number + 1 == len(self.table):
            self.x[first:last] = (self.dense @ self.b[first:last].ravel()).reshape(-1, 3)
            return
        parallel_level = bool(self.table[number, gauss_seidel_cycle.PARALLEL])
        matrix = (self._blocks_of_level(number).arrays, self.diagonal)
        vectors = (self.b, self.x, self.r)
        for visit in range(self.table[number, gauss_seidel_cycle.CYCLE_INDEX]):
            polynomial_smoothers.relax.variant(parallel_level)(
                first, last, *matrix, self.inverse, self.held, self.free, self._tables[number],
                fresh and visit == 0, *vectors, self._d,
            )  # fmt: skip
            polynomial_smoothers.restrict_residual.variant(parallel_level)(
                first, last, int(self.table[number + 1, 1]), *matrix, self.held, self.free,
                self.restriction, *vectors,
            )  # fmt: skip
            self._polynomial_cycle(number + 1, True)
            polynomial_smoothers.correct.variant(parallel_level)(
                first, last, self.prolongation, self.held, self.free, self.x
            )
            polynomial_smoothers.relax.variant(parallel_level)(
                first, last, *matrix, self.inverse, self.held, self.free, self._tables[number], False,
                *vectors, self._d,
            )  # fmt: skip


def _inverse_of(order: NDArray[np.int32]) -> NDArray[np.int32]:
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=order.dtype)
    return rank
