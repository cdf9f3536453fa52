"""Explicit integrators of mass-spring systems: forward and symplectic Euler, Verlet, Runge-Kutta of order 2 and 4.

They need forces only, no matrix. Each states its amplification matrix for the oscillator x'' = -omega^2 x - c x', from
which the longest stable step follows: the eigenvalues must not leave the unit disk. Without damping, forward Euler and
the midpoint rule gain energy at every step size.

Contacts act on the mean velocity of the step, and project the velocities at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from continua.deformable.boundary_conditions.constraints import Pull
from continua.deformable.elements import Elements
from continua.deformable.integrators.explicit import (
    MAX_SUBSTEPS,
    STABILITY_FACTOR,
    ConditionallyStableIntegrator,
    ConditionallyStableStepper,
)
from continua.deformable.integrators.integrator import BodyState, SolveCoroutine, StepInput, StepOutcome
from continua.deformable.integrators.spring_terms import add_pull_forces
from continua.deformable.integrators.stability import frequency_bound, highest_frequency, stiffness_matrix
from continua.errors import InputError
from continua.linalg import PCG, BlockMatrix, BlockPattern, LinearSolver, SolveReport
from continua.springs.spring_elements import SpringElements
from continua.timestepping import VelocitySystem

__all__ = ["ForwardEuler", "RungeKutta2", "RungeKutta4", "SymplecticEuler", "Verlet", "longest_step"]

FREQUENCY_INTERVAL = 64
"""Substeps between estimates of the highest frequency."""

GROWTH = 2e-14
"""Growth of an amplitude per step that counts as rounding."""

Acceleration = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""Returns the acceleration [m/s2] at positions and velocities."""


@dataclass(frozen=True)
class ForceIntegrator(ConditionallyStableIntegrator):
    """Base of explicit integrators that need forces only.

    Attributes:
        substeps: Whether a step above the stability limit is divided into stable substeps; otherwise it is done as it
            is, with a warning, and most likely fails.
    """

    title: ClassVar[str]

    def stepper(self, elements: Elements, solver: LinearSolver) -> ForceStepper:
        """Return the stepper of a body with these elements."""
        if not isinstance(elements, SpringElements):
            raise InputError(
                f"{type(self).__name__} is for springs; other bodies take Explicit or SemiImplicit"
            )
        return ForceStepper(elements, solver, self)

    @staticmethod
    def amplification(dt: float, omega: float, c: float) -> NDArray[np.float64]:
        """Return the matrix of a step of dt [s] of (x, v) with x'' = -omega^2 x - c x'."""
        raise TypeError("each method has its own")

    @staticmethod
    def advance(
        x: NDArray[np.float64], v: NDArray[np.float64], dt: float, acceleration: Acceleration
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions and velocities after dt [s]."""
        raise TypeError("each method has its own")


def _runge_kutta(dt: float, omega: float, c: float, order: int) -> NDArray[np.float64]:
    A = dt * np.array([[0.0, 1.0], [-(omega**2), -c]])
    total, term = np.eye(2), np.eye(2)
    for k in range(1, order + 1):
        term = term @ A / k
        total = total + term
    return total


@dataclass(frozen=True)
class ForwardEuler(ForceIntegrator):
    """x+ = x + dt v, v+ = v + dt a(x, v). First order; it gains energy unless damping outweighs that."""

    name = "forward_euler"
    title = "forward Euler"

    @staticmethod
    def amplification(dt: float, omega: float, c: float) -> NDArray[np.float64]:
        """Return the matrix of a step of the oscillator."""
        return _runge_kutta(dt, omega, c, 1)

    @staticmethod
    def advance(
        x: NDArray[np.float64], v: NDArray[np.float64], dt: float, acceleration: Acceleration
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions and velocities after dt [s]."""
        return x + dt * v, v + dt * acceleration(x, v)


@dataclass(frozen=True)
class SymplecticEuler(ForceIntegrator):
    """v+ = v + dt a(x, v), x+ = x + dt v+. First order, symplectic, stable up to omega dt = 2 without damping."""

    name = "symplectic_euler"
    title = "symplectic Euler"

    @staticmethod
    def amplification(dt: float, omega: float, c: float) -> NDArray[np.float64]:
        """Return the matrix of a step of the oscillator."""
        a, b = -dt * omega**2, 1.0 - dt * c
        return np.array([[1.0 + dt * a, dt * b], [a, b]])

    @staticmethod
    def advance(
        x: NDArray[np.float64], v: NDArray[np.float64], dt: float, acceleration: Acceleration
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions and velocities after dt [s]."""
        after = v + dt * acceleration(x, v)
        return x + dt * after, after


@dataclass(frozen=True)
class Verlet(ForceIntegrator):
    """Verlet's method in its velocity form: second order, symplectic, stable up to omega dt = 2 without damping.

    The damping at the end of a step takes the velocity that the first acceleration predicts, so that a step stays
    explicit.
    """

    name = "verlet"
    title = "Verlet's method"

    @staticmethod
    def amplification(dt: float, omega: float, c: float) -> NDArray[np.float64]:
        """Return the matrix of a step of the oscillator."""
        start = np.array([-(omega**2), -c])
        position = np.array([1.0, dt]) + 0.5 * dt**2 * start
        predicted = np.array([0.0, 1.0]) + dt * start
        end = -(omega**2) * position - c * predicted
        return np.array([position, np.array([0.0, 1.0]) + 0.5 * dt * (start + end)])

    @staticmethod
    def advance(
        x: NDArray[np.float64], v: NDArray[np.float64], dt: float, acceleration: Acceleration
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions and velocities after dt [s]."""
        a = acceleration(x, v)
        position = x + dt * v + (0.5 * dt * dt) * a
        b = acceleration(position, v + dt * a)
        return position, v + (0.5 * dt) * (a + b)


@dataclass(frozen=True)
class RungeKutta2(ForceIntegrator):
    """The midpoint rule: second order; without damping it gains energy slowly at every step size."""

    name = "rk2"
    title = "the midpoint rule"

    @staticmethod
    def amplification(dt: float, omega: float, c: float) -> NDArray[np.float64]:
        """Return the matrix of a step of the oscillator."""
        return _runge_kutta(dt, omega, c, 2)

    @staticmethod
    def advance(
        x: NDArray[np.float64], v: NDArray[np.float64], dt: float, acceleration: Acceleration
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions and velocities after dt [s]."""
        half = 0.5 * dt
        middle = v + half * acceleration(x, v)
        return x + dt * middle, v + dt * acceleration(x + half * v, middle)


@dataclass(frozen=True)
class RungeKutta4(ForceIntegrator):
    """The classical Runge-Kutta method: fourth order, four evaluations, stable up to omega dt = 2.83."""

    name = "rk4"
    title = "the Runge-Kutta method"

    @staticmethod
    def amplification(dt: float, omega: float, c: float) -> NDArray[np.float64]:
        """Return the matrix of a step of the oscillator."""
        return _runge_kutta(dt, omega, c, 4)

    @staticmethod
    def advance(
        x: NDArray[np.float64], v: NDArray[np.float64], dt: float, acceleration: Acceleration
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions and velocities after dt [s]."""
        half = 0.5 * dt
        a1 = acceleration(x, v)
        v2 = v + half * a1
        a2 = acceleration(x + half * v, v2)
        v3 = v + half * a2
        a3 = acceleration(x + half * v2, v3)
        v4 = v + dt * a3
        a4 = acceleration(x + dt * v3, v4)
        sixth = dt / 6.0
        return x + sixth * (v + 2.0 * (v2 + v3) + v4), v + sixth * (a1 + 2.0 * (a2 + a3) + a4)


def _radius(A: NDArray[np.float64]) -> float:
    """Return the spectral radius of a 2 x 2 matrix."""
    half = 0.5 * (A[0, 0] + A[1, 1])
    determinant = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    square = half * half - determinant
    return abs(half) + sqrt(square) if square >= 0.0 else sqrt(determinant)


def longest_step(
    method: type[ForceIntegrator], frequency: float, alpha: float = 0.0, beta: float = 0.0
) -> float:
    """Return the longest stable step [s] for all frequencies up to `frequency` [rad/s]; 0 if no step is stable.

    The damping of a mode of frequency omega is alpha + beta omega^2.
    """
    if not frequency > 0.0:
        return inf
    longest = inf
    for part in (1.0, 0.7, 0.4, 0.2, 0.1):  # the highest frequency decides but for strong damping
        omega = part * frequency
        c = alpha + beta * omega**2

        def stable(dt: float, omega: float = omega, c: float = c) -> bool:
            return _radius(method.amplification(dt, omega, c)) <= 1.0 + GROWTH

        good, bad = 0.0, 1e-3 / max(omega, c)
        if not stable(bad):
            return 0.0
        while stable(bad) and bad < 1e6 / omega:
            good, bad = bad, 1.1 * bad
        for _ in range(50):
            middle = 0.5 * (good + bad)
            good, bad = (middle, bad) if stable(middle) else (good, middle)
        longest = min(longest, good)
    return longest


class ForceStepper(ConditionallyStableStepper):
    """Explicit steps of one body of springs."""

    def __init__(self, elements: SpringElements, solver: LinearSolver, method: ForceIntegrator) -> None:
        super().__init__(elements, solver, method.substeps)
        self._springs, self._method = elements, method
        self._force = np.zeros_like(self.positions)
        self._reaction = np.zeros_like(self.positions)
        self._lumped = BlockMatrix(BlockPattern.of_diagonal(len(self.positions)))
        self._lumped_solver = PCG(rtol=1e-12, preconditioner="jacobi")
        self._lumped_solver.setup(self._lumped)
        self._limit = inf

    def limit(self, frequency: float, alpha: float, beta: float) -> float:
        """Return the longest stable step [s] of a body with this highest frequency [rad/s]; 0 if none is stable."""
        return longest_step(type(self._method), frequency, alpha, beta)

    def stable_dt(self, state: BodyState, damping: tuple[float, float], pulls: Sequence[Pull]) -> float:
        """Return the longest stable step [s]."""
        self._estimate[0] = 0.0
        return self._present_limit(state, damping, pulls)

    def _present_limit(self, state: BodyState, damping: tuple[float, float], pulls: Sequence[Pull]) -> float:
        """Return the longest stable step [s]; the highest frequency may be some substeps old."""
        springs = sum(pull.stiffness for pull in pulls)
        estimate = self._estimate
        if estimate[0] == 0.0 or estimate[1] >= FREQUENCY_INTERVAL or estimate[2] != springs:
            stiffness = stiffness_matrix(self.elements, state.x, state.mass, pulls)
            estimate[0] = highest_frequency(stiffness, state.node_mass)
            estimate[1:] = 0.0, springs, frequency_bound(stiffness, state.node_mass)
        alpha, beta = damping
        if self.damper is not None:
            beta += self.damper.time
        return self.limit(estimate[0], alpha, beta)

    def substep_count(
        self, state: BodyState, dt: float, damping: tuple[float, float], pulls: Sequence[Pull]
    ) -> int:
        """Return the number of substeps that stability requires in a step of dt [s]."""
        self._limit = self._present_limit(state, damping, pulls)
        if not self.retries or self._limit == 0.0:
            return 1
        count = max(1, ceil(dt / (STABILITY_FACTOR * self._limit)))
        if count > MAX_SUBSTEPS:
            raise InputError(
                f"dt = {dt:g} s is {count} times the longest stable step of {self._method.title}, {self._limit:.3g} s; "
                "take a shorter dt or an implicit integrator"
            )
        return count

    def solve(self, state: BodyState, step: StepInput) -> SolveCoroutine:
        """Fill `positions` and `velocities`."""
        dt, mass, dirichlet = step.dt, state.node_mass[:, None], step.dirichlet
        damped = self.damper is not None
        work = self._force

        def acceleration(x: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
            work[:] = step.force
            self._springs.add_forces(x, v, work, damped)
            add_pull_forces(step.pulls, x, 1.0, work)
            if step.beta > 0.0:
                drag = self.damping_matrix(x, step.beta)
                assert drag is not None
                if damped:  # `drag` holds both, and the springs have damped already
                    assert self.damper is not None
                    drag.blocks -= self.damper.at(x).blocks
                work[:] -= drag.multiply(np.ascontiguousarray(v))
            a = work / mass
            if step.alpha > 0.0:
                a -= step.alpha * v
            if dirichlet.any:
                dirichlet.zero_fixed(a)
            return a

        start = state.v.copy()
        dirichlet.apply(start)
        x, v = self._method.advance(state.x, start, dt, acceleration)
        self._reaction = mass * (v - state.v) / dt - self._net_force(state, step, damped)
        mean = (x - state.x) / dt
        self._lumped.blocks[:, ::4] = mass
        free = mean.copy()
        rhs = dirichlet.loads(mass * mean)
        system = VelocitySystem(
            self._lumped,
            rhs,
            mean,
            rhs,
            dirichlet.fixed,
            dirichlet.projections,
            self._lumped_solver,
            lambda: SolveReport(0, 0.0, True),
            effective_dt=dt,
        )
        answer = yield system
        contact = answer.contact
        if contact is None:
            self.positions, self.velocities = x, v
        else:
            mean = system.x
            self.positions = state.x + dt * mean
            self.velocities = v + (mean - free)
            self._reaction -= contact.impulse / dt
            if contact.needs_projection:
                yield from self.project_contacts(state, step, self.velocities)
        count = 0 if contact is None else contact.count
        residual = min(answer.report.residual, 0.0)
        report = SolveReport(0, residual, True, warnings=self._warnings(dt))
        return StepOutcome(report, 1, count, answer.failure)

    def _net_force(self, state: BodyState, step: StepInput, damped: bool) -> NDArray[np.float64]:
        """Return the force without reactions at the start of a step [N], where something is held."""
        if not step.dirichlet.any:
            return self._zero
        force = step.force - step.alpha * state.node_mass[:, None] * state.v
        self._springs.add_forces(state.x, state.v, force, damped)
        add_pull_forces(step.pulls, state.x, 1.0, force)
        return force

    def _warnings(self, dt: float) -> tuple[str, ...]:
        if self._limit == 0.0:
            return (
                f"{self._method.title} is unstable at every step without enough damping: the motion gains energy; "
                "take symplectic Euler, Verlet or an implicit integrator",
            )
        if dt > self._limit:
            return (
                f"dt = {dt:g} s is unstable: the longest stable step of {self._method.title} is {self._limit:.3g} s",
            )
        return ()

    def reactions(self) -> NDArray[np.float64]:
        """Return the reaction forces [N] of the last step, shape [n, 3]."""
        return self._reaction
