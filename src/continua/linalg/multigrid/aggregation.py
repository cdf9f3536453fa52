"""Coarser levels by smoothed aggregation with rigid-body modes (Vanek, Mandel and Brezina 1996).

Strongly coupled nodes form an aggregate, which moves as a rigid body: if positions are known, it has a block of
unknowns for its translation and one for its rotation, scaled by its size so that both are lengths. A damped Jacobi step
smooths the jumps between aggregates, P = (1 - w D^-1 A) T. Aggregates are built once; T follows the current positions,
since the rigid motions of a rotated body differ from those at rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from continua.linalg import block_kernels
from continua.linalg.constraints import full_blocks
from continua.linalg.matrix import PARALLEL_FROM, blocks_of
from continua.linalg.multigrid import aggregation_kernels as compiled
from continua.pickling import KeepsArrayViews

__all__ = ["Aggregation", "NearNullspace"]

_MIN_STRENGTH = 4e-3  # weaker couplings do not aggregate nodes, |A_ij|^2 / (|A_ii| |A_jj|)
_MAX_AGGREGATES = 0.3  # largest useful ratio of aggregates to nodes
_DAMPING = 4.0 / 3.0  # of the Jacobi step, over the largest eigenvalue
_SAFETY = 1.1  # the power method estimates the largest eigenvalue from below
_WARM_STEPS = 3  # power steps for later matrices, whose eigenvector hardly changes
_MIN_INERTIA = 1e-4  # axes with a smaller part of the largest moment of inertia have no rotation


@dataclass(frozen=True)
class NearNullspace:
    """Geometry of the near-nullspace (the rigid-body modes) of a level.

    Attributes:
        points: Positions of its nodes or aggregates [m], shape [n, 3].
        sizes: Lengths that scale the rotations of aggregates [m], shape [n]; each aggregate then has two block rows,
            translation and rotation. None for nodes, which do not rotate.
    """

    points: NDArray[np.float64]
    sizes: NDArray[np.float64] | None = None


class Aggregation(KeepsArrayViews):
    """A level of aggregates: its pattern, its values, and the prolongation to the finer level.

    Args:
        indptr: Row starts of the matrix of the finer level, shape [n + 1].
        indices: Its block columns, sorted in each row.
        blocks: Its values, which determine the strength of couplings.
        order: Order in which its rows are visited, for locality.
        has_rotations: Whether aggregates rotate; `update` then needs their geometry.
        finer_has_rotations: Whether pairs of finer rows are a translation and a rotation.
        aggregate: Aggregate of each node, if known from an earlier run.
    """

    def __init__(
        self,
        indptr: NDArray[np.int32],
        indices: NDArray[np.int32],
        blocks: NDArray[np.float64],
        order: NDArray[np.int32],
        has_rotations: bool,
        finer_has_rotations: bool,
        aggregate: NDArray[np.int64] | None = None,
    ) -> None:
        self.has_rotations = has_rotations
        self._width, self._columns = 2 if finer_has_rotations else 1, 2 if has_rotations else 1
        self._finer, self._order = (indptr, indices), order
        self.aggregate = self._make_aggregates(blocks) if aggregate is None else aggregate
        self.aggregate_count = int(self.aggregate.max()) + 1
        count = self.aggregate_count * self._columns
        self._row_aggregate = np.repeat(self.aggregate, self._width)
        self.p_indptr, self.p_indices = compiled.prolongation_pattern(
            indptr, indices, self.aggregate, self.aggregate_count, self._width, self._columns
        )
        self.t_indptr, self.t_indices, _, self._targets = compiled.transposed_pattern(
            self.p_indptr, self.p_indices, count
        )
        self.m_indptr, self.m_indices = compiled.product_pattern(
            indptr, indices, self.p_indptr, self.p_indices, count
        )
        self.indptr, self.indices = compiled.product_pattern(
            self.t_indptr, self.t_indices, self.m_indptr, self.m_indices, count
        )
        self._mirror = compiled.mirror_indices(self.indptr, self.indices)
        self.diagonal = block_kernels.diagonal_slots(self.indptr, self.indices)
        self.prolongation_values, self.restriction_values = (
            blocks_of(len(self.p_indices)),
            blocks_of(len(self.p_indices)),
        )
        self._middle = np.zeros((len(self.m_indices), 12))
        self.blocks = blocks_of(len(self.indices))
        self.parallel = len(indices) >= PARALLEL_FROM
        self.vector = np.random.default_rng(0).normal(size=(len(indptr) - 1, 3))
        self._steps = 15
        self.near_nullspace: NearNullspace | None = None

    def _make_aggregates(self, blocks: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the aggregate of each node of the finer level."""
        graph = compiled.coupling_strengths(*self._finer, blocks, self._width)
        aggregate = compiled.aggregate_nodes(*graph, _MIN_STRENGTH)
        if aggregate.max() + 1 > _MAX_AGGREGATES * len(aggregate):  # few strong couplings
            aggregate = compiled.aggregate_nodes(*graph, 0.0)
        return _renumber(graph[0], graph[1], aggregate)

    def restore(self, vector: NDArray[np.float64]) -> None:
        """Restore the iterate of the power method that estimates the largest eigenvalue, shape [n, 3]."""
        self.vector[:] = vector
        self._steps = _WARM_STEPS

    @property
    def row_count(self) -> int:
        """Block rows of this level."""
        return len(self.indptr) - 1

    def update(
        self,
        blocks: NDArray[np.float64],
        inverse: NDArray[np.float64],
        near_nullspace: NearNullspace | None,
        fixed: NDArray[np.uint8] | None = None,
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Compute the prolongation and the matrix of this level.

        Args:
            blocks: Values of the finer matrix.
            inverse: Its inverse diagonal blocks in the directions that are free, shape [n, 6].
            near_nullspace: Geometry of its rigid-body modes, if known.
            fixed: Constraints of its rows, see `LinearSolver.update`, or None.
            projections: Projectors onto the free directions.
        """
        indptr, indices = self._finer
        modes = self._modes(near_nullspace)
        if fixed is not None:
            _project_modes(modes, self._columns, fixed, projections)
        largest = compiled.largest_eigenvalue(indptr, indices, blocks, inverse, self.vector, self._steps)
        self._steps = _WARM_STEPS
        factor = _DAMPING / (_SAFETY * largest) if largest > 0.0 else 0.0
        compiled.smooth_prolongation.variant(self.parallel)(
            indptr, indices, blocks, inverse, self._order, self._row_aggregate, self._columns, modes, factor,
            self.p_indptr, self.p_indices, self._targets, self.prolongation_values, self.restriction_values,
        )  # fmt: skip
        self.product(blocks)

    def product(self, blocks: NDArray[np.float64]) -> None:
        """Compute the matrix of this level, P^T A P, with the current P."""
        indptr, indices = self._finer
        compiled.multiply_blocks.variant(self.parallel)(
            indptr, indices, blocks, self._order, self.p_indptr, self.p_indices, self.prolongation_values,
            self.m_indptr, self.m_indices, self.row_count, self._middle,
        )  # fmt: skip
        compiled.restrict_blocks.variant(self.parallel)(
            self.t_indptr, self.t_indices, self.restriction_values, self.m_indptr, self.m_indices, self._middle,
            self.indptr, self.indices, self._mirror, self._columns, self.blocks,
        )  # fmt: skip

    def _modes(self, near_nullspace: NearNullspace | None) -> NDArray[np.float64]:
        """Return the blocks of the rows of T, shape [n columns, 9], and set the near-nullspace of this level."""
        n = len(self._finer[0]) - 1
        if not self.has_rotations:
            return np.tile(np.eye(3).ravel(), (n, 1))
        assert near_nullspace is not None
        aggregate, count = self.aggregate, self.aggregate_count
        counts = np.bincount(aggregate, minlength=count).astype(np.float64)
        centers = _sums(aggregate, near_nullspace.points, count) / counts[:, None]
        spread = (
            np.bincount(aggregate, np.einsum("ij,ij->i", near_nullspace.points, near_nullspace.points), count)
            / counts
        )
        spread -= np.einsum("ij,ij->i", centers, centers)
        if near_nullspace.sizes is not None:
            spread += np.bincount(aggregate, near_nullspace.sizes**2, count) / counts
        scale = np.abs(near_nullspace.points).max() ** 2
        sizes = np.sqrt(np.where(spread > 1e-12 * scale, spread, 1.0))
        self.near_nullspace = NearNullspace(centers, sizes)
        modes = np.empty((len(aggregate), 2, 9))
        compiled.point_modes(near_nullspace.points, aggregate, centers, sizes, modes.reshape(-1, 9))
        if near_nullspace.sizes is None:
            self._remove_axes(modes)
            return modes.reshape(-1, 9)
        both = np.zeros((len(aggregate), 2, 2, 9))
        both[:, 0] = modes
        both[:, 1, 1] = (near_nullspace.sizes / sizes[aggregate])[:, None] * np.eye(3).ravel()
        return both.reshape(-1, 9)

    def _remove_axes(self, modes: NDArray[np.float64]) -> None:
        """Remove rotations about axes through all points of an aggregate, which move none of them."""
        turns = modes[:, 1].reshape(-1, 3, 3)  # row: motion of the node for a rotation about an axis
        inertia = np.einsum("nij,nkj->nik", turns, turns).reshape(-1, 9)
        inertia = _sums(self.aggregate, inertia, self.aggregate_count).reshape(-1, 3, 3)
        trace = np.trace(inertia, axis1=1, axis2=2)
        slim = np.flatnonzero(np.linalg.det(inertia) <= _MIN_INERTIA * trace**3)
        if len(slim) == 0:
            return
        values, vectors = np.linalg.eigh(inertia[slim])
        kept = (values > _MIN_INERTIA * values[:, 2:]).astype(np.float64)
        projectors = np.tile(np.eye(3), (self.aggregate_count, 1, 1))
        projectors[slim] = np.einsum("gij,gj,gkj->gik", vectors, kept, vectors)
        some = np.isin(self.aggregate, slim)
        modes[some, 1] = np.einsum("nij,njk->nik", projectors[self.aggregate[some]], turns[some]).reshape(
            -1, 9
        )

    def prolongate(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P u for u of shape [rows of this level, 3]."""
        return (self.prolongation_matrix() @ u.ravel()).reshape(-1, 3)

    def restrict(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P^T r."""
        return (self.prolongation_matrix().T @ r.ravel()).reshape(-1, 3)

    def prolongation_matrix(self) -> sparse.bsr_array:
        """Return P as a SciPy matrix."""
        values = self.prolongation_values.reshape(-1, 3, 3).swapaxes(1, 2)
        shape = (3 * (len(self._finer[0]) - 1), 3 * self.row_count)
        return sparse.bsr_array((values, self.p_indices, self.p_indptr), shape=shape)


def _renumber(
    indptr: NDArray[np.int32], indices: NDArray[np.int32], aggregate: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Renumber aggregates to reduce the bandwidth (Cuthill and McKee 1969)."""
    n, count = len(aggregate), int(aggregate.max()) + 1
    graph = sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(n, n))
    belongs = sparse.csr_array((np.ones(n, np.float32), aggregate, np.arange(n + 1)), shape=(n, count))
    order = reverse_cuthill_mckee(sparse.csr_array(belongs.T @ graph @ belongs), symmetric_mode=True)
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(count)
    return rank[aggregate]


def _sums(aggregate: NDArray[np.int64], values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return np.stack([np.bincount(aggregate, values[:, a], count) for a in range(values.shape[1])], axis=1)


def _project_modes(
    modes: NDArray[np.float64],
    columns: int,
    fixed: NDArray[np.uint8],
    projections: NDArray[np.float64] | None,
) -> None:
    """Project the modes onto the free directions."""
    rows = modes.reshape(len(fixed), columns, 3, 3)
    rows[fixed == 1] = 0.0
    partly = np.flatnonzero(fixed == 2)
    if len(partly) and projections is not None:
        s = full_blocks(projections[partly])
        rows[partly] = np.einsum("kij,kbcj->kbci", s, rows[partly])
