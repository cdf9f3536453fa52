"""Merged conjugate gradients on matrices stored in bins of rows (Weber 2015), the pair made for graphics cards.

Rows are put into bins of equal width. All rows of a bin are padded to the same length, and values lie so that the
same entry of all rows of a bin is contiguous: lanes work on rows, not on blocks. Of each 3x3 block only one column is
stored (BIN-BCSR). An iteration of the merged method has three passes: product and curvature; solution, residual and
preconditioned residual; search direction. On a CPU plain block rows are as fast or faster (`python -m benchmarks
solvers`): a block fills a register by itself, and padding costs traffic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import bin_kernels
from continua.linalg.matrix import BlockMatrix
from continua.linalg.solver import SolveReport, check_limits

__all__ = ["BinMatrix", "MergedPCG"]

WIDTH = bin_kernels.WIDTH
_NO_PROJECTIONS = np.zeros((0, 6))


@dataclass(eq=False)
class BinMatrix:
    """A block matrix in bins of rows.

    Attributes:
        starts: First entry of every bin, counted in blocks a row, shape [bins + 1].
        columns: Block columns, shape [entries, WIDTH]; padding refers to the row itself.
        values: Nine values a block, shape [entries, 9, WIDTH]; padding is zero.
        node_count: Number of block rows.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float64]
    node_count: int

    @classmethod
    def from_matrix(cls, matrix: BlockMatrix) -> BinMatrix:
        """Lay out the pattern of a block matrix and copy its values."""
        p = matrix.pattern
        lengths = np.diff(p.indptr)
        bins = (p.node_count + WIDTH - 1) // WIDTH
        padded = np.zeros(bins * WIDTH, np.int64)
        padded[: p.node_count] = lengths
        longest = padded.reshape(bins, WIDTH).max(axis=1, initial=0)
        starts = np.concatenate([[0], np.cumsum(longest)])
        columns = np.zeros((starts[-1], WIDTH), np.int32)
        values = np.zeros((starts[-1], 9, WIDTH))
        result = cls(starts, columns, values, p.node_count)
        bin_kernels.fill_columns(p.indptr, p.indices, starts, columns)
        result.update(matrix)
        return result

    def update(self, matrix: BlockMatrix) -> None:
        """Copy the values of a matrix with the same pattern."""
        p = matrix.pattern
        bin_kernels.fill_values.variant(p.parallel)(p.indptr, matrix.blocks, self.starts, self.values)

    @property
    def overhead(self) -> float:
        """Padding, as a part of the blocks that are stored."""
        return float((self.values[:, 0] == 0.0).sum()) / max(self.columns.size, 1)

    def multiply(self, x: NDArray[np.float64], out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return A x for a vector x of shape [n, 3]."""
        out = np.empty_like(x) if out is None else out
        bin_kernels.multiply.variant(self.columns.size >= 60_000)(
            self.starts, self.columns, self.values, x, out
        )
        return out


class MergedPCG:
    """Block-Jacobi conjugate gradients in three passes an iteration, on a matrix in bins; kept for comparison.

    Args:
        rtol: Residual at which to stop, relative to the right-hand side, in the norm of the inverse diagonal blocks.
        max_iterations: Iterations after which to give up.
    """

    def __init__(self, rtol: float = 1e-4, max_iterations: int = 2000) -> None:
        check_limits(rtol, max_iterations)
        self.rtol = float(rtol)
        self.max_iterations = int(max_iterations)
        self.reason = ""
        self.last: SolveReport | None = None
        self.passes = 0
        self._bins: BinMatrix | None = None
        self._ready = False

    def setup(self, matrix: BlockMatrix) -> None:
        """Lay out the bins and allocate the work vectors."""
        n = matrix.pattern.node_count
        self._bins = BinMatrix.from_matrix(matrix)
        self._inverse = np.zeros((n, 6))
        self._work = [np.zeros((n, 3)) for _ in range(4)]
        self._zero = np.zeros((n, 3))
        bins = max(1, (n + WIDTH - 1) // WIDTH)
        self._partial = [np.zeros((bins + bin_kernels.BINS - 1) // bin_kernels.BINS) for _ in range(2)]
        self._ready = False

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Take over new values and invert the diagonal blocks; see `LinearSolver.update`."""
        assert self._bins is not None
        p = matrix.pattern
        self._held = (fixed, _NO_PROJECTIONS if projections is None else projections)
        self._bins.update(matrix)
        matrix.invert_diagonal(fixed, projections, self._inverse)
        self._parallel, self._ready = p.parallel, True

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        load: NDArray[np.float64] | None = None,
        ways: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve A x = rhs in place, starting from x."""
        if not self._ready or self._bins is None:
            raise InputError("call setup() and update() before solve()")
        b = self._bins
        iterations, residual, self.passes = bin_kernels.conjugate_gradients.variant(self._parallel)(
            b.starts, b.columns, b.values, *self._held, self._inverse, rhs, self._zero if load is None else load,
            x, self.rtol, self.max_iterations, *self._work, *self._partial,
        )  # fmt: skip
        self.last = SolveReport(int(iterations), float(residual), 0.0 <= residual <= self.rtol)
        return self.last

    def __str__(self) -> str:
        text = f"MergedPCG(rtol={self.rtol:g}), three passes an iteration, bins of {WIDTH} rows"
        if self._bins is not None:
            text += f", {3 * self._bins.node_count} unknowns"
        if self.last is not None:
            text += f", last solve {self.last.iterations} iterations to {self.last.residual:.1e}"
        return text + (f"; {self.reason}" if self.reason else "")

    def __repr__(self) -> str:
        return f"MergedPCG(rtol={self.rtol:g}, max_iterations={self.max_iterations})"
