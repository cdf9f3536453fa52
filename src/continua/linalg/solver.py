"""The one shape of linear solvers, and the report each solve gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg.matrix import BlockMatrix

__all__ = ["LinearSolver", "SolveReport", "check_limits"]


@dataclass(frozen=True, slots=True)
class SolveReport:
    """How a linear solve went.

    Attributes:
        iterations: Iterations.
        residual: Residual in the end, relative to the right-hand side; negative if the solve broke down.
        converged: Whether it reached its tolerance.
        error: Estimate of the error in the energy norm, relative to the solution, where the solver makes one.
        warnings: Sentences on what did not go as planned, such as a solver that another one had to replace.
    """

    iterations: int
    residual: float
    converged: bool
    error: float | None = None
    warnings: tuple[str, ...] = ()


class LinearSolver(Protocol):
    """What a body needs of a solver: `setup` once a pattern, `update` when values changed, then `solve`."""

    def setup(self, matrix: BlockMatrix) -> None:
        """Prepare for matrices with this pattern."""

    def update(
        self,
        matrix: BlockMatrix,
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Take over new values and constraints.

        Args:
            matrix: The matrix.
            fixed: Shape [n]: 0 for a free node, 1 for one that keeps what it has in every solve, 2 for one that
                keeps some directions.
            projections: For nodes with `fixed` = 2 the projector onto the directions that are free, as its six
                values 00, 01, 02, 11, 12, 22, shape [n, 6]; may be None when there are no such nodes.
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
            x: First guess, and the solution.
            tolerance_scale: Sets the scale of the tolerance together with rhs.
            guess_directions: Two directions along which a better guess may lie, shape [2, n, 3], zero where x is held. A solver
                for which a product with the matrix is cheap starts from the best guess along them.
        """


def check_limits(rtol: float, max_iterations: int) -> None:
    """Raise InputError if a solver cannot stop there."""
    if not 0.0 < rtol < 1.0:
        raise InputError(f"rtol must be between 0 and 1, not {rtol}")
    if max_iterations < 1:
        raise InputError(f"max_iterations must be at least 1, not {max_iterations}")
