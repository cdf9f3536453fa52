"""The nonlinear equation of an implicit step for the mean velocity w, and its Newton solver.

With x+ = x + dt w the step solves

    c_mass M w + c_damping K(x) w + c_drag D(x) w + c_force f(x + dt w) = b,

where f is the elastic force, D the matrix of corotated damping (if there is any), and b is known. The first solve
linearises f at x. Further Newton iterations, if allowed, minimise the incremental potential with a line search,

    c_mass/2 w.M w + c_damping/2 w.K(x) w + c_force/dt E(x + dt w) - b.w,

whose stationarity condition the equation is (E is the elastic energy; stiffness damping keeps the stiffness of the
start of the step, so that it has a potential too).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import AssembledSystem, Elements
from continua.deformable.integrators.integrator import (
    BodyState,
    Integrator,
    SolveCoroutine,
    StepInput,
    StepOutcome,
    Stepper,
)
from continua.deformable.integrators.spring_terms import (
    add_pull_forces,
    pull_energy,
    stiffen_pulls,
)
from continua.deformable.line_search import line_search
from continua.linalg import BlockMatrix, LinearSolver, SolveReport
from continua.linalg.basis_change import BasisChange
from continua.numerics.timers import timed
from continua.timestepping import ContactResult, MomentBalance, SolveResult, VelocitySystem
from continua.validation import whole_number

__all__ = ["Equation", "ImplicitIntegrator", "ImplicitStepper"]

Balancing = Callable[[NDArray[np.float64], NDArray[np.float64], bool], tuple[NDArray[np.float64], float]]
"""Returns the rigid impulse [N s], shape [n, 3], that makes the internal forces of a solution with contacts balance,
and the largest velocity that it causes; called with the mean velocity w, the solution x of the system, which differs
from w in Newton increments, and whether it is the first call for this system."""

PRESSURE_SOLVES = 1
"""Solves of a step of an incompressible body after the first, each with improved pressures."""

MAX_FINAL_MOVE = 0.1
"""Fraction of the element size; if Newton's last increment is larger, the step has failed."""


@dataclass(frozen=True)
class Equation:
    """Coefficients of the equation of a step (see the module)."""

    c_mass: float
    c_stiffness: float
    c_force: float
    c_damping: float
    c_drag: float = 0.0


@dataclass(frozen=True)
class ImplicitIntegrator(Integrator):
    """Base of implicit integrators.

    Attributes:
        newton: Maximum number of Newton iterations per step. One linearises the forces over the step. More solve the
            nonlinear equations of the step with a line search, until they converge.
    """

    newton: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "newton", whole_number(self.newton, "newton", low=1))


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
        self.guess_directions: NDArray[np.float64] | None = None  # see `LinearSolver.solve`
        self.contact: ContactResult | None = None
        self.correct_free: Callable[[], None] | None = None
        """Corrects `solved` after a solve without contacts, before contacts are searched along the motion."""
        self.balancing: Balancing | None = None
        self.moment_terms: Callable[[NDArray[np.float64] | None], MomentBalance | None] | None = None
        """Returns the terms of `MomentBalance` for increments of some velocities (None is zero), or None."""
        self.drag: BlockMatrix | None = None
        self._objective: _IncrementalPotential | None = None
        self._last = self.solved
        self._weight, self._c_stiffness = 1.0, 0.0
        self._basis: BasisChange | None = None  # of the last solve

    def reactions(self) -> NDArray[np.float64]:
        """Return the reaction forces [N] of the last step, shape [n, 3]: the residual of A w = rhs."""
        force = self.matrix.multiply(self._last) - self.rhs
        if self.contact is not None:
            force -= self.contact.impulse
        return force / self._weight

    def compliance_response(self, load: NDArray[np.float64], dt: float) -> NDArray[np.float64] | None:
        """Return the displacement [m] that a small extra load [N] adds in a step like the last: A^-1 of it."""
        response = np.zeros_like(load)
        basis = self._basis
        report = self.solver.solve(self._weight * (load if basis is None else basis.loads(load)), response)
        if not report.converged:
            return None
        return dt * (response if basis is None else basis.coefficients(response))

    def inertia_ratio(self, state: BodyState) -> NDArray[np.float64]:
        """Return the inertia of each node in the system of a step, with its stiffness, over its mass, shape [n]."""
        at = self.matrix.pattern.diagonal
        stiffness = self.matrix.blocks[at][:, ::4].mean(axis=1) - state.mass[at]
        return 1.0 + np.maximum(stiffness, 0.0) / state.node_mass

    def solve_motion(
        self,
        state: BodyState,
        velocities: NDArray[np.float64],
        step: StepInput,
        equation: Equation,
        weight: float,
    ) -> SolveCoroutine:
        """Fill `solved`, which holds an initial guess, with the mean velocity over the step.

        Args:
            state: The body.
            velocities: Velocities at the start; b contains M times them.
            step: The step.
            equation: Its coefficients.
            weight: Time [s] over which forces act in the equation.
        """
        self._weight, self._last = weight, self.solved
        self._c_stiffness = equation.c_stiffness
        step.dirichlet.apply(self.solved)
        if self.guess_directions is not None:
            for direction in self.guess_directions:
                step.dirichlet.zero_fixed(direction)
        c_spring = step.dt * equation.c_force
        springs = tuple((p.nodes.tobytes(), p.weights.tobytes(), c_spring * p.stiffness) for p in step.pulls)
        system = self._system(state, equation, velocities)
        fresh = self.system.fill(
            system, state.x, step.constant_stiffness, springs if self.damper is None else None
        )
        several = self.newton > 1 and step.is_rotation_invariant
        objective = _IncrementalPotential(self, state, step, equation, velocities) if several else None
        self._objective = objective
        self.drag = None if self.damper is None else self.damper.at(state.x)
        self.complete(state, velocities, step, equation)
        if self.incompressibility is not None:
            self.rhs += weight * self.incompressibility.forces()
        if objective is not None:
            objective.set_known_rhs(self.rhs)
        if self.drag is not None:
            if objective is not None:
                objective.add_drag(self.drag, equation.c_drag)
            self.matrix.blocks += equation.c_drag * self.drag.blocks
        add_pull_forces(step.pulls, state.x, equation.c_force, self.rhs)
        if fresh:
            stiffen_pulls(self.matrix, step.pulls, c_spring)
        request = self._ask(step, self.solved, None, self.guess_directions, corrects=not several)
        request.preliminary = self.incompressibility is not None
        answer = yield request
        step.dirichlet.set_coefficients(request.x, self.solved)
        if self.incompressibility is not None and not answer.failure:
            answer = yield from self._improve_pressure(step, objective, answer)
        self._set_contact(answer.contact)
        if objective is None or answer.failure or not answer.report.residual >= 0.0:
            return self._outcome(answer.report, 1, answer.failure)
        return (yield from self._refine(objective, step, answer.report))

    def _improve_pressure(
        self, step: StepInput, objective: _IncrementalPotential | None, before: SolveResult
    ) -> Generator[VelocitySystem, SolveResult, SolveResult]:
        """Solve again, with the pressures of an incompressible body that the last solution asks for."""
        assert self.incompressibility is not None
        first, touched = before.report, before.contact is not None
        total, converged, warnings = first.iterations, first.converged, first.warnings
        for k in range(PRESSURE_SOLVES):
            force = self.incompressibility.improve(self.solved, self._weight, self._c_stiffness)
            force *= self._weight
            self.rhs += force
            if objective is not None:
                objective.add_load(force)
            request = self._ask(step, self.solved, None, corrects=objective is None, is_prepared=not touched)
            request.preliminary = k + 1 < PRESSURE_SOLVES
            answer = yield request
            report, touched = answer.report, answer.contact is not None
            total, converged = total + report.iterations, converged and report.converged
            warnings += tuple(text for text in report.warnings if text not in warnings)
            if answer.failure or not report.residual >= 0.0:
                break
        return replace(
            answer, report=replace(report, iterations=total, converged=converged, warnings=warnings)
        )

    def update_pressure(self, rate: NDArray[np.float64], impulse: NDArray[np.float64], dt: float) -> None:
        """Add to the pressures what the projection and the compliance of the body ask for."""
        assert self.incompressibility is not None
        self.incompressibility.add_pressure(impulse, rate, self._weight, self._c_stiffness)

    def _ask(
        self,
        step: StepInput,
        x: NDArray[np.float64],
        base: NDArray[np.float64] | None,
        guess_directions: NDArray[np.float64] | None = None,
        corrects: bool = False,
        correction: NDArray[np.float64] | None = None,
        is_prepared: bool = False,
    ) -> VelocitySystem:
        """Return the assembled system; x holds the initial guess, for `guess_directions` see `LinearSolver.solve`.

        Args:
            step: The step.
            x: The initial guess [n, 3], and the solution afterwards.
            base: The velocities that x is added to, or None.
            guess_directions: See `LinearSolver.solve`.
            corrects: Whether `correct_free` follows a solve without contacts.
            correction: The solution without contacts if it is known already; the system is for contacts only.
            is_prepared: Whether the solver has been updated to this matrix in this step.
        """
        dirichlet = step.dirichlet
        self._basis = dirichlet.basis
        matrix, rhs, load = (
            dirichlet.matrix(self.matrix),
            dirichlet.loads(self.rhs),
            dirichlet.loads(self.load),
        )
        own = dirichlet.unknowns(x)
        if guess_directions is not None and dirichlet.basis is not None:
            guess_directions = np.array([dirichlet.unknowns(direction) for direction in guess_directions])

        def update_solver() -> None:
            self.system.update_solver(matrix, dirichlet)

        def alone() -> SolveReport:
            if correction is not None:
                own[:] = dirichlet.unknowns(correction)
                return SolveReport(0, 0.0, True)
            report = solve()
            if corrects and self.correct_free is not None and report.residual >= 0.0:
                dirichlet.set_coefficients(own, x)
                self.correct_free()
                if own is not x:
                    own[:] = dirichlet.unknowns(x)
            return report

        @timed("linear solve")
        def solve() -> SolveReport:
            if not is_prepared:
                update_solver()
            return self.solver.solve(rhs, own, load, guess_directions)

        is_first = True

        def add_impulse(impulse: NDArray[np.float64]) -> None:
            self.load += impulse
            self.rhs += impulse
            if self._objective is not None:
                self._objective.add_load(impulse)
            if rhs is not self.rhs:
                rhs[:], load[:] = dirichlet.loads(self.rhs), dirichlet.loads(self.load)

        def balance() -> float:
            nonlocal is_first
            assert self.balancing is not None
            dirichlet.set_coefficients(own, x)
            impulse, largest = self.balancing(x if base is None else base + x, x, is_first)
            is_first = False
            add_impulse(impulse)
            return largest

        def moment_balance() -> MomentBalance | None:
            if self.moment_terms is None or rhs is not self.rhs or own is not x:
                return None
            return self.moment_terms(base)

        return VelocitySystem(
            matrix,
            rhs,
            own,
            load,
            dirichlet.fixed,
            dirichlet.projections,
            self.solver,
            alone,
            None if base is None else dirichlet.unknowns(base),
            self._weight,
            update_solver=update_solver,
            basis=dirichlet.basis,
            balance=None if self.balancing is None else balance,
            moment_balance=None if self.moment_terms is None else moment_balance,
            add_impulse=add_impulse,
        )

    def _set_contact(self, contact: ContactResult | None) -> None:
        self.contact = contact
        if contact is not None:
            self.system.invalidate_solver()

    def _outcome(self, report: SolveReport, newton: int, failure: str = "") -> StepOutcome:
        return StepOutcome(report, newton, 0 if self.contact is None else self.contact.count, failure)

    def complete(
        self, state: BodyState, velocities: NDArray[np.float64], step: StepInput, equation: Equation
    ) -> None:
        """Add to `rhs`, which is M v + load - c_force f(x), the other known terms of the equation."""

    def stiffness_times(
        self, v: NDArray[np.float64], mass_v: NDArray[np.float64], equation: Equation
    ) -> NDArray[np.float64]:
        """Return K v, given M v, before anything is added to the matrix."""
        if self.system.stiffness is not None:
            return self.system.stiffness.multiply(v)
        product = self.matrix.multiply(v)
        product -= equation.c_mass * mass_v
        product /= equation.c_stiffness
        return product

    def _system(
        self, state: BodyState, equation: Equation, velocities: NDArray[np.float64]
    ) -> AssembledSystem:
        return AssembledSystem(
            matrix=self.matrix,
            rhs=self.rhs,
            mass=state.mass,
            c_mass=equation.c_mass,
            c_stiffness=equation.c_stiffness,
            dt=equation.c_force,
            velocities=velocities,
            load=self.load,
        )

    def _refine(
        self, objective: _IncrementalPotential, step: StepInput, first: SolveReport
    ) -> SolveCoroutine:
        """Continue from the first solve by Newton increments."""
        w = self.solved
        total, worst, converged = first.iterations, first.residual, first.converged
        warnings = first.warnings
        move = np.inf
        objective.set_contact_impulse(self.contact)
        objective.added_potential(w)
        start = np.zeros_like(w)
        step.dirichlet.apply(start)
        before = np.inf
        if objective.conservative:  # the elements still are where the step started
            before = objective.potential(start) if start.any() else objective.potential_at_elements(start)
        potential = objective.potential(w)
        if not potential <= before:  # the linear step increased the potential: start from the present state
            w[:] = start
            potential = objective.potential(w)
        iteration, failure = 1, ""
        while iteration < self.newton:
            iteration += 1
            potential += objective.set_contact_impulse(None, w)
            objective.linearise(w)
            direction = np.zeros_like(w)
            self._last = direction
            request = self._ask(step, direction, w)
            answer = yield request
            step.dirichlet.set_coefficients(request.x, direction)
            self._set_contact(answer.contact)
            report, failure = answer.report, answer.failure
            potential += objective.set_contact_impulse(self.contact, w) + objective.added_potential(w)
            total += report.iterations
            worst, converged = max(worst, report.residual), converged and report.converged
            warnings += report.warnings
            fall = float(np.vdot(objective.rhs, direction) + np.vdot(objective.push, direction))
            if failure or not report.residual >= 0.0 or not np.isfinite(fall):
                return self._outcome(replace(report, residual=-1.0, iterations=total), iteration, failure)
            move = step.dt * float(np.abs(direction).max())
            if move <= step.position_tolerance or fall <= 0.0:
                w += direction
                break
            rhs = self.rhs.copy() if iteration == self.newton else None
            length, potential = line_search(objective, w, direction, potential, fall)
            if rhs is not None:
                self.rhs[:] = rhs  # the reactions are those of the last linearisation
            if length == 0.0:
                break
            move *= length
        if move > MAX_FINAL_MOVE * step.size:
            failure = f"Newton's iteration had not converged after {iteration} iterations"
        elif self.contact is None and self.correct_free is not None:
            corrected = yield from self._correct_refined(step)
            if corrected is not None:
                failure, report = corrected.failure, corrected.report
                total, warnings = total + report.iterations, warnings + report.warnings
                worst = report.residual if not report.residual >= 0.0 else max(worst, report.residual)
                converged = converged and report.converged
        return self._outcome(SolveReport(total, worst, converged, warnings=warnings), iteration, failure)

    def _correct_refined(self, step: StepInput) -> Generator[VelocitySystem, SolveResult, SolveResult | None]:
        """Correct the converged `solved`; if contacts are on the way, they change it by an increment."""
        assert self.correct_free is not None
        before = self.solved.copy()
        self.correct_free()
        correction = self.solved - before
        if step.dt * float(np.abs(correction).max()) <= step.position_tolerance:
            return None
        self.solved[:] = before
        self.rhs[:] = 0.0
        increment = np.zeros_like(before)
        request = self._ask(step, increment, before, correction=correction)
        answer = yield request
        step.dirichlet.set_coefficients(request.x, increment)
        self._set_contact(answer.contact)
        self.solved += increment
        return answer


class _IncrementalPotential:
    """The incremental potential of a step as a function of the mean velocity w."""

    def __init__(
        self,
        stepper: ImplicitStepper,
        state: BodyState,
        step: StepInput,
        equation: Equation,
        velocities: NDArray[np.float64],
    ) -> None:
        """Called when the elements are at x and the system of the first solve is assembled."""
        self.stepper, self.state, self.step, self.equation = stepper, state, step, equation
        self.rhs = stepper.rhs
        self.conservative = stepper.elements.conservative
        self._mass_w = np.zeros_like(velocities)
        self._inertia = np.zeros_like(velocities)
        self._at = state.x.copy()
        self._zero = np.zeros_like(velocities)
        # c_force f(x), which the assembly subtracted from M v + load
        self._first_force = stepper.mass_times(state, velocities, np.empty_like(velocities))
        self._first_force += stepper.load
        self._first_force -= stepper.rhs
        self._stiffness: BlockMatrix | None = None
        if equation.c_damping > 0.0:
            self._stiffness = BlockMatrix(stepper.matrix.pattern)
            ratio = equation.c_damping / equation.c_stiffness
            np.multiply(stepper.matrix.blocks, ratio, out=self._stiffness.blocks)
            self._stiffness.blocks[:, ::4] -= ratio * equation.c_mass * state.mass[:, None]
        self._known = np.zeros_like(velocities)
        self.push = np.zeros_like(velocities)
        self._added: NDArray[np.float64] | None = None

    def add_drag(self, drag: BlockMatrix, factor: float) -> None:
        """Add corotated damping; its matrix stays that of the start of the step."""
        if self._stiffness is None:
            self._stiffness = BlockMatrix(drag.pattern)
            self._stiffness.blocks[:] = 0.0
        self._stiffness.blocks += factor * drag.blocks

    def set_known_rhs(self, rhs: NDArray[np.float64]) -> None:
        """Set b from the right-hand side of the first solve, which is b - c_force f(x)."""
        np.add(rhs, self._first_force, out=self._known)

    def add_load(self, impulse: NDArray[np.float64]) -> None:
        """Add an impulse [N s] to b, shape [n, 3]."""
        self._known += impulse
        self._added = impulse if self._added is None else self._added + impulse

    def added_potential(self, w: NDArray[np.float64]) -> float:
        """Return the change of the potential at w by what `add_load` has added since the last call."""
        added, self._added = self._added, None
        return 0.0 if added is None else -float(np.vdot(added, w))

    def set_contact_impulse(
        self, contact: ContactResult | None, w: NDArray[np.float64] | None = None
    ) -> float:
        """Add the impulses of contacts as a constant load; return the change of the potential at w."""
        before = 0.0 if w is None else float(np.vdot(self.push, w))
        self.push = np.zeros_like(self._known) if contact is None else contact.impulse
        return 0.0 if w is None else before - float(np.vdot(self.push, w))

    @timed("line search")
    def potential(self, w: NDArray[np.float64]) -> float:
        """Move the elements to x + dt w and return the potential [J] there."""
        np.multiply(w, self.step.dt, out=self._at)
        self._at += self.state.x
        self.stepper.elements.update(self._at)
        return self.potential_at_elements(w) if self.conservative else 0.0

    def potential_at_elements(self, w: NDArray[np.float64]) -> float:
        """Return the potential [J] of w; the elements are at x + dt w already."""
        stepper, equation = self.stepper, self.equation
        stepper.mass_times(self.state, w, self._mass_w)
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
        np.multiply(w, -equation.c_mass, out=self._inertia)
        stepper.elements.assemble(
            AssembledSystem(
                matrix=stepper.matrix,
                rhs=self.rhs,
                mass=self.state.mass,
                c_mass=equation.c_mass,
                c_stiffness=dt * equation.c_force,
                dt=equation.c_force,
                velocities=self._inertia,
                load=self._known,
            )
        )
        add_pull_forces(step.pulls, self._at, equation.c_force, self.rhs)
        stiffen_pulls(stepper.matrix, step.pulls, dt * equation.c_force)
        if self._stiffness is not None:
            stepper.matrix.blocks += self._stiffness.blocks
            self.rhs -= self._stiffness.multiply(w)
        self.rhs += self.push
