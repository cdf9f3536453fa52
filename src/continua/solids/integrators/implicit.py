"""What the implicit integrators share: one nonlinear equation for the mean velocity w over a step.

With x+ = x + dt w the step asks for

    c_mass M w + c_damping K(x) w + c_drag D(x) w + c_force f(x + dt w) = b,

where f is the elastic force, D the matrix of damping that turns along (if there is any), and b is known. The first
solve linearises f at x. If more Newton iterations are allowed they go on from there by increments with a line search,
down the incremental potential

    c_mass/2 w.M w + c_damping/2 w.K(x) w + c_force/dt E(x + dt w) - b.w,

whose gradient the equation is (E is the elastic energy; damping by stiffness keeps the stiffness of the start, so that
it has a potential too).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import BlockMatrix, LinearSolver, SolveReport
from continua.numerics.stages import timed
from continua.solids.elements import Elements, System
from continua.solids.integrators.integrator import Integrator, Matter, Outcome, Solving, StepInput, Stepper
from continua.solids.integrators.supports import (
    add_pull_forces,
    pull_energy,
    stiffen_pulls,
)
from continua.solids.newton import search_line
from continua.timestepping import ContactResult, VelocitySystem
from continua.values import isfinite

__all__ = ["Equation", "ImplicitIntegrator", "ImplicitStepper"]

UNSETTLED = 0.1
"""Part of the size of an element: when Newton's last move is longer, the step has failed."""


@dataclass(frozen=True)
class Equation:
    """The factors of the equation of a step (see the module)."""

    c_mass: float
    c_stiffness: float
    c_force: float
    c_damping: float
    c_drag: float = 0.0


@dataclass(frozen=True)
class ImplicitIntegrator(Integrator):
    """What implicit integrators share.

    Attributes:
        newton: Most Newton iterations a step. One takes the forces as linear over the step. More solve the step's
            nonlinear equations, with a line search; they end when no node moves any more.
    """

    newton: int = 1

    def __post_init__(self) -> None:
        if (
            isinstance(self.newton, bool)
            or not isfinite(self.newton)
            or not 1 <= self.newton == int(self.newton)
        ):
            raise InputError(f"newton must be a whole number of at least 1, not {self.newton}")


class ImplicitStepper(Stepper):
    """Solves the equation of an implicit step."""

    def __init__(self, elements: Elements, solver: LinearSolver, newton: int) -> None:
        super().__init__(elements, solver)
        n = elements.node_count
        self.newton = newton
        self.solved = np.zeros((n, 3))  # the mean velocity w
        self.rhs = np.zeros((n, 3))
        self.load = np.zeros((n, 3))
        self.work = np.zeros((n, 3))
        self.ways: NDArray[np.float64] | None = None  # along which a better guess may lie
        self.contact: ContactResult | None = None
        self.drag: BlockMatrix | None = None
        self._last = self.solved
        self._weight = 1.0

    def reactions(self) -> NDArray[np.float64]:
        """Return the force [N] that held the nodes in the last step, shape [n, 3]: what A w = rhs lacks."""
        force = self.matrix.multiply(self._last) - self.rhs
        if self.contact is not None:
            force -= self.contact.impulse
        return force / self._weight

    def give(self, load: NDArray[np.float64], dt: float) -> NDArray[np.float64] | None:
        """Return what a small extra load [N] adds to the way of the nodes [m] in the last step: A^-1 of it."""
        way = np.zeros_like(load)
        report = self.solver.solve(self._weight * load, way)
        return dt * way if report.converged else None

    def solve_motion(
        self,
        matter: Matter,
        velocities: NDArray[np.float64],
        step: StepInput,
        equation: Equation,
        weight: float,
    ) -> Solving:
        """Fill `solved`, which holds a first guess, with the mean velocity over the step.

        Args:
            matter: The body.
            velocities: Velocities at the start; b contains M times them.
            step: The step.
            equation: Its factors.
            weight: The part of the step [s] over which forces act in the equation.
        """
        self._weight, self._last = weight, self.solved
        step.held.impose(self.solved)
        if self.ways is not None:
            for way in self.ways:
                step.held.release(way)
        c_spring = step.dt * equation.c_force
        springs = tuple((p.nodes.tobytes(), p.weights.tobytes(), c_spring * p.stiffness) for p in step.pulls)
        system = self._system(matter, equation, velocities)
        fresh = self.system.fill(
            system, matter.x, step.constant_stiffness, springs if self.damper is None else None
        )
        several = self.newton > 1 and step.follows_rotation
        land = _Increment(self, matter, step, equation, velocities) if several else None
        self.drag = None if self.damper is None else self.damper.at(matter.x)
        self.complete(matter, velocities, step, equation)
        if land is not None:
            land.know(self.rhs)
        if self.drag is not None:
            if land is not None:
                land.add_drag(self.drag, equation.c_drag)
            self.matrix.blocks += equation.c_drag * self.drag.blocks
        add_pull_forces(step.pulls, matter.x, equation.c_force, self.rhs)
        if fresh:
            stiffen_pulls(self.matrix, step.pulls, c_spring)
        answer = yield self._ask(step, self.solved, None, self.ways)
        self._hear(answer.contact)
        if land is None or answer.failure or not answer.report.residual >= 0.0:
            return self._outcome(answer.report, 1, answer.failure)
        return (yield from self._refine(land, step, answer.report))

    def _ask(
        self,
        step: StepInput,
        x: NDArray[np.float64],
        base: NDArray[np.float64] | None,
        ways: NDArray[np.float64] | None = None,
    ) -> VelocitySystem:
        """Return the system that is filled now; x holds the first guess, for ways see `LinearSolver.solve`."""
        held = step.held

        @timed("linear solve")
        def alone() -> SolveReport:
            self.system.tell_solver(held.fixed, held.projections)
            return self.solver.solve(self.rhs, x, self.load, ways)

        return VelocitySystem(
            self.matrix,
            self.rhs,
            x,
            self.load,
            held.fixed,
            held.projections,
            self.solver,
            alone,
            base,
            self._weight,
        )

    def _hear(self, contact: ContactResult | None) -> None:
        self.contact = contact
        if contact is not None:
            self.system.forget_solver()

    def _outcome(self, report: SolveReport, newton: int, failure: str = "") -> Outcome:
        return Outcome(report, newton, 0 if self.contact is None else self.contact.count, failure)

    def complete(
        self, matter: Matter, velocities: NDArray[np.float64], step: StepInput, equation: Equation
    ) -> None:
        """Add to `rhs`, which is M v + load - c_force f(x), what else is known at the start."""

    def stiffness_times(
        self, v: NDArray[np.float64], mass_v: NDArray[np.float64], equation: Equation
    ) -> NDArray[np.float64]:
        """Return K v, with M v at hand, before anything is added to the matrix."""
        if self.system.stiffness is not None:
            return self.system.stiffness.multiply(v)
        product = self.matrix.multiply(v)
        product -= equation.c_mass * mass_v
        product /= equation.c_stiffness
        return product

    def _system(self, matter: Matter, equation: Equation, velocities: NDArray[np.float64]) -> System:
        return System(
            matrix=self.matrix,
            rhs=self.rhs,
            mass=matter.mass,
            c_mass=equation.c_mass,
            c_stiffness=equation.c_stiffness,
            dt=equation.c_force,
            velocities=velocities,
            load=self.load,
        )

    def _refine(self, land: _Increment, step: StepInput, first: SolveReport) -> Solving:
        """Go on from the first solve by Newton increments."""
        w = self.solved
        total, worst, converged = first.iterations, first.residual, first.converged
        said = first.warnings
        move = np.inf
        land.pushed_by(self.contact)
        start = np.zeros_like(w)
        step.held.impose(start)
        before = np.inf
        if land.conservative:  # the elements still are where the step started
            before = land.potential(start) if start.any() else land.potential_here(start)
        potential = land.potential(w)
        if not potential <= before:  # the straight line led up, or nowhere: start where the body is
            w[:] = start
            potential = land.potential(w)
        iteration, failure = 1, ""
        while iteration < self.newton:
            iteration += 1
            potential += land.pushed_by(None, w)
            land.linearise(w)
            direction = np.zeros_like(w)
            self._last = direction
            answer = yield self._ask(step, direction, w)
            self._hear(answer.contact)
            report, failure = answer.report, answer.failure
            potential += land.pushed_by(self.contact, w)
            total += report.iterations
            worst, converged = max(worst, report.residual), converged and report.converged
            said += report.warnings
            fall = float(np.vdot(land.rhs, direction) + np.vdot(land.push, direction))
            if failure or not report.residual >= 0.0 or not np.isfinite(fall):
                return self._outcome(replace(report, residual=-1.0, iterations=total), iteration, failure)
            move = step.dt * float(np.abs(direction).max())
            if move <= step.settled or fall <= 0.0:
                w += direction
                break
            rhs = self.rhs.copy() if iteration == self.newton else None
            length, potential = search_line(land, w, direction, potential, fall)
            if rhs is not None:
                self.rhs[:] = rhs  # the reactions are those of the last linearisation
            if length == 0.0:
                break
            move *= length
        if move > UNSETTLED * step.size:
            failure = f"Newton's iteration had not settled after {iteration} iterations"
        return self._outcome(SolveReport(total, worst, converged, warnings=said), iteration, failure)


class _Increment:
    """The incremental potential of a step as a landscape of the mean velocity w."""

    def __init__(
        self,
        stepper: ImplicitStepper,
        matter: Matter,
        step: StepInput,
        equation: Equation,
        velocities: NDArray[np.float64],
    ) -> None:
        """Take over what is known once the elements are at x and the system of the first solve is assembled."""
        self.stepper, self.matter, self.step, self.equation = stepper, matter, step, equation
        self.rhs = stepper.rhs
        self.conservative = stepper.elements.conservative
        self._mass_w = np.zeros_like(velocities)
        self._support = np.zeros_like(velocities)
        self._at = matter.x.copy()
        self._zero = np.zeros_like(velocities)
        # c_force f(x): what the assembly took from M v + load
        self._first_force = stepper.mass_times(matter, velocities, np.empty_like(velocities))
        self._first_force += stepper.load
        self._first_force -= stepper.rhs
        self._stiffness: BlockMatrix | None = None
        if equation.c_damping > 0.0:
            self._stiffness = BlockMatrix(stepper.matrix.pattern)
            ratio = equation.c_damping / equation.c_stiffness
            np.multiply(stepper.matrix.blocks, ratio, out=self._stiffness.blocks)
            self._stiffness.blocks[:, ::4] -= ratio * equation.c_mass * matter.mass[:, None]
        self._known = np.zeros_like(velocities)
        self.push = np.zeros_like(velocities)

    def add_drag(self, drag: BlockMatrix, factor: float) -> None:
        """Add the damping that turns along; its matrix stays that of the start of the step."""
        if self._stiffness is None:
            self._stiffness = BlockMatrix(drag.pattern)
            self._stiffness.blocks[:] = 0.0
        self._stiffness.blocks += factor * drag.blocks

    def know(self, rhs: NDArray[np.float64]) -> None:
        """Take over b from the right-hand side of the first solve, which is b - c_force f(x)."""
        np.add(rhs, self._first_force, out=self._known)

    def pushed_by(self, contact: ContactResult | None, w: NDArray[np.float64] | None = None) -> float:
        """Take the impulses of contacts for given from now on; returns by how much that changes the potential at w."""
        before = 0.0 if w is None else float(np.vdot(self.push, w))
        self.push = np.zeros_like(self._known) if contact is None else contact.impulse
        return 0.0 if w is None else before - float(np.vdot(self.push, w))

    @timed("line search")
    def potential(self, w: NDArray[np.float64]) -> float:
        """Move the elements to x + dt w and return the potential [J] there."""
        np.multiply(w, self.step.dt, out=self._at)
        self._at += self.matter.x
        self.stepper.elements.update(self._at)
        return self.potential_here(w) if self.conservative else 0.0

    def potential_here(self, w: NDArray[np.float64]) -> float:
        """Return the potential [J] of w, whose elements are at x + dt w already."""
        stepper, equation = self.stepper, self.equation
        stepper.mass_times(self.matter, w, self._mass_w)
        energy = stepper.elements.energy() + pull_energy(self.step.pulls, self._at)
        value = 0.5 * equation.c_mass * float(np.vdot(w, self._mass_w)) - float(np.vdot(self._known, w))
        value += equation.c_force / self.step.dt * energy
        if self._stiffness is not None:
            value += 0.5 * float(np.vdot(w, self._stiffness.multiply(w)))
        return value - float(np.vdot(self.push, w))

    def noise(self, w: NDArray[np.float64]) -> float:
        """Return 0: an iteration that moves no node by much ends before rounding hides the fall of the potential."""
        return 0.0

    @timed("assembly")
    def linearise(self, w: NDArray[np.float64]) -> None:
        """Fill the matrix and minus the gradient where the elements are."""
        stepper, step, equation = self.stepper, self.step, self.equation
        dt = step.dt
        np.multiply(w, -equation.c_mass, out=self._support)
        stepper.elements.assemble(
            System(
                matrix=stepper.matrix,
                rhs=self.rhs,
                mass=self.matter.mass,
                c_mass=equation.c_mass,
                c_stiffness=dt * equation.c_force,
                dt=equation.c_force,
                velocities=self._support,
                load=self._known,
            )
        )
        add_pull_forces(step.pulls, self._at, equation.c_force, self.rhs)
        stiffen_pulls(stepper.matrix, step.pulls, dt * equation.c_force)
        if self._stiffness is not None:
            stepper.matrix.blocks += self._stiffness.blocks
            self.rhs -= self._stiffness.multiply(w)
        self.rhs += self.push
