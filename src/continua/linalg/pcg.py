"""Conjugate gradients with a cheap preconditioner: the solver that always works."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import kernels, ssor
from continua.linalg.matrix import BlockMatrix
from continua.linalg.solver import SolveReport, check_limits

__all__ = ["PCG"]

_NO_PROJECTIONS = np.zeros((0, 6))


class PCG:
    """Preconditioned conjugate gradients; the whole solve is one compiled function.

    Constraints are filtered (Baraff and Witkin 1998): fixed nodes get a zero preconditioner block, and nodes that
    may move in some directions only get one of those directions. The matrix is never modified, so nodes can be
    pinned, locked and freed at no cost.

    Args:
        rtol: Residual at which to stop, relative to the right-hand side, in the preconditioner's norm.
        max_iterations: Iterations after which to give up; the report then says `converged=False`.
        preconditioner: "ssor" (symmetric over-relaxation by Eisenstat's trick: about a third of the iterations
            at the same price) or "jacobi" (the inverse diagonal blocks).
        relaxation: Over-relaxation of "ssor", between 0 and 2.
    """

    def __init__(
        self,
        rtol: float = 1e-4,
        max_iterations: int = 2000,
        preconditioner: str = "ssor",
        relaxation: float = 1.4,
    ) -> None:
        check_limits(rtol, max_iterations)
        if preconditioner not in ("ssor", "jacobi"):
            raise InputError(f"preconditioner must be 'ssor' or 'jacobi', not {preconditioner!r}")
        if not 0.0 < relaxation < 2.0:
            raise InputError(f"relaxation must be between 0 and 2, not {relaxation}")
        self.rtol = float(rtol)
        self.max_iterations = int(max_iterations)
        self.preconditioner = preconditioner
        self.relaxation = float(relaxation)
        self.reason = ""
        self._matrix: BlockMatrix | None = None
        self.last: SolveReport | None = None

    def setup(self, matrix: BlockMatrix) -> None:
        """Allocate the work vectors and cut the rows into parts."""
        p = matrix.pattern
        n = p.node_count
        jacobi = self.preconditioner == "jacobi"
        self._inverse = np.zeros((n, 6))
        self._scaled = np.zeros((0 if jacobi else n, 6))
        self._work = [np.zeros((n, 3)) for _ in range(4 if jacobi else 5)]
        self._zero = np.zeros((n, 3))
        if jacobi:
            chunks = max(1, (n + kernels.CHUNK - 1) // kernels.CHUNK)
            self._partial = [np.zeros(chunks) for _ in range(2)]
        else:
            self._starts = ssor.part_starts(n, p.parallel)
            self._partial = [np.zeros(len(self._starts) - 1)]
            self._inner = np.zeros((n, 2), np.int32)
            ssor.split_rows.serial(p.indptr, p.indices, self._starts, self._inner)

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Invert the diagonal blocks of the free nodes; see `LinearSolver.update`."""
        p = matrix.pattern
        relaxation = 1.0
        if self.preconditioner == "jacobi":
            kernels.invert_diagonal.variant(p.parallel)(matrix.blocks, p.diagonal, fixed, self._inverse)
        else:
            relaxation = self.relaxation
            ssor.diagonal_blocks.variant(p.parallel)(
                matrix.blocks, p.diagonal, fixed, relaxation, self._starts, self._scaled, self._inverse
            )
        if projections is not None:
            kernels.project_diagonal.variant(p.parallel)(
                matrix.blocks, p.diagonal, fixed, projections, relaxation, self._inverse, self._scaled
            )
        self._held = (fixed, _NO_PROJECTIONS if projections is None else projections)
        self._matrix = matrix

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        load: NDArray[np.float64] | None = None,
        ways: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve A x = rhs in place, starting from x."""
        if self._matrix is None:
            raise InputError("call setup() and update() before solve()")
        p = self._matrix.pattern
        scale = self._zero if load is None else load
        end = (rhs, scale, x, self.rtol, self.max_iterations, *self._work, *self._partial)
        front: tuple = (p.indptr, p.indices, self._matrix.blocks)
        if self.preconditioner == "jacobi":
            run = kernels.conjugate_gradients.variant(p.parallel)
            front += (*self._held, self._inverse)
        else:
            run = ssor.ssor_conjugate_gradients.variant(p.parallel)
            front += (p.diagonal, self._inner, self._starts, self._inverse, self._scaled)
        iterations, residual = run(*front, *end)
        self.last = SolveReport(int(iterations), float(residual), 0.0 <= residual <= self.rtol)
        return self.last

    def __str__(self) -> str:
        text = f"PCG(rtol={self.rtol:g}, max_iterations={self.max_iterations}), {self.preconditioner} preconditioner"
        if self._matrix is not None:
            text += f", {3 * self._matrix.pattern.node_count} unknowns"
        if self.last is not None:
            text += f", last solve {self.last.iterations} iterations to {self.last.residual:.1e}"
        return text + (f"; {self.reason}" if self.reason else "")

    def __repr__(self) -> str:
        return f"PCG(rtol={self.rtol:g}, max_iterations={self.max_iterations})"
