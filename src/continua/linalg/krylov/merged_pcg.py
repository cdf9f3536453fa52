"""Merged conjugate gradients on a sliced ELLPACK matrix (Weber 2015), a pair designed for graphics cards.

Rows are stored in slices ("bins") of equal width. All rows of a slice are padded to the same length, and the same entry
of all its rows is contiguous, so SIMD lanes work on rows, not on blocks. Each 3x3 block stores one column index
(BIN-BCSR). An iteration of the merged method has three passes: product and curvature; solution, residual and
preconditioned residual; search direction. On a CPU block rows are as fast or faster (`python -m benchmarks
solvers`): a block fills a register by itself, and padding costs memory traffic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg.krylov import ell_kernels
from continua.linalg.matrix import BlockMatrix
from continua.linalg.solver import SolverBase, SolveReport, check_limits, check_system
from continua.short_repr import ShortRepr
from continua.validation import given_array, instance_of

__all__ = ["MergedPCG", "SlicedEllMatrix"]

WIDTH = ell_kernels.WIDTH


@dataclass(eq=False, repr=False)
class SlicedEllMatrix(ShortRepr):
    """A block matrix in slices of rows, each padded to its longest row.

    Attributes:
        starts: First entry of every slice, counted in blocks per row, shape [slices + 1].
        columns: Block columns, shape [entries, WIDTH]; padding refers to the row itself.
        values: Nine values per block, shape [entries, 9, WIDTH]; padding is zero.
        node_count: Number of block rows.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float64]
    node_count: int

    @classmethod
    def from_matrix(cls, matrix: BlockMatrix) -> SlicedEllMatrix:
        """Lay out the pattern of a block matrix and copy its values."""
        p = instance_of(matrix, BlockMatrix, "the matrix").pattern
        lengths = np.diff(p.indptr)
        bins = (p.node_count + WIDTH - 1) // WIDTH
        padded = np.zeros(bins * WIDTH, np.int64)
        padded[: p.node_count] = lengths
        longest = padded.reshape(bins, WIDTH).max(axis=1, initial=0)
        starts = np.concatenate([[0], np.cumsum(longest)])
        columns = np.zeros((starts[-1], WIDTH), np.int32)
        values = np.zeros((starts[-1], 9, WIDTH))
        result = cls(starts, columns, values, p.node_count)
        ell_kernels.fill_columns(p.indptr, p.indices, starts, columns)
        result.update(matrix)
        return result

    def update(self, matrix: BlockMatrix) -> None:
        """Copy the values of a matrix with the same pattern."""
        p = instance_of(matrix, BlockMatrix, "the matrix").pattern
        if p.node_count != self.node_count:
            raise InputError(f"the matrix has {p.node_count} block rows, not {self.node_count}")
        ell_kernels.fill_values.variant(p.parallel)(p.indptr, matrix.blocks, self.starts, self.values)

    @property
    def overhead(self) -> float:
        """Padding as a fraction of the stored blocks."""
        return float((self.values[:, 0] == 0.0).sum()) / max(self.columns.size, 1)

    def multiply(self, x: NDArray[np.float64], out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return A x for a vector x of shape [n, 3]."""
        given_array(x, "x", (self.node_count, 3))
        out = np.empty_like(x) if out is None else out
        given_array(out, "out", (self.node_count, 3))
        ell_kernels.multiply.variant(self.columns.size >= 60_000)(
            self.starts, self.columns, self.values, x, out
        )
        return out


class MergedPCG(SolverBase):
    """Merged block-Jacobi conjugate gradients (Weber 2015), three passes per iteration; kept for comparison.

    Args:
        rtol: Tolerance of the residual, relative to the right-hand side, in the norm of the inverse diagonal blocks.
        max_iterations: Limit of the iterations.
    """

    def __init__(self, rtol: float = 1e-4, max_iterations: int = 2000) -> None:
        super().__init__()
        self.rtol, self.max_iterations = check_limits(rtol, max_iterations)
        self.passes = 0
        self._ell: SlicedEllMatrix | None = None

    def setup(self, matrix: BlockMatrix) -> None:
        """Lay out the slices and allocate the work vectors."""
        self._ell = SlicedEllMatrix.from_matrix(matrix)
        self._matrix = None
        n = matrix.pattern.node_count
        self._inverse = np.zeros((n, 6))
        self._work = [np.zeros((n, 3)) for _ in range(4)]
        self._zero = np.zeros((n, 3))
        bins = max(1, (n + WIDTH - 1) // WIDTH)
        self._partial = [np.zeros((bins + ell_kernels.BINS - 1) // ell_kernels.BINS) for _ in range(2)]

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Copy new values and invert the diagonal blocks; see `LinearSolver.update`."""
        check_system(matrix, fixed, projections)
        if self._ell is None:
            raise InputError("call setup() before update()")
        self._ell.update(matrix)
        matrix.invert_diagonal(fixed, projections, self._inverse)
        self._set_system(matrix, fixed, projections)

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        tolerance_scale: NDArray[np.float64] | None = None,
        guess_directions: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve A x = rhs in place, starting from x."""
        system = self._system(rhs, x, tolerance_scale, guess_directions)
        parallel, ell = system.pattern.parallel, self._ell
        assert ell is not None
        scale = self._zero if tolerance_scale is None else tolerance_scale
        iterations, residual, self.passes = ell_kernels.conjugate_gradients.variant(parallel)(
            ell.starts, ell.columns, ell.values, *self._constraints, self._inverse, rhs, scale, x, self.rtol,
            self.max_iterations, *self._work, *self._partial,
        )  # fmt: skip
        return self._finish(iterations, residual, self.rtol)

    def __str__(self) -> str:
        text = f"MergedPCG(rtol={self.rtol:g}), three passes per iteration, slices of {WIDTH} rows"
        if self._ell is not None:
            text += f", {3 * self._ell.node_count} unknowns"
        text += f", {self._last_solve()}" if self.last is not None else ""
        return text + (f"; {self.reason}" if self.reason else "")

    def __repr__(self) -> str:
        return f"MergedPCG(rtol={self.rtol:g}, max_iterations={self.max_iterations})"
