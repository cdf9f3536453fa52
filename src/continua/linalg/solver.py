"""The interface of linear solvers, the report of a solve, and the checks that all solvers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg.matrix import BlockMatrix, check_projections
from continua.validation import given_array, instance_of, number, whole_number

__all__ = ["LinearSolver", "SolveReport", "SolverBase", "check_limits", "check_system"]


@dataclass(frozen=True, slots=True)
class SolveReport:
    """Result of a linear solve.

    Attributes:
        iterations: Number of iterations.
        residual: Final residual relative to the right-hand side; negative if the solve broke down.
        converged: Whether the residual reached the tolerance.
        error: Estimate of the error in the energy norm, relative to the solution, if the solver makes one.
        warnings: Sentences on what did not go as planned, for example that another solver had to take over.
    """

    iterations: int
    residual: float
    converged: bool
    error: float | None = None
    warnings: tuple[str, ...] = ()


class LinearSolver(Protocol):
    """What a body needs of a solver: `setup` once per pattern, `update` when values changed, then `solve`."""

    def setup(self, matrix: BlockMatrix) -> None:
        """Prepare for matrices with this pattern."""

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Use new values and constraints.

        Args:
            matrix: The matrix.
            fixed: Shape [n]: 0 for a free node, 1 for a node whose value does not change in a solve, 2 for a node
                that is fixed in some directions.
            projections: For nodes with `fixed` = 2 the projector onto the free directions, as its six values
                00, 01, 02, 11, 12, 22, shape [n, 6]; may be None if there are no such nodes.
        """

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        tolerance_scale: NDArray[np.float64] | None = None,
        guess_directions: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve A x = rhs in place, starting from x.

        Args:
            rhs: Right-hand side, shape [n, 3].
            x: Initial guess, and the solution.
            tolerance_scale: A second load vector, shape [n, 3]: the tolerance is relative to rhs and this one together.
            guess_directions: Two directions along which a better guess may lie, shape [2, n, 3], zero where x is
                fixed. A solver for which a product with the matrix is cheap starts from the best guess along them.
        """


class SolverBase:
    """What all solvers share: the current system, the checks before a solve, and the last report.

    Attributes:
        reason: Why this solver was chosen, if it was chosen automatically.
        last: Report of the last solve.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.last: SolveReport | None = None
        self._matrix: BlockMatrix | None = None
        self._constraints: tuple[NDArray[np.uint8], NDArray[np.float64]] = (
            np.zeros(0, np.uint8),
            np.zeros((0, 6)),
        )

    def _set_system(
        self, matrix: BlockMatrix, fixed: NDArray[np.uint8], projections: NDArray[np.float64] | None
    ) -> None:
        self._matrix = matrix
        self._constraints = (fixed, np.zeros((0, 6)) if projections is None else projections)

    def _system(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        tolerance_scale: NDArray[np.float64] | None = None,
        guess_directions: NDArray[np.float64] | None = None,
    ) -> BlockMatrix:
        """Return the current matrix; raise InputError if there is none, or if a vector does not fit it."""
        if self._matrix is None:
            raise InputError("call setup() and update() before solve()")
        shape = (self._matrix.pattern.node_count, 3)
        given_array(rhs, "rhs", shape)
        given_array(x, "x", shape)
        if tolerance_scale is not None:
            given_array(tolerance_scale, "tolerance_scale", shape)
        if guess_directions is not None:
            given_array(guess_directions, "guess_directions", (2, *shape))
        return self._matrix

    def _finish(self, iterations: int, residual: float, rtol: float) -> SolveReport:
        self.last = SolveReport(int(iterations), float(residual), bool(0.0 <= residual <= rtol))
        return self.last

    def _last_solve(self) -> str:
        """Return a phrase on the last solve, for `print(solver)`; empty before the first."""
        if self.last is None:
            return ""
        return f"last solve: {self.last.iterations} iterations to {self.last.residual:.1e}"


def check_limits(rtol: float, max_iterations: int) -> tuple[float, int]:
    """Return the limits at which a solver stops, or raise InputError if it cannot."""
    return (
        number(rtol, "the rtol of a solver", above=0.0, below=1.0),
        whole_number(max_iterations, "the max_iterations of a solver", low=1, high=2**31 - 1),
    )


def check_system(
    matrix: BlockMatrix, fixed: NDArray[np.uint8], projections: NDArray[np.float64] | None = None
) -> None:
    """Raise InputError unless the arguments of `LinearSolver.update` fit together."""
    count = instance_of(matrix, BlockMatrix, "the matrix of a solver").pattern.node_count
    given_array(fixed, "fixed", (count,), np.uint8)
    if projections is not None:
        check_projections(projections, count)
