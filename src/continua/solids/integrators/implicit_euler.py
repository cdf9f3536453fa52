"""Implicit Euler: stable for any step, first order, takes energy out of fast motion.

With x+ = x + dt v+ and the elastic force linearised at x, f(x+) = f(x) + dt K v+, the step solves

    (M + dt C + dt^2 K) v+ = M v + dt (f_ext - f(x)),     C = alpha M + beta K,

which is Weber's equation (2015) for v+ instead of the change of velocity. One linear solve a step.

The frozen rotations make the elastic force exert a small torque on the moved body, and an inexact solve a small
force. For a body that nothing holds, both are taken out again: a rigid motion is added so that momentum and angular
momentum change by the external force and torque alone, as they do in nature. Where contacts have had their say nothing
is added, since it could lead through what the body touches: the next step gets what is lacking as an impulse. See
docs/theory/time.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.linalg import LinearSolver
from continua.solids import mass_kernels
from continua.solids.elements import Elements
from continua.solids.integrators.implicit import Equation, ImplicitIntegrator, ImplicitStepper
from continua.solids.integrators.integrator import Matter, Solving, StepInput
from continua.solids.integrators.rigid import net_impulse, rigid_motion, rigid_velocities
from continua.solids.integrators.supports import spring_answers
from continua.timestepping import VelocityProjection

__all__ = ["ImplicitEuler"]


@dataclass(frozen=True)
class ImplicitEuler(ImplicitIntegrator):
    """Implicit Euler, the default: stable for any step, first order, calms fast motion.

    Attributes:
        newton: Most Newton iterations a step. One, the default, linearises the forces at the start of the step
            (Weber 2015, Georgii 2007). More solve the step's nonlinear equations with a line search, which very
            soft or fast bodies of a hyperelastic law need.
    """

    name = "implicit_euler"

    def stepper(self, elements: Elements, solver: LinearSolver) -> ImplicitEulerStepper:
        """Return what steps a body with these elements."""
        return ImplicitEulerStepper(elements, solver, self.newton)


class ImplicitEulerStepper(ImplicitStepper):
    """One body's implicit Euler; remembers the velocities of the last three steps to start solves from."""

    def __init__(self, elements: Elements, solver: LinearSolver, newton: int) -> None:
        super().__init__(elements, solver, newton)
        self._before = np.zeros((3, elements.node_count, 3))
        self.memory["velocities_before"] = self._before
        self.ways = np.zeros((2, elements.node_count, 3))
        self._impulse = np.zeros((elements.node_count, 3))
        self._touched = np.zeros(1)  # whether something touched the body in the last step
        self.memory["touched"] = self._touched
        self._owed = np.zeros(6)  # impulse and moment that the last step lacked
        self._lacking = np.zeros(6)
        self.memory["momentum_owed"] = self._owed
        self._after = np.zeros((elements.node_count, 3))

    def restart(self, velocities: NDArray[np.float64]) -> None:
        """Start solves from these velocities."""
        self._before[:] = velocities
        self._owed[:] = 0.0

    def solve(self, matter: Matter, step: StepInput) -> Solving:
        """Fill `positions` and `velocities`."""
        dt = step.dt
        np.multiply(step.force, dt, out=self.load)
        if self._owed.any():
            self.load += self._rigid_impulse(matter, self._owed)
        self._extrapolate(matter.v)
        equation = Equation(1.0 + dt * step.alpha, dt * (dt + step.beta), dt, dt * step.beta, dt)
        outcome = yield from self.solve_motion(matter, matter.v, step, equation, dt)
        contact = self.contact
        self._lacking[:] = 0.0
        if not step.held.any:
            self._keep_momentum(matter, step)
        mass_kernels.move.pick(self.matrix.pattern.parallel)(matter.x, self.solved, dt, self.positions)
        self.velocities = self.solved
        if contact is not None and contact.needs_projection:
            self._after[:] = self.solved
            yield VelocityProjection(self._after, self.inverse_masses(matter, step))
            self.velocities = self._after
        return outcome

    def accept(self, matter: Matter) -> None:
        """Take the step over, and remember the velocities before it."""
        self._touched[0] = self.contact is not None
        self._owed[:] = self._lacking
        mass_kernels.take_over.pick(self.matrix.pattern.parallel)(
            self.positions, self.velocities, self._before, matter.x, matter.v
        )

    def _extrapolate(self, v: NDArray[np.float64]) -> None:
        """Start the solve from the last velocities: a parabola through three of them, or a line where things hit.

        Velocities of inexact solves are rough, and a parabola makes that seven times worse. How much of the curve to
        believe, the solver finds out: it may go along the second and third differences.
        """
        curved = 0.0 if self._touched[0] else 1.0
        mass_kernels.extrapolate.pick(self.matrix.pattern.parallel)(
            v, self._before, curved, self.solved, self.ways
        )

    def _keep_momentum(self, matter: Matter, step: StepInput) -> None:
        """Leave the elastic forces without net force and torque: now by a rigid motion, or in the next step."""
        x, v = matter.x, matter.v
        gain = 1.0 + step.dt * step.alpha
        np.multiply(self.solved, gain, out=self.work)
        self.work -= v
        self.mass_times(matter, self.work, self._impulse)
        self._impulse -= self.load
        for pull in step.pulls:
            offset = pull.target - pull.weights @ (x[pull.nodes] + step.dt * self.solved[pull.nodes])
            self._impulse[pull.nodes] -= step.dt * pull.stiffness * np.outer(pull.weights, offset)
        self.mass_times(matter, x, self.work)
        impulse = step.held.free_part(self._impulse) if step.held.projections is not None else self._impulse
        if self.contact is not None:
            impulse = impulse - self.contact.impulse
            self._lacking[:] = -net_impulse(matter, x, self.work, impulse, step.follows_rotation)
            return
        self.solved += rigid_motion(
            matter,
            x,
            self.work,
            impulse,
            gain,
            step.follows_rotation,
            *spring_answers(step.pulls, x, step.dt),
        )

    def _rigid_impulse(self, matter: Matter, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return impulses [n, 3] that act like an impulse and a moment, and deform nothing."""
        self.mass_times(matter, matter.x, self.work)
        motion = rigid_velocities(matter, matter.x, self.work, wanted)
        return self.mass_times(matter, motion, np.empty_like(motion))
