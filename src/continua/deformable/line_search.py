"""The line search that Newton's method needs far from the solution, for statics and for large time steps alike.

Newton's direction d solves A d = r with a positive definite A and r minus the gradient of a potential, so it leads
downhill. The search halves it until the potential falls by a part of what the slope promises (Armijo). Where the force
is not quite the gradient of an energy, and near the end, where the fall of the potential drowns in rounding, it halves
until the unbalanced force along d has become smaller instead. `Landscape.noise` says what rounding hides of the fall:
near a state without stress that is far more than a part of the potential, which vanishes there.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Potential", "line_search"]

_ENOUGH = 1e-4  # part of the promised fall of the potential that a step has to keep
_SMALLER = 0.9  # part of the unbalanced force along the direction that may be left
_ROUNDING = 1e-10  # part of the potential below which its fall cannot be trusted
_SHORTEST = 2.0**-20


class Potential(Protocol):
    """A potential to go down in, as a function of the unknowns u [n, 3]."""

    rhs: NDArray[np.float64]
    conservative: bool

    def potential(self, u: NDArray[np.float64]) -> float:
        """Go to u and return the potential there."""

    def linearise(self, u: NDArray[np.float64]) -> None:
        """Fill the matrix and `rhs`, minus the gradient, at the u of the last `potential`."""

    def noise(self, u: NDArray[np.float64]) -> float:
        """Return the change of the potential that rounding hides at the u of the last `linearise`."""


def line_search(
    land: Potential, u: NDArray[np.float64], direction: NDArray[np.float64], potential: float, fall: float
) -> tuple[float, float]:
    """Go from u along `direction` as far as it leads down; u is moved.

    Args:
        land: What to go down in.
        u: The unknowns, changed in place.
        direction: Newton's direction.
        potential: The potential at u.
        fall: rhs at u times the direction, which is positive.

    Returns:
        The length of the step, 0 if there is none (u stays), and the potential there.
    """
    by_potential = land.conservative and fall > max(_ROUNDING * abs(potential), land.noise(u))
    length = 1.0
    while length >= _SHORTEST:
        trial = u + length * direction
        reached = land.potential(trial)
        if by_potential:
            good = reached <= potential - _ENOUGH * length * fall
        else:
            land.linearise(trial)
            good = abs(float(np.vdot(land.rhs, direction))) <= _SMALLER * fall
        if good:
            u[:] = trial
            return length, reached
        length *= 0.5
    return 0.0, potential
