"""Automatic choice between conjugate gradients and multigrid, by the work each of them takes.

The number of iterations depends on the size of the system, on jumps of stiffness, on Poisson's ratio and on the time
step, in a way that no simple rule predicts. The choice therefore starts from the size, counts the work of every solve,
and switches when the other solver needs less. Work is counted in block visits, not in seconds: a run is bitwise
identical on any machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg.krylov.pcg import PCG
from continua.linalg.matrix import BlockMatrix
from continua.linalg.multigrid.aggregation import Aggregation
from continua.linalg.multigrid.multigrid import Multigrid
from continua.linalg.solver import SolveReport, check_system
from continua.validation import given_array, instance_of

__all__ = ["AutoSolver"]

# Work in block visits, fitted to times on one core for 2,000 to 500,000 blocks. An iteration of conjugate gradients
# visits each block once. The cost of a multigrid iteration is proportional to the blocks of all levels. The cost of an
# update depends on a power of the operator complexity (fill-in), on the blocks above aggregation levels, whose
# prolongation is recomputed, and on the cube of the unknowns of the coarsest level.
_CYCLE, _CYCLE_START = 2.0, 4_000
_UPDATE, _FILL, _AGGREGATION, _DENSE = 2.1, 3, 42.0, 0.055
# Expected iterations, complexity and coarsest nodes of a multigrid solver that has not run yet.
_EXPECTED, _COMPLEXITY, _COARSEST = 6, 1.3, 40
_SWITCH_RATIO = 1.2  # work relative to the other solver above which to switch
_SWITCH_STREAK = 4  # solves in a row above that ratio before a switch
_FIRST_TRIAL = (
    16  # multigrid solves before the first trial of conjugate gradients; the interval doubles each time
)
_MAX_DOUBLINGS = 12
_SMOOTHING = 0.7  # weight of the past in running means

_SWITCHED, _WORK, _STREAK, _SINCE, _TRIES = 0, 1, 3, 4, 5


class AutoSolver:
    """A linear solver that delegates to conjugate gradients or to multigrid.

    Args:
        pcg: The conjugate gradients solver.
        multigrid: The multigrid solver.
        start_with: The solver to start with, one of the two.

    Attributes:
        history: Statistics of past solves, shape [6]; zeros are a fresh start. Part of a body's state, so that a
            resumed run makes the same choices.
    """

    def __init__(self, pcg: PCG, multigrid: Multigrid, start_with: PCG | Multigrid) -> None:
        self.pcg = instance_of(pcg, PCG, "the first solver of an AutoSolver")
        self.multigrid = instance_of(multigrid, Multigrid, "the second solver of an AutoSolver")
        if not (start_with is pcg or start_with is multigrid):
            raise InputError("an AutoSolver starts with one of its two solvers")
        self._solvers: tuple[PCG, Multigrid] = (pcg, multigrid)
        self._first = 0 if start_with is pcg else 1
        self._first_reason = start_with.reason
        self.history = np.zeros(6)
        self._fresh = [False, False]
        self._matrix: BlockMatrix | None = None
        self._constraints: tuple[NDArray[np.uint8], NDArray[np.float64] | None] = (
            np.zeros(0, np.uint8),
            None,
        )

    @property
    def current(self) -> PCG | Multigrid:
        """The solver of the next system."""
        solver = self._solvers[self._now]
        solver.reason = self._reason()
        return solver

    @property
    def last(self) -> SolveReport | None:
        """Report of the last solve."""
        return self.current.last

    @property
    def reason(self) -> str:
        """Why the current solver was chosen."""
        return self._reason()

    def setup(self, matrix: BlockMatrix) -> None:
        """Prepare both for matrices with this pattern."""
        instance_of(matrix, BlockMatrix, "the matrix of a solver")
        for solver in self._solvers:
            solver.setup(matrix)
        self._matrix, self._fresh = matrix, [False, False]

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Store the new system; a solver is updated when it is used."""
        check_system(matrix, fixed, projections)
        self._matrix, self._constraints = matrix, (fixed, projections)
        self._fresh = [True, True]

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        tolerance_scale: NDArray[np.float64] | None = None,
        guess_directions: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve A x = rhs in place, starting from x."""
        if self._matrix is None:
            raise InputError("call setup() and update() before solve()")
        shape = (self._matrix.pattern.node_count, 3)
        for name, values in (("rhs", rhs), ("x", x), ("tolerance_scale", tolerance_scale)):
            if values is not None or name != "tolerance_scale":
                given_array(values, name, shape)
        if guess_directions is not None:
            given_array(guess_directions, "guess_directions", (2, *shape))
        if self._trial_due():
            return self._trial(rhs, x, tolerance_scale)
        now = self._now
        given = x.copy() if now == 0 else x
        report, work = self._run(now, rhs, x, tolerance_scale, guess_directions)
        if now == 0 and not report.converged:
            tried = report.iterations
            x[:] = given
            report, _ = self._run(1, rhs, x, tolerance_scale, guess_directions)
            said = f"PCG did not converge in {tried} iterations; {type(self._solvers[1]).__name__} took over"
            report = SolveReport(
                tried + report.iterations,
                report.residual,
                report.converged,
                report.error,
                (said, *report.warnings),
            )
        self._record(now, work)
        self._decide()
        return report

    @property
    def _now(self) -> int:
        return self._first if self.history[_SWITCHED] == 0.0 else 1 - self._first

    def _blocks(self) -> int:
        assert self._matrix is not None
        return self._matrix.pattern.block_count

    def _run(
        self,
        which: int,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        tolerance_scale: NDArray[np.float64] | None,
        guess_directions: NDArray[np.float64] | None = None,
    ) -> tuple[SolveReport, float]:
        """Solve with one of the two; return its report and its work."""
        assert self._matrix is not None
        solver = self._solvers[which]
        update = self._fresh[which]
        if update:
            solver.update(self._matrix, *self._constraints)
            self._fresh[which] = False
        report = solver.solve(rhs, x, tolerance_scale, guess_directions)
        return report, self._work(which, report.iterations, update)

    def _work(self, which: int, iterations: float, update: bool) -> float:
        """Return the work of a solve in block visits."""
        blocks = self._blocks()
        if which == 0:
            return (1.0 + iterations) * blocks
        h = self._solvers[1].hierarchy
        complexity = _COMPLEXITY if h is None else h.complexity
        coarsest = _COARSEST if h is None else h.node_counts[-1]
        work = blocks + iterations * (_CYCLE * complexity * blocks + _CYCLE_START)
        if not update:
            return work
        above = [] if h is None else [blocks, *(len(level.indices) for level in h.levels)]
        aggregated = sum(
            count
            for count, level in zip(above, [] if h is None else h.levels, strict=False)
            if isinstance(level, Aggregation)
        )
        return (
            work
            + _UPDATE * complexity**_FILL * blocks
            + _AGGREGATION * aggregated
            + _DENSE * (3 * coarsest) ** 3
        )

    def _record(self, which: int, work: float) -> None:
        mean = self.history[_WORK + which]
        self.history[_WORK + which] = work if mean == 0.0 else _SMOOTHING * mean + (1.0 - _SMOOTHING) * work

    def _decide(self) -> None:
        """Switch if the other solver took, or should take, clearly less work for some solves in a row."""
        m, now = self.history, self._now
        m[_SINCE] += 1.0
        other = m[_WORK + 1 - now]
        if other == 0.0:
            if now == 1:
                return  # the work of conjugate gradients is unknown before their first trial
            other = self._work(1, _EXPECTED, True)
        m[_STREAK] = m[_STREAK] + 1.0 if m[_WORK + now] > _SWITCH_RATIO * other else 0.0
        if m[_STREAK] >= _SWITCH_STREAK:
            self._switch()

    def _switch(self) -> None:
        m = self.history
        m[_SWITCHED] = 1.0 - m[_SWITCHED]
        m[_STREAK] = m[_SINCE] = 0.0

    def _trial_due(self) -> bool:
        m = self.history
        return self._now == 1 and m[_SINCE] >= _FIRST_TRIAL * 2.0 ** min(m[_TRIES], _MAX_DOUBLINGS)

    def _trial(
        self, rhs: NDArray[np.float64], x: NDArray[np.float64], tolerance_scale: NDArray[np.float64] | None
    ) -> SolveReport:
        """Try conjugate gradients with at most the work of multigrid, which continues from their result."""
        pcg, m = self._solvers[0], self.history
        most, given = pcg.max_iterations, x.copy()
        pcg.max_iterations = min(most, max(1, int(m[_WORK + 1] / (_SWITCH_RATIO * self._blocks()))))
        try:
            report, work = self._run(0, rhs, x, tolerance_scale)
        finally:
            pcg.max_iterations = most
        if report.converged:
            self._record(0, work)
            m[_STREAK] += 1.0
            if m[_STREAK] >= _SWITCH_STREAK:
                self._switch()
            return report
        if not report.residual >= 0.0:
            x[:] = given
        m[_WORK] = m[_STREAK] = m[_SINCE] = 0.0  # more work than multigrid, by an unknown amount
        m[_TRIES] += 1.0
        spent = report.iterations
        report, work = self._run(1, rhs, x, tolerance_scale)
        return SolveReport(
            spent + report.iterations, report.residual, report.converged, report.error, report.warnings
        )

    def _reason(self) -> str:
        m, now = self.history, self._now
        if m[_SWITCHED] == 0.0:
            return self._first_reason
        mine, other = m[_WORK + now], m[_WORK + 1 - now]
        names = [type(solver).__name__ for solver in self._solvers]
        if mine == 0.0 or other == 0.0:
            return f"chosen because {names[1 - now]} took more work"
        return (
            f"chosen because it takes {mine / self._blocks():.0f} visits to each block of the matrix per solve, "
            f"{names[1 - now]} took {other / self._blocks():.0f}"
        )

    def __str__(self) -> str:
        return str(self.current)

    def __repr__(self) -> str:
        return repr(self.current)
