"""Static equilibrium: where a held body comes to rest under its loads, by Newton with a line search.

The equilibrium is a minimum of P(x) = E(x) - f.x, the elastic energy less the work of the loads. Newton's
direction d solves K d = f - f_int(x) with a positive semidefinite K, so it always leads downhill; the line search
halves it until the potential falls as it should. The corotated force of quadratic elements, with one rotation an
element, is not quite the gradient of an energy; and near the end the fall of the potential drowns in rounding. There
the search halves the step until the unbalanced force along d has become smaller. Iterating with frozen rotations
and no search runs away under a heavy load (Georgii 2007 steps around it with dynamics); this cannot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.linalg import BlockMatrix, LinearSolver
from continua.solids.constraints import Held
from continua.solids.elements import Elements, System

__all__ = ["SettleReport", "find_equilibrium"]

_ENOUGH = 1e-4  # part of the promised fall of the potential that a step has to keep (Armijo)
_SMALLER = 0.9  # part of the unbalanced force along the direction that may be left
_ROUNDING = 1e-10  # part of the potential below which its fall cannot be trusted
_SHORTEST = 2.0**-20


@dataclass(frozen=True, slots=True)
class SettleReport:
    """How the search for an equilibrium went.

    Attributes:
        converged: Whether the unbalanced force fell below the tolerance.
        newton: Newton iterations.
        iterations: Iterations of the linear solver, all together.
        residual: Largest unbalanced force over the largest load (without loads, over the largest reaction).
    """

    converged: bool
    newton: int
    iterations: int
    residual: float


def find_equilibrium(
    elements: Elements,
    solver: LinearSolver,
    matrix: BlockMatrix,
    x: NDArray[np.float64],
    force: NDArray[np.float64],
    held: Held,
    mass: NDArray[np.float64],
    rtol: float,
    max_newton: int,
    unbalanced: NDArray[np.float64],
) -> SettleReport:
    """Move x to the equilibrium of the elastic forces and `force` [N]; what is held stays where it is.

    Args:
        elements: The body's elements.
        solver: A linear solver that is set up for the matrix.
        matrix: Work space.
        x: Coefficients [n, 3], changed in place; finite whatever happens.
        force: Loads [N], shape [n, 3].
        held: What is held.
        mass: Scalar masses of the blocks, which keep the matrix regular where the body is slack.
        rtol: Unbalanced force to reach, relative to the largest load (without loads, to the largest reaction).
        max_newton: Newton iterations after which to stop.
        unbalanced: Filled with the loads less the elastic forces [N], shape [n, 3]: at the end, with the opposite of
            what holds the body.
    """
    rhs, zero = unbalanced, np.zeros_like(x)
    load = float(np.abs(held.free_part(force)).max(initial=0.0))
    slack = 0.0
    iterations = 0
    elements.update(x)
    potential = elements.energy() - float(np.vdot(force, x))
    residual = np.inf
    for newton in range(max_newton):
        elements.assemble(System(matrix, rhs, mass, slack, 1.0, 1.0, zero, force))
        # where no load acts, the scale is what holds the held components: their part of the right-hand side
        free = held.free_part(rhs)
        scale = load or float(np.abs(rhs - free).max(initial=0.0))
        residual = float(np.abs(free).max(initial=0.0)) / max(scale, 1e-300)
        if residual <= rtol:
            return SettleReport(True, newton, iterations, residual)
        direction = np.zeros_like(x)
        solver.update(matrix, held.fixed, held.projections)
        report = solver.solve(rhs, direction)
        iterations += report.iterations
        fall = float(np.vdot(rhs, direction))  # the direction has no held components
        if not (report.residual >= 0.0 and fall > 0.0):
            # a collapsed element leaves a direction without stiffness: lean on the mass there
            slack = 10.0 * slack if slack else 1e-6 * float(np.abs(matrix.blocks).max()) / float(mass.max())
            continue
        by_energy = elements.conservative and fall > _ROUNDING * abs(potential)
        length = 1.0
        while length >= _SHORTEST:
            trial = x + length * direction
            elements.update(trial)
            reached = elements.energy() - float(np.vdot(force, trial))
            if by_energy:
                good = reached <= potential - _ENOUGH * length * fall
            else:
                elements.assemble(System(matrix, rhs, mass, slack, 1.0, 1.0, zero, force))
                good = abs(float(np.vdot(rhs, direction))) <= _SMALLER * fall
            if good:
                break
            length *= 0.5
        else:
            return SettleReport(False, newton + 1, iterations, residual)
        x[:] = trial
        potential = reached
        slack *= 0.1
    return SettleReport(False, max_newton, iterations, residual)
