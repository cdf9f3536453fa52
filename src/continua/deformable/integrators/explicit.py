"""Explicit central differences: the cheapest step, symplectic, second order, conditionally stable.

    v' = v + dt/2 M^-1 F(x, v),     x+ = x + dt v',     v+ = v' + dt/2 M^-1 F(x+, v+),     F = f_ext - f(x) - C v

with lumped mass. Damping by mass is centred as in central differences (G11 in Georgii 2007); damping by stiffness is
explicit, with v+ in the last force predicted by an explicit half step. Contacts project v', and v+ after the second
half.

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

from continua.deformable import mass_kernels
from continua.deformable.boundary_conditions.constraints import Pull
from continua.deformable.elements import AssembledSystem, Elements
from continua.deformable.integrators.integrator import (
    BodyState,
    Integrator,
    SolveCoroutine,
    StepInput,
    StepOutcome,
    Stepper,
)
from continua.deformable.integrators.spring_terms import add_pull_forces, stiffen_pulls
from continua.deformable.integrators.stability import frequency_bound, highest_frequency, stiffness_matrix
from continua.errors import InputError
from continua.linalg import PCG, BlockMatrix, BlockPattern, LinearSolver, SolveReport
from continua.linalg.basis_change import BasisChange
from continua.numerics.timers import timed
from continua.timestepping import VelocitySystem
from continua.validation import flag

__all__ = ["ConditionallyStableIntegrator", "ConditionallyStableStepper", "Explicit"]

STABILITY_FACTOR = 0.9
"""Fraction of the stability limit that steps use, since the stiffness may grow until the next estimate."""

FREQUENCY_INTERVAL = 16
"""Substeps between estimates of the highest frequency."""

MAX_GROWTH = 1.1
"""Growth of the bound of the highest frequency after which it is estimated again at once."""

MAX_SUBSTEPS = 10_000
"""Maximum number of substeps per step."""


@dataclass(frozen=True)
class ConditionallyStableIntegrator(Integrator):
    """Base of integrators with explicit elastic forces, whose step has a stability limit.

    Attributes:
        substeps: Whether a step above the limit is divided into stable substeps; otherwise it is done as it is, and
            most likely fails.
    """

    lumped = True
    substeps: bool = True

    def __post_init__(self) -> None:
        flag(self.substeps, "'substeps' of an integrator")


class ConditionallyStableStepper(Stepper):
    """Estimates the highest frequency of the body and divides steps into substeps."""

    load_time_fraction = 0.5

    def __init__(self, elements: Elements, solver: LinearSolver, substeps: bool) -> None:
        super().__init__(elements, solver)
        self.retries = substeps
        # highest frequency [rad/s] (0: unknown), substeps since the estimate, total spring stiffness [N/m], bound of
        # the frequency at the estimate [rad/s]
        self._estimate = np.zeros(4)
        self.history["stability"] = self._estimate
        self._zero = np.zeros_like(self.positions)

    def restart(self, velocities: NDArray[np.float64]) -> None:
        """Discard the estimate of the highest frequency."""
        self._estimate[:] = 0.0

    def material_changed(self) -> None:
        """Discard the estimate of the highest frequency."""
        super().material_changed()
        self._estimate[:] = 0.0

    def limit(self, frequency: float, alpha: float, beta: float) -> float:
        """Return the longest stable step [s] of a body with this highest frequency [rad/s]."""
        raise TypeError(f"{type(self).__name__} has no limit")

    def stable_dt(self, state: BodyState, damping: tuple[float, float], pulls: Sequence[Pull]) -> float:
        """Return the longest stable step [s]."""
        springs = sum(pull.stiffness for pull in pulls)
        estimate = self._estimate
        if estimate[0] == 0.0 or estimate[1] >= FREQUENCY_INTERVAL or estimate[2] != springs:
            stiffness = stiffness_matrix(self.elements, state.x, state.mass, pulls)
            estimate[0] = highest_frequency(stiffness, state.node_mass)
            estimate[1:] = 0.0, springs, frequency_bound(stiffness, state.node_mass)
        alpha, beta = damping
        if self.damper is not None:
            beta += self.damper.time  # near rest it equals stiffness damping
        return self.limit(estimate[0], alpha, beta) if estimate[0] > 0.0 else np.inf

    def substep_count(
        self, state: BodyState, dt: float, damping: tuple[float, float], pulls: Sequence[Pull]
    ) -> int:
        """Return the number of substeps that stability requires in a step of dt [s]."""
        if not self.retries:
            return 1
        limit = self.stable_dt(state, damping, pulls)
        count = max(1, ceil(dt / (STABILITY_FACTOR * limit)))
        if count > MAX_SUBSTEPS:
            raise InputError(
                f"dt = {dt:g} s is {count} times the longest stable step of an explicit integrator, "
                f"{limit:.3g} s; take a shorter dt or an implicit integrator"
            )
        return count

    def stability_failure(self, state: BodyState, step: StepInput, stiffness: BlockMatrix) -> str:
        """Return why the step is unstable with this stiffness of the elements [N/m], or ""; springs are added to it.

        The stiffness may grow by orders of magnitude between two estimates of the highest frequency, as that of a
        neo-Hookean body that is compressed. So the estimate is renewed when a bound of it has grown.
        """
        estimate = self._estimate
        if not self.retries or estimate[0] == 0.0 or step.constant_stiffness:
            return ""
        stiffen_pulls(stiffness, step.pulls, 1.0)
        bound = frequency_bound(stiffness, state.node_mass)
        if not bound > MAX_GROWTH * estimate[3]:
            return ""
        if not np.isfinite(bound):
            return "positions became infinite"
        frequency = highest_frequency(stiffness, state.node_mass)
        beta = step.beta if self.damper is None else step.beta + self.damper.time
        limit = self.limit(frequency, step.alpha, beta) if frequency > 0.0 else np.inf
        if step.dt <= STABILITY_FACTOR * limit:
            estimate[0], estimate[1], estimate[3] = frequency, 0.0, bound
            return ""  # a step that fails leaves no trace
        return f"the body became stiffer and its longest stable step shorter, {limit:.3g} s"

    def accept(self, state: BodyState) -> None:
        """Commit the step."""
        super().accept(state)
        self._estimate[1] += 1.0


@dataclass(frozen=True)
class Explicit(ConditionallyStableIntegrator):
    """Central differences with lumped mass: cheap, symplectic, second order, conditionally stable.

    Attributes:
        substeps: Whether a step above the stability limit is divided into stable substeps; otherwise it is done as it
            is, and most likely fails.
    """

    name = "explicit"

    def stepper(self, elements: Elements, solver: LinearSolver) -> ExplicitStepper:
        """Return the stepper of a body with these elements."""
        return ExplicitStepper(elements, solver, self.substeps)


@dataclass(frozen=True, eq=False, slots=True)
class _CoupledMass:
    """The matrix of the lumped masses where prescribed values are unknowns, and its solver."""

    basis: BasisChange
    node_mass: NDArray[np.float64]
    matrix: BlockMatrix
    solver: PCG


class ExplicitStepper(ConditionallyStableStepper):
    """Explicit steps of one body."""

    def __init__(self, elements: Elements, solver: LinearSolver, substeps: bool) -> None:
        super().__init__(elements, solver, substeps)
        self._inner = np.zeros_like(
            self.positions
        )  # elastic and spring forces at the end of the last substep
        self._drag_matrix: BlockMatrix | None = None
        self._inner_is_current = False
        self._half = np.zeros_like(self.positions)
        self._reaction = np.zeros_like(self.positions)
        self._lumped = BlockMatrix(BlockPattern.of_diagonal(len(self.positions)))
        self._lumped_solver = PCG(rtol=1e-12, preconditioner="jacobi")
        self._lumped_solver.setup(self._lumped)
        self._coupled: _CoupledMass | None = None

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

    def substep_count(
        self, state: BodyState, dt: float, damping: tuple[float, float], pulls: Sequence[Pull]
    ) -> int:
        """Return the number of substeps that stability requires in a step of dt [s]."""
        self._inner_is_current = False
        return super().substep_count(state, dt, damping, pulls)

    def solve(self, state: BodyState, step: StepInput) -> SolveCoroutine:
        """Fill `positions` and `velocities`."""
        dt, mass = step.dt, state.node_mass[:, None]
        part, keep = 0.5 * dt, 1.0 - 0.5 * dt * step.alpha
        gain = 1.0 + 0.5 * dt * step.alpha
        if not self._inner_is_current:
            self._inner_forces(state, step, state.x)
        self._inner_is_current = False
        half = self._half
        force = self._inner + step.force - self._drag(step, state.v)
        np.add(state.v, part * force / mass, out=half)
        half /= gain
        self._constrain(state, step, half)
        system = self._ask(state, step, half)
        answer = yield system
        step.dirichlet.set_coefficients(system.x, half)
        contact = answer.contact
        self._reaction = mass * (gain * half - state.v) / part - force - self._driven_inertia(state, step)
        if contact is not None:
            self._reaction -= contact.impulse / part
        mass_kernels.advance_positions.variant(self.matrix.pattern.parallel)(
            state.x, half, dt, self.positions
        )
        self._inner_forces(state, step, self.positions)
        unstable = self.stability_failure(state, step, self.matrix)
        force = self._inner + step.force
        v = half  # stiffness damping acts on the half-step velocities first, then on the predicted ones
        for _ in range(2 if step.beta > 0.0 or self._drag_matrix is not None else 1):
            v = keep * half + part * (force - self._drag(step, v)) / mass
            self._constrain(state, step, v)
        self.velocities[:] = v
        if contact is not None:
            yield from self.project_contacts(state, step, self.velocities)
        count = 0 if contact is None else contact.count
        failure = answer.failure or unstable
        return StepOutcome(SolveReport(0, min(answer.report.residual, 0.0), True), 1, count, failure)

    def _driven_inertia(self, state: BodyState, step: StepInput) -> NDArray[np.float64] | float:
        """Return the part of the reaction that a change of prescribed velocities puts into the first half step.

        Prescribed velocities are means over steps, which change at once at the start of a step; only half of that
        change belongs to its first half.
        """
        if not step.dirichlet.any:
            return 0.0
        change = state.v.copy()
        self._constrain(state, step, change)
        change -= state.v
        return state.node_mass[:, None] * change / step.dt

    def _constrain(self, state: BodyState, step: StepInput, v: NDArray[np.float64]) -> None:
        """Give velocities their prescribed components, with the least change in the norm of the masses."""
        dirichlet = step.dirichlet
        momentum = None if dirichlet.basis is None else dirichlet.loads(state.node_mass[:, None] * v)
        dirichlet.apply(v)
        if momentum is not None:  # prescribed values couple coefficients
            matrix, solver = self._mass_system(state, step, 1.0)
            own = dirichlet.unknowns(v)
            solver.update(matrix, dirichlet.fixed, dirichlet.projections)
            solver.solve(momentum, own)
            dirichlet.set_coefficients(own, v)

    def _mass_system(self, state: BodyState, step: StepInput, factor: float) -> tuple[BlockMatrix, PCG]:
        """Return the matrix of `factor` times the lumped masses in the unknowns of the step, and its solver."""
        basis = step.dirichlet.basis
        if basis is None:
            self._lumped.blocks[:, ::4] = (factor * state.node_mass)[:, None]
            return self._lumped, self._lumped_solver
        known = self._coupled
        if known is None or known.basis is not basis or not np.array_equal(known.node_mass, state.node_mass):
            diagonal, matrix = BlockMatrix(self.matrix.pattern), BlockMatrix(self.matrix.pattern)
            diagonal.blocks[diagonal.pattern.diagonal, ::4] = state.node_mass[:, None]
            matrix.blocks[:] = basis.matrix(diagonal).blocks
            solver = PCG(rtol=1e-12)
            solver.setup(matrix)
            known = self._coupled = _CoupledMass(basis, state.node_mass.copy(), matrix, solver)
        if factor == 1.0:
            return known.matrix, known.solver
        scaled = BlockMatrix(self.matrix.pattern)
        np.multiply(known.matrix.blocks, factor, out=scaled.blocks)
        return scaled, known.solver

    def _ask(self, state: BodyState, step: StepInput, half: NDArray[np.float64]) -> VelocitySystem:
        """Return the system of the half step; its solution without contacts is `half`."""
        dirichlet = step.dirichlet
        gain = 1.0 + 0.5 * step.dt * step.alpha
        matrix, solver = self._mass_system(state, step, gain)
        rhs = dirichlet.loads(gain * state.node_mass[:, None] * half)
        return VelocitySystem(
            matrix,
            rhs,
            dirichlet.unknowns(half),
            rhs,
            dirichlet.fixed,
            dirichlet.projections,
            solver,
            lambda: SolveReport(0, 0.0, True),
            None,
            0.5 * step.dt,
            basis=dirichlet.basis,
        )

    def accept(self, state: BodyState) -> None:
        """Commit the step; its last forces are the first ones of the next substep."""
        super().accept(state)
        self._inner_is_current = True

    def reactions(self) -> NDArray[np.float64]:
        """Return the reaction forces [N] in the first half of the last step, shape [n, 3]."""
        return self._reaction

    @timed("forces")
    def _inner_forces(self, state: BodyState, step: StepInput, x: NDArray[np.float64]) -> None:
        """Fill `_inner` with the forces of elements and springs at x, and update the damping matrix."""
        self._drag_matrix = self.damping_matrix(x, 0.0 if step.constant_stiffness else step.beta)
        system = AssembledSystem(self.matrix, self._inner, state.mass, 0.0, 1.0, 1.0, self._zero, self._zero)
        self.system.fill(system, x, step.constant_stiffness, ())
        add_pull_forces(step.pulls, x, 1.0, self._inner)

    def _drag(self, step: StepInput, v: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """Return the damping force at velocities v, except that of damping by mass."""
        v = np.ascontiguousarray(v)
        constant = step.constant_stiffness and step.beta > 0.0
        force = step.beta * self.matrix.multiply(v) if constant else 0.0
        return force if self._drag_matrix is None else force + self._drag_matrix.multiply(v)
