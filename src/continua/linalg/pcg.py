"""Conjugate gradients with a block-Jacobi preconditioner: the solver that always works."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import kernels
from continua.linalg.matrix import BlockMatrix
from continua.linalg.solver import SolveReport

__all__ = ["PCG"]


class PCG:
    """Preconditioned conjugate gradients; the whole solve is one compiled function.

    Constraints are filtered (Baraff and Witkin 1998): fixed nodes get a zero preconditioner block, so the
    matrix is never modified and nodes can be pinned and freed at no cost.

    Args:
        rtol: Residual at which to stop, relative to the right-hand side, in the preconditioner's norm.
        max_iterations: Iterations after which to give up; the report then says `converged=False`.
    """

    def __init__(self, rtol: float = 1e-5, max_iterations: int = 2000) -> None:
        if not 0.0 < rtol < 1.0:
            raise InputError(f"rtol must be between 0 and 1, not {rtol}")
        if max_iterations < 1:
            raise InputError(f"max_iterations must be at least 1, not {max_iterations}")
        self.rtol = float(rtol)
        self.max_iterations = int(max_iterations)
        self._matrix: BlockMatrix | None = None
        self.last: SolveReport | None = None

    def setup(self, matrix: BlockMatrix) -> None:
        """Allocate the work vectors."""
        n = matrix.pattern.node_count
        chunks = max(1, (n + kernels.CHUNK - 1) // kernels.CHUNK)
        self._inverse = np.zeros((n, 6))
        self._work = [np.zeros((n, 3)) for _ in range(4)]
        self._partial = [np.zeros(chunks) for _ in range(2)]
        self._zero = np.zeros((n, 3))

    def update(self, matrix: BlockMatrix, fixed: NDArray[np.uint8]) -> None:
        """Invert the diagonal blocks of the free nodes."""
        p = matrix.pattern
        kernels.invert_diagonal.pick(p.parallel)(matrix.blocks, p.diagonal, fixed, self._inverse)
        self._matrix = matrix

    def solve(
        self, rhs: NDArray[np.float64], x: NDArray[np.float64], load: NDArray[np.float64] | None = None
    ) -> SolveReport:
        """Solve A x = rhs in place, starting from x."""
        if self._matrix is None:
            raise InputError("call setup() and update() before solve()")
        p = self._matrix.pattern
        iterations, residual = kernels.conjugate_gradients.pick(p.parallel)(
            p.indptr,
            p.indices,
            self._matrix.blocks,
            self._inverse,
            rhs,
            self._zero if load is None else load,
            x,
            self.rtol,
            self.max_iterations,
            *self._work,
            *self._partial,
        )
        self.last = SolveReport(int(iterations), float(residual), 0.0 <= residual <= self.rtol)
        return self.last

    def __str__(self) -> str:
        text = f"PCG(rtol={self.rtol:g}, max_iterations={self.max_iterations}), block-Jacobi preconditioner"
        if self._matrix is not None:
            text += f", {3 * self._matrix.pattern.node_count} unknowns"
        if self.last is not None:
            text += f", last solve {self.last.iterations} iterations to {self.last.residual:.1e}"
        return text

    def __repr__(self) -> str:
        return f"PCG(rtol={self.rtol:g}, max_iterations={self.max_iterations})"
