"""GMRES for displacements and pressures, preconditioned by a multigrid cycle and an approximate Schur complement.

The system is that of `linalg.pressure_term`, the preconditioner block triangular from the right (Elman, Silvester and
Wathen 2014): p = -S^-1 r_p, then u = V (r_u - G^T p) with V a cycle for K. Residuals of displacements are scaled by the
root of the diagonal of K, so that both have the same unit.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.linalg.constraints import full_blocks, project_free
from continua.linalg.matrix import BlockMatrix
from continua.linalg.pressure_term import PressureTerm, SchurComplement

__all__ = ["MixedGMRES"]

_RESTART = 100  # vectors that are kept
_CHECK = 3  # iterations between two looks at the residual of A u = b
_STALLED = 2  # restarts without a smaller residual


def _dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(
        np.einsum("i,i->", a, b)
    )  # unlike those of BLAS, its sums do not depend on the number of threads


class MixedGMRES:
    """Solves A u = b by way of the pressures; it converges by the residual of A u = b.

    Args:
        matrix: A.
        term: Its pressure term.
        constraints: Fixed nodes and projections; see `LinearSolver.update`.
        weights: Inverse diagonal blocks of K [n, 6], zero in fixed directions.
        cycle: Applies the multigrid cycle to a vector [n, 3].
    """

    def __init__(
        self,
        matrix: BlockMatrix,
        term: PressureTerm,
        constraints: tuple[NDArray[np.uint8], NDArray[np.float64]],
        weights: NDArray[np.float64],
        cycle: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    ) -> None:
        self._matrix, self._constraints, self._cycle = matrix, constraints, cycle
        self._G: sparse.csr_array = term.to_scipy()
        self._Gt: sparse.csr_array = self._G.T.tocsr()
        self._schur: SchurComplement = term.schur()
        root = np.sqrt(np.maximum(weights[:, [0, 3, 5]].mean(axis=1), 0.0))
        self._scale = np.repeat(root, 3)
        self._unscale = np.zeros_like(self._scale)
        np.divide(1.0, self._scale, out=self._unscale, where=self._scale > 0.0)
        self._inverse = np.zeros((len(root), 6))
        matrix.invert_diagonal(*constraints, self._inverse)

    def norm_square(self, r: NDArray[np.float64]) -> float:
        """Return the square of the norm of a residual [n, 3] that all solvers of bodies stop by."""
        return _dot(r.reshape(-1), np.einsum("nij,nj->ni", full_blocks(self._inverse), r).reshape(-1))

    def residual(self, rhs: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return b - A u in the free directions."""
        return project_free(rhs - self._matrix.multiply(u), *self._constraints)

    def solve(
        self, rhs: NDArray[np.float64], u: NDArray[np.float64], goal: float, most: int, until: float
    ) -> tuple[int, float, bool]:
        """Iterate from u until `norm_square` of the residual is at most `goal`.

        Returns:
            Iterations, the square of the norm, and whether the time `until` [s of `perf_counter`] was over.
        """
        done, best, since = 0, np.inf, 0
        p = self._G @ u.reshape(-1)
        while True:
            primal = self.residual(rhs, u)
            square = self.norm_square(primal)
            if not square > goal or done >= most:
                return done, square, False
            since = 0 if square < 0.25 * best else since + 1
            best = min(best, square)
            if since >= _STALLED:
                return done, square, False
            if perf_counter() > until:
                return done, square, True
            lack = p - self._G @ u.reshape(-1)
            first = primal - self._pressure_force(lack)
            step, count = self._cycle_of_restart(first, lack, goal, most - done, until)
            u += step[: u.size].reshape(u.shape)
            p += step[u.size :]
            done += count

    def _pressure_force(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return G^T p in the free directions."""
        return project_free((self._Gt @ p).reshape(-1, 3), *self._constraints)

    def _precondition(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        size = len(self._scale)
        p = -self._schur.solve(r[size:])
        u = self._cycle((r[:size] * self._unscale).reshape(-1, 3) - self._pressure_force(p))
        return np.concatenate([u.reshape(-1), p])

    def _multiply(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scaled product of the system with z; K u is A u - G^T G u."""
        size = len(self._scale)
        u = z[:size].reshape(-1, 3)
        second = self._G @ z[:size] - z[size:]
        first = project_free(self._matrix.multiply(u), *self._constraints) - self._pressure_force(second)
        return np.concatenate([self._scale * first.reshape(-1), second])

    def _cycle_of_restart(
        self, first: NDArray[np.float64], second: NDArray[np.float64], goal: float, most: int, until: float
    ) -> tuple[NDArray[np.float64], int]:
        """Return the correction of up to `_RESTART` iterations from residuals of both rows, and their number."""
        start = np.concatenate([self._scale * first.reshape(-1), second])
        size, count = len(self._scale), min(_RESTART, most)
        V = np.zeros((count + 1, len(start)))
        H = np.zeros((count + 1, count))
        beta = np.sqrt(_dot(start, start))
        V[0] = start / beta
        y: NDArray[np.float64] = np.zeros(0)
        for j in range(count):
            w = self._multiply(self._precondition(V[j]))
            for _ in range(2):  # once more: rounding
                h = np.einsum("ij,j->i", V[: j + 1], w)
                w -= np.einsum("i,ij->j", h, V[: j + 1])
                H[: j + 1, j] += h
            H[j + 1, j] = np.sqrt(_dot(w, w))
            small = not H[j + 1, j] > 1e-14 * beta
            if not small:
                V[j + 1] = w / H[j + 1, j]
            last = small or j + 1 == count or perf_counter() > until
            if last or (j + 1) % _CHECK == 0:
                target = np.zeros(j + 2)
                target[0] = beta
                y = np.asarray(np.linalg.lstsq(H[: j + 2, : j + 1], target, rcond=None)[0])
                left = np.einsum("i,ij->j", target - H[: j + 2, : j + 1] @ y, V[: j + 2])
                primal = (left[:size] * self._unscale).reshape(-1, 3) + self._pressure_force(left[size:])
                if last or self.norm_square(primal) <= 0.8 * goal:
                    break
        return self._precondition(np.einsum("i,ij->j", y, V[: len(y)])), len(y)
