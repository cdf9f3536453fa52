"""Conjugate gradients with a cheap preconditioner: the solver with the fewest assumptions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import block_kernels
from continua.linalg.krylov import jacobi_cg_kernels, ssor_kernels
from continua.linalg.matrix import BlockMatrix
from continua.linalg.solver import SolverBase, SolveReport, check_limits, check_system
from continua.validation import choice, instance_of, number

__all__ = ["PCG"]


class PCG(SolverBase):
    """Preconditioned conjugate gradients; the whole solve is one compiled function.

    Constraints are filtered (Baraff and Witkin 1998): a fixed node has a zero preconditioner block, and the block of a
    partly fixed node acts in its free directions only. The matrix is not modified, so pinning, locking and
    releasing nodes costs nothing.

    Args:
        rtol: Tolerance of the residual, relative to the right-hand side, in the preconditioner's norm.
        max_iterations: Limit of the iterations; a solve that reaches it reports `converged=False`.
        preconditioner: "ssor" (symmetric over-relaxation with Eisenstat's trick: about a third of the iterations
            at the same cost per iteration) or "jacobi" (the inverse diagonal blocks).
        relaxation: Over-relaxation factor of "ssor", between 0 and 2.
    """

    def __init__(
        self,
        rtol: float = 1e-4,
        max_iterations: int = 2000,
        preconditioner: str = "ssor",
        relaxation: float = 1.4,
    ) -> None:
        super().__init__()
        self.rtol, self.max_iterations = check_limits(rtol, max_iterations)
        self.preconditioner = choice(preconditioner, "the preconditioner of PCG", ("ssor", "jacobi"))
        self.relaxation = number(relaxation, "the relaxation of PCG", above=0.0, below=2.0)

    def setup(self, matrix: BlockMatrix) -> None:
        """Allocate the work vectors and divide the rows into parts."""
        p = instance_of(matrix, BlockMatrix, "the matrix of a solver").pattern
        self._matrix = None
        n = p.node_count
        jacobi = self.preconditioner == "jacobi"
        self._inverse = np.zeros((n, 6))
        self._scaled = np.zeros((0 if jacobi else n, 6))
        self._work = [np.zeros((n, 3)) for _ in range(4 if jacobi else 5)]
        self._zero = np.zeros((n, 3))
        if jacobi:
            chunks = max(1, (n + block_kernels.CHUNK - 1) // block_kernels.CHUNK)
            self._partial = [np.zeros(chunks) for _ in range(2)]
        else:
            self._starts = ssor_kernels.part_starts(n, p.parallel)
            self._partial = [np.zeros(len(self._starts) - 1)]
            self._inner = np.zeros((n, 2), np.int32)
            ssor_kernels.split_rows.serial(p.indptr, p.indices, self._starts, self._inner)

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Invert the diagonal blocks of the free nodes; see `LinearSolver.update`."""
        check_system(matrix, fixed, projections)
        p = matrix.pattern
        if len(getattr(self, "_zero", ())) != p.node_count:
            raise InputError("call setup() with this matrix before update()")
        relaxation = 1.0
        if self.preconditioner == "jacobi":
            block_kernels.invert_diagonal.variant(p.parallel)(matrix.blocks, p.diagonal, fixed, self._inverse)
        else:
            relaxation = self.relaxation
            ssor_kernels.diagonal_blocks.variant(p.parallel)(
                matrix.blocks, p.diagonal, fixed, relaxation, self._starts, self._scaled, self._inverse
            )
        if projections is not None:
            block_kernels.project_diagonal.variant(p.parallel)(
                matrix.blocks, p.diagonal, fixed, projections, relaxation, self._inverse, self._scaled
            )
        self._set_system(matrix, fixed, projections)

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        tolerance_scale: NDArray[np.float64] | None = None,
        guess_directions: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve A x = rhs in place, starting from x."""
        matrix = self._system(rhs, x, tolerance_scale, guess_directions)
        p = matrix.pattern
        scale = self._zero if tolerance_scale is None else tolerance_scale
        end = (rhs, scale, x, self.rtol, self.max_iterations, *self._work, *self._partial)
        front: tuple = (p.indptr, p.indices, matrix.blocks)
        if self.preconditioner == "jacobi":
            run = jacobi_cg_kernels.conjugate_gradients.variant(p.parallel)
            front += (*self._constraints, self._inverse)
        else:
            run = ssor_kernels.ssor_conjugate_gradients.variant(p.parallel)
            front += (p.diagonal, self._inner, self._starts, self._inverse, self._scaled)
        iterations, residual = run(*front, *end)
        return self._finish(iterations, residual, self.rtol)

    def __str__(self) -> str:
        text = f"PCG(rtol={self.rtol:g}, max_iterations={self.max_iterations}), {self.preconditioner} preconditioner"
        if self._matrix is not None:
            text += f", {3 * self._matrix.pattern.node_count} unknowns"
        text += f", {self._last_solve()}" if self.last is not None else ""
        return text + (f"; {self.reason}" if self.reason else "")

    def __repr__(self) -> str:
        return f"PCG(rtol={self.rtol:g}, max_iterations={self.max_iterations})"
