"""Conjugate gradients or multigrid, by the work they turn out to take.

How many iterations a system needs depends on its size, on jumps of stiffness, on Poisson's ratio and on the time step,
in a way that no rule of thumb predicts. So a choice starts from the size, counts, and changes over when the other solver
does less. Work is counted in visits to blocks of the matrix and never timed: a run has the same bits on any machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.linalg.krylov.pcg import PCG
from continua.linalg.matrix import BlockMatrix
from continua.linalg.multigrid.aggregation import Aggregation
from continua.linalg.multigrid.multigrid import Multigrid
from continua.linalg.solver import SolveReport

__all__ = ["AutoSolver"]

# Visits to blocks, fitted to times on one core from 2,000 to 500,000 blocks. An iteration of conjugate gradients visits
# each block once. One of multigrid goes with the blocks of all levels, bringing them up to date with a power of those
# that shows how they fill, with the blocks that levels of groups are made of, whose interpolation is made anew, and
# with the cube of the unknowns of the coarsest.
_CYCLE, _CYCLE_START = 2.0, 4_000
_UPDATE, _FILL, _GROUPS, _DENSE = 2.1, 3, 42.0, 0.055
_EXPECTED, _COMPLEXITY, _COARSEST = (
    6,
    1.3,
    40,
)  # iterations, complexity, coarsest nodes of a multigrid not yet tried
_SURE = 1.2  # times the work of the other solver from which to change over
_PATIENCE = 4  # solves in a row that say so
_FIRST_TRY = (
    16  # solves with multigrid before conjugate gradients are tried; each next try comes twice as late
)
_MOST_WAIT = 12  # doublings
_MEMORY = 0.7  # share of the past in mean values

_SWITCHED, _WORK, _STREAK, _SINCE, _TRIES = 0, 1, 3, 4, 5


class AutoSolver:
    """A linear solver that hands over to conjugate gradients or to multigrid.

    Args:
        pcg: The conjugate gradients.
        multigrid: The multigrid solver.
        start_with: The one of the two to begin with.

    Attributes:
        history: What it has learnt, as numbers; zeros are a fresh start. Part of a body's state, so that a run that goes
            on from a file takes the same turns.
    """

    def __init__(self, pcg: PCG, multigrid: Multigrid, start_with: PCG | Multigrid) -> None:
        self.pcg, self.multigrid = pcg, multigrid
        self._solvers: tuple[PCG, Multigrid] = (pcg, multigrid)
        self._first = 0 if start_with is pcg else 1
        self._why = start_with.reason
        self.history = np.zeros(6)
        self._fresh = [False, False]
        self._matrix: BlockMatrix | None = None
        self._held: tuple[NDArray[np.uint8], NDArray[np.float64] | None] = (np.zeros(0, np.uint8), None)

    @property
    def current(self) -> PCG | Multigrid:
        """The solver that has the next system."""
        solver = self._solvers[self._now]
        solver.reason = self._reason()
        return solver

    @property
    def last(self) -> SolveReport | None:
        """How the last solve went."""
        return self.current.last

    @property
    def reason(self) -> str:
        """Why the current solver was chosen."""
        return self._reason()

    def setup(self, matrix: BlockMatrix) -> None:
        """Prepare both for matrices with this pattern."""
        for solver in self._solvers:
            solver.setup(matrix)
        self._matrix, self._fresh = matrix, [False, False]

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Remember new values; the solver that needs them takes them over."""
        self._matrix, self._held = matrix, (fixed, projections)
        self._fresh = [True, True]

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        tolerance_scale: NDArray[np.float64] | None = None,
        guess_directions: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve A x = rhs in place, starting from x."""
        if self._time_to_try():
            return self._try(rhs, x, tolerance_scale)
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
        self._learn(now, work)
        self._decide()
        return report

    # --- inside -------------------------------------------------------------------------------------------

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
        """Solve by one of the two; return its report and its work."""
        assert self._matrix is not None
        solver = self._solvers[which]
        update = self._fresh[which]
        if update:
            solver.update(self._matrix, *self._held)
            self._fresh[which] = False
        report = solver.solve(rhs, x, tolerance_scale, guess_directions)
        return report, self._work(which, report.iterations, update)

    def _work(self, which: int, iterations: float, update: bool) -> float:
        """Return visits to blocks."""
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
        grouped = sum(
            count
            for count, level in zip(above, [] if h is None else h.levels, strict=False)
            if isinstance(level, Aggregation)
        )
        return work + _UPDATE * complexity**_FILL * blocks + _GROUPS * grouped + _DENSE * (3 * coarsest) ** 3

    def _learn(self, which: int, work: float) -> None:
        mean = self.history[_WORK + which]
        self.history[_WORK + which] = work if mean == 0.0 else _MEMORY * mean + (1.0 - _MEMORY) * work

    def _decide(self) -> None:
        """Change over when the other solver has done, or should do, clearly less for some solves in a row."""
        m, now = self.history, self._now
        m[_SINCE] += 1.0
        other = m[_WORK + 1 - now]
        if other == 0.0:
            if now == 1:
                return  # nothing is known of conjugate gradients before they have been tried
            other = self._work(1, _EXPECTED, True)
        m[_STREAK] = m[_STREAK] + 1.0 if m[_WORK + now] > _SURE * other else 0.0
        if m[_STREAK] >= _PATIENCE:
            self._change_over()

    def _change_over(self) -> None:
        m = self.history
        m[_SWITCHED] = 1.0 - m[_SWITCHED]
        m[_STREAK] = m[_SINCE] = 0.0

    def _time_to_try(self) -> bool:
        m = self.history
        return self._now == 1 and m[_SINCE] >= _FIRST_TRY * 2.0 ** min(m[_TRIES], _MOST_WAIT)

    def _try(
        self, rhs: NDArray[np.float64], x: NDArray[np.float64], tolerance_scale: NDArray[np.float64] | None
    ) -> SolveReport:
        """Try conjugate gradients, with no more work than multigrid would do; that goes on from where they stop."""
        pcg, m = self._solvers[0], self.history
        most, given = pcg.max_iterations, x.copy()
        pcg.max_iterations = min(most, max(1, int(m[_WORK + 1] / (_SURE * self._blocks()))))
        try:
            report, work = self._run(0, rhs, x, tolerance_scale)
        finally:
            pcg.max_iterations = most
        if report.converged:
            self._learn(0, work)
            m[_STREAK] += 1.0
            if m[_STREAK] >= _PATIENCE:
                self._change_over()
            return report
        if not report.residual >= 0.0:
            x[:] = given
        m[_WORK] = m[_STREAK] = m[_SINCE] = 0.0  # more than multigrid; by how much is not known
        m[_TRIES] += 1.0
        spent = report.iterations
        report, work = self._run(1, rhs, x, tolerance_scale)
        return SolveReport(
            spent + report.iterations, report.residual, report.converged, report.error, report.warnings
        )

    def _reason(self) -> str:
        m, now = self.history, self._now
        if m[_SWITCHED] == 0.0:
            return self._why
        mine, other = m[_WORK + now], m[_WORK + 1 - now]
        names = [type(solver).__name__ for solver in self._solvers]
        if mine == 0.0 or other == 0.0:
            return f"chosen because {names[1 - now]} took more work"
        return (
            f"chosen because it takes {mine / self._blocks():.0f} visits to each block of the matrix a solve, "
            f"{names[1 - now]} took {other / self._blocks():.0f}"
        )

    def __str__(self) -> str:
        return str(self.current)

    def __repr__(self) -> str:
        return repr(self.current)
