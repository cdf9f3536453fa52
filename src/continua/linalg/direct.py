"""Sparse factorisation: exact, for small or hopeless systems, and for matrices that stay."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import levels
from continua.linalg.matrix import BlockMatrix
from continua.linalg.solver import SolveReport

__all__ = ["Direct"]

_ACCURATE = 1e-6  # relative residual above which a factorisation has failed


class Direct:
    """A sparse LU factorisation (SuperLU in symmetric mode), kept while neither the matrix nor the pins change.

    Held components are taken out of the system, so their values stay as they are.
    """

    def __init__(self) -> None:
        self.last: SolveReport | None = None
        self.factorisations = 0
        self.reason = ""
        self._matrix: BlockMatrix | None = None
        self._factor: scipy.sparse.linalg.SuperLU | None = None
        self._blocks: NDArray[np.float64] | None = None
        self._held: tuple[NDArray[np.uint8], NDArray[np.float64] | None] = (np.zeros(0, np.uint8), None)

    def setup(self, matrix: BlockMatrix) -> None:
        """Forget the factors of an earlier matrix."""
        self._matrix, self._factor, self._blocks = None, None, None

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Factorise, unless nothing changed since the last time."""
        held = (fixed.copy(), None if projections is None else projections.copy())
        same = self._blocks is not None and np.array_equal(self._blocks, matrix.blocks)
        if same and np.array_equal(fixed, self._held[0]) and _equal(held[1], self._held[1]):
            return
        self._matrix, self._held, self._blocks = matrix, held, matrix.blocks.copy()
        p = matrix.pattern
        filtered = BlockMatrix(p)
        free = np.zeros((0, 6)) if projections is None else projections
        levels.project_blocks.variant(p.parallel)(
            p.indptr, p.indices, matrix.blocks, fixed, free, filtered.blocks
        )
        size = float(np.abs(matrix.blocks[p.diagonal][:, ::4]).mean()) or 1.0
        own = np.zeros((p.node_count, 3, 3))
        own[fixed == 1] = np.eye(3)
        partly = np.flatnonzero(fixed == 2)
        if len(partly):
            own[partly] = np.eye(3) - free[partly][:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
        filtered.blocks[p.diagonal] += size * own.reshape(-1, 9)
        A = sparse.csc_array(filtered.to_scipy())
        self._filtered, self._factor = filtered, None
        try:
            self._factor = scipy.sparse.linalg.splu(
                A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
            self.factorisations += 1
        except RuntimeError:  # singular
            self._factor = None

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        load: NDArray[np.float64] | None = None,
        ways: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve A x = rhs in place; held components of x keep their values."""
        if self._matrix is None:
            raise InputError("call setup() and update() before solve()")
        r = self._free_part(rhs - self._matrix.multiply(x))
        scale = float(np.linalg.norm(self._free_part(rhs))) or float(np.linalg.norm(r))
        if scale == 0.0:
            self.last = SolveReport(0, 0.0, True)
        elif self._factor is None or not np.isfinite(r).all():
            self.last = SolveReport(0, -1.0, False, warnings=("the matrix is singular",))
        else:
            e = self._factor.solve(r.ravel()).reshape(-1, 3)
            left = r - self._filtered.multiply(e)
            correction = self._factor.solve(left.ravel()).reshape(-1, 3)  # one step of refinement
            e += correction
            x += self._free_part(e)
            residual = float(np.linalg.norm(r - self._filtered.multiply(e)))
            # a warm start may leave a residual below rounding of the right-hand side: that is solved, too
            relative = residual / max(scale, float(np.linalg.norm(r)))
            self.last = SolveReport(1, relative, bool(relative <= _ACCURATE), error=relative)
        return self.last

    def _free_part(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        fixed, projections = self._held
        free = values.copy()
        free[fixed == 1] = 0.0
        partly = np.flatnonzero(fixed == 2)
        if len(partly) and projections is not None:
            s = projections[partly][:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
            free[partly] = np.einsum("kij,kj->ki", s, values[partly])
        return free

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


def _equal(a: NDArray | None, b: NDArray | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)
