"""A matrix on coarser and coarser levels, kept up to date in place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.linalg import cycle, graphs, kernels, levels, smoothers
from continua.linalg.aggregation import Aggregation, Bodies
from continua.linalg.aggregation_kernels import largest_eigenvalue
from continua.linalg.geometry import Geometry
from continua.linalg.interpolated import LEAST_ROWS, Interpolated, near_order
from continua.linalg.matrix import PARALLEL_FROM, BlockMatrix, blocks_of
from continua.linalg.swept import SweptBlocks
from continua.linalg.transfer import from_lattice, lattice_spacing

__all__ = ["Hierarchy"]

_SLOW = 0.6  # a coarser level with more than this part of the nodes is not worth having


class Hierarchy:
    """All levels of a matrix, made once a pattern; `update` takes over new values.

    Refined meshes, lattices and lower degrees are interpolated. Where none of these is left, nodes are put together in
    groups that move as rigid bodies.

    Args:
        matrix: The finest matrix.
        geometry: Where its unknowns are, or None.
        coarsest: Nodes of a level that is solved directly.
        precision: Type of the numbers that the smoother reads.
        smoother: One of `smoothers.SMOOTHERS`.
        sweeps: Sweeps, or steps of a polynomial, before and again after the correction of the coarser level.
        visits: How often a cycle visits each level for one visit of the level above it. More than once needs the
            levels below the finest in double precision, where materials are very different.
        groups: Groups of the aggregation levels, if they are known from an earlier run.
    """

    def __init__(
        self,
        matrix: BlockMatrix,
        geometry: Geometry | None,
        coarsest: int = 60,
        precision: type = np.float32,
        smoother: str = "gauss-seidel",
        sweeps: int = 1,
        visits: int = 1,
        groups: Sequence[NDArray[np.int64]] = (),
    ) -> None:
        self._known_groups = list(groups)
        self.smoother, self.sweeps, self._often = smoother, sweeps, visits > 1
        p = matrix.pattern
        self.levels: list[Interpolated | Aggregation] = []
        self.order = near_order(p.indptr, p.indices)
        self.rank = _inverse_of(self.order)
        self._rows = [(p.indptr, p.indices, self.order)]
        self.orders = [1 if geometry is None else geometry.order]
        self._points: NDArray[np.float64] | None = None  # of the level that groups are made of, at rest
        self._anchors: NDArray[np.intp] | None = np.arange(p.node_count)  # its nodes among the finest ones
        self._coarsen(matrix, geometry, coarsest)
        self._lay_out(precision)
        self.visit(visits)
        self.held = np.zeros(self.row_count, np.uint8)
        self.free = np.zeros((0, 6))
        self._fixed: NDArray[np.uint8] | None = None
        self._projected: NDArray[np.float64] | None = None

    def _coarsen(self, matrix: BlockMatrix, geometry: Geometry | None, coarsest: int) -> None:
        """Add levels until one is small, or as long as they become smaller."""
        p = matrix.pattern
        indptr, indices, blocks, diagonal = p.indptr, p.indices, matrix.blocks, p.diagonal
        n = p.node_count
        mixed = np.arange(n, dtype=np.int32)  # numbers of the rows in the geometry
        while n > coarsest:
            level: Interpolated | Aggregation
            found = None if geometry is None else self._interpolated(indptr, indices, geometry, mixed)
            if found is not None:
                level, geometry = found
                level.product(blocks)
                mixed = level.order
            else:
                if geometry is not None:
                    self._points, geometry = geometry.points[mixed], None
                level = self._grouped(indptr, indices, blocks, diagonal)
            order = 1 if geometry is None else geometry.order
            if level.row_count > _SLOW * n and order == 1:
                break
            self.levels.append(level)
            self.orders.append(order)
            indptr, indices, blocks, diagonal = level.indptr, level.indices, level.blocks, level.diagonal
            n = level.row_count
            self._rows.append((indptr, indices, np.arange(n, dtype=np.int32)))

    def _interpolated(
        self,
        indptr: NDArray[np.int32],
        indices: NDArray[np.int32],
        geometry: Geometry,
        mixed: NDArray[np.int32],
    ) -> tuple[Interpolated, Geometry] | None:
        """Return a level that interpolates and its geometry, or None if there is none that is much smaller."""
        if geometry.coarser is not None:
            P, below = geometry.coarser()
            P = sparse.csr_array(P[mixed])
        else:
            spacing = lattice_spacing(geometry.points)
            if spacing is None:
                return None
            P, points = from_lattice(geometry.points[mixed], 2.0 * spacing)
            below = Geometry(points)
        if P.shape[1] > _SLOW * P.shape[0] and below.order == 1:
            return None
        level = Interpolated(indptr, indices, P)
        if self._anchors is not None:  # nodes that the level shares with the finest, if it shares all
            P = level.P
            same = np.flatnonzero((np.diff(P.indptr) == 1) & (P.data[P.indptr[:-1]] == 1.0))
            anchors = np.full(P.shape[1], -1)
            anchors[P.indices[P.indptr[same]]] = self._anchors[same]
            self._anchors = anchors if (anchors >= 0).all() else None
        return level, below

    def _grouped(
        self,
        indptr: NDArray[np.int32],
        indices: NDArray[np.int32],
        blocks: NDArray[np.float64],
        diagonal: NDArray[np.int32],
    ) -> Aggregation:
        """Return a level of groups."""
        above = self.levels[-1] if self.levels else None
        paired = isinstance(above, Aggregation) and above.turning
        known = self._known_groups.pop(0) if self._known_groups else None
        level = Aggregation(
            indptr, indices, blocks, self._rows[-1][2], self._points is not None, paired, known
        )
        inverse = np.zeros((len(diagonal), 6))
        levels.take_diagonal.serial(blocks, diagonal, 0, np.zeros_like(inverse), inverse)
        level.update(blocks, inverse, self._bodies(len(self.levels), None))
        return level

    def _bodies(self, number: int, positions: NDArray[np.float64] | None) -> Bodies | None:
        """Return what the rows of a level stand for, the finest nodes being at `positions`."""
        above = self.levels[number - 1] if number else None
        if isinstance(above, Aggregation):
            return above.bodies
        if self._points is None:
            return None
        if positions is None or self._anchors is None:
            return Bodies(self._points)
        return Bodies(positions[self._anchors])

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
    def interpolations(self) -> list[sparse.sparray]:
        """Interpolation to every level from the next, shape [n, coarse]; from groups, with blocks, [3 n, 3 coarse]."""
        return [level.interpolation() for level in self.levels]

    @property
    def node_counts(self) -> list[int]:
        """Nodes of every level, the finest first."""
        return [int(last - first) for first, last in self.table[:, :2]]

    @property
    def complexity(self) -> float:
        """Blocks of all levels over the blocks of the finest (operator complexity)."""
        counts = [len(self._rows[0][1])] + [len(level.indices) for level in self.levels]
        return sum(counts) / counts[0]

    def _lay_out(self, precision: type) -> None:
        """Put all levels one behind the other."""
        counts = [len(indptr) - 1 for indptr, _, _ in self._rows]
        firsts = np.concatenate([[0], np.cumsum(counts)])
        self.row_count = int(firsts[-1])
        table, cuts = [], [np.zeros(0, np.int64)]
        early: list[tuple] = []
        late: list[tuple] = []
        parts = 0
        for level, (indptr, indices, order) in enumerate(self._rows):
            rank = _inverse_of(order)
            wide = len(indices) >= PARALLEL_FROM
            least = LEAST_ROWS if wide else counts[level]
            last = graphs.farthest_columns(indptr, indices, order, rank)
            starts = graphs.part_starts(last, max(1, least))
            split = graphs.sweep_order(indptr, indices, order, rank, starts, firsts[level])
            early.append(split[:3])
            late.append(split[3:])
            cuts.append(starts + firsts[level])
            end = parts + len(starts) - 1
            table.append([firsts[level], firsts[level + 1], parts, end, wide and len(starts) > 4, 1])
            parts += len(starts)
        self.table = np.array(table, np.int64)
        self.wide = bool(self.table[0, cycle.WIDE])
        self._coarse_wide = bool(self.table[1:, cycle.WIDE].any())
        self.cuts = np.concatenate(cuts)
        n = counts[0]
        self.finest = SweptBlocks(early[:1], late[:1], 0, precision)
        self.coarser = SweptBlocks(early[1:], late[1:], n, np.float64 if self._often else precision)
        self.up, self.down = self._transfers(firsts)
        self.up_blocks, self.down_blocks = self._block_transfers(firsts, precision)
        n = self.row_count
        self.diagonal, self.inverse = np.zeros((n, 6)), np.zeros((n, 6))
        self.b, self.x, self.r = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
        self._d = np.zeros((0 if self.smoother == "gauss-seidel" else n, 3))
        self._vectors: list[NDArray[np.float64]] = []
        self._tables: dict[int, NDArray[np.float64]] = {}
        self.dense = np.zeros((3 * counts[-1], 3 * counts[-1]))
        self._visits = np.zeros(len(counts), np.int64)

    def _transfers(self, firsts: NDArray[np.int64]) -> tuple[tuple, tuple]:
        """Return the interpolations by numbers and their transposes over the rows of all levels as CSR arrays."""
        rows, columns, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for number, level in enumerate(self.levels):
            if isinstance(level, Interpolated):
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
        """Return the same for the interpolations by blocks, whose values come with every update."""
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
            if number == 0:  # its rows are in the order of sweeps
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
        """Take over values, constraints and the inverse diagonal blocks of the finest level."""
        p = matrix.pattern
        n = p.node_count
        self._take_constraints(fixed, projections)
        finest = matrix.blocks
        if self._projected is not None:
            levels.project_blocks.variant(p.parallel)(
                p.indptr, p.indices, finest, fixed, projections, self._projected
            )
            finest = self._projected
        blocks, parallel = finest, p.parallel
        for number, level in enumerate(self.levels):
            if isinstance(level, Interpolated):
                level.product(blocks)
            elif number == 0:
                level.update(blocks, inverse, self._bodies(0, matrix.positions), fixed, projections)
            else:
                first, last = self.table[number, :2]
                level.update(blocks, self.inverse[first:last], self._bodies(number, matrix.positions))
            if isinstance(level, Aggregation):
                first, last, taken = self._block_ranges[number]
                self.up_blocks[2][first:last] = level.up[taken]
                self.down_blocks[2][first:last] = level.down
            blocks = level.blocks
            self._take_diagonal(number + 1, blocks, level.diagonal, parallel)
        self._take_diagonal(0, finest, p.diagonal[self.order], parallel)
        self.inverse[:n] = inverse[self.order]
        self._copy(finest, parallel)
        self._factorise(finest)
        if self.smoother != "gauss-seidel":
            self._find_factors(finest, inverse)

    def _find_factors(self, finest: NDArray[np.float64], inverse: NDArray[np.float64]) -> None:
        """Work out the factors of polynomial smoothers on all levels from the largest eigenvalues of D^-1 A."""
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
            self._tables[number] = smoothers.factors(self.smoother, largest, self.sweeps)

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
                self._projected = blocks_of(len(self._rows[0][1]))
        else:
            self._projected = None
        if self.levels and isinstance(level := self.levels[0], Interpolated):
            level.hold(fixed)

    def _take_diagonal(
        self, number: int, blocks: NDArray[np.float64], diagonal: NDArray[np.int32], parallel: bool
    ) -> None:
        """Invert the diagonal blocks of a level."""
        wide = parallel and len(self._rows[number][1]) >= PARALLEL_FROM
        levels.take_diagonal.variant(wide)(
            blocks, diagonal, self.table[number, 0], self.diagonal, self.inverse
        )

    def _copy(self, blocks: NDArray[np.float64], parallel: bool) -> None:
        """Copy the blocks of all levels into the order in which the smoother reads them."""
        for number in range(len(self._rows)):
            own = blocks if number == 0 else self.levels[number - 1].blocks
            wide = parallel and len(self._rows[number][1]) >= PARALLEL_FROM
            first, last = self.table[number, :2]
            self._swept(number).take(own, first, last, wide)

    def _swept(self, number: int) -> SweptBlocks:
        return self.coarser if number else self.finest

    def _factorise(self, blocks: NDArray[np.float64]) -> None:
        """Invert the coarsest matrix, which may be the only one."""
        if self.levels:
            level = self.levels[-1]
            levels.dense_matrix(level.indptr, level.indices, level.blocks, self.dense)
        else:
            indptr, indices, order = self._rows[0]
            levels.dense_matrix(indptr, indices, blocks, self.dense)
            fixed = np.repeat(self.held[self.rank] == 1, 3)
            self.dense[fixed] = 0.0
            self.dense[:, fixed] = 0.0
            place = (3 * order[:, None] + np.arange(3)).ravel()
            self.dense[:] = self.dense[np.ix_(place, place)]
        levels.invert_dense(self.dense)

    def full_cycle(self, matrix: BlockMatrix, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a full multigrid correction for a residual [n, 3]: from the coarsest level up, a cycle on each."""
        loads = [residual]
        for level in self.levels:
            loads.append(level.restrict(loads[-1]))
        first, last = self.table[-1, :2]
        u = (self.dense @ loads[-1].ravel()).reshape(-1, 3)
        for number in range(len(self.levels) - 1, -1, -1):
            u = self.levels[number].interpolate(u)
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
            self.cycle(number)
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

    def visit(self, times: int) -> None:
        """Let cycles visit every level so many times for one visit of the level above it."""
        self.table[1:, cycle.VISITS] = times

    def cycle(self, top: int = 0) -> None:
        """Set `x` on level `top` to one cycle from zero for the right-hand side in `b`."""
        if self.smoother != "gauss-seidel":
            self._polynomial_cycle(top, True)
            return
        more = top == 0 and len(self.levels) > 0
        where = (self.table, self.cuts)
        if more:
            cycle.descend.variant(self.wide)(
                *where, *self.finest.arrays, self.diagonal, self.inverse, self.held, self.free,
                *self.down, *self.down_blocks, self.b, self.x, self.r, self.sweeps,
            )  # fmt: skip
        cycle.gauss_seidel_cycle.variant(self._coarse_wide)(
            *where, *self.coarser.arrays, self.diagonal, self.inverse, self.held, self.free, *self.up,
            *self.up_blocks, *self.down, *self.down_blocks, self.dense, self.b, self.x, self.r, top + more,
            self.table[1, cycle.VISITS] if more else 1, self.sweeps, self._visits,
        )  # fmt: skip
        if more:
            cycle.ascend.variant(self.wide)(
                *where, *self.finest.arrays, self.inverse, self.held, self.free, *self.up, *self.up_blocks,
                self.b, self.x, self.sweeps,
            )  # fmt: skip

    def _polynomial_cycle(self, number: int, fresh: bool) -> None:
        """Do a cycle from level `number` on with a polynomial smoother, from zero if `fresh`."""
        first, last = (int(row) for row in self.table[number, :2])
        if number + 1 == len(self.table):
            self.x[first:last] = (self.dense @ self.b[first:last].ravel()).reshape(-1, 3)
            return
        wide = bool(self.table[number, cycle.WIDE])
        matrix = (*self._swept(number).arrays, self.diagonal)
        vectors = (self.b, self.x, self.r)
        for visit in range(self.table[number, cycle.VISITS]):
            smoothers.relax.variant(wide)(
                first, last, *matrix, self.inverse, self.held, self.free, self._tables[number],
                fresh and visit == 0, *vectors, self._d,
            )  # fmt: skip
            smoothers.restrict_residual.variant(wide)(
                first, last, int(self.table[number + 1, 1]), *matrix, self.held, self.free,
                *self.down, *self.down_blocks, *vectors,
            )  # fmt: skip
            self._polynomial_cycle(number + 1, True)
            smoothers.correct.variant(wide)(
                first, last, *self.up, *self.up_blocks, self.held, self.free, self.x
            )
            smoothers.relax.variant(wide)(
                first, last, *matrix, self.inverse, self.held, self.free, self._tables[number], False,
                *vectors, self._d,
            )  # fmt: skip


def _inverse_of(order: NDArray[np.int32]) -> NDArray[np.int32]:
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=order.dtype)
    return rank
