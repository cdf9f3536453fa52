"""Implicit Euler: unconditionally stable, first order, damps fast motion.

With x+ = x + dt v+ and the elastic force linearised at x, f(x+) = f(x) + dt K v+, the step solves

    (M + dt C + dt^2 K) v+ = M v + dt (f_ext - f(x)),     C = alpha M + beta K,

which is Weber's equation (2015) for v+ instead of the change of velocity: one linear solve per step.

The elastic forces at x+ act on the positions x, so they have a small net torque, and an inexact solve leaves a small
net force. For an unconstrained body both are corrected: a rigid motion is added so that momentum and angular momentum
change by the external force and torque only. This is done before contacts are searched, as it could cause penetration
after that. A solve with contacts is followed by another one, with a rigid impulse against the net torque. See
docs/theory/time.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from continua.deformable import mass_kernels
from continua.deformable.elements import Elements
from continua.deformable.integrators.implicit import Equation, ImplicitIntegrator, ImplicitStepper
from continua.deformable.integrators.integrator import BodyState, SolveCoroutine, StepInput, Stepper
from continua.deformable.integrators.momentum_correction import net_impulse, rigid_motion, rigid_velocities
from continua.deformable.integrators.spring_terms import spring_response
from continua.linalg import LinearSolver
from continua.timestepping import MomentBalance

__all__ = ["ImplicitEuler"]

PARTS = 0.8, 1.2
"""Bounds of the part of an added moment that a body is taken to keep: more would make fast bodies gain energy."""

MAX_RESISTANCE = 0.5
"""Resistance of the stiffness to rotations, as a fraction of the inertia, up to which a solve balances the body by
itself. It grows with the square of the strain; beyond, the balanced system may not be monotone."""


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
        self._after = np.zeros((elements.node_count, 3))
        self._added_moment, self._added_part = np.zeros(3), 1.0  # the last moment of `_balance`, see there

    def restart(self, velocities: NDArray[np.float64]) -> None:
        """Start solves from these velocities."""
        self._before[:] = velocities

    def take_history(self, before: Stepper, interpolate: Callable[[NDArray], NDArray]) -> None:
        """Carry the velocities of earlier steps to the new nodes."""
        self._before[:] = [interpolate(velocities) for velocities in before.history["velocities_before"]]
        self._had_contact[:] = before.history["had_contact"]

    def solve(self, state: BodyState, step: StepInput) -> SolveCoroutine:
        """Fill `positions` and `velocities`."""
        dt = step.dt
        np.multiply(step.force, dt, out=self.load)
        self._extrapolate(state.v)
        if not step.dirichlet.any:
            self.correct_free = partial(self._correct_momentum, state, step)
            self.balancing = partial(self._balance, state, step)
            self.moment_terms = partial(self._moment_terms, state, step)
        equation = Equation(1.0 + dt * step.alpha, dt * (dt + step.beta), dt, dt * step.beta, dt)
        outcome = yield from self.solve_motion(state, state.v, step, equation, dt)
        self.correct_free = self.balancing = self.moment_terms = None
        contact = self.contact
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
        """Add the rigid motion after which momentum and angular momentum have changed by the loads only."""
        impulse = self._beside_loads(state, step, self.solved)
        self.solved += rigid_motion(
            state,
            state.x,
            self.mass_times(state, state.x, self.work),
            impulse,
            1.0 + step.dt * step.alpha,
            step.is_rotation_invariant,
            *spring_response(step.pulls, state.x, step.dt),
        )

    def _balance(
        self, state: BodyState, step: StepInput, w: NDArray[np.float64], x: NDArray[np.float64], first: bool
    ) -> tuple[NDArray[np.float64], float]:
        """Return the rigid impulse that has to be added to the load, see `Balancing`."""
        impulse = self._beside_loads(state, step, w) + self.rhs
        impulse -= self.matrix.multiply(x)  # now without contacts, and without what the solve left
        if step.dirichlet.projections is not None:
            impulse = step.dirichlet.project_free(impulse)
        mass_x = self.mass_times(state, state.x, self.work)
        left = net_impulse(state, state.x, mass_x, impulse, step.is_rotation_invariant)
        # the body gives way to the added impulse, so only a part of it was left in the last solve
        part, added = 1.0, self._added_moment
        if not first and (square := float(added @ added)) > 0.0:
            part = self._added_part + float(left[3:] @ added) / square
            part = min(max(part, PARTS[0]), PARTS[1])
        wanted = -left
        wanted[3:] /= part
        self._added_moment, self._added_part = wanted[3:].copy(), part
        motion = rigid_velocities(state, state.x, mass_x, wanted)
        return self.mass_times(state, motion, self._impulse), float(np.abs(motion).max(initial=0.0))

    def _moment_terms(
        self, state: BodyState, step: StepInput, base: NDArray[np.float64] | None
    ) -> MomentBalance | None:
        """Return the moment of the internal forces as a function of the solution, see `MomentBalance`.

        None if the body is so strained that its stiffness resists a rotation by more than `MAX_RESISTANCE` of its
        inertia.
        """
        if not step.is_rotation_invariant or step.dirichlet.projections is not None:
            return None
        x, p, gain = state.x, self.matrix.pattern, 1.0 + step.dt * step.alpha
        mass_x = self.mass_times(state, x, self.work).copy()
        impulse = self._beside_loads(state, step, np.zeros_like(x) if base is None else base) + self.rhs
        _, constant, _, inertia, _ = mass_kernels.rigid_residual(x, state.node_mass, mass_x, impulse)
        size = float(np.trace(inertia))
        if not np.linalg.det(inertia) > 1e-9 * size**3:  # nodes on a line
            return None
        arms, mass_arms, response = np.empty_like(x), np.empty_like(x), np.empty((len(x), 9))
        resistance = mass_kernels.moment_response(
            p.indptr, p.indices, self.matrix.blocks, state.mass, x, state.node_mass, mass_x, gain, arms, mass_arms,
            response,
        )  # fmt: skip
        rotation = gain * inertia
        for pull in step.pulls:
            arm = pull.weights @ arms[pull.nodes]
            turned = np.cross(
                np.eye(3), arm
            )  # velocity of the point in a rotation about each axis, row by row
            factor = step.dt * step.dt * pull.stiffness
            np.add.at(response, pull.nodes, (factor * pull.weights[:, None, None] * turned.T).reshape(-1, 9))
            part = factor * turned @ turned.T
            rotation, resistance = rotation + part, resistance - part
        if not np.abs(np.linalg.solve(inertia, resistance)).max() <= MAX_RESISTANCE * gain:
            return None
        return MomentBalance(constant, response, arms, mass_arms, inertia, rotation)

    def _beside_loads(self, state: BodyState, step: StepInput, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the impulses [n, 3] that change the momentum beside loads and springs if w is the velocity."""
        dt, x = step.dt, state.x
        np.multiply(w, 1.0 + dt * step.alpha, out=self.work)
        self.work -= state.v
        self.mass_times(state, self.work, self._impulse)
        np.multiply(step.force, dt, out=self.work)
        self._impulse -= self.work
        for pull in step.pulls:
            offset = pull.target - pull.weights @ (x[pull.nodes] + dt * w[pull.nodes])
            self._impulse[pull.nodes] -= dt * pull.stiffness * np.outer(pull.weights, offset)
        if step.dirichlet.projections is None:
            return self._impulse
        return step.dirichlet.project_free(self._impulse)
