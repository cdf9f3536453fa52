"""A coarser level with one number for each pair of a fine and a coarse node, and its Galerkin matrix in place."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from continua.linalg import galerkin, graphs, kernels
from continua.linalg.matrix import PARALLEL_FROM, blocks_of

__all__ = ["LEAST_ROWS", "Interpolated", "near_order"]

LEAST_ROWS = 256
"""Rows of a part that is worth a thread's while."""


def near_order(indptr: NDArray[np.int32], indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the order in which to sweep rows: as they are, unless neighbours are far apart."""
    n = len(indptr) - 1
    same = np.arange(n, dtype=np.int32)
    width = graphs.farthest_columns(indptr, indices, same, same) - same
    if width.max(initial=0) <= max(LEAST_ROWS, n // 16):
        return same
    graph = sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(n, n))
    return np.ascontiguousarray(reverse_cuthill_mckee(graph, symmetric_mode=True), dtype=np.int32)


class Interpolated:
    """A level below the first: its pattern, its values and how they come from the level above.

    Args:
        indptr: Row starts of the matrix of the finer level, shape [n + 1].
        indices: Its block columns, sorted in each row.
        P: Interpolation from the coarser nodes, shape [n, coarse].

    Attributes:
        order: How the columns of P are renumbered, so that neighbours are near.
    """

    def __init__(self, indptr: NDArray[np.int32], indices: NDArray[np.int32], P: sparse.csr_array) -> None:
        graph = sparse.csr_array(
            (np.ones(len(indices), np.float32), indices, indptr), shape=(P.shape[0],) * 2
        )
        pattern = sparse.csr_array(abs(P).astype(np.float32))
        coupled = sparse.csr_array(pattern.T @ graph @ pattern)
        coupled.sort_indices()
        self.order = near_order(coupled.indptr.astype(np.int32), coupled.indices.astype(np.int32))
        P = sparse.csr_array(P[:, self.order])
        P.sort_indices()
        R = sparse.csr_array(P.T)
        R.sort_indices()
        p_arrays = (P.indptr.astype(np.int32), P.indices.astype(np.int32))
        r_arrays = (R.indptr.astype(np.int32), R.indices.astype(np.int32))
        self.indptr, self.indices, terms = galerkin.coarse_pattern(
            indptr, indices, *p_arrays, *r_arrays, P.shape[1]
        )
        self._starts, self._sources, self._factors, self._mirror = galerkin.stream(
            indptr, indices, *p_arrays, P.data, *r_arrays, R.data, self.indptr, self.indices, terms
        )
        self._masked = self._factors
        self._row_of = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
        self._finer_indices = indices
        self.diagonal = kernels.diagonal_slots(self.indptr, self.indices)
        self.blocks = blocks_of(len(self.indices))
        self.parallel = terms >= PARALLEL_FROM
        self.P = P

    @property
    def row_count(self) -> int:
        """Block rows of this level."""
        return len(self.indptr) - 1

    def hold(self, fixed: NDArray[np.uint8]) -> None:
        """Take the fixed nodes of the finer level out of P."""
        if not fixed.any():
            self._masked = self._factors
            return
        if self._masked is self._factors:
            self._masked = self._factors.copy()
        galerkin.masked_factors.variant(self.parallel)(
            self._sources, self._factors, self._row_of, self._finer_indices, fixed, self._masked
        )

    def product(self, blocks: NDArray[np.float64]) -> None:
        """Work out the matrix of this level from that of the finer one."""
        galerkin.product.variant(self.parallel)(
            blocks,
            self._starts,
            self._sources,
            self._masked,
            self._mirror,
            self.indptr,
            self.indices,
            self.blocks,
        )

    def interpolation(self) -> sparse.csr_array:
        """Return P, shape [n, coarse]."""
        return self.P

    def interpolate(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P u."""
        return self.P @ u

    def restrict(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P^T r."""
        return self.P.T @ r
