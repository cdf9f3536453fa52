"""A coarser level with one scalar weight per pair of a fine and a coarse node, and its Galerkin matrix in place."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from continua.linalg import block_kernels
from continua.linalg.matrix import PARALLEL_FROM, blocks_of
from continua.linalg.multigrid import galerkin_kernels, ordering_kernels
from continua.pickling import KeepsArrayViews

__all__ = ["MIN_PART_ROWS", "ScalarProlongationLevel", "sweep_ordering"]

MIN_PART_ROWS = 256
"""Least rows of a part that are worth a thread."""


def sweep_ordering(indptr: NDArray[np.int32], indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the order in which to sweep rows: as given, or reverse Cuthill-McKee if the bandwidth is large."""
    n = len(indptr) - 1
    same = np.arange(n, dtype=np.int32)
    width = ordering_kernels.last_columns(indptr, indices, same, same) - same
    if width.max(initial=0) <= max(MIN_PART_ROWS, n // 16):
        return same
    graph = sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(n, n))
    return np.ascontiguousarray(reverse_cuthill_mckee(graph, symmetric_mode=True), dtype=np.int32)


class ScalarProlongationLevel(KeepsArrayViews):
    """A coarse level: its pattern, its values and how they follow from the finer level.

    Args:
        indptr: Row starts of the matrix of the finer level, shape [n + 1].
        indices: Its block columns, sorted in each row.
        P: Prolongation from the coarser nodes, shape [n, coarse].

    Attributes:
        order: Renumbering of the columns of P that reduces the bandwidth.
    """

    def __init__(self, indptr: NDArray[np.int32], indices: NDArray[np.int32], P: sparse.csr_array) -> None:
        graph = sparse.csr_array(
            (np.ones(len(indices), np.float32), indices, indptr), shape=(P.shape[0],) * 2
        )
        pattern = sparse.csr_array(abs(P).astype(np.float32))
        coupled = sparse.csr_array(pattern.T @ graph @ pattern)
        coupled.sort_indices()
        self.order = sweep_ordering(coupled.indptr.astype(np.int32), coupled.indices.astype(np.int32))
        P = sparse.csr_array(P[:, self.order])
        P.sort_indices()
        R = sparse.csr_array(P.T)
        R.sort_indices()
        p_arrays = (P.indptr.astype(np.int32), P.indices.astype(np.int32))
        r_arrays = (R.indptr.astype(np.int32), R.indices.astype(np.int32))
        self.indptr, self.indices, terms = galerkin_kernels.coarse_pattern(
            indptr, indices, *p_arrays, *r_arrays, P.shape[1]
        )
        self._starts, self._sources, self._factors, self._mirror = galerkin_kernels.term_lists(
            indptr, indices, *p_arrays, P.data, *r_arrays, R.data, self.indptr, self.indices, terms
        )
        self._masked = self._factors
        self._row_of = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
        self._finer_indices = indices
        self.diagonal = block_kernels.diagonal_slots(self.indptr, self.indices)
        self.blocks = blocks_of(len(self.indices))
        self.parallel = terms >= PARALLEL_FROM
        self.P = P

    @property
    def row_count(self) -> int:
        """Block rows of this level."""
        return len(self.indptr) - 1

    def set_fixed(self, fixed: NDArray[np.uint8]) -> None:
        """Remove the fixed nodes of the finer level from P."""
        if not fixed.any():
            self._masked = self._factors
            return
        if self._masked is self._factors:
            self._masked = self._factors.copy()
        galerkin_kernels.mask_fixed_factors.variant(self.parallel)(
            self._sources, self._factors, self._row_of, self._finer_indices, fixed, self._masked
        )

    def product(self, blocks: NDArray[np.float64]) -> None:
        """Compute the matrix of this level, P^T A P."""
        galerkin_kernels.galerkin_product.variant(self.parallel)(
            blocks,
            self._starts,
            self._sources,
            self._masked,
            self._mirror,
            self.indptr,
            self.indices,
            self.blocks,
        )

    def prolongation_matrix(self) -> sparse.csr_array:
        """Return P, shape [n, coarse]."""
        return self.P

    def prolongate(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P u."""
        return self.P @ u

    def restrict(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P^T r."""
        return self.P.T @ r
