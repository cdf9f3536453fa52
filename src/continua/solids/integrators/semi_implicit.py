"""Irving's integrator (2007): elastic forces explicit, damping implicit, contact between the two halves.

    1.  v' = v + dt/2 a(x, v')                  a half step of implicit Euler, without contact
    3.  x' = x + dt v'
    4.  collisions make x+ of x' and v* of v
    5.  v'' = v* + dt/2 a((x + x+)/2, v'')       another one, with the normal velocities of colliding nodes held
    6.  v+ = 2 v'' - v*                          both together are the trapezoidal rule
    7.  friction acts on v+

(Steps 2 and 8 are for self-collision.) Constant acceleration is exact, and without damping it is the scheme of central
differences: energy is kept on average up to omega dt = 2, with omega the highest frequency. Damping c = alpha + beta
omega^2 only makes that limit longer: dt = (c + sqrt(c^2 + 4 omega^2))/omega^2. Mass is lumped, as in the thesis.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from continua.linalg import LinearSolver, SolveReport
from continua.solids import mass_kernels
from continua.solids.elements import Elements, System
from continua.solids.integrators.contact_hooks import ContactHooks
from continua.solids.integrators.explicit import LimitedIntegrator, LimitedStepper
from continua.solids.integrators.integrator import Matter, Outcome, StepInput
from continua.solids.integrators.supports import add_pull_forces

__all__ = ["SemiImplicit"]


@dataclass(frozen=True)
class SemiImplicit(LimitedIntegrator):
    """The integrator of Irving (2007): elastic forces explicit, damping implicit, exact friction on fixed shapes.

    For bodies that are strongly damped and slide or stick on obstacles. Contact keeps nodes out of shapes altogether
    instead of pushing them back with a penalty.

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

    def solve(self, matter: Matter, step: StepInput) -> Outcome:
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
        first = self._half_step(matter, step, matter.x, start, held.fixed, held.projections)
        hooks = ContactHooks(step.touch(half), held)
        mass_kernels.move(matter.x, half, dt, self.positions)
        if len(hooks):
            hooks.collide(matter.x, dt, self.positions, start)
        middle = 0.5 * (matter.x + self.positions)
        half[:] = start
        second = self._half_step(matter, step, middle, start, *hooks.constrain(held))
        np.multiply(half, 2.0, out=self.velocities)
        self.velocities -= start
        if len(hooks):
            lost = (self._rhs - self.matrix.multiply(half)) / matter.node_mass[:, None]
            hooks.rub(self.velocities, lost)
        held.impose(self.velocities)
        worst = max(first.residual, second.residual) if first.residual >= 0.0 else first.residual
        solve = SolveReport(
            first.iterations + second.iterations,
            worst,
            first.converged and second.converged,
            warnings=first.warnings + second.warnings,
        )
        return Outcome(solve, 2, len(hooks))

    def reactions(self) -> NDArray[np.float64]:
        """Return the force [N] that held the nodes in the last step, shape [n, 3]."""
        return (self.matrix.multiply(self._half) - self._rhs) / (0.5 * self._dt)

    def _half_step(
        self,
        matter: Matter,
        step: StepInput,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        fixed: NDArray[np.uint8],
        projections: NDArray[np.float64] | None,
    ) -> SolveReport:
        """Fill `_half` with v + dt/2 a(x, half): elastic forces at x, damping by the velocities looked for."""
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
        self.system.tell_solver(fixed, projections)
        return self.solver.solve(self._rhs, self._half, self._load)
