"""Multigrid: a cycle over successively coarser levels, as preconditioner of conjugate gradients or on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg.block_kernels import CHUNK
from continua.linalg.constraints import fixed_part
from continua.linalg.direct import Direct
from continua.linalg.krylov import preconditioned_cg_kernels as outer_cg
from continua.linalg.krylov.pcg import PCG
from continua.linalg.matrix import BlockMatrix
from continua.linalg.multigrid.hierarchy import Hierarchy
from continua.linalg.multigrid.mixed_gmres import MixedGMRES
from continua.linalg.multigrid.polynomial_smoothers import SMOOTHERS
from continua.linalg.solver import SolverBase, SolveReport, check_limits, check_system
from continua.validation import choice, flag, instance_of, number, state_arrays, whole_number

__all__ = ["Multigrid", "PMultigrid"]

_MAX_STALLED = 50  # iterations without a new smallest residual after which a solve has failed
_PARALLEL_SINE2 = 1e-8  # square of the sine of the angle below which two directions count as one
_CYCLE_INDEX = {"auto": 1, "v": 1, "w": 2, "full": 1}  # visits of a level per visit of the finer one
_SLOW = 0.42  # mean convergence factor above which W-cycles pay
_TRIAL = 5  # V-cycles after which that is decided
_STATE_KEYS = ("aggregate_sizes", "aggregates", "eigenvectors", "smoother_vectors")
_PRECISIONS = {"single": np.float32, "double": np.float64}


class Multigrid(SolverBase):
    """Multigrid with Galerkin coarse matrices, by default one symmetric V-cycle as preconditioner of CG.

    Levels come from the geometry of the matrix: refined meshes and lattices have nested levels, other meshes get
    levels by smoothed aggregation with rigid-body modes (see `linalg.multigrid.aggregation`). Levels are built once per
    pattern; new values update all of them in place. The cycle reads the matrix in single precision; the solution
    still has double precision.

    A matrix that says which part of it comes from pressures (see `linalg.pressure_term`) is solved by GMRES for both
    displacements and pressures; the levels are then those of the rest. So the iterations hardly depend on how near to
    incompressible a body is.

    Args:
        rtol: Tolerance of the residual, relative to the right-hand side, in the norm of the inverse diagonal blocks.
        max_iterations: Limit of the iterations.
        cycle: "v", "w", "full" (one full multigrid cycle first, then V-cycles), or "auto": V-cycles, and W-cycles for
            the rest of a solve that converges slowly.
        sweeps: Smoothing sweeps before, and again after, the coarse-grid correction.
        accelerate: Whether the cycle preconditions conjugate gradients; else it is iterated on its own.
        coarsest: Largest number of nodes of a level that is solved directly.
        precision: "single" or "double": precision of the matrix in the smoother.
        budget_ms: Time limit of a solve [ms], checked once per iteration; at least one iteration is done. The report
            then has the residual, an estimate of the error, and a warning. None for no limit.
        fallback: Whether to try PCG, then a direct solve, if the solve does not converge. The report says so.
        smoother: "gauss-seidel", or a polynomial of degree `sweeps` that does not depend on the order of nodes:
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
        super().__init__()
        self.rtol, self.max_iterations = check_limits(rtol, max_iterations)
        self.cycle = choice(cycle, "the cycle of multigrid", _CYCLE_INDEX)
        self.sweeps = whole_number(sweeps, "the sweeps of multigrid", low=1, high=1000)
        self.accelerate = flag(accelerate, "'accelerate' of multigrid")
        self.coarsest = whole_number(coarsest, "'coarsest' of multigrid", low=1, high=10_000)
        self.precision = choice(precision, "the precision of multigrid", _PRECISIONS)
        self.smoother = choice(smoother, "the smoother of multigrid", SMOOTHERS)
        self.budget_ms = (
            None
            if budget_ms is None
            else number(budget_ms, "the budget_ms of multigrid", above=0.0, unit="ms")
        )
        self.fallback = flag(fallback, "'fallback' of multigrid")
        self.hierarchy: Hierarchy | None = None
        self.factor: float | None = None
        self._restored: Mapping[str, NDArray] = {}
        self._products: NDArray[np.float64] | None = None  # of the matrix and the guess directions
        self._mixed: MixedGMRES | None = None
        self._own: BlockMatrix | None = None  # the matrix without its pressure term

    def setup(self, matrix: BlockMatrix) -> None:
        """Prepare for matrices with this pattern; the first `update` builds the levels."""
        instance_of(matrix, BlockMatrix, "the matrix of a solver")
        self.hierarchy = None
        self._mixed = self._own = None
        self._restored = {}
        self._matrix = None
        self._others: list[PCG | Direct] = []

    def state(self) -> dict[str, NDArray]:
        """Return what the levels keep of earlier matrices: aggregates of nodes, and iterates of the power method.

        Aggregates come from the first matrix, so a resumed run cannot build them again.
        """
        if self.hierarchy is None:
            return {key: array.copy() for key, array in self._restored.items()}
        levels, smoother = self.hierarchy.aggregations, self.hierarchy.smoother_vectors
        if not levels and not len(smoother):
            return {}
        return {
            "aggregate_sizes": np.array([len(level.aggregate) for level in levels], np.int64),
            "aggregates": np.concatenate([np.zeros(0, np.int64), *(level.aggregate for level in levels)]),
            "eigenvectors": np.concatenate([np.zeros((0, 3)), *(level.vector for level in levels)]),
            "smoother_vectors": smoother,
        }

    def restore(self, state: Mapping[str, NDArray]) -> None:
        """Restore a state from `state()`; without one, the next matrix builds the levels."""
        self._restored = dict(
            state_arrays(state, dict.fromkeys(_STATE_KEYS), "multigrid", optional=_STATE_KEYS)
        )
        if (
            self.hierarchy is not None
            and self._restored
            and self._has_aggregates(self._restored["aggregates"])
        ):
            self._restore_eigenvectors()
        elif self._restored or (self.hierarchy is not None and self.state()):
            self.hierarchy = None

    def _has_aggregates(self, aggregates: NDArray) -> bool:
        assert self.hierarchy is not None
        own = [np.zeros(0, np.int64), *(level.aggregate for level in self.hierarchy.aggregations)]
        return np.array_equal(aggregates, np.concatenate(own))

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
        """Update all levels; see `LinearSolver.update`."""
        check_system(matrix, fixed, projections)
        term = matrix.pressure_term if self.accelerate else None
        levels = matrix
        if (term is None) != (self._own is None):
            self.hierarchy = None
            self._own = (
                None
                if term is None
                else BlockMatrix(replace(term.pattern.own, geometry=matrix.pattern.geometry))
            )
        if term is not None:
            assert self._own is not None
            term.without(matrix, self._own)
            levels = self._own
        p = levels.pattern
        n = p.node_count
        if self.hierarchy is None:
            self.hierarchy = Hierarchy(
                levels, p.geometry, self.coarsest, _PRECISIONS[self.precision], self.smoother, self.sweeps,
                _CYCLE_INDEX[self.cycle], self._known_aggregates(),
            )  # fmt: skip
            self._restore_eigenvectors()
            self._inverse = np.zeros((n, 6))
            self._r, self._p, self._q, self._zero, self._given = (np.zeros((n, 3)) for _ in range(5))
            chunks = max(1, (n + CHUNK - 1) // CHUNK)
            self._partial = [np.zeros(chunks) for _ in range(2)]
            self._sums, self._products = np.zeros((chunks, 7)), None
        self._set_system(matrix, fixed, projections)
        self._definite = levels.invert_diagonal(fixed, projections, self._inverse)
        self.hierarchy.update(levels, *self._constraints, self._inverse)
        self._mixed = None
        if term is not None:
            self._mixed = MixedGMRES(matrix, term, self._constraints, self._inverse, self._apply_cycle)

    def _apply_cycle(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one cycle from zero for a right-hand side [n, 3]."""
        h = self.hierarchy
        assert h is not None
        h.b[: len(r)] = r[h.order]
        h.cycle()
        return np.asarray(h.x[h.rank])

    def _known_aggregates(self) -> list[NDArray]:
        if not self._restored:
            return []
        return np.split(self._restored["aggregates"], np.cumsum(self._restored["aggregate_sizes"])[:-1])

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        tolerance_scale: NDArray[np.float64] | None = None,
        guess_directions: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve A x = rhs in place, starting from x, from the best x along `guess_directions`, or from zero."""
        self._system(rhs, x, tolerance_scale, guess_directions)
        begin = perf_counter()
        scale = self._zero if tolerance_scale is None else tolerance_scale
        given = self._given
        given[:] = x
        self._rhs = rhs
        if not self._definite:
            self.last = self._give_up(rhs, x, given, tolerance_scale, SolveReport(0, -1.0, False))
            return self.last
        if self._mixed is not None:
            self.last = self._solve_mixed(self._mixed, rhs, x, scale, begin)
            return self.last
        square, reference = (
            self._start(rhs, scale, x)
            if guess_directions is None
            else self._along(rhs, scale, x, guess_directions)
        )
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
        iterations, square, timed_out = self._iterate(x, square, self.rtol**2 * reference, begin)
        if not np.isfinite(square):
            square = -1.0
        residual = float(np.sqrt(square / reference)) if square >= 0.0 else -1.0
        if iterations and square > 0.0:
            self.factor = float(np.sqrt(square / first)) ** (1.0 / iterations)
        converged = 0.0 <= residual <= self.rtol
        report = SolveReport(iterations, residual, converged)
        if timed_out and not converged:
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
            report = self._give_up(rhs, x, given, tolerance_scale, report)
        self.last = report
        return report

    def _solve_mixed(
        self,
        mixed: MixedGMRES,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        scale: NDArray[np.float64],
        begin: float,
    ) -> SolveReport:
        """Solve with pressures as unknowns, from x or, if its residual is smaller, from zero."""
        assert self.hierarchy is not None
        self.hierarchy.set_cycle_index(_CYCLE_INDEX[self.cycle])
        reference = mixed.norm_square(rhs) + mixed.norm_square(scale)
        zero = fixed_part(x, *self._constraints)
        square, other = (mixed.norm_square(mixed.residual(rhs, start)) for start in (x, zero))
        if other < square:
            x[:], square = zero, other
        if square == 0.0:
            return SolveReport(0, 0.0, True, error=0.0)
        if not isfinite(square):
            return SolveReport(0, -1.0, False)
        reference = reference if reference > 0.0 else square
        until = np.inf if self.budget_ms is None else begin + 1e-3 * self.budget_ms
        first, goal = square, self.rtol**2 * reference
        iterations, square, timed_out = mixed.solve(rhs, x, goal, self.max_iterations, until)
        residual = float(np.sqrt(square / reference)) if isfinite(square) else -1.0
        if iterations and square > 0.0:
            self.factor = float(np.sqrt(square / first)) ** (1.0 / iterations)
        report = SolveReport(iterations, residual, 0.0 <= residual <= self.rtol)
        if report.converged:
            return report
        if timed_out:
            why = (
                f"the solver stopped after {iterations} iterations at its budget of {self.budget_ms:g} ms, at a "
                f"residual of {residual:.1e}"
            )
            return SolveReport(iterations, residual, False, warnings=(why,))
        return self._give_up(rhs, x, self._given, None if scale is self._zero else scale, report)

    def _levels(self) -> tuple[BlockMatrix, Hierarchy]:
        assert self._matrix is not None
        assert self.hierarchy is not None
        return self._matrix, self.hierarchy

    def _start(self, rhs: NDArray, tolerance_scale: NDArray, x: NDArray) -> tuple[float, float]:
        matrix, h = self._levels()
        p = matrix.pattern
        return outer_cg.start.variant(p.parallel)(
            p.indptr, p.indices, matrix.blocks, *self._constraints, self._inverse, h.rank, rhs, tolerance_scale, x,
            self._r, h.b, self._p, *self._partial,
        )  # fmt: skip

    def _along(
        self, rhs: NDArray, tolerance_scale: NDArray, x: NDArray, guess_directions: NDArray
    ) -> tuple[float, float]:
        """Start from x plus the multiples of two directions that minimise the residual."""
        matrix, h = self._levels()
        p = matrix.pattern
        if self._products is None:
            self._products = np.zeros_like(guess_directions)
        sums = outer_cg.minimise_initial_guess.variant(p.parallel)(
            p.indptr, p.indices, matrix.blocks, *self._constraints, self._inverse, rhs, tolerance_scale, x,
            *guess_directions, self._r, *self._products, self._sums,
        )  # fmt: skip
        factors = _nearest(*sums[2:].tolist())
        square = outer_cg.shift.variant(p.parallel)(
            self._inverse,
            h.rank,
            *factors,
            *guess_directions,
            *self._products,
            x,
            self._r,
            h.b,
            self._p,
            self._partial[0],
        )
        return square, float(sums[1])

    def _guard_start(
        self, rhs: NDArray, tolerance_scale: NDArray, x: NDArray, square: float
    ) -> tuple[float, float]:
        """Start from zero if x is worse, in residual or in energy: truncated solves that start from each other can
        diverge (Weber 2015). With d the free part of x, the energy x.A x / 2 - x.rhs of x less that of zero is
        -d.(residual of x + residual of zero)/2.
        """
        residual = self._r.copy()
        zero = fixed_part(x, *self._constraints)
        better = self._start(rhs, tolerance_scale, zero)[0] < square
        rise = -float(np.vdot(x - zero, residual + self._r))
        if better or rise > 0.0:
            x[:] = zero
        return self._start(rhs, tolerance_scale, x)

    def _iterate(self, x: NDArray, square: float, goal: float, begin: float) -> tuple[int, float, bool]:
        """Iterate until the square of the residual's norm is at most `goal`; return (iterations, square, timed_out)."""
        matrix, h = self._levels()
        p = matrix.pattern
        if self.cycle == "full" and square > goal:
            x += h.fmg(matrix, self._r)
            square = self._restart(x)
        delta, first, best, since = np.inf, square, square, 0
        h.set_cycle_index(_CYCLE_INDEX[self.cycle])
        for iteration in range(self.max_iterations):
            if not square > goal:  # ends on NaN as well
                return iteration, square, False
            if iteration and self.budget_ms is not None and 1e3 * (perf_counter() - begin) >= self.budget_ms:
                return iteration, square, True
            if self.cycle == "auto" and iteration == _TRIAL and square > _SLOW ** (2 * _TRIAL) * first:
                h.set_cycle_index(_CYCLE_INDEX["w"])
                delta = np.inf  # the preconditioner changes: restart conjugate gradients
            h.cycle()
            if self.accelerate:
                delta, curvature, square = outer_cg.iterate.variant(p.parallel)(
                    p.indptr, p.indices, matrix.blocks, *self._constraints, self._inverse, h.rank, h.x,
                    x, self._r, h.b, self._p, self._q, delta, self._partial[0],
                )  # fmt: skip
                if not (curvature > 0.0 and delta > 0.0):
                    return iteration, -1.0, False
            else:
                x += h.x[h.rank]
                square = self._restart(x)
            since = 0 if square < best else since + 1
            best = min(best, square)
            if since >= _MAX_STALLED:
                return iteration + 1, square, False
        return self.max_iterations, square, False

    def _restart(self, x: NDArray) -> float:
        """Compute the residual of x again; return the square of its norm."""
        return self._start(self._rhs, self._zero, x)[0]

    def _error(self, rhs: NDArray, x: NDArray) -> float:
        """Estimate the error in the energy norm, relative to x; the cycle approximates the inverse of the matrix."""
        matrix, h = self._levels()
        h.cycle()
        error = abs(float(np.vdot(self._r, h.x[h.rank])))
        energy = abs(float(np.vdot(x, matrix.multiply(x))))
        return float(np.sqrt(error / energy)) if energy > 0.0 else np.inf

    def _give_up(
        self, rhs: NDArray, x: NDArray, given: NDArray, tolerance_scale: NDArray | None, report: SolveReport
    ) -> SolveReport:
        """Fall back to other solvers if allowed: PCG, then a direct solve."""
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
            solver.update(self._matrix, *self._constraints)
            found = solver.solve(rhs, x, tolerance_scale)
            total += found.iterations
            if found.converged:
                why = f"{' and '.join(tried)} did not converge; {type(solver).__name__} did"
                return SolveReport(total, found.residual, True, found.error, (why,))
            tried.append(type(solver).__name__)
        x[:] = given
        why = f"{', '.join(tried)} did not converge: the matrix is singular or not positive definite"
        return SolveReport(total, report.residual, False, None, (why,))

    def __str__(self) -> str:
        how = "preconditioner of CG" if self.accelerate else "iteration"
        kind = {"auto": "V or W", "v": "V", "w": "W", "full": "full multigrid and V"}[self.cycle]
        text = f"{self._name}(rtol={self.rtol:g}), {kind} cycle as {how}"
        if self.hierarchy is not None:
            h = self.hierarchy
            text += f"\n  {len(h.node_counts)} levels, operator complexity {h.complexity:.2f}"
            text += f"\n  smoother: {SMOOTHERS[self.smoother]}, {self.sweeps} "
            text += (
                f"forward and {self.sweeps} backward"
                if self.smoother == "gauss-seidel"
                else "before and after"
            )
            text += f", {self.precision} precision"
            for number, (nodes, blocks) in enumerate(zip(h.node_counts, h.block_counts, strict=True)):
                share = 100.0 * blocks / sum(h.block_counts)
                what = f", order {h.orders[number]}" if max(h.orders) > 1 else ""
                end = ", solved directly" if number + 1 == len(h.node_counts) else ""
                text += (
                    f"\n  level {number}: {3 * nodes} unknowns, {blocks} blocks ({share:.1f} %){what}{end}"
                )
        if self.last is not None:
            text += f"\n  {self._last_solve()}"
            if self.factor is not None:
                text += f", convergence factor {self.factor:.2f}"
        return text + (f"\n  {self.reason}" if self.reason else "")

    def __repr__(self) -> str:
        return f"{self._name}(rtol={self.rtol:g}, cycle={self.cycle!r}, sweeps={self.sweeps})"


def _nearest(ra: float, rb: float, aa: float, ab: float, bb: float) -> tuple[float, float]:
    """Return the f and g that minimise |r - f a - g b|; ra is the inner product of r and a, and so on."""
    if not all(map(isfinite, (ra, rb, aa, ab, bb))) or not aa > 0.0:
        return 0.0, 0.0
    left = bb - ab * ab / aa  # the square of b without its part along a
    g = (rb - ab * ra / aa) / left if left > _PARALLEL_SINE2 * bb else 0.0
    return (ra - g * ab) / aa, g


class PMultigrid(Multigrid):
    """p-multigrid for elements of order 2 and 3: lower degrees on the same mesh, then coarser meshes (Weber 2015).

    Prolongation between degrees is exact degree elevation, and restriction is its transpose, so the Galerkin matrix of
    a lower degree is the stiffness matrix of elements of that degree. Arguments as for `Multigrid`.
    """

    _name = "PMultigrid"

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Update all levels; see `LinearSolver.update`."""
        check_system(matrix, fixed, projections)
        geometry = matrix.pattern.geometry
        if geometry is None or geometry.order < 2:
            raise InputError("PMultigrid is for elements of order 2 or 3; use Multigrid for others")
        super().update(matrix, fixed, projections)
