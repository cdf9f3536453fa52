"""Sparse matrices of 3x3 blocks: a pattern that is built once from the elements, and values that change in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import block_kernels
from continua.linalg.assembly_pattern import AssemblyPattern
from continua.linalg.dof_map import DofMap
from continua.linalg.geometry import Geometry
from continua.pickling import KeepsArrayViews
from continua.short_repr import ShortRepr
from continua.validation import array, check_memory, given_array, instance_of, shortened, whole_number

if TYPE_CHECKING:
    from continua.linalg.pressure_term import PressureTerm

__all__ = ["BlockMatrix", "BlockPattern"]

PARALLEL_FROM = 60_000
"""Number of blocks from which a parallel pass over the matrix pays (about 100 us of work)."""


def sparse_matrix(matrix: Any, what: str) -> sparse.sparray:
    """Return `matrix`, a SciPy matrix of two axes with finite numbers, or raise InputError."""
    if not (sparse.issparse(matrix) and len(matrix.shape) == 2):
        raise InputError(f"{what} must be a sparse matrix of SciPy, not {shortened(matrix)}")
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"{what} must have real numbers, not those of type {matrix.dtype}")
    return matrix


def check_projections(projections: NDArray[np.float64], count: int) -> None:
    """Raise InputError unless there are projectors of `count` nodes, or none at all; see `LinearSolver.update`."""
    if len(given_array(projections, "projections", (None, 6))) not in (0, count):
        raise InputError(f"there must be projections of {count} nodes, not of {len(projections)}")


def blocks_of(count: int, kind: type = np.float64) -> NDArray:
    """Return zero blocks followed by padding, which products read."""
    return np.zeros((count + 1, 9), kind)[:-1]


@dataclass(frozen=True, eq=False, repr=False)
class BlockPattern(ShortRepr):
    """Which nodes couple, and which elements contribute to which block (Weber 2015, mesh-based assembly).

    Attributes:
        indptr: Row starts, shape [n + 1].
        indices: Block columns, sorted in each row, shape [nnz].
        diagonal: Index of each row's diagonal block, shape [n].
        inc_indptr: Range of the incidences of every node, shape [n + 1].
        inc_codes: Incidences as entries of the dof map, element * corners + corner if elements have equally many dofs.
        slots: Offset in its row of the block of every incidence and every corner of its element.
        corners: Dofs per element; 0 if elements have different numbers of dofs.
        geometry: Positions of the rows, for solvers that coarsen; None if unknown.
        assembly: Gather lists of elements with different numbers of dofs; None for others.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    diagonal: NDArray[np.int32]
    inc_indptr: NDArray[np.int32]
    inc_codes: NDArray[np.int32]
    slots: NDArray[np.uint16]
    corners: int
    geometry: Geometry | None = None
    assembly: AssemblyPattern | None = None

    @classmethod
    def from_dof_map(cls, dof_map: DofMap) -> BlockPattern:
        """Build the pattern of a field whose dofs are blocks of three unknowns.

        Elements with equally many dofs have rectangular gather lists (`slots`). For others, `BlockMatrix.assemble` sums
        the element matrices.
        """
        elements = instance_of(dof_map, DofMap, "the dof map of a pattern").rectangular
        if elements is None:
            ragged = AssemblyPattern.from_dof_maps(dof_map)
            inc_indptr, inc_codes = block_kernels.incidences(dof_map.dofs[:, None], dof_map.dof_count)
            diagonal = block_kernels.diagonal_slots(ragged.indptr, ragged.indices)
            none = np.zeros((0, 1), np.uint16)
            return cls(
                ragged.indptr, ragged.indices, diagonal, inc_indptr, inc_codes, none, 0, assembly=ragged
            )
        n = dof_map.dof_count
        inc_indptr, inc_codes = block_kernels.incidences(elements, n)
        indptr, indices, slots = block_kernels.row_patterns(elements, inc_indptr, inc_codes, n)
        diagonal = block_kernels.diagonal_slots(indptr, indices)
        return cls(indptr, indices, diagonal, inc_indptr, inc_codes, slots, elements.shape[1])

    @classmethod
    def from_scipy(cls, matrix: sparse.sparray) -> BlockPattern:
        """Return the pattern of a SciPy matrix with one entry per block, with all diagonal blocks."""
        n = sparse_matrix(matrix, "the matrix of a pattern").shape[0]
        if matrix.shape != (n, n):
            raise InputError(f"the matrix of a pattern must be square, not of shape {list(matrix.shape)}")
        coo = sparse.coo_array(matrix)
        each = np.arange(n, dtype=np.int64)
        keys = np.unique(np.concatenate([coo.row.astype(np.int64) * n + coo.col, each * (n + 1)]))
        indptr = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) * n).astype(np.int32)
        indices = (keys % max(n, 1)).astype(np.int32)
        return cls.without_elements(indptr, indices, block_kernels.diagonal_slots(indptr, indices))

    @classmethod
    def without_elements(
        cls, indptr: NDArray[np.int32], indices: NDArray[np.int32], diagonal: NDArray[np.int32]
    ) -> BlockPattern:
        """Return a pattern that no elements assemble, from its rows and the index of each diagonal block."""
        given_array(indices, "indices", (None,), np.int32)
        given_array(
            diagonal, "diagonal", (len(given_array(indptr, "indptr", (None,), np.int32)) - 1,), np.int32
        )
        none = np.zeros(0, np.int32)
        incidences = np.zeros(len(indptr), np.int32)
        return cls(indptr, indices, diagonal, incidences, none, np.zeros((0, 1), np.uint16), 1)

    @classmethod
    def of_diagonal(cls, node_count: int) -> BlockPattern:
        """Return the pattern of a block-diagonal matrix."""
        node_count = whole_number(node_count, "the number of nodes of a pattern", low=0, high=2**31 - 1)
        check_memory(node_count, 100, "a diagonal matrix", "nodes", "use fewer")
        each = np.arange(node_count, dtype=np.int32)
        return cls.without_elements(np.arange(node_count + 1, dtype=np.int32), each, each)

    @property
    def node_count(self) -> int:
        """Number of block rows."""
        return len(self.indptr) - 1

    @property
    def block_count(self) -> int:
        """Number of stored blocks."""
        return len(self.indices)

    @property
    def parallel(self) -> bool:
        """Whether a parallel pass over the matrix pays; depends on the size only."""
        return self.block_count >= PARALLEL_FROM


class BlockMatrix(KeepsArrayViews):
    """A square matrix of 3x3 blocks on a fixed pattern.

    Attributes:
        pattern: The pattern, shared by all matrices of a mesh.
        blocks: Values, nine per block, column by column, shape [nnz, 9]; change them in place.
        positions: Current positions of its nodes [m], shape [n, 3], for solvers whose coarser levels use rigid-body
            modes; None for the rest positions.
        pressure_term: The part of it that comes from pressures, for solvers; None if there is none or it is unknown.
    """

    def __init__(self, pattern: BlockPattern) -> None:
        self.pattern = instance_of(pattern, BlockPattern, "the pattern of a matrix")
        self.blocks = blocks_of(pattern.block_count)
        self.positions: NDArray[np.float64] | None = None
        self.pressure_term: PressureTerm | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Shape in scalars."""
        n = 3 * self.pattern.node_count
        return n, n

    def multiply(self, x: NDArray[np.float64], out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return A x for a vector x of shape [n, 3]."""
        p = self.pattern
        given_array(x, "x", (p.node_count, 3))
        out = np.empty_like(x) if out is None else given_array(out, "out", (p.node_count, 3))
        block_kernels.multiply.variant(p.parallel)(p.indptr, p.indices, self.blocks, x, out)
        return out

    def magnitudes(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return |A| |x|, shape [n, 3]; its product with the unit roundoff bounds the rounding errors of A x."""
        p = self.pattern
        out = np.empty_like(given_array(x, "x", (p.node_count, 3)))
        block_kernels.magnitudes.variant(p.parallel)(p.indptr, p.indices, self.blocks, x, out)
        return out

    def assemble(self, entries: NDArray[np.float64]) -> None:
        """Set the values to the sum of element matrices, for patterns of elements with different numbers of dofs.

        Args:
            entries: 3x3 blocks of all element matrices, one element after the other and row by row, shape
                [entries, 3, 3].
        """
        assembly = self.pattern.assembly
        if assembly is None:
            raise InputError("the pattern of this matrix has no gather lists of ragged elements")
        blocks = array(entries, "the entries of element matrices", (None, 3, 3), finite=False)
        columns = np.ascontiguousarray(np.swapaxes(blocks, 1, 2)).reshape(-1, 9)
        assembly.assemble(columns, self.blocks)

    def __matmul__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.multiply(x)

    def invert_diagonal(
        self,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None,
        inverse: NDArray[np.float64],
    ) -> bool:
        """Set `inverse` to the inverse diagonal blocks in the free directions; see `LinearSolver.update`.

        Returns whether all blocks of free directions are positive definite; the others become zero.
        """
        p = self.pattern
        given_array(fixed, "fixed", (p.node_count,), np.uint8)
        given_array(inverse, "inverse", (p.node_count, 6))
        if projections is not None:
            check_projections(projections, p.node_count)
        block_kernels.invert_diagonal.variant(p.parallel)(self.blocks, p.diagonal, fixed, inverse)
        if projections is not None:
            block_kernels.project_diagonal.variant(p.parallel)(
                self.blocks, p.diagonal, fixed, projections, 1.0, inverse, np.zeros((0, 6))
            )
        return not bool(((inverse[:, 0] + inverse[:, 3] + inverse[:, 5] <= 0.0) & (fixed != 1)).any())

    def to_scipy(self) -> sparse.bsr_array:
        """Return a copy of the matrix as a SciPy block-sparse array."""
        p = self.pattern
        values = self.blocks.reshape(-1, 3, 3).swapaxes(1, 2).copy()
        return sparse.bsr_array((values, p.indices, p.indptr), shape=self.shape)

    @classmethod
    def from_scipy(cls, matrix: sparse.sparray) -> BlockMatrix:
        """Copy a SciPy matrix whose size is a multiple of 3 into blocks; missing diagonal blocks become zero."""
        sparse_matrix(matrix, "a matrix of 3x3 blocks")
        if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] % 3:
            raise InputError(
                f"a matrix of 3x3 blocks is square with a multiple of 3 rows, not {matrix.shape}"
            )
        n = matrix.shape[0] // 3
        coo = sparse.coo_array(matrix)
        rows, columns = coo.row // 3, coo.col // 3
        blocks = sparse.coo_array((np.ones(coo.nnz, np.int8), (rows, columns)), shape=(n, n))
        result = cls(BlockPattern.from_scipy(blocks))
        p = result.pattern
        keys = np.repeat(np.arange(n, dtype=np.int64), np.diff(p.indptr)) * n + p.indices
        inverse = np.searchsorted(keys, rows.astype(np.int64) * n + columns)
        np.add.at(result.blocks, (inverse, 3 * (coo.col % 3) + coo.row % 3), coo.data)
        return result

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        p = self.pattern
        megabytes = (self.blocks.nbytes + p.indices.nbytes + p.indptr.nbytes) / 1e6
        return (
            f"BlockMatrix {3 * p.node_count} x {3 * p.node_count}, {p.block_count} blocks "
            f"({p.block_count / max(p.node_count, 1):.1f} per row), {megabytes:.1f} MB"
        )
