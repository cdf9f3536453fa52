"""Implicit Euler: unconditionally stable, first order, damps fast motion.

With x+ = x + dt v+ and the elastic force linearised at x, f(x+) = f(x) + dt K v+, the step solves

    (M + dt C + dt^2 K) v+ = M v + dt (f_ext - f(x)),     C = alpha M + beta K,

which is Weber's equation (2015) for v+ instead of the change of velocity: one linear solve per step.

Because rotations are frozen during the solve, the elastic force has a small net torque on the moved body, and an
inexact solve leaves a small net force. For an unconstrained body both are corrected: a rigid motion is added so that
momentum and angular momentum change by the external force and torque only. With contacts the rigid motion could cause
penetration, so the defect is applied as an impulse in the next step instead. See docs/theory/time.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.linalg import LinearSolver
from continua.solids import mass_kernels
from continua.solids.elements.base import Elements
from continua.solids.integrators.implicit import Equation, ImplicitIntegrator, ImplicitStepper
from continua.solids.integrators.integrator import BodyState, SolveCoroutine, StepInput, Stepper
from continua.solids.integrators.momentum_correction import net_impulse, rigid_motion, rigid_velocities
from continua.solids.integrators.spring_terms import spring_response

__all__ = ["ImplicitEuler"]


@dataclass(frozen=True)
class ImplicitEuler(ImplicitIntegrator):
    """Implicit Euler, the default: unconditionally stable, first order, damps fast motion.

    Attributes:
        newton: Maximum number of Newton iterations per step. One, the default, linearises the forces at the
            start of the step (Weber 2015, Georgii 2007). More solve the nonlinear equations of the step with a line
            search, which very soft or fast bodies of a hyperelastic law need.
    """

    name = "implicit_euler"

    def stepper(self, elements: Elements, solver: LinearSolver) -> ImplicitEulerStepper:
        """Return the stepper of a body with these elements."""
        return ImplicitEulerStepper(elements, solver, self.newton)


class ImplicitEulerStepper(ImplicitStepper):
    """Implicit Euler steps of one body; keeps the velocities of the last three steps for the initial guess."""

    def __init__(self, elements: Elements, solver: LinearSolver, newton: int) -> None:
        super().__init__(elements, solver, newton)
        self._before = np.zeros((3, elements.node_count, 3))
        self.history["velocities_before"] = self._before
        self.guess_directions = np.zeros((2, elements.node_count, 3))
        self._impulse = np.zeros((elements.node_count, 3))
        self._had_contact = np.zeros(1)  # whether the body had contacts in the last step
        self.history["had_contact"] = self._had_contact
        self._momentum_defect = np.zeros(6)  # impulse and moment missing in the last step
        self._next_momentum_defect = np.zeros(6)
        self.history["momentum_defect"] = self._momentum_defect
        self._after = np.zeros((elements.node_count, 3))

    def restart(self, velocities: NDArray[np.float64]) -> None:
        """Start solves from these velocities."""
        self._before[:] = velocities
        self._momentum_defect[:] = 0.0

    def take_history(self, before: Stepper, interpolate: Callable[[NDArray], NDArray]) -> None:
        """Carry the velocities of earlier steps to the new nodes."""
        self._before[:] = [interpolate(velocities) for velocities in before.history["velocities_before"]]
        self._had_contact[:] = before.history["had_contact"]
        self._momentum_defect[:] = before.history["momentum_defect"]

    def solve(self, state: BodyState, step: StepInput) -> SolveCoroutine:
        """Fill `positions` and `velocities`."""
        dt = step.dt
        np.multiply(step.force, dt, out=self.load)
        if self._momentum_defect.any():
            self.load += self._rigid_impulse(state, self._momentum_defect)
        self._extrapolate(state.v)
        equation = Equation(1.0 + dt * step.alpha, dt * (dt + step.beta), dt, dt * step.beta, dt)
        outcome = yield from self.solve_motion(state, state.v, step, equation, dt)
        contact = self.contact
        self._next_momentum_defect[:] = 0.0
        if not step.dirichlet.any:
            self._correct_momentum(state, step)
        mass_kernels.advance_positions.variant(self.matrix.pattern.parallel)(
            state.x, self.solved, dt, self.positions
        )
        self.velocities = self.solved
        if contact is not None and contact.needs_projection:
            self._after[:] = self.solved
            yield from self.project_contacts(state, step, self._after)
            self.velocities = self._after
        return outcome

    def accept(self, state: BodyState) -> None:
        """Commit the step and keep the velocities before it."""
        self._had_contact[0] = self.contact is not None
        self._momentum_defect[:] = self._next_momentum_defect
        mass_kernels.commit_step.variant(self.matrix.pattern.parallel)(
            self.positions, self.velocities, self._before, state.x, state.v
        )

    def _extrapolate(self, v: NDArray[np.float64]) -> None:
        """Extrapolate the last velocities as the initial guess: quadratically, or linearly after contact.

        Quadratic extrapolation amplifies the errors of inexact solves by seven. The solver therefore corrects the guess
        along the second and third differences.
        """
        curved = 0.0 if self._had_contact[0] else 1.0
        mass_kernels.extrapolate.variant(self.matrix.pattern.parallel)(
            v, self._before, curved, self.solved, self.guess_directions
        )

    def _correct_momentum(self, state: BodyState, step: StepInput) -> None:
        """Correct momentum and angular momentum: now by a rigid motion, or by an impulse in the next step."""
        x, v = state.x, state.v
        gain = 1.0 + step.dt * step.alpha
        np.multiply(self.solved, gain, out=self.work)
        self.work -= v
        self.mass_times(state, self.work, self._impulse)
        self._impulse -= self.load
        for pull in step.pulls:
            offset = pull.target - pull.weights @ (x[pull.nodes] + step.dt * self.solved[pull.nodes])
            self._impulse[pull.nodes] -= step.dt * pull.stiffness * np.outer(pull.weights, offset)
        self.mass_times(state, x, self.work)
        impulse = (
            step.dirichlet.project_free(self._impulse)
            if step.dirichlet.projections is not None
            else self._impulse
        )
        if self.contact is not None:
            impulse = impulse - self.contact.impulse
            self._next_momentum_defect[:] = -net_impulse(
                state, x, self.work, impulse, step.is_rotation_invariant
            )
            return
        self.solved += rigid_motion(
            state,
            x,
            self.work,
            impulse,
            gain,
            step.is_rotation_invariant,
            *spring_response(step.pulls, x, step.dt),
        )

    def _rigid_impulse(self, state: BodyState, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return nodal impulses [n, 3] of a rigid motion with the given impulse and moment."""
        self.mass_times(state, state.x, self.work)
        motion = rigid_velocities(state, state.x, self.work, wanted)
        return self.mass_times(state, motion, np.empty_like(motion))
