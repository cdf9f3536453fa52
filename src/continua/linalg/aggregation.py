"""Coarser levels by smoothed aggregation with rigid-body modes (Vanek, Mandel and Brezina 1996).

Nodes that couple strongly are put together. A group moves as a rigid body: where positions are known it has a block of
unknowns for its translation and one for its rotation, scaled by its size, so that both are lengths. One damped Jacobi
step on the matrix smooths the jumps between groups, P = (1 - w D^-1 A) T. Groups are made once; T follows the current
positions, since a body that turned has other rigid motions than at rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from continua.linalg import aggregation_kernels as compiled
from continua.linalg import kernels
from continua.linalg.matrix import PARALLEL_FROM, blocks_of

__all__ = ["Aggregation", "Bodies"]

_LEAST_STRENGTH = 4e-3  # couplings below do not put nodes together, |A_ij|^2 / (|A_ii| |A_jj|)
_FEW = 0.3  # more groups than this part of the nodes are too many
_DAMPING = 4.0 / 3.0  # of the Jacobi step, over the largest eigenvalue
_SAFETY = 1.1  # power steps find the largest eigenvalue from below
_WARM_STEPS = 3  # power steps of later matrices: the eigenvector hardly changes from one to the next
_FLAT = 1e-4  # directions with less than this part of a group's largest moment of inertia do not turn


@dataclass(frozen=True)
class Bodies:
    """What the block rows of a level stand for.

    Attributes:
        points: Their positions [m], shape [n, 3].
        sizes: Lengths that scale their rotations [m], shape [n], or None for points, which do not turn. With sizes
            there are two block rows each: translation and rotation.
    """

    points: NDArray[np.float64]
    sizes: NDArray[np.float64] | None = None


class Aggregation:
    """A level of groups: its pattern, its values, and the interpolation from it.

    Args:
        indptr: Row starts of the matrix of the finer level, shape [n + 1].
        indices: Its block columns, sorted in each row.
        blocks: Its values, which tell what couples strongly.
        order: Order in which to visit its rows, neighbours soon after each other.
        turning: Whether groups turn; `update` then needs to know where they are.
        paired: Whether two rows each are a translation and a rotation.
        group: The group of each node, if it is known from an earlier run.
    """

    def __init__(
        self,
        indptr: NDArray[np.int32],
        indices: NDArray[np.int32],
        blocks: NDArray[np.float64],
        order: NDArray[np.int32],
        turning: bool,
        paired: bool,
        group: NDArray[np.int64] | None = None,
    ) -> None:
        self.turning = turning
        self._width, self._columns = 2 if paired else 1, 2 if turning else 1
        self._finer, self._order = (indptr, indices), order
        self.group = self._make_groups(blocks) if group is None else group
        self.group_count = int(self.group.max()) + 1
        count = self.group_count * self._columns
        self._row_group = np.repeat(self.group, self._width)
        self.p_indptr, self.p_indices = compiled.interpolation_pattern(
            indptr, indices, self.group, self.group_count, self._width, self._columns
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
        self._mirror = compiled.mirrored(self.indptr, self.indices)
        self.diagonal = kernels.diagonal_slots(self.indptr, self.indices)
        self.up, self.down = blocks_of(len(self.p_indices)), blocks_of(len(self.p_indices))
        self._middle = np.zeros((len(self.m_indices), 12))
        self.blocks = blocks_of(len(self.indices))
        self.parallel = len(indices) >= PARALLEL_FROM
        self.vector = np.random.default_rng(0).normal(size=(len(indptr) - 1, 3))
        self._steps = 15
        self.bodies: Bodies | None = None

    def _make_groups(self, blocks: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the group of each node of the finer level."""
        graph = compiled.coupling_strengths(*self._finer, blocks, self._width)
        group = compiled.strong_groups(*graph, _LEAST_STRENGTH)
        if group.max() + 1 > _FEW * len(group):  # hardly anything couples strongly
            group = compiled.strong_groups(*graph, 0.0)
        return _near_numbers(graph[0], graph[1], group)

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
        bodies: Bodies | None,
        fixed: NDArray[np.uint8] | None = None,
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Work out the interpolation and the matrix of this level.

        Args:
            blocks: Values of the finer matrix.
            inverse: Its inverse diagonal blocks in the directions that are free, shape [n, 6].
            bodies: What its rows stand for, where that is known.
            fixed: Which of its rows are held, see `LinearSolver.update`, or None.
            projections: Directions that are free.
        """
        indptr, indices = self._finer
        modes = self._modes(bodies)
        if fixed is not None:
            _hold(modes, self._columns, fixed, projections)
        largest = compiled.largest_eigenvalue(indptr, indices, blocks, inverse, self.vector, self._steps)
        self._steps = _WARM_STEPS
        factor = _DAMPING / (_SAFETY * largest) if largest > 0.0 else 0.0
        compiled.smooth_interpolation.variant(self.parallel)(
            indptr, indices, blocks, inverse, self._order, self._row_group, self._columns, modes, factor,
            self.p_indptr, self.p_indices, self._targets, self.up, self.down,
        )  # fmt: skip
        self.product(blocks)

    def product(self, blocks: NDArray[np.float64]) -> None:
        """Work out the matrix of this level, P^T A P, with P as it is."""
        indptr, indices = self._finer
        compiled.multiply_blocks.variant(self.parallel)(
            indptr, indices, blocks, self._order, self.p_indptr, self.p_indices, self.up, self.m_indptr,
            self.m_indices, self.row_count, self._middle,
        )  # fmt: skip
        compiled.restrict_blocks.variant(self.parallel)(
            self.t_indptr, self.t_indices, self.down, self.m_indptr, self.m_indices, self._middle,
            self.indptr, self.indices, self._mirror, self._columns, self.blocks,
        )  # fmt: skip

    def _modes(self, bodies: Bodies | None) -> NDArray[np.float64]:
        """Return the blocks of the rows of T, shape [n columns, 9], and set the bodies of this level."""
        n = len(self._finer[0]) - 1
        if not self.turning:
            return np.tile(np.eye(3).ravel(), (n, 1))
        assert bodies is not None
        group, count = self.group, self.group_count
        counts = np.bincount(group, minlength=count).astype(np.float64)
        centers = _sums(group, bodies.points, count) / counts[:, None]
        spread = np.bincount(group, np.einsum("ij,ij->i", bodies.points, bodies.points), count) / counts
        spread -= np.einsum("ij,ij->i", centers, centers)
        if bodies.sizes is not None:
            spread += np.bincount(group, bodies.sizes**2, count) / counts
        scale = np.abs(bodies.points).max() ** 2
        sizes = np.sqrt(np.where(spread > 1e-12 * scale, spread, 1.0))
        self.bodies = Bodies(centers, sizes)
        modes = np.empty((len(group), 2, 9))
        compiled.point_modes(bodies.points, group, centers, sizes, modes.reshape(-1, 9))
        if bodies.sizes is None:
            self._drop_axes(modes)
            return modes.reshape(-1, 9)
        both = np.zeros((len(group), 2, 2, 9))
        both[:, 0] = modes
        both[:, 1, 1] = (bodies.sizes / sizes[group])[:, None] * np.eye(3).ravel()
        return both.reshape(-1, 9)

    def _drop_axes(self, modes: NDArray[np.float64]) -> None:
        """Take away turns about axes through all points of a group, which move none of them."""
        turns = modes[:, 1].reshape(-1, 3, 3)  # rows are what a turn about an axis does
        inertia = np.einsum("nij,nkj->nik", turns, turns).reshape(-1, 9)
        inertia = _sums(self.group, inertia, self.group_count).reshape(-1, 3, 3)
        trace = np.trace(inertia, axis1=1, axis2=2)
        slim = np.flatnonzero(np.linalg.det(inertia) <= _FLAT * trace**3)
        if len(slim) == 0:
            return
        values, vectors = np.linalg.eigh(inertia[slim])
        kept = (values > _FLAT * values[:, 2:]).astype(np.float64)
        projectors = np.tile(np.eye(3), (self.group_count, 1, 1))
        projectors[slim] = np.einsum("gij,gj,gkj->gik", vectors, kept, vectors)
        some = np.isin(self.group, slim)
        modes[some, 1] = np.einsum("nij,njk->nik", projectors[self.group[some]], turns[some]).reshape(-1, 9)

    def interpolate(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P u for u of shape [rows of this level, 3]."""
        return (self.interpolation() @ u.ravel()).reshape(-1, 3)

    def restrict(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P^T r."""
        return (self.interpolation().T @ r.ravel()).reshape(-1, 3)

    def interpolation(self) -> sparse.bsr_array:
        """Return P as a SciPy matrix."""
        values = self.up.reshape(-1, 3, 3).swapaxes(1, 2)
        shape = (3 * (len(self._finer[0]) - 1), 3 * self.row_count)
        return sparse.bsr_array((values, self.p_indices, self.p_indptr), shape=shape)


def _near_numbers(
    indptr: NDArray[np.int32], indices: NDArray[np.int32], group: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Number groups anew, so that neighbours have near numbers (Cuthill and McKee 1969)."""
    n, count = len(group), int(group.max()) + 1
    graph = sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(n, n))
    belongs = sparse.csr_array((np.ones(n, np.float32), group, np.arange(n + 1)), shape=(n, count))
    order = reverse_cuthill_mckee(sparse.csr_array(belongs.T @ graph @ belongs), symmetric_mode=True)
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(count)
    return rank[group]


def _sums(group: NDArray[np.int64], values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return np.stack([np.bincount(group, values[:, a], count) for a in range(values.shape[1])], axis=1)


def _hold(
    modes: NDArray[np.float64],
    columns: int,
    fixed: NDArray[np.uint8],
    projections: NDArray[np.float64] | None,
) -> None:
    """Take away from the modes what is held."""
    rows = modes.reshape(len(fixed), columns, 3, 3)
    rows[fixed == 1] = 0.0
    partly = np.flatnonzero(fixed == 2)
    if len(partly) and projections is not None:
        s = projections[partly][:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
        rows[partly] = np.einsum("kij,kbcj->kbci", s, rows[partly])
