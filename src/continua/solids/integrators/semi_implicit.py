"""Irving's integrator (2007): elastic forces explicit, damping implicit, in two halves.

    v' = v + dt/2 a(x, v')                   a half step of implicit Euler, with contact
    x+ = x + dt v'
    v'' = v + dt/2 a((x + x+)/2, v'')        another one, pushed by the same contacts
    v+ = 2 v'' - v                           both together are the trapezoidal rule
    contacts hold v+ where it leads into a shape, with friction

In the thesis contact acts between the two solves, node by node; here the first solve has it as a constraint, so that
nodes that touch feel each other through the body. Constant acceleration is exact, and without damping it is the scheme
of central differences: energy is kept on average up to omega dt = 2, with omega the highest frequency. Damping c =
alpha + beta omega^2 only makes that limit longer: dt = (c + sqrt(c^2 + 4 omega^2))/omega^2. Mass is lumped, as in the
thesis.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from continua.linalg import LinearSolver, SolveReport
from continua.solids import mass_kernels
from continua.solids.elements import Elements, System
from continua.solids.integrators.explicit import LimitedIntegrator, LimitedStepper
from continua.solids.integrators.integrator import Matter, Outcome, Solving, StepInput
from continua.solids.integrators.supports import add_pull_forces
from continua.timestepping import SolveResult, VelocityProjection, VelocitySystem

__all__ = ["SemiImplicit"]


@dataclass(frozen=True)
class SemiImplicit(LimitedIntegrator):
    """The integrator of Irving (2007): elastic forces explicit, damping implicit, exact friction on fixed shapes.

    For bodies that are strongly damped and slide or stick on obstacles.

    Attributes:
        substeps: Whether a step above the stability limit is cut into parts below it; otherwise it is done as it
            is, and most likely fails.
    """

    name = "semi_implicit"

    def stepper(self, elements: Elements, solver: LinearSolver) -> SemiImplicitStepper:
        """Return what steps a body with these elements."""
        return SemiImplicitStepper(elements, solver, self.substeps)


class SemiImplicitStepper(LimitedStepper):
    """One body's steps by Irving's integrator."""

    def __init__(self, elements: Elements, solver: LinearSolver, substeps: bool) -> None:
        super().__init__(elements, solver, substeps)
        shape = self.positions.shape
        self._rhs = np.zeros(shape)
        self._load = np.zeros(shape)
        self._half = np.zeros(shape)
        self._start = np.zeros(shape)
        self._dt = 1.0

    def limit(self, frequency: float, alpha: float, beta: float) -> float:
        """Return the longest stable step [s] of a body with this highest frequency [rad/s]."""
        square = frequency * frequency
        damping = alpha + beta * square
        return (damping + sqrt(damping * damping + 4.0 * square)) / square

    def solve(self, matter: Matter, step: StepInput) -> Solving:
        """Fill `positions` and `velocities`."""
        dt, held = step.dt, step.held
        self._dt = dt
        np.multiply(step.force, 0.5 * dt, out=self._load)
        start = self._start
        start[:] = matter.v
        held.impose(start)
        start += matter.v
        start *= 0.5  # the velocity of a driven node at the start: the mean of those before and after
        half = self._half
        half[:] = start
        first = yield self._half_step(matter, step, matter.x, start, None)
        mass_kernels.move.pick(self.matrix.pattern.parallel)(matter.x, half, dt, self.positions)
        contact = first.contact
        middle = 0.5 * (matter.x + self.positions)
        half[:] = start
        second = yield self._half_step(matter, step, middle, start, first)
        np.multiply(half, 2.0, out=self.velocities)
        self.velocities -= start
        held.impose(self.velocities)
        if contact is not None:
            inverse = self.inverse_masses(matter, step)
            self.velocities -= np.einsum("nij,nj->ni", inverse.reshape(-1, 3, 3), contact.impulse)
            yield VelocityProjection(self.velocities, inverse)
        one, other = first.report, second.report
        solve = SolveReport(
            one.iterations + other.iterations,
            max(one.residual, other.residual) if one.residual >= 0.0 else one.residual,
            one.converged and other.converged,
            warnings=one.warnings + other.warnings,
        )
        return Outcome(solve, 2, 0 if contact is None else contact.count, first.failure)

    def reactions(self) -> NDArray[np.float64]:
        """Return the force [N] that held the nodes in the last step, shape [n, 3]."""
        return (self.matrix.multiply(self._half) - self._rhs) / (0.5 * self._dt)

    def _half_step(
        self,
        matter: Matter,
        step: StepInput,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        met: SolveResult | None,
    ) -> VelocitySystem:
        """Ask for `_half` = v + dt/2 a(x, half): elastic forces at x, damping by the velocities looked for.

        Contacts that were `met` in the first half push the same in the second.
        """
        part = 0.5 * step.dt
        system = System(
            matrix=self.matrix,
            rhs=self._rhs,
            mass=matter.mass,
            c_mass=1.0 + part * step.alpha,
            c_stiffness=part * step.beta,
            dt=part,
            velocities=v,
            load=self._load,
        )
        self.system.fill(system, x, step.constant_stiffness, () if self.damper is None else None)
        if self.damper is not None:
            self.matrix.blocks += part * self.damper.at(x).blocks
        add_pull_forces(step.pulls, x, part, self._rhs)
        step.held.impose(self._half)
        held = step.held
        if met is not None and met.contact is not None:
            self._rhs += met.contact.impulse
            self.system.forget_solver()

        def alone() -> SolveReport:
            self.system.tell_solver(held.fixed, held.projections)
            return self.solver.solve(self._rhs, self._half, self._load)

        return VelocitySystem(
            self.matrix,
            self._rhs,
            self._half,
            self._load,
            held.fixed,
            held.projections,
            self.solver,
            alone,
            None,
            part,
            met is None,
        )
