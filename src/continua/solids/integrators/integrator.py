"""The one shape of time integrators: constants that a user chooses, and a stepper that each body gets of its own."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from continua.linalg import BlockMatrix, LinearSolver, SolverChoice, SolveReport
from continua.solids import mass_kernels
from continua.solids.constraints import Held
from continua.solids.damping import Damper
from continua.solids.elements import Elements
from continua.solids.handles import Pull
from continua.solids.integrators.linear_system import LinearSystem
from continua.timestepping import SolveResult, VelocityProjection, VelocitySystem

__all__ = ["Integrator", "Matter", "Outcome", "Solving", "StepInput", "Stepper"]

Solving = Generator[VelocitySystem | VelocityProjection, SolveResult, "Outcome"]
"""The solution of a step: asks for what has to be solved, and returns how it went."""


@dataclass(frozen=True, eq=False)
class Matter:
    """A body's state and mass as an integrator sees them; a solve changes none of it.

    Attributes:
        x: Coefficients [m], shape [n, 3].
        v: Velocities [m/s], shape [n, 3].
        mass: Scalar mass [kg] of every block of the pattern.
        node_mass: Row sums of the mass matrix [kg], shape [n].
    """

    x: NDArray[np.float64]
    v: NDArray[np.float64]
    mass: NDArray[np.float64]
    node_mass: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepInput:
    """What one step acts on: time step [s], damping, external force [N], what is held, pulls.

    Attributes:
        dt: Time step [s].
        alpha: Damping by mass [1/s].
        beta: Damping by stiffness [s].
        force: External force [N], shape [n, 3].
        held: What is held, with the mean velocities over the step that held components have to have.
        follows_rotation: Whether the law does not see rotations; a linear one does, and its forces do not depend
            on where the body is linearised.
        constant_stiffness: Whether the stiffness is the same everywhere and for ever.
        pulls: Springs.
        settled: Change of positions [m] at which Newton's iteration has arrived.
        size: Size of the elements [m].
    """

    dt: float
    alpha: float
    beta: float
    force: NDArray[np.float64]
    held: Held
    follows_rotation: bool
    constant_stiffness: bool
    pulls: tuple[Pull, ...]
    settled: float = 0.0
    size: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step was solved: the linear solves together, linearisations, contacts, and why it failed (or nothing)."""

    solve: SolveReport
    newton: int = 1
    contacts: int = 0
    failure: str = ""


class Stepper:
    """Owns the matrix, the solver and the work vectors of one body's steps.

    Attributes:
        positions: Coefficients after the solved step [n, 3].
        velocities: Velocities after the solved step [n, 3].
        memory: What is carried from step to step besides positions and velocities; part of a body's state.
        retries: Whether a step that fails is done again in parts.
        damper: Damping that turns with the elements, or None.
        system: Fills the matrix and tells the solver.
    """

    when: ClassVar[float] = 0.0
    """Moment of a step at which loads that change with time are taken: 0 is its start, 1/2 its middle."""

    def __init__(self, elements: Elements, solver: LinearSolver) -> None:
        n = elements.node_count
        self.elements = elements
        self.solver = solver
        self.matrix = BlockMatrix(elements.pattern)
        self.positions = np.zeros((n, 3))
        self.velocities = np.zeros((n, 3))
        self.memory: dict[str, NDArray] = {}
        if isinstance(solver, SolverChoice):
            self.memory["solver"] = solver.memory
        self.retries = True
        self.damper: Damper | None = None
        solver.setup(self.matrix)
        self.system = LinearSystem(elements, self.matrix, solver)

    def restart(self, velocities: NDArray[np.float64]) -> None:
        """Forget the past: the body moves with `velocities` now, for another reason than its steps."""

    def learnt(self) -> NDArray[np.float64] | None:
        """Return what an automatic choice of the solver has learnt, to give to `unlearn`."""
        return self.solver.memory.copy() if isinstance(self.solver, SolverChoice) else None

    def unlearn(self, learnt: NDArray[np.float64] | float | None = 0.0) -> None:
        """Let an automatic choice of the solver know no more than this; without it, start anew."""
        if isinstance(self.solver, SolverChoice) and learnt is not None:
            self.solver.memory[:] = learnt

    def material_changed(self) -> None:
        """Forget what follows from the material."""
        self.system.forget()

    def stable_dt(self, matter: Matter, damping: tuple[float, float], pulls: Sequence[Pull]) -> float:
        """Return the longest stable step [s]."""
        return inf

    def parts(self, matter: Matter, dt: float, damping: tuple[float, float], pulls: Sequence[Pull]) -> int:
        """Return into how many parts stability cuts a step of dt [s]."""
        return 1

    def solve(self, matter: Matter, step: StepInput) -> Solving:
        """Fill `positions` and `velocities`; nothing else that counts changes before `accept`."""
        raise TypeError(f"{type(self).__name__} has no step")

    def accept(self, matter: Matter) -> None:
        """Take the solved step over."""
        matter.x[:] = self.positions
        matter.v[:] = self.velocities

    def reactions(self) -> NDArray[np.float64]:
        """Return the force [N] that held the nodes in the last step, shape [n, 3]."""
        raise TypeError(f"{type(self).__name__} has no reactions")

    def give(self, load: NDArray[np.float64], dt: float) -> NDArray[np.float64] | None:
        """Return how far a small extra load [N], shape [n, 3], moves the nodes [m] in a step of dt [s] like the last.

        None if the method does not know.
        """
        return None

    def inverse_masses(self, matter: Matter, step: StepInput) -> NDArray[np.float64]:
        """Return the inverse lumped masses [1/kg] of what is free, shape [n, 9]."""
        inverse = np.zeros((len(matter.x), 9))
        inverse[:, ::4] = (1.0 / matter.node_mass)[:, None]
        inverse[step.held.fixed == 1] = 0.0
        partly = np.flatnonzero(step.held.fixed == 2)
        if len(partly) and step.held.projections is not None:
            free = step.held.projections[partly][:, [0, 1, 2, 1, 3, 4, 2, 4, 5]]
            inverse[partly] = free / matter.node_mass[partly, None]
        return inverse

    def mass_times(
        self, matter: Matter, x: NDArray[np.float64], out: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Set `out` to M x and return it."""
        p = self.elements.pattern
        mass_kernels.mass_times.pick(p.parallel)(p.indptr, p.indices, matter.mass, x, out)
        return out


@dataclass(frozen=True)
class Integrator:
    """How a body is advanced in time: the constants of a method. Each body makes its own `stepper` of it."""

    name: ClassVar[str]
    lumped: ClassVar[bool] = False
    """Whether the method needs all mass at the nodes."""

    def stepper(self, elements: Elements, solver: LinearSolver) -> Stepper:
        """Return what steps a body with these elements."""
        raise TypeError(f"{type(self).__name__} has no stepper")
