"""Newmark's method: second order, and with its usual constants free of numerical damping (Georgii 2007, G10).

    x+ = x + dt v + dt^2 ((1/2 - beta) a + beta a+),     v+ = v + dt ((1 - gamma) a + gamma a+),
    M a+ + C v+ + f(x+) = f_ext,

with a from the equation of motion at the start of the step, so that loads, pins and constants may change between
steps. With w = (x+ - x)/dt as the unknown this is

    (M + gamma dt C) w + beta dt f(x + dt w)
        = M v + dt (1/2 - beta) M a + beta dt f_ext + dt (gamma - beta) C v - dt^2 (beta - gamma/2) C a,

and for beta = 1/4, gamma = 1/2 (the average acceleration) the right-hand side is M v + dt/2 f_ext - dt/4 f(x).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from continua.deformable import mass_kernels
from continua.deformable.elements import Elements
from continua.deformable.integrators.implicit import Equation, ImplicitIntegrator, ImplicitStepper
from continua.deformable.integrators.integrator import BodyState, SolveCoroutine, StepInput, Stepper
from continua.deformable.integrators.momentum_correction import rigid_motion
from continua.deformable.integrators.spring_terms import add_pull_forces
from continua.errors import InputError
from continua.linalg import PCG, BlockMatrix, LinearSolver
from continua.timestepping import SolveResult, VelocityProjection
from continua.validation import number

__all__ = ["Newmark"]

_ACCELERATION_RTOL = 1e-10


@dataclass(frozen=True)
class Newmark(ImplicitIntegrator):
    """Newmark's implicit method, by default with average acceleration: second order, conserves energy.

    Attributes:
        newton: Maximum number of Newton iterations per step; the law `Linear` needs one.
        beta: Weight of the new acceleration in the positions.
        gamma: Weight of the new acceleration in the velocities. Above 1/2 fast motion is damped and the method is of
            first order; beta = (gamma + 1/2)^2 / 4 damps it most.
    """

    name = "newmark"
    newton: int = 4
    beta: float = 0.25
    gamma: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        beta, gamma = number(self.beta, "Newmark's beta"), number(self.gamma, "Newmark's gamma")
        if not 2.0 * beta >= gamma >= 0.5:
            raise InputError(
                f"Newmark's method is stable for any step if 2 beta >= gamma >= 1/2; beta = {beta:g} and "
                f"gamma = {gamma:g} are not"
            )

    def stepper(self, elements: Elements, solver: LinearSolver) -> NewmarkStepper:
        """Return the stepper of a body with these elements."""
        return NewmarkStepper(elements, solver, self)


class NewmarkStepper(ImplicitStepper):
    """Newmark steps of one body; keeps the mean velocities of the last two steps for the initial guess."""

    load_time_fraction = 0.5

    def __init__(self, elements: Elements, solver: LinearSolver, method: Newmark) -> None:
        super().__init__(elements, solver, method.newton)
        n = elements.node_count
        self.beta, self.gamma = method.beta, method.gamma
        self._before = np.zeros((2, n, 3))
        self.history["velocities_before"] = self._before
        self._v = np.zeros((n, 3))
        self._acceleration = np.zeros((n, 3))
        self._mass_v = np.zeros((n, 3))
        self._needs_acceleration = 2.0 * self.beta != self.gamma
        self._mass_matrix: BlockMatrix | None = None
        self._mass_solver = PCG(rtol=_ACCELERATION_RTOL)

    def restart(self, velocities: NDArray[np.float64]) -> None:
        """Start solves from these velocities."""
        self._before[:] = velocities

    def take_history(self, before: Stepper, interpolate: Callable[[NDArray], NDArray]) -> None:
        """Carry the velocities of earlier steps to the new nodes."""
        self._before[:] = [interpolate(velocities) for velocities in before.history["velocities_before"]]

    def solve(self, state: BodyState, step: StepInput) -> SolveCoroutine:
        """Fill `positions` and `velocities`."""
        dt, beta, gamma = step.dt, self.beta, self.gamma
        self._v[:] = state.v
        if step.dirichlet.any:
            self._start_driven(step)
        np.multiply(step.force, beta * dt, out=self.load)
        np.subtract(self._before[0], self._before[1], out=self.solved)
        self.solved *= 0.5
        self.solved += self._v
        damping = gamma * dt * step.beta
        equation = Equation(
            1.0 + gamma * dt * step.alpha, beta * dt * dt + damping, beta * dt, damping, gamma * dt
        )
        is_free = not step.dirichlet.any and not step.pulls
        self.correct_free = partial(self._correct_momentum, state, step) if is_free else None
        outcome = yield from self.solve_motion(state, self._v, step, equation, 0.5 * dt)
        self.correct_free = None
        self._finish(step)
        if self.contact is not None:
            yield from self._correct_contact_velocities(state, step)
        mass_kernels.advance_positions.variant(self.matrix.pattern.parallel)(
            state.x, self.solved, dt, self.positions
        )
        return outcome

    def _start_driven(self, step: StepInput) -> None:
        """Set the initial velocities of driven components so that their inertia is second order accurate.

        The equation takes dt/4 (a + a+) from w - v. A driven node's acceleration at the midpoint follows from its mean
        velocities in this step and the two before.
        """
        driven = self._v.copy()
        step.dirichlet.apply(driven)
        driven *= 0.25
        driven += self._before[0] - 0.25 * self._before[1]
        driven -= self._v
        free = driven.copy()
        step.dirichlet.zero_fixed(free)
        self._v += driven - free

    def accept(self, state: BodyState) -> None:
        """Commit the step and keep its mean velocities."""
        self._before[1] = self._before[0]
        self._before[0] = self.solved
        super().accept(state)

    def complete(
        self, state: BodyState, velocities: NDArray[np.float64], step: StepInput, equation: Equation
    ) -> None:
        """Add the terms of the old acceleration."""
        dt, beta, gamma = step.dt, self.beta, self.gamma
        mass_v = self.mass_times(state, velocities, self._mass_v)
        drag = step.alpha * mass_v  # C v
        if step.beta > 0.0:
            drag += step.beta * self.stiffness_times(velocities, mass_v, equation)
        if self.drag is not None:
            drag += self.drag.multiply(velocities)
        balance = mass_v + self.load  # to be M a = f_ext - f(x) - C v
        balance -= self.rhs
        balance *= -1.0 / equation.c_force
        balance += step.force
        balance -= drag
        add_pull_forces(step.pulls, state.x, 1.0, balance)
        self.rhs += dt * (0.5 - beta) * balance + dt * (gamma - beta) * drag
        if self._needs_acceleration:
            a = self._solve_acceleration(state, step, balance)
            drag = step.alpha * self.mass_times(state, a, self.work)
            if step.beta > 0.0:
                drag += step.beta * self.stiffness_times(a, self.work, equation)
            if self.drag is not None:
                drag += self.drag.multiply(a)
            self.rhs -= dt * dt * (beta - 0.5 * gamma) * drag

    def _solve_acceleration(
        self, state: BodyState, step: StepInput, balance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return a with M a = `balance` for free components; fixed ones follow from the prescribed velocities."""
        if self._mass_matrix is None:
            self._mass_matrix = BlockMatrix(self.matrix.pattern)
            self._mass_solver.setup(self._mass_matrix)
        self._mass_matrix.blocks[:, ::4] = state.mass[:, None]
        a, dirichlet = self._acceleration, step.dirichlet
        np.subtract(dirichlet.prescribed, dirichlet.unknowns(self._v), out=a)
        a *= 2.0 / step.dt
        free = a.copy()
        dirichlet.zero_unknowns(free)
        a -= free
        matrix = dirichlet.matrix(self._mass_matrix)
        self._mass_solver.update(matrix, dirichlet.fixed, dirichlet.projections)
        self._mass_solver.solve(dirichlet.loads(balance), a)
        if dirichlet.basis is not None:
            a[:] = dirichlet.basis.coefficients(a)
        return a

    def _finish(self, step: StepInput) -> None:
        """Fill the velocities after the step."""
        v, ratio = self.velocities, self.gamma / self.beta
        np.subtract(self.solved, self._v, out=v)
        v *= ratio
        v += self._v
        if self._needs_acceleration:
            v += step.dt * (1.0 - 0.5 * ratio) * self._acceleration
        step.dirichlet.apply(v)

    def _correct_contact_velocities(
        self, state: BodyState, step: StepInput
    ) -> Generator[VelocityProjection, SolveResult, None]:
        """Correct the velocities in contact: remove the second half of the contact impulse and project again.

        Without it a node that hits would bounce back with its full speed.
        """
        assert self.contact is not None
        inverse = self.inverse_masses(state, step)
        factor = self.gamma / self.beta - 1.0
        self.velocities -= factor * np.einsum("nij,nj->ni", inverse.reshape(-1, 3, 3), self.contact.impulse)
        yield from self.project_contacts(state, step, self.velocities)

    def _correct_momentum(self, state: BodyState, step: StepInput) -> None:
        """Add the rigid motion that restores momentum and angular momentum over the step.

        Torques are taken about the positions at the midpoint of the step, which the correction moves; so it is done
        twice.
        """
        self._finish(step)
        for _ in range(2):
            self._add_rigid_motion(state, step)

    def _add_rigid_motion(self, state: BodyState, step: StepInput) -> None:
        dt, gain = step.dt, 1.0 + step.dt * step.alpha * self.gamma
        np.multiply(self.velocities, gain, out=self.work)
        self.work -= (1.0 - dt * step.alpha * (1.0 - self.gamma)) * state.v
        impulse = self.mass_times(state, self.work, self._mass_v)
        impulse -= dt * step.force
        if step.dirichlet.projections is not None:
            impulse = step.dirichlet.project_free(impulse)
        middle = state.x + (0.5 * dt) * self.solved
        self.mass_times(state, middle, self.work)
        none = np.zeros((0, 3)), np.zeros((0, 3, 3))
        change = rigid_motion(state, middle, self.work, impulse, gain, step.is_rotation_invariant, *none)
        self.velocities += change
        self.solved += (self.beta / self.gamma) * change
