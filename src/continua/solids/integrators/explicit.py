"""Explicit central differences: the cheapest step, symplectic, of second order, stable for short steps only.

    v' = v + dt/2 M^-1 F(x, v),     x+ = x + dt v',     v+ = v' + dt/2 M^-1 F(x+, v+),     F = f_ext - f(x) - C v

with lumped mass. Damping by mass is centred as in central differences (G11 in Georgii 2007); damping by stiffness is
explicit, with v+ in the last force predicted by an explicit half step. Contacts hold v' where it leads into a shape,
and v+ after the second half.

With a = alpha dt/2 and d = beta omega^2 dt/2 a mode of frequency omega is stable as long as

    (omega dt)^2 (1 + (1 - d)^2) < 4 (1 + a) + 4 (1 - d) ((1 - a) (1 - d) + d^2),

which is omega dt < 2 without damping by stiffness. The highest frequency (see `stability`) decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import PCG, BlockMatrix, BlockPattern, LinearSolver, SolveReport
from continua.numerics.stages import timed
from continua.solids import mass_kernels
from continua.solids.elements import Elements, System
from continua.solids.handles import Pull
from continua.solids.integrators.integrator import Integrator, Matter, Outcome, Solving, StepInput, Stepper
from continua.solids.integrators.stability import highest_frequency
from continua.solids.integrators.supports import add_pull_forces
from continua.timestepping import VelocityProjection, VelocitySystem

__all__ = ["Explicit", "LimitedIntegrator", "LimitedStepper"]

SAFETY = 0.9
"""Part of the stability limit that steps keep to, since the stiffness may grow until it is estimated again."""

OFTEN = 16
"""Parts of steps after which the highest frequency is estimated again."""

MOST = 10_000
"""Parts a step may be cut into for stability."""


@dataclass(frozen=True)
class LimitedIntegrator(Integrator):
    """What integrators share whose elastic forces are explicit: steps have a stability limit.

    Attributes:
        substeps: Whether a step above the limit is cut into parts below it; otherwise it is done as it is, and
            most likely fails.
    """

    lumped = True
    substeps: bool = True


class LimitedStepper(Stepper):
    """Keeps the highest frequency of the body, and cuts steps into parts."""

    when = 0.5

    def __init__(self, elements: Elements, solver: LinearSolver, substeps: bool) -> None:
        super().__init__(elements, solver)
        self.retries = substeps
        # the highest frequency [rad/s] (0: not known), the parts of steps since, the springs [N/m] it was found with
        self._known = np.zeros(3)
        self.memory["stability"] = self._known
        self._zero = np.zeros_like(self.positions)

    def restart(self, velocities: NDArray[np.float64]) -> None:
        """Look for the highest frequency anew."""
        self._known[:] = 0.0

    def material_changed(self) -> None:
        """Look for the highest frequency anew."""
        super().material_changed()
        self._known[:] = 0.0

    def limit(self, frequency: float, alpha: float, beta: float) -> float:
        """Return the longest stable step [s] of a body with this highest frequency [rad/s]."""
        raise TypeError(f"{type(self).__name__} has no limit")

    def stable_dt(self, matter: Matter, damping: tuple[float, float], pulls: Sequence[Pull]) -> float:
        """Return the longest stable step [s]."""
        springs = sum(pull.stiffness for pull in pulls)
        known = self._known
        if known[0] == 0.0 or known[1] >= OFTEN or known[2] != springs:
            known[0] = highest_frequency(self.elements, matter.x, matter.mass, matter.node_mass, pulls)
            known[1:] = 0.0, springs
        alpha, beta = damping
        if self.damper is not None:
            beta += self.damper.time  # near rest it is like damping by stiffness
        return self.limit(known[0], alpha, beta) if known[0] > 0.0 else np.inf

    def parts(self, matter: Matter, dt: float, damping: tuple[float, float], pulls: Sequence[Pull]) -> int:
        """Return into how many parts stability cuts a step of dt [s]."""
        if not self.retries:
            return 1
        limit = self.stable_dt(matter, damping, pulls)
        parts = max(1, ceil(dt / (SAFETY * limit)))
        if parts > MOST:
            raise InputError(
                f"dt = {dt:g} s is {parts} times the longest stable step of an explicit integrator, "
                f"{limit:.3g} s; take a shorter dt or an implicit integrator"
            )
        return parts

    def accept(self, matter: Matter) -> None:
        """Take the step over."""
        super().accept(matter)
        self._known[1] += 1.0


@dataclass(frozen=True)
class Explicit(LimitedIntegrator):
    """Central differences with lumped mass: cheap, symplectic, of second order, stable for short steps only.

    Attributes:
        substeps: Whether a step above the stability limit is cut into parts below it; otherwise it is done as it
            is, and most likely fails.
    """

    name = "explicit"

    def stepper(self, elements: Elements, solver: LinearSolver) -> ExplicitStepper:
        """Return what steps a body with these elements."""
        return ExplicitStepper(elements, solver, self.substeps)


class ExplicitStepper(LimitedStepper):
    """One body's explicit steps."""

    def __init__(self, elements: Elements, solver: LinearSolver, substeps: bool) -> None:
        super().__init__(elements, solver, substeps)
        self._inner = np.zeros_like(
            self.positions
        )  # all but the external forces, at the end of the last part
        self._turning: BlockMatrix | None = None
        self._at_start = False
        self._half = np.zeros_like(self.positions)
        self._reaction = np.zeros_like(self.positions)
        self._lumped = BlockMatrix(BlockPattern.of_diagonal(len(self.positions)))
        self._lumped_solver = PCG(rtol=1e-12, preconditioner="jacobi")
        self._lumped_solver.setup(self._lumped)

    def limit(self, frequency: float, alpha: float, beta: float) -> float:
        """Return the longest stable step [s] of a body with this highest frequency [rad/s]."""

        def stable(dt: float) -> bool:
            a, d = 0.5 * alpha * dt, 0.5 * beta * frequency**2 * dt
            left = (frequency * dt) ** 2 * (1.0 + (1.0 - d) ** 2)
            return left < 4.0 * (1.0 + a) + 4.0 * (1.0 - d) * ((1.0 - a) * (1.0 - d) + d * d)

        good, bad = 0.0, 2.0 / frequency
        while beta > 0.0 and stable(bad):
            good, bad = bad, 2.0 * bad
        if beta == 0.0:
            return bad
        for _ in range(60):
            middle = 0.5 * (good + bad)
            good, bad = (middle, bad) if stable(middle) else (good, middle)
        return good

    def parts(self, matter: Matter, dt: float, damping: tuple[float, float], pulls: Sequence[Pull]) -> int:
        """Return into how many parts stability cuts a step of dt [s]."""
        self._at_start = False
        return super().parts(matter, dt, damping, pulls)

    def solve(self, matter: Matter, step: StepInput) -> Solving:
        """Fill `positions` and `velocities`."""
        dt, mass = step.dt, matter.node_mass[:, None]
        part, keep = 0.5 * dt, 1.0 - 0.5 * dt * step.alpha
        gain = 1.0 + 0.5 * dt * step.alpha
        if not self._at_start:
            self._inner_forces(matter, step, matter.x)
        self._at_start = False
        half = self._half
        force = self._inner + step.force - self._drag(step, matter.v)
        np.add(matter.v, part * force / mass, out=half)
        half /= gain
        step.held.impose(half)
        answer = yield self._ask(matter, step, half)
        contact = answer.contact
        self._reaction = mass * (gain * half - matter.v) / part - force
        if contact is not None:
            self._reaction -= contact.impulse / part
        mass_kernels.move.pick(self.matrix.pattern.parallel)(matter.x, half, dt, self.positions)
        self._inner_forces(matter, step, self.positions)
        force = self._inner + step.force
        v = half  # what damping by stiffness acts on: first the half step's velocities, then the predicted ones
        for _ in range(2 if step.beta > 0.0 or self._turning is not None else 1):
            v = keep * half + part * (force - self._drag(step, v)) / mass
            step.held.impose(v)
        self.velocities[:] = v
        if contact is not None:
            yield VelocityProjection(self.velocities, self.inverse_masses(matter, step))
        count = 0 if contact is None else contact.count
        return Outcome(SolveReport(0, min(answer.report.residual, 0.0), True), 1, count, answer.failure)

    def _ask(self, matter: Matter, step: StepInput, half: NDArray[np.float64]) -> VelocitySystem:
        """Return the system of the half step, whose solution without contacts is known."""
        gain = 1.0 + 0.5 * step.dt * step.alpha
        self._lumped.blocks[:, ::4] = (gain * matter.node_mass)[:, None]
        rhs = gain * matter.node_mass[:, None] * half
        return VelocitySystem(
            self._lumped,
            rhs,
            half,
            rhs,
            step.held.fixed,
            step.held.projections,
            self._lumped_solver,
            lambda: SolveReport(0, 0.0, True),
            None,
            0.5 * step.dt,
        )

    def accept(self, matter: Matter) -> None:
        """Take the step over; its last forces are the first ones of the next part."""
        super().accept(matter)
        self._at_start = True

    def reactions(self) -> NDArray[np.float64]:
        """Return the force [N] that held the nodes in the first half of the last step, shape [n, 3]."""
        return self._reaction

    @timed("forces")
    def _inner_forces(self, matter: Matter, step: StepInput, x: NDArray[np.float64]) -> None:
        """Fill `_inner` with the forces of elements and springs at x, and the matrices of damping."""
        self._turning = None if self.damper is None else self.damper.at(x)
        system = System(self.matrix, self._inner, matter.mass, 0.0, 1.0, 1.0, self._zero, self._zero)
        self.system.fill(system, x, step.constant_stiffness, ())
        add_pull_forces(step.pulls, x, 1.0, self._inner)

    def _drag(self, step: StepInput, v: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """Return the force of damping at velocities v: beta K v, and of the damping that turns along."""
        v = np.ascontiguousarray(v)
        force = step.beta * self.matrix.multiply(v) if step.beta > 0.0 else 0.0
        return force if self._turning is None else force + self._turning.multiply(v)
