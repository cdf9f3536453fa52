"""Symmetric block systems with a second field, [[A, B^T], [B, -C]]: displacements and pressures, for example.

A has 3x3 blocks between the nodes of the first field, B has 1x3 blocks between the scalar dofs of the second field and
those nodes, and C is a scalar matrix, symmetric positive semidefinite or zero. Vectors are flat, [3 n + m]: the n nodes
of the first field, then the m dofs of the second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg.assembly_pattern import AssemblyPattern
from continua.linalg.matrix import BlockMatrix, BlockPattern, check_projections, sparse_matrix
from continua.validation import array, check_memory, given_array, instance_of, whole_number, whole_numbers

__all__ = ["CouplingMatrix", "SaddlePointMatrix"]


class CouplingMatrix:
    """A sparse matrix of 1x3 blocks: rows are scalar dofs, columns are nodes.

    Attributes:
        indptr: Row starts, shape [m + 1].
        indices: Nodes, sorted in each row, shape [nnz].
        node_count: Number of block columns.
        values: Values, shape [nnz, 3]; change them in place, then call `update_transpose`.
    """

    def __init__(self, indptr: NDArray[np.integer], indices: NDArray[np.integer], node_count: int) -> None:
        self.indptr = whole_numbers(indptr, "indptr", (None,)).astype(np.int32)
        self.indices = whole_numbers(indices, "indices", (None,)).astype(np.int32)
        self.node_count = whole_number(node_count, "the number of nodes", low=0, high=2**31 - 1)
        check_memory(self.node_count, 16, "a coupling matrix", "nodes", "use fewer")
        rising = len(self.indptr) > 0 and self.indptr[0] == 0 and (np.diff(self.indptr) >= 0).all()
        if not rising or self.indptr[-1] != len(self.indices):
            raise InputError(f"indptr must rise from 0 to the number of blocks, {len(self.indices)}")
        if len(self.indices) and not 0 <= self.indices.min() <= self.indices.max() < self.node_count:
            raise InputError(f"columns of a coupling matrix must be from 0 to {self.node_count - 1}")
        self.values = np.zeros((len(self.indices), 3))
        self._order = np.argsort(self.indices, kind="stable")
        counts = np.bincount(self.indices, minlength=self.node_count)
        self.t_indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        rows = np.repeat(np.arange(self.row_count, dtype=np.int32), np.diff(self.indptr))
        self.t_indices = rows[self._order]
        self.t_values = np.zeros_like(self.values)

    @classmethod
    def from_pattern(cls, pattern: AssemblyPattern, entries: NDArray[np.float64]) -> CouplingMatrix:
        """Assemble the matrix from element matrices with entries [entries, 3]; see `AssemblyPattern`."""
        instance_of(pattern, AssemblyPattern, "the pattern of a coupling matrix")
        result = cls(pattern.indptr, pattern.indices, pattern.column_count)
        pattern.assemble(entries, result.values)
        result.update_transpose()
        return result

    @classmethod
    def from_scipy(cls, matrix: sparse.sparray) -> CouplingMatrix:
        """Copy a SciPy matrix [m, 3 n] into 1x3 blocks."""
        if sparse_matrix(matrix, "a coupling matrix").shape[1] % 3:
            raise InputError(f"a coupling matrix has a multiple of 3 columns, not {matrix.shape[1]}")
        bsr = sparse.csr_array(matrix).tobsr(blocksize=(1, 3))
        bsr.sum_duplicates()
        result = cls(bsr.indptr, bsr.indices, matrix.shape[1] // 3)
        result.values[:] = bsr.data[:, 0]
        result.update_transpose()
        return result

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    def update_transpose(self) -> None:
        """Copy changed values to the transpose, which products read."""
        self.t_values[:] = self.values[self._order]

    def to_scipy(self) -> sparse.csr_array:
        """Return a copy as a SciPy matrix [m, 3 n]."""
        shape = (self.row_count, 3 * self.node_count)
        return sparse.bsr_array((self.values[:, None], self.indices, self.indptr), shape=shape).tocsr()


class SaddlePointArrays(NamedTuple):
    """A saddle-point system with its constraints, as kernels take it."""

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    blocks: NDArray[np.float64]
    b_indptr: NDArray[np.int32]
    b_indices: NDArray[np.int32]
    b_values: NDArray[np.float64]
    t_indptr: NDArray[np.int32]
    t_indices: NDArray[np.int32]
    t_values: NDArray[np.float64]
    c_indptr: NDArray[np.int32]
    c_indices: NDArray[np.int32]
    c_values: NDArray[np.float64]
    fixed: NDArray[np.uint8]
    projections: NDArray[np.float64]


class SaddlePointMatrix:
    """The symmetric indefinite matrix [[A, B^T], [B, -C]].

    Args:
        A: Matrix of the first field, symmetric, n nodes.
        B: Coupling, m rows and n block columns; None for no second field.
        C: Symmetric positive semidefinite [m, m], any SciPy sparse matrix; None for zero.
        schur: Positive diagonal [m] that approximates the Schur complement C + B A^-1 B^T, for preconditioners: the
            lumped or diagonal mass matrix of the pressure over the shear modulus, plus the diagonal of C. None for the
            diagonal of C + B D^-1 B^T with D the diagonal blocks of A.
    """

    def __init__(
        self,
        A: BlockMatrix,
        B: CouplingMatrix | None = None,
        C: sparse.sparray | None = None,
        schur: NDArray[np.float64] | None = None,
    ) -> None:
        n = instance_of(A, BlockMatrix, "A").pattern.node_count
        B = CouplingMatrix(np.zeros(1, np.int32), np.zeros(0, np.int32), n) if B is None else B
        m = instance_of(B, CouplingMatrix, "B").row_count
        if B.node_count != n:
            raise InputError(f"B has {B.node_count} block columns, but A has {n} nodes")
        C = sparse.csr_array((m, m)) if C is None else sparse.csr_array(sparse_matrix(C, "C"), copy=True)
        if C.shape != (m, m):
            raise InputError(f"C must have shape [{m}, {m}] as B has {m} rows, not {list(C.shape)}")
        C.sum_duplicates()
        if schur is not None:
            schur = array(schur, "schur", (m,))
            if not (schur > 0.0).all():
                raise InputError(f"schur must be {m} positive numbers, one per dof of the second field")
        self.A, self.B, self.C, self.schur = A, B, C, schur

    @property
    def pattern(self) -> BlockPattern:
        """Pattern of A."""
        return self.A.pattern

    @property
    def size(self) -> int:
        """Number of scalar unknowns, 3 n + m."""
        return 3 * self.A.pattern.node_count + self.B.row_count

    @property
    def shape(self) -> tuple[int, int]:
        """Shape in scalars."""
        return self.size, self.size

    def split(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the two fields of a vector [3 n + m] as views of shape [n, 3] and [m]."""
        n = self.A.pattern.node_count
        given_array(x, "x", (self.size,))
        return x[: 3 * n].reshape(n, 3), x[3 * n :]

    def arrays(
        self, fixed: NDArray[np.uint8] | None = None, projections: NDArray[np.float64] | None = None
    ) -> SaddlePointArrays:
        """Return the arrays that kernels take, with constraints of the first field (see `LinearSolver.update`)."""
        p, B, C = self.A.pattern, self.B, self.C
        if fixed is not None:
            given_array(fixed, "fixed", (p.node_count,), np.uint8)
        if projections is not None:
            check_projections(projections, p.node_count)
        return SaddlePointArrays(
            p.indptr,
            p.indices,
            self.A.blocks,
            B.indptr,
            B.indices,
            B.values,
            B.t_indptr,
            B.t_indices,
            B.t_values,
            C.indptr.astype(np.int32, copy=False),
            C.indices.astype(np.int32, copy=False),
            C.data.astype(np.float64, copy=False),
            np.zeros(p.node_count, np.uint8) if fixed is None else fixed,
            np.zeros((0, 6)) if projections is None else projections,
        )

    def to_scipy(self) -> sparse.csr_array:
        """Return a copy as a SciPy matrix."""
        B = self.B.to_scipy()
        return sparse.csr_array(sparse.block_array([[self.A.to_scipy(), B.T], [B, -self.C]], format="csr"))

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        n, m = self.A.pattern.node_count, self.B.row_count
        return f"SaddlePointMatrix {self.size} x {self.size}, {n} nodes and {m} scalar dofs"
