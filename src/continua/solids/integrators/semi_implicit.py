"""Irving's integrator (2007): elastic forces explicit, damping implicit, in two halves.

    v' = v + dt/2 a(x, v')                   a half step of implicit Euler, with contact
    x+ = x + dt v'
    v'' = v + dt/2 a((x + x+)/2, v'')        another one, with the same contact impulses
    v+ = 2 v'' - v                           both together are the trapezoidal rule
    contacts project v+, with friction

In the thesis contact acts between the two solves, node by node; here it is a constraint of the first solve, so that
contacts are coupled through the body. Constant acceleration is exact, and without damping it is the scheme of central
differences: energy is conserved on average up to omega dt = 2, with omega the highest frequency. Damping c =
alpha + beta omega^2 raises that limit: dt = (c + sqrt(c^2 + 4 omega^2))/omega^2. Mass is lumped, as in the
thesis.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from continua.linalg import LinearSolver, SolveReport
from continua.solids import mass_kernels
from continua.solids.elements.base import AssembledSystem, Elements
from continua.solids.integrators.explicit import ConditionallyStableIntegrator, ConditionallyStableStepper
from continua.solids.integrators.integrator import BodyState, SolveCoroutine, StepInput, StepOutcome
from continua.solids.integrators.spring_terms import add_pull_forces
from continua.timestepping import SolveResult, VelocitySystem

__all__ = ["SemiImplicit"]


@dataclass(frozen=True)
class SemiImplicit(ConditionallyStableIntegrator):
    """The integrator of Irving (2007): elastic forces explicit, damping implicit, exact friction on fixed shapes.

    For strongly damped bodies that slide or stick on obstacles.

    Attributes:
        substeps: Whether a step above the stability limit is divided into stable substeps; otherwise it is done as it
            is, and most likely fails.
    """

    name = "semi_implicit"

    def stepper(self, elements: Elements, solver: LinearSolver) -> SemiImplicitStepper:
        """Return the stepper of a body with these elements."""
        return SemiImplicitStepper(elements, solver, self.substeps)


class SemiImplicitStepper(ConditionallyStableStepper):
    """Semi-implicit steps of one body."""

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

    def solve(self, state: BodyState, step: StepInput) -> SolveCoroutine:
        """Fill `positions` and `velocities`."""
        dt, dirichlet = step.dt, step.dirichlet
        self._dt = dt
        np.multiply(step.force, 0.5 * dt, out=self._load)
        start = self._start
        start[:] = state.v
        dirichlet.apply(start)
        start += state.v
        start *= 0.5  # initial velocity of a driven node: the mean of those before and after
        half = self._half
        half[:] = start
        system = self._half_step(state, step, state.x, start, None)
        first = yield system
        dirichlet.set_coefficients(system.x, half)
        mass_kernels.advance_positions.variant(self.matrix.pattern.parallel)(
            state.x, half, dt, self.positions
        )
        contact = first.contact
        middle = 0.5 * (state.x + self.positions)
        half[:] = start
        system = self._half_step(state, step, middle, start, first)
        second = yield system
        dirichlet.set_coefficients(system.x, half)
        np.multiply(half, 2.0, out=self.velocities)
        self.velocities -= start
        dirichlet.apply(self.velocities)
        if contact is not None:
            inverse = self.inverse_masses(state, step)
            self.velocities -= np.einsum("nij,nj->ni", inverse.reshape(-1, 3, 3), contact.impulse)
            yield from self.project_contacts(state, step, self.velocities)
        one, other = first.report, second.report
        solve = SolveReport(
            one.iterations + other.iterations,
            max(one.residual, other.residual) if one.residual >= 0.0 else one.residual,
            one.converged and other.converged,
            warnings=one.warnings + other.warnings,
        )
        return StepOutcome(solve, 2, 0 if contact is None else contact.count, first.failure)

    def reactions(self) -> NDArray[np.float64]:
        """Return the reaction forces [N] of the last step, shape [n, 3]."""
        return (self.matrix.multiply(self._half) - self._rhs) / (0.5 * self._dt)

    def _half_step(
        self,
        state: BodyState,
        step: StepInput,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        previous: SolveResult | None,
    ) -> VelocitySystem:
        """Return the system of `_half` = v + dt/2 a(x, half): elastic forces at x, implicit damping.

        The second half gets the contact impulses of the `previous` one.
        """
        part = 0.5 * step.dt
        system = AssembledSystem(
            matrix=self.matrix,
            rhs=self._rhs,
            mass=state.mass,
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
        step.dirichlet.apply(self._half)
        dirichlet = step.dirichlet
        if previous is not None and previous.contact is not None:
            self._rhs += previous.contact.impulse
            self.system.invalidate_solver()

        matrix, rhs, load = (
            dirichlet.matrix(self.matrix),
            dirichlet.loads(self._rhs),
            dirichlet.loads(self._load),
        )
        own = dirichlet.unknowns(self._half)

        def alone() -> SolveReport:
            self.system.update_solver(matrix, dirichlet)
            return self.solver.solve(rhs, own, load)

        return VelocitySystem(
            matrix,
            rhs,
            own,
            load,
            dirichlet.fixed,
            dirichlet.projections,
            self.solver,
            alone,
            None,
            part,
            previous is None,
            basis=dirichlet.basis,
        )
