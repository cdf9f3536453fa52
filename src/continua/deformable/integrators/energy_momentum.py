"""The energy-momentum method of Simo and Tarnow (1992) with the discrete gradient of Gonzalez (2000).

    M (v+ - v) = dt (f_ext - f(x, x+) - C w),     w = (x+ - x)/dt = (v + v+)/2

with f(x, x+) the discrete gradient of the elastic energy (see `discrete_gradient`). Without damping and loads the
energy is conserved to the tolerance of Newton's iteration, momentum and angular momentum to round-off. With w as the
unknown this is

    (M + dt/2 C) w + dt/2 f(x, x + dt w) = M v + dt/2 f_ext.

The equation has no potential, and its tangent is not symmetric. Newton's iteration takes the symmetric part that
belongs to the mean stress, dt^2/4 K at the mean deformation, and ends by the residual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.deformable import mass_kernels
from continua.deformable.convergence import force_floor
from continua.deformable.elements import AssembledSystem, DiscreteGradient, Elements
from continua.deformable.integrators.implicit import ImplicitIntegrator
from continua.deformable.integrators.integrator import BodyState, SolveCoroutine, StepInput
from continua.deformable.integrators.newmark import Newmark, NewmarkStepper
from continua.deformable.integrators.spring_terms import add_pull_forces, stiffen_pulls
from continua.linalg import BlockMatrix, LinearSolver, SolveReport
from continua.materials import Law

__all__ = ["EnergyMomentum"]

_RTOL = 1e-8  # residual at which Newton's iteration ends, relative to the largest change of momentum or load of a node
_SMALLER = 0.9  # part of the residual along an increment that may be left
_SHORTEST = 2.0**-10  # part of an increment
_PATIENCE = 8  # iterations without half of the residual after which the iteration is given up


@dataclass(frozen=True)
class EnergyMomentum(ImplicitIntegrator):
    """The energy-momentum method: second order; conserves energy, momentum and angular momentum at any amplitude.

    Attributes:
        newton: Maximum number of Newton iterations per step. A step that needs more is repeated in substeps.
    """

    name = "energy_momentum"
    keeps_volumes = False  # projections change the energy
    newton: int = 30

    def stepper(self, elements: Elements, solver: LinearSolver) -> EnergyMomentumStepper:
        """Return the stepper of a body with these elements."""
        return EnergyMomentumStepper(elements, solver, self.newton)


class EnergyMomentumStepper(NewmarkStepper):
    """Energy-momentum steps of one body; velocities follow from the mean velocity as with average acceleration."""

    def __init__(self, elements: Elements, solver: LinearSolver, newton: int) -> None:
        super().__init__(elements, solver, Newmark(newton=newton))
        self._gradient: DiscreteGradient | None = None
        self._rounding_amplification = 1.0
        self._largest_load = 0.0
        self._at = np.zeros_like(self.positions)
        self._known = np.zeros_like(self.positions)
        self._inertia = np.zeros_like(self.positions)
        self._push = np.zeros_like(self.positions)
        self._none = np.zeros_like(self.positions)

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every element, shape [m, k]."""
        super().set_law(law, constants)
        if law.constant_stiffness:
            self._gradient = None
            return
        if self._gradient is None:
            self._gradient = self.elements.discrete_gradient()
        self._gradient.set_law(law, constants)
        self._rounding_amplification = law.rounding_amplification

    def solve(self, state: BodyState, step: StepInput) -> SolveCoroutine:
        """Fill `positions` and `velocities`."""
        if step.constant_stiffness:  # the mean of the forces is the discrete gradient
            return (yield from super().solve(state, step))
        assert self._gradient is not None
        dt, w = step.dt, self.solved
        self._v[:] = state.v
        if step.dirichlet.any:
            self._start_driven(step)
        np.subtract(self._before[0], self._before[1], out=w)
        w *= 0.5
        w += self._v
        step.dirichlet.apply(w)
        self._weight, self._last = 0.5 * dt, self._none
        self.system.invalidate()
        self.contact = None
        self._push[:] = 0.0
        np.multiply(step.force, 0.5 * dt, out=self.load)
        self._largest_load = float(np.abs(self.load).max(initial=0.0))
        np.add(self.mass_times(state, self._v, self._mass_v), self.load, out=self._known)
        self._gradient.begin(state.x)
        drag = self.damping_matrix(state.x + (0.5 * dt) * w, step.beta)
        self._linearise(state, step, w, drag)
        outcome = yield from self._iterate(state, step, drag)
        self.elements.inverted = self._gradient.inverted
        self._finish(step)
        if self.contact is not None:
            yield from self._correct_contact_velocities(state, step)
        elif not step.dirichlet.any and not step.pulls:
            self._correct_momentum(state, step)
        mass_kernels.advance_positions.variant(self.matrix.pattern.parallel)(state.x, w, dt, self.positions)
        return outcome

    def _iterate(self, state: BodyState, step: StepInput, drag: BlockMatrix | None) -> SolveCoroutine:
        """Move `solved` to the solution by Newton increments."""
        w = self.solved
        iterations, worst, converged, warnings, failure = 0, 0.0, True, self._notes(), ""
        best, best_at = np.inf, 0
        for iteration in range(1, self.newton + 1):
            direction = np.zeros_like(w)
            request = self._ask(step, direction, w)
            answer = yield request
            step.dirichlet.set_coefficients(request.x, direction)
            self.load[:] = 0.0  # only the first increment is relative to the load; the others to what is left
            self._set_contact(answer.contact)
            report = answer.report
            iterations += report.iterations
            worst, converged = max(worst, report.residual), converged and report.converged
            warnings += report.warnings
            if answer.failure or not report.residual >= 0.0:
                solve = SolveReport(iterations, report.residual, report.converged, warnings=warnings)
                return self._outcome(solve, iteration, answer.failure)
            self._push[:] = 0.0 if self.contact is None else self.contact.impulse
            self._advance(state, step, w, direction, drag)
            left = self._residual(state, step, w)
            if left <= 1.0:
                break
            move = step.dt * float(np.abs(direction).max())
            if self.contact is not None and move <= step.position_tolerance:
                break
            if left < 0.5 * best:
                best, best_at = left, iteration
            if iteration in (self.newton, best_at + _PATIENCE):
                failure = f"Newton's iteration stopped at {left:.1e} times its tolerance after {iteration} iterations"
                break
        return self._outcome(SolveReport(iterations, worst, converged, warnings=warnings), iteration, failure)

    def _notes(self) -> tuple[str, ...]:
        if self.elements.conservative:
            return ()
        return (
            f"the forces of {type(self.elements).__name__} are not the gradient of an energy; EnergyMomentum conserves "
            "the energy of the law at the quadrature points instead",
        )

    def _advance(
        self,
        state: BodyState,
        step: StepInput,
        w: NDArray[np.float64],
        direction: NDArray[np.float64],
        drag: BlockMatrix | None,
    ) -> None:
        """Move w along the direction as far as the residual along it falls, and linearise there."""
        start = w.copy()
        fall = float(np.vdot(self.rhs, direction) + np.vdot(self._push, direction))
        length = 1.0
        while True:
            np.multiply(direction, length, out=w)
            w += start
            self._linearise(state, step, w, drag)
            rest = float(np.vdot(self.rhs, direction) + np.vdot(self._push, direction))
            if (
                abs(rest) <= _SMALLER * abs(fall)
                or length <= _SHORTEST
                or self._residual(state, step, w) <= 1.0
            ):
                return
            length *= 0.5

    def _linearise(
        self, state: BodyState, step: StepInput, w: NDArray[np.float64], drag: BlockMatrix | None
    ) -> None:
        """Fill the matrix, and `rhs` with the residual without contacts, at w."""
        assert self._gradient is not None
        dt = step.dt
        c_mass, c_force = 1.0 + 0.5 * dt * step.alpha, 0.5 * dt
        np.multiply(w, dt, out=self._at)
        self._at += state.x
        np.multiply(w, -c_mass, out=self._inertia)
        self._gradient.assemble(
            self._at,
            AssembledSystem(
                matrix=self.matrix,
                rhs=self.rhs,
                mass=state.mass,
                c_mass=c_mass,
                c_stiffness=0.5 * dt * c_force,
                dt=c_force,
                velocities=self._inertia,
                load=self._known,
            ),
        )
        np.multiply(w, 0.5 * dt, out=self._at)
        self._at += state.x  # the middle of the step, where springs act
        add_pull_forces(step.pulls, self._at, c_force, self.rhs)
        stiffen_pulls(self.matrix, step.pulls, 0.5 * dt * c_force)
        if drag is not None:
            self.rhs -= c_force * drag.multiply(w)
            self.matrix.blocks += c_force * drag.blocks
        self.matrix.positions = self._at

    def _residual(self, state: BodyState, step: StepInput, w: NDArray[np.float64]) -> float:
        """Return the largest residual of a free component, relative to its tolerance."""
        free = np.abs(step.dirichlet.project_free(self.rhs + self._push)).max(axis=1)
        np.subtract(w, self._v, out=self.work)
        change = self.mass_times(state, self.work, self._inertia)
        scale = max(self._largest_load, float(np.abs(change).max(initial=0.0)))
        floor = (
            (2.0 / step.dt)
            * self._rounding_amplification
            * force_floor(self.matrix, self._at, np.abs(self._push))
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = free / np.maximum(_RTOL * scale, floor)
        return float(np.where(free == 0.0, 0.0, ratio).max(initial=0.0))
