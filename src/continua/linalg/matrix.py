"""3x3-block sparse matrices whose pattern comes once from the elements and whose values change in place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import kernels
from continua.linalg.geometry import Geometry

__all__ = ["BlockMatrix", "BlockPattern"]

PARALLEL_FROM = 60_000
"""Blocks from which a pass over the matrix is worth a parallel region (about 100 us of work)."""


def blocks_of(count: int, kind: type = np.float64) -> NDArray:
    """Return zero blocks with a little memory behind them, which products read."""
    return np.zeros((count + 1, 9), kind)[:-1]


@dataclass(frozen=True, eq=False)
class BlockPattern:
    """Which nodes couple, and which elements contribute to which block (Weber 2015, mesh-based assembly).

    Attributes:
        indptr: Row starts, shape [n + 1].
        indices: Block columns, sorted in each row, shape [nnz].
        diagonal: Index of each row's diagonal block, shape [n].
        inc_indptr: For every node the range of its incidences, shape [n + 1].
        inc_codes: Incidences as element * corners + corner, shape [m * corners].
        slots: For every incidence and every corner of its element the block's place in the row.
        corners: Nodes an element.
        geometry: Where the rows are, for solvers that coarsen; None where that is not known.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    diagonal: NDArray[np.int32]
    inc_indptr: NDArray[np.int32]
    inc_codes: NDArray[np.int32]
    slots: NDArray[np.uint16]
    corners: int
    geometry: Geometry | None = None

    @classmethod
    def from_elements(cls, elements: NDArray[np.int32], node_count: int) -> BlockPattern:
        """Build the pattern of a mesh with `elements` [m, k] over `node_count` nodes."""
        if max(16, elements.shape[1]) * elements.shape[0] >= 2**31:
            raise InputError(
                f"{elements.shape[0]:,} elements are more than this pattern can index; use fewer"
            )
        elements = np.ascontiguousarray(elements, dtype=np.int32)
        inc_indptr, inc_codes = kernels.incidences(elements, node_count)
        indptr, indices, slots = kernels.row_patterns(elements, inc_indptr, inc_codes, node_count)
        diagonal = kernels.diagonal_slots(indptr, indices)
        return cls(indptr, indices, diagonal, inc_indptr, inc_codes, slots, elements.shape[1])

    @classmethod
    def of_diagonal(cls, node_count: int) -> BlockPattern:
        """Return the pattern of a matrix that has diagonal blocks only."""
        each = np.arange(node_count, dtype=np.int32)
        starts = np.arange(node_count + 1, dtype=np.int32)
        none = np.zeros(0, np.int32)
        return cls(
            starts, each, each, np.zeros(node_count + 1, np.int32), none, np.zeros((0, 1), np.uint16), 1
        )

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
        """Whether a pass over the matrix repays a parallel region; depends on the size alone."""
        return self.block_count >= PARALLEL_FROM


class BlockMatrix:
    """A square matrix of 3x3 blocks on a fixed pattern.

    Attributes:
        pattern: The pattern, shared by all matrices of a mesh.
        blocks: Values, nine a block, column by column, shape [nnz, 9]; change them in place.
        positions: Where its nodes are at present [m], shape [n, 3], for solvers whose coarser levels know rigid
            motions; None for where they are at rest.
    """

    def __init__(self, pattern: BlockPattern) -> None:
        self.pattern = pattern
        self.blocks = blocks_of(pattern.block_count)
        self.positions: NDArray[np.float64] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Shape in scalars."""
        n = 3 * self.pattern.node_count
        return n, n

    def multiply(self, x: NDArray[np.float64], out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return A x for a vector x of shape [n, 3]."""
        out = np.empty_like(x) if out is None else out
        p = self.pattern
        kernels.multiply.variant(p.parallel)(p.indptr, p.indices, self.blocks, x, out)
        return out

    def magnitudes(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return |A| |x|, shape [n, 3]: times the unit roundoff it bounds the rounding errors of A x."""
        out = np.empty_like(x)
        p = self.pattern
        kernels.magnitudes.variant(p.parallel)(p.indptr, p.indices, self.blocks, x, out)
        return out

    def __matmul__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.multiply(x)

    def invert_diagonal(
        self,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None,
        inverse: NDArray[np.float64],
    ) -> bool:
        """Set `inverse` to the inverse diagonal blocks of the free directions; see `LinearSolver.update`.

        Returns whether all blocks of free directions are positive definite; the others become zero.
        """
        p = self.pattern
        kernels.invert_diagonal.variant(p.parallel)(self.blocks, p.diagonal, fixed, inverse)
        if projections is not None:
            kernels.project_diagonal.variant(p.parallel)(
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
        """Copy a SciPy matrix whose size is a multiple of 3 into blocks (missing diagonals become zero)."""
        if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] % 3:
            raise InputError(
                f"a matrix of 3x3 blocks is square with a multiple of 3 rows, not {matrix.shape}"
            )
        n = matrix.shape[0] // 3
        coo = sparse.coo_array(matrix)
        rows = np.concatenate([coo.row // 3, np.arange(n)])
        columns = np.concatenate([coo.col // 3, np.arange(n)])
        keys, inverse = np.unique(rows.astype(np.int64) * n + columns, return_inverse=True)
        indptr = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) * n).astype(np.int32)
        indices = (keys % n).astype(np.int32)
        empty = np.zeros(0, np.int32)
        pattern = BlockPattern(
            indptr,
            indices,
            kernels.diagonal_slots(indptr, indices),
            np.zeros(n + 1, np.int32),
            empty,
            np.zeros((0, 1), np.uint16),
            1,
        )
        result = cls(pattern)
        np.add.at(result.blocks, (inverse[: coo.nnz], 3 * (coo.col % 3) + coo.row % 3), coo.data)
        return result

    def __str__(self) -> str:
        p = self.pattern
        megabytes = (self.blocks.nbytes + p.indices.nbytes + p.indptr.nbytes) / 1e6
        return (
            f"BlockMatrix {3 * p.node_count} x {3 * p.node_count}, {p.block_count} blocks "
            f"({p.block_count / max(p.node_count, 1):.1f} a row), {megabytes:.1f} MB"
        )
