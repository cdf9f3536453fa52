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

from continua.deformable import mass_kernels
from continua.deformable.elements import AssembledSystem, Elements
from continua.deformable.integrators.explicit import ConditionallyStableIntegrator, ConditionallyStableStepper
from continua.deformable.integrators.integrator import BodyState, SolveCoroutine, StepInput, StepOutcome
from continua.deformable.integrators.momentum_correction import rigid_velocities
from continua.deformable.integrators.spring_terms import add_pull_forces
from continua.linalg import LinearSolver, SolveReport
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
        self._unstable = ""  # why the step is unstable

    def limit(self, frequency: float, alpha: float, beta: float) -> float:
        """Return the longest stable step [s] of a body with this highest frequency [rad/s]."""
        square = frequency * frequency
        damping = alpha + beta * square
        return (damping + sqrt(damping * damping + 4.0 * square)) / square

    def solve(self, state: BodyState, step: StepInput) -> SolveCoroutine:
        """Fill `positions` and `velocities`."""
        dt, dirichlet = step.dt, step.dirichlet
        self._unstable = ""
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
        elif not dirichlet.any and not step.pulls:
            self._correct_momentum(state, step)
        one, other = first.report, second.report
        solve = SolveReport(
            one.iterations + other.iterations,
            max(one.residual, other.residual) if one.residual >= 0.0 else one.residual,
            one.converged and other.converged,
            warnings=one.warnings + other.warnings,
        )
        return StepOutcome(solve, 2, 0 if contact is None else contact.count, first.failure or self._unstable)

    def reactions(self) -> NDArray[np.float64]:
        """Return the reaction forces [N] of the last step, shape [n, 3]."""
        return (self.matrix.multiply(self._half) - self._rhs) / (0.5 * self._dt)

    def _correct_momentum(self, state: BodyState, step: StepInput) -> None:
        """Add the rigid motion after which momentum and angular momentum have changed by loads and mass damping only.

        Inexact solves change both. Torques are taken about the positions in the middle of the step.
        """
        mass = state.node_mass[:, None]
        loads = step.dt * (step.force - step.alpha * mass * self._half)
        lost = mass * (state.v - self.velocities) + loads
        net = lost.sum(axis=0)
        center = state.node_mass @ self.positions / state.node_mass.sum()
        arms = self.positions - center
        moved = self.positions - state.x
        moment = np.cross(arms, lost).sum(axis=0) - np.cross(moved, mass * state.v + 0.5 * loads).sum(axis=0)
        wanted = np.concatenate([net, moment if step.is_rotation_invariant else np.zeros(3)])
        change = rigid_velocities(state, self.positions, mass * self.positions, wanted)
        self.velocities += step.dirichlet.project_free(change)

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
        constant = step.constant_stiffness
        system = AssembledSystem(
            matrix=self.matrix,
            rhs=self._rhs,
            mass=state.mass,
            c_mass=1.0 + part * step.alpha if constant else 0.0,
            c_stiffness=part * step.beta if constant else 1.0,
            dt=part,
            velocities=v,
            load=self._load,
        )
        drag = self.damping_matrix(x, 0.0 if constant else step.beta)
        self.system.fill(system, x, constant, () if drag is None else None)
        if (
            not constant
        ):  # the elastic forces are explicit: their stiffness only tells whether the step is stable
            self._unstable = self.stability_failure(state, step, self.matrix)
            self.matrix.blocks[:] = 0.0
            self.matrix.blocks[:, ::4] = (1.0 + part * step.alpha) * state.mass[:, None]
        if drag is not None:
            self.matrix.blocks += part * drag.blocks
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
