"""The one shape of linear solvers, and the report each solve gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.linalg.matrix import BlockMatrix

__all__ = ["LinearSolver", "SolveReport"]


@dataclass(frozen=True, slots=True)
class SolveReport:
    """How a linear solve went: iterations, relative residual, whether it reached its tolerance."""

    iterations: int
    residual: float
    converged: bool


class LinearSolver(Protocol):
    """What a body needs of a solver: `setup` once a pattern, `update` when values changed, then `solve`."""

    def setup(self, matrix: BlockMatrix) -> None:
        """Prepare for matrices with this pattern."""

    def update(self, matrix: BlockMatrix, fixed: NDArray[np.uint8]) -> None:
        """Take over new values; nodes with `fixed` != 0 keep what they have in every solve."""

    def solve(
        self, rhs: NDArray[np.float64], x: NDArray[np.float64], load: NDArray[np.float64] | None = None
    ) -> SolveReport:
        """Solve A x = rhs in place, starting from x; `load` sets the scale of the tolerance."""
