"""What a body's step asks of the world, and what it is told.

A step is a coroutine: it yields the linear system of its velocities, and goes on when that is solved. So the world can
solve the systems of all bodies that touch together; a body that touches nothing is solved by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.linalg import BlockMatrix, LinearSolver, SolveReport

__all__ = ["Answer", "BodyContact", "BodySystem", "BodyVelocities", "Conversation"]


@dataclass(eq=False)
class BodySystem:
    """The system A x = rhs of one body, in which contacts have a say. With V = base + x, nodes move by dt V.

    Attributes:
        matrix: The matrix of a soft body; for a rigid one, two rows with the mass and the inertia on the diagonal.
        rhs: Right-hand side [N s], shape [n, 3].
        x: The first guess, and in the end the solution [m/s], shape [n, 3].
        load: Sets the scale of the tolerance, like `rhs` [n, 3].
        fixed: Which rows keep what they have, see `LinearSolver.update`.
        projections: Free directions of rows that are held in some, or None.
        solver: The body's own solver.
        alone: Solves the system without contacts.
        base: What is to be added to x for the velocity, shape [n, 3], when x is an increment; None is nothing.
        weight: Time [s] over which a force acts in the equation.
        touches: Whether contacts have a say; without, the system is solved as it is.
        scale: What sets the scale of the tolerance with contacts, shape [n, 3]; None is `load`.
        patient: Whether it is solved as often as others ask, and answered when none does any more.
    """

    matrix: BlockMatrix
    rhs: NDArray[np.float64]
    x: NDArray[np.float64]
    load: NDArray[np.float64]
    fixed: NDArray[np.uint8]
    projections: NDArray[np.float64] | None
    solver: LinearSolver
    alone: Callable[[], SolveReport]
    base: NDArray[np.float64] | None = None
    weight: float = 1.0
    touches: bool = True
    scale: NDArray[np.float64] | None = None
    patient: bool = False


@dataclass(eq=False)
class BodyVelocities:
    """Velocities at the end of a step, on which contacts have a last word.

    Attributes:
        velocities: Velocities [m/s], changed in place, shape [n, 3].
        inverse: Inverse masses [1/kg], nine values a row; zero where a row is held; shape [n, 9].
    """

    velocities: NDArray[np.float64]
    inverse: NDArray[np.float64]


@dataclass(eq=False)
class BodyContact:
    """What contacts did to one body in a solve.

    Attributes:
        impulse: What they added to the right-hand side [N s], shape [n, 3].
        count: Number of contacts that press.
        again: Whether contacts have a word on the velocities at the end.
    """

    impulse: NDArray[np.float64]
    count: int
    again: bool = False


@dataclass(eq=False)
class Answer:
    """How a system was solved.

    Attributes:
        report: The linear solves.
        contact: What contacts did, or None if there were none.
        failure: Why the step has failed, or nothing.
    """

    report: SolveReport
    contact: BodyContact | None = None
    failure: str = ""


Conversation = Generator[BodySystem | BodyVelocities, Answer, None]
"""One part of a body's step."""
