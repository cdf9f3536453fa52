"""Sparse factorisation: exact, for small or badly conditioned systems, and for constant matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from continua.linalg import block_kernels
from continua.linalg.constraints import full_blocks, project_free
from continua.linalg.matrix import BlockMatrix
from continua.linalg.solver import SolverBase, SolveReport, check_system
from continua.validation import instance_of

__all__ = ["Direct"]

_MAX_RESIDUAL = 1e-6  # relative residual above which a factorisation has failed


class Direct(SolverBase):
    """Sparse LU factorisation (SuperLU in symmetric mode), reused while neither matrix nor constraints change.

    Fixed components are removed from the system, so their values do not change.
    """

    def __init__(self) -> None:
        super().__init__()
        self.factorisations = 0
        self._factor: scipy.sparse.linalg.SuperLU | None = None
        self._blocks: NDArray[np.float64] | None = None

    def setup(self, matrix: BlockMatrix) -> None:
        """Drop the factors of an earlier matrix."""
        instance_of(matrix, BlockMatrix, "the matrix of a solver")
        self._matrix, self._factor, self._blocks = None, None, None

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Factorise, unless nothing changed since the last factorisation."""
        check_system(matrix, fixed, projections)
        free = np.zeros((0, 6)) if projections is None else projections
        same = self._blocks is not None and np.array_equal(self._blocks, matrix.blocks)
        same = same and np.array_equal(fixed, self._constraints[0])
        if same and np.array_equal(free, self._constraints[1]):
            self._matrix = matrix
            return
        self._set_system(matrix, fixed.copy(), free.copy())
        self._blocks = matrix.blocks.copy()
        p = matrix.pattern
        filtered = BlockMatrix(p)
        block_kernels.project_blocks.variant(p.parallel)(
            p.indptr, p.indices, matrix.blocks, fixed, free, filtered.blocks
        )
        size = float(np.abs(matrix.blocks[p.diagonal][:, ::4]).mean()) or 1.0
        own = np.zeros((p.node_count, 3, 3))
        own[fixed == 1] = np.eye(3)
        partly = np.flatnonzero(fixed == 2)
        if len(partly):
            own[partly] = np.eye(3) - full_blocks(free[partly])
        filtered.blocks[p.diagonal] += size * own.reshape(-1, 9)
        self._filtered, self._factor = filtered, _factorised(filtered)
        self.factorisations += self._factor is not None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_factor": self._factor is not None}  # the factors of SciPy cannot be pickled

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._factor = _factorised(self._filtered) if state["_factor"] else None

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        tolerance_scale: NDArray[np.float64] | None = None,
        guess_directions: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve A x = rhs in place; fixed components of x keep their values."""
        system = self._system(rhs, x, tolerance_scale, guess_directions)
        r = project_free(rhs - system.multiply(x), *self._constraints)
        scale = float(np.linalg.norm(project_free(rhs, *self._constraints))) or float(np.linalg.norm(r))
        if scale == 0.0:
            self.last = SolveReport(0, 0.0, True)
        elif self._factor is None or not np.isfinite(r).all():
            self.last = SolveReport(0, -1.0, False, warnings=("the matrix is singular",))
        else:
            e = self._factor.solve(r.ravel()).reshape(-1, 3)
            left = r - self._filtered.multiply(e)
            correction = self._factor.solve(left.ravel()).reshape(-1, 3)  # one step of refinement
            e += correction
            x += project_free(e, *self._constraints)
            residual = float(np.linalg.norm(r - self._filtered.multiply(e)))
            # the residual of a warm start may be below the rounding of the right-hand side: that is solved, too
            relative = residual / max(scale, float(np.linalg.norm(r)))
            self.last = SolveReport(1, relative, bool(relative <= _MAX_RESIDUAL), error=relative)
        return self.last

    def __str__(self) -> str:
        text = "Direct, sparse LU"
        if self._factor is not None:
            text += (
                f", {self._factor.shape[0]} unknowns, {self._factor.L.nnz / 1e6:.2f} M entries in the factor"
            )
            text += f", {self.factorisations} factorisations"
        return text + (f"; {self.reason}" if self.reason else "")

    def __repr__(self) -> str:
        return "Direct()"


def _factorised(matrix: BlockMatrix) -> scipy.sparse.linalg.SuperLU | None:
    """Return the factors of a matrix, or None if it is singular."""
    try:
        return scipy.sparse.linalg.splu(
            sparse.csc_array(matrix.to_scipy()),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:
        return None
