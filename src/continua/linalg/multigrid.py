"""Multigrid: a cycle over coarser and coarser levels inside conjugate gradients, or by itself."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import kernels, krylov
from continua.linalg.direct import Direct
from continua.linalg.hierarchy import Hierarchy
from continua.linalg.matrix import BlockMatrix
from continua.linalg.pcg import PCG
from continua.linalg.smoothers import SMOOTHERS
from continua.linalg.solver import SolveReport, check_limits

__all__ = ["Multigrid", "PMultigrid"]

_NO_PROJECTIONS = np.zeros((0, 6))
_STUCK = 50  # iterations without a new best residual after which to give up
_SAME = 1e-8  # square of the sine of the angle below which two ways are one
_CYCLES = {"auto": 1, "v": 1, "w": 2, "full": 1}  # visits of a level for each of the one above
_SLOW = 0.42  # mean factor an iteration, from which on W-cycles pay
_TRIED = 5  # iterations that tell
_STATE_KEYS = ("group_sizes", "groups", "eigenvectors", "smoother_vectors")
_PRECISIONS = {"single": np.float32, "double": np.float64}


class Multigrid:
    """Multigrid with Galerkin coarse matrices, by default one symmetric V-cycle as preconditioner of CG.

    Levels come from the geometry of the matrix: refined meshes and lattices have nested levels, other meshes get
    groups of nodes that move as rigid bodies (see `linalg.aggregation`). They are made once a pattern; new values flow
    through all levels in place. The cycle reads the matrix in single precision, the solution has double precision all
    the same.

    Args:
        rtol: Residual at which to stop, relative to the right-hand side, in the norm of the inverse diagonal blocks.
        max_iterations: Iterations after which to give up.
        cycle: "v", "w", "full" (one full multigrid pass from the coarsest level first, then V-cycles), or "auto":
            V-cycles, and W-cycles for the rest of a solve that turns out to be hard.
        sweeps: Sweeps of the smoother before, and again after, the correction of the coarser level.
        accelerate: Whether the cycle preconditions conjugate gradients; else it is iterated by itself.
        coarsest: Nodes of a level that is small enough to be solved directly.
        precision: "single" or "double": the numbers that the smoother reads.
        budget_ms: Stop after this time [ms] (checked once an iteration; at least one is done); the report then has the
            residual, an estimate of the error, and a warning. None for no limit.
        fallback: Whether to try PCG, then a direct solve, when it does not converge. The report warns of it.
        smoother: "gauss-seidel", or a polynomial of degree `sweeps` whose steps do not depend on the order of nodes:
            "jacobi" (damped block Jacobi) or "chebyshev". They need more sweeps, 2 or 3, for the same convergence.
    """

    _name = "Multigrid"

    def __init__(
        self,
        rtol: float = 1e-4,
        max_iterations: int = 200,
        cycle: str = "auto",
        sweeps: int = 1,
        accelerate: bool = True,
        coarsest: int = 50,
        precision: str = "single",
        budget_ms: float | None = None,
        fallback: bool = True,
        smoother: str = "gauss-seidel",
    ) -> None:
        check_limits(rtol, max_iterations)
        for name, value in {"sweeps": sweeps, "coarsest": coarsest}.items():
            if value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        if cycle not in _CYCLES:
            raise InputError(f"cycle must be 'auto', 'v', 'w' or 'full', not {cycle!r}")
        if precision not in _PRECISIONS:
            raise InputError(f"precision must be 'single' or 'double', not {precision!r}")
        if smoother not in SMOOTHERS:
            raise InputError(f"smoother must be 'gauss-seidel', 'jacobi' or 'chebyshev', not {smoother!r}")
        if budget_ms is not None and not budget_ms > 0.0:
            raise InputError(f"budget_ms must be greater than 0 ms, not {budget_ms}")
        self.rtol = float(rtol)
        self.max_iterations = int(max_iterations)
        self.kind = cycle
        self.sweeps = int(sweeps)
        self.accelerate = bool(accelerate)
        self.coarsest = int(coarsest)
        self.precision = precision
        self.smoother = smoother
        self.budget_ms = budget_ms
        self.fallback = bool(fallback)
        self.reason = ""
        self.last: SolveReport | None = None
        self.hierarchy: Hierarchy | None = None
        self.factor: float | None = None
        self._restored: Mapping[str, NDArray] = {}
        self._matrix: BlockMatrix | None = None
        self._products: NDArray[np.float64] | None = None  # with the matrix, of the ways of a solve

    def setup(self, matrix: BlockMatrix) -> None:
        """Prepare for matrices with this pattern; levels are made when the first one comes."""
        self.hierarchy = None
        self._restored = {}
        self._matrix = None
        self._others: list[PCG | Direct] = []

    def state(self) -> dict[str, NDArray]:
        """Return what the levels take from earlier matrices: groups of nodes, and eigenvectors of the power method.

        Groups are made from the first matrix, so a run that goes on from a file cannot make them again.
        """
        if self.hierarchy is None:
            return {key: array.copy() for key, array in self._restored.items()}
        levels, smoother = self.hierarchy.aggregations, self.hierarchy.smoother_vectors
        if not levels and not len(smoother):
            return {}
        return {
            "group_sizes": np.array([len(level.group) for level in levels], np.int64),
            "groups": np.concatenate([np.zeros(0, np.int64), *(level.group for level in levels)]),
            "eigenvectors": np.concatenate([np.zeros((0, 3)), *(level.vector for level in levels)]),
            "smoother_vectors": smoother,
        }

    def restore(self, state: Mapping[str, NDArray]) -> None:
        """Restore a state from `state()`; without one, levels are made from the next matrix."""
        self._restored = {key: np.array(state[key]) for key in _STATE_KEYS if key in state}
        if self.hierarchy is not None and self._restored and self._has_groups(self._restored["groups"]):
            self._restore_eigenvectors()
        elif self._restored or (self.hierarchy is not None and self.state()):
            self.hierarchy = None

    def _has_groups(self, groups: NDArray) -> bool:
        assert self.hierarchy is not None
        own = [np.zeros(0, np.int64), *(level.group for level in self.hierarchy.aggregations)]
        return np.array_equal(groups, np.concatenate(own))

    def _restore_eigenvectors(self) -> None:
        assert self.hierarchy is not None
        start = 0
        if not self._restored:
            return
        for level in self.hierarchy.aggregations:
            level.restore(self._restored["eigenvectors"][start : start + len(level.vector)])
            start += len(level.vector)
        self.hierarchy.restore_smoother_vectors(self._restored["smoother_vectors"])
        self._restored = {}

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Bring all levels up to date; see `LinearSolver.update`."""
        p = matrix.pattern
        n = p.node_count
        if self.hierarchy is None:
            self.hierarchy = Hierarchy(
                matrix, p.geometry, self.coarsest, _PRECISIONS[self.precision], self.smoother, self.sweeps,
                _CYCLES[self.kind], self._known_groups(),
            )  # fmt: skip
            self._restore_eigenvectors()
            self._inverse = np.zeros((n, 6))
            self._r, self._p, self._q, self._zero, self._given = (np.zeros((n, 3)) for _ in range(5))
            chunks = max(1, (n + kernels.CHUNK - 1) // kernels.CHUNK)
            self._partial = [np.zeros(chunks) for _ in range(2)]
            self._sums, self._products = np.zeros((chunks, 7)), None
        self._matrix = matrix
        self._held = (fixed, _NO_PROJECTIONS if projections is None else projections)
        self._definite = matrix.invert_diagonal(fixed, projections, self._inverse)
        self.hierarchy.update(matrix, *self._held, self._inverse)

    def _known_groups(self) -> list[NDArray]:
        if not self._restored:
            return []
        return np.split(self._restored["groups"], np.cumsum(self._restored["group_sizes"])[:-1])

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        load: NDArray[np.float64] | None = None,
        ways: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve A x = rhs in place, starting from the best x along the ways or, if that is worse, from zero."""
        self._both()
        begin = perf_counter()
        scale = self._zero if load is None else load
        given = self._given
        given[:] = x
        self._rhs = rhs
        if not self._definite:
            self.last = self._give_up(rhs, x, given, load, SolveReport(0, -1.0, False))
            return self.last
        square, reference = self._start(rhs, scale, x) if ways is None else self._along(rhs, scale, x, ways)
        if square > reference > 0.0 or self.budget_ms is not None:
            square, reference = self._guard_start(rhs, scale, x, square)
        if square <= 0.0:
            self.last = SolveReport(0, 0.0, True, error=0.0)
            return self.last
        if not np.isfinite(square):
            self.last = SolveReport(0, -1.0, False)
            return self.last
        reference = reference if reference > 0.0 else square
        first = square
        iterations, square, late = self._iterate(x, square, self.rtol**2 * reference, begin)
        if not np.isfinite(square):
            square = -1.0
        residual = float(np.sqrt(square / reference)) if square >= 0.0 else -1.0
        if iterations and square > 0.0:
            self.factor = float(np.sqrt(square / first)) ** (1.0 / iterations)
        converged = 0.0 <= residual <= self.rtol
        report = SolveReport(iterations, residual, converged)
        if late and not converged:
            error = self._error(rhs, x)
            report = SolveReport(
                iterations,
                residual,
                False,
                error,
                (
                    f"the solver stopped after {iterations} iterations at its budget of {self.budget_ms:g} ms, at a "
                    f"residual of {residual:.1e} and an error of about {error:.1e} of the solution's energy norm",
                ),
            )
        elif not converged:
            report = self._give_up(rhs, x, given, load, report)
        self.last = report
        return report

    def _both(self) -> tuple[BlockMatrix, Hierarchy]:
        if self._matrix is None or self.hierarchy is None:
            raise InputError("call setup() and update() before solve()")
        return self._matrix, self.hierarchy

    def _start(self, rhs: NDArray, load: NDArray, x: NDArray) -> tuple[float, float]:
        matrix, h = self._both()
        p = matrix.pattern
        return krylov.start.variant(p.parallel)(
            p.indptr, p.indices, matrix.blocks, *self._held, self._inverse, h.rank, rhs, load, x,
            self._r, h.b, self._p, *self._partial,
        )  # fmt: skip

    def _along(self, rhs: NDArray, load: NDArray, x: NDArray, ways: NDArray) -> tuple[float, float]:
        """Start where the residual is the smallest of all x plus multiples of two ways."""
        matrix, h = self._both()
        p = matrix.pattern
        if self._products is None:
            self._products = np.zeros_like(ways)
        sums = krylov.start_along.variant(p.parallel)(
            p.indptr, p.indices, matrix.blocks, *self._held, self._inverse, rhs, load, x, *ways,
            self._r, *self._products, self._sums,
        )  # fmt: skip
        factors = _nearest(*sums[2:].tolist())
        square = krylov.shift.variant(p.parallel)(
            self._inverse,
            h.rank,
            *factors,
            *ways,
            *self._products,
            x,
            self._r,
            h.b,
            self._p,
            self._partial[0],
        )
        return square, float(sums[1])

    def _guard_start(self, rhs: NDArray, load: NDArray, x: NDArray, square: float) -> tuple[float, float]:
        """Start from zero if x is worse, in residual or in energy: truncated solves that start from each other can run
        away (Weber 2015). With d the free part of x, the energy x.A x / 2 - x.rhs of x less that of zero is
        -d.(residual of x + residual of zero)/2.
        """
        residual = self._r.copy()
        zero = self._without_free_part(x)
        better = self._start(rhs, load, zero)[0] < square
        rise = -float(np.vdot(x - zero, residual + self._r))
        if better or rise > 0.0:
            x[:] = zero
        return self._start(rhs, load, x)

    def _without_free_part(self, x: NDArray) -> NDArray:
        """Return x with zeros where it is free; what is held keeps its value."""
        fixed, projections = self._held
        held = x.copy()
        held[fixed == 0] = 0.0
        partly = np.flatnonzero(fixed == 2)
        if len(partly):
            s = projections[partly][:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
            held[partly] -= np.einsum("kij,kj->ki", s, x[partly])
        return held

    def _iterate(self, x: NDArray, square: float, goal: float, begin: float) -> tuple[int, float, bool]:
        """Iterate until the square of the residual's norm is at most `goal`; return (iterations, square, late)."""
        matrix, h = self._both()
        p = matrix.pattern
        if self.kind == "full" and square > goal:
            x += h.full_cycle(matrix, self._r)
            square = self._restart(x)
        delta, first, best, since = np.inf, square, square, 0
        h.visit(_CYCLES[self.kind])
        for iteration in range(self.max_iterations):
            if not square > goal:  # a number that is none ends it as well
                return iteration, square, False
            if iteration and self.budget_ms is not None and 1e3 * (perf_counter() - begin) >= self.budget_ms:
                return iteration, square, True
            if self.kind == "auto" and iteration == _TRIED and square > _SLOW ** (2 * _TRIED) * first:
                h.visit(_CYCLES["w"])
                delta = np.inf  # another preconditioner: conjugate gradients start anew
            h.cycle()
            if self.accelerate:
                delta, curvature, square = krylov.iterate.variant(p.parallel)(
                    p.indptr, p.indices, matrix.blocks, *self._held, self._inverse, h.rank, h.x,
                    x, self._r, h.b, self._p, self._q, delta, self._partial[0],
                )  # fmt: skip
                if not (curvature > 0.0 and delta > 0.0):
                    return iteration, -1.0, False
            else:
                x += h.x[h.rank]
                square = self._restart(x)
            since = 0 if square < best else since + 1
            best = min(best, square)
            if since >= _STUCK:
                return iteration + 1, square, False
        return self.max_iterations, square, False

    def _restart(self, x: NDArray) -> float:
        """Work out the residual of x anew; return the square of its norm."""
        return self._start(self._rhs, self._zero, x)[0]

    def _error(self, rhs: NDArray, x: NDArray) -> float:
        """Estimate the error in the energy norm, relative to x: the cycle is nearly the inverse of the matrix."""
        matrix, h = self._both()
        h.cycle()
        error = abs(float(np.vdot(self._r, h.x[h.rank])))
        energy = abs(float(np.vdot(x, matrix.multiply(x))))
        return float(np.sqrt(error / energy)) if energy > 0.0 else np.inf

    def _give_up(
        self, rhs: NDArray, x: NDArray, given: NDArray, load: NDArray | None, report: SolveReport
    ) -> SolveReport:
        """Let the next solvers try, if that is allowed: PCG, then a direct solve."""
        assert self._matrix is not None
        if not self.fallback:
            return report
        if not self._others:
            self._others = [PCG(rtol=self.rtol), Direct()]
            for solver in self._others:
                solver.setup(self._matrix)
        tried, total = [self._name], report.iterations
        for solver in self._others if self._definite else self._others[1:]:
            x[:] = given
            solver.update(self._matrix, *self._held)
            found = solver.solve(rhs, x, load)
            total += found.iterations
            if found.converged:
                why = f"{' and '.join(tried)} did not converge; {type(solver).__name__} did"
                return SolveReport(total, found.residual, True, found.error, (why,))
            tried.append(type(solver).__name__)
        x[:] = given
        why = f"{', '.join(tried)} did not converge: the matrix is singular or not positive definite"
        return SolveReport(total, report.residual, False, None, (why,))

    def __str__(self) -> str:
        how = "preconditioner of CG" if self.accelerate else "by itself"
        kind = {"auto": "V or W", "v": "V", "w": "W", "full": "full multigrid and V"}[self.kind]
        text = f"{self._name}(rtol={self.rtol:g}), {kind} cycle as {how}"
        if self.hierarchy is not None:
            h = self.hierarchy
            text += f", {h.complexity:.2f} operator complexity"
            text += f"\n  smoother: {SMOOTHERS[self.smoother]}, {self.sweeps} "
            text += (
                f"forward and {self.sweeps} backward"
                if self.smoother == "gauss-seidel"
                else "before and after"
            )
            text += f", {self.precision} precision"
            for number, count in enumerate(h.node_counts):
                what = f", order {h.orders[number]}" if max(h.orders) > 1 else ""
                end = ", solved directly" if number + 1 == len(h.node_counts) else ""
                text += f"\n  level {number}: {3 * count} unknowns{what}{end}"
        if self.last is not None:
            text += f"\n  last solve: {self.last.iterations} iterations to {self.last.residual:.1e}"
            if self.factor is not None:
                text += f", convergence factor {self.factor:.2f}"
        return text + (f"\n  {self.reason}" if self.reason else "")

    def __repr__(self) -> str:
        return f"{self._name}(rtol={self.rtol:g}, cycle={self.kind!r}, sweeps={self.sweeps})"


def _nearest(ra: float, rb: float, aa: float, ab: float, bb: float) -> tuple[float, float]:
    """Return the f and g for which |r - f a - g b| is the smallest; ra is the inner product of r and a, and so on."""
    if not all(map(isfinite, (ra, rb, aa, ab, bb))) or not aa > 0.0:
        return 0.0, 0.0
    left = bb - ab * ab / aa  # the square of b without its part along a
    g = (rb - ab * ra / aa) / left if left > _SAME * bb else 0.0
    return (ra - g * ab) / aa, g


class PMultigrid(Multigrid):
    """Multigrid for elements of order 2 and 3: lower degrees on the same mesh, then coarser meshes (Weber 2015).

    The transfer between degrees is exact degree elevation and restriction its transpose, so the Galerkin matrix of a
    lower degree is that of the elements of that degree. Arguments as for `Multigrid`.
    """

    _name = "PMultigrid"

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Bring all levels up to date; see `LinearSolver.update`."""
        geometry = matrix.pattern.geometry
        if geometry is None or geometry.order < 2:
            raise InputError("PMultigrid is for elements of order 2 or 3; take Multigrid for others")
        super().update(matrix, fixed, projections)
