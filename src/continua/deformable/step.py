"""One step of a soft body for `timestepping.substepping`: as a whole or, if that fails, in substeps.

A step fails if a value is not finite, the linear solver does not converge at all, Newton's iteration does not converge,
or nodes fly apart.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from itertools import combinations
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.deformable import mass_kernels
from continua.deformable.elements import Elements
from continua.deformable.incompressible import Incompressibility
from continua.deformable.integrators import StepInput
from continua.deformable.integrators.integrator import StepOutcome
from continua.errors import DivergedError
from continua.frames import StepReport
from continua.linalg import LinearSolver, SolveReport
from continua.numerics.timers import timed
from continua.timestepping import (
    NO_CONTACT,
    SolveResult,
    StepCoroutine,
    SubstepError,
    VolumePartner,
    VolumeProjection,
    advance_with_retries,
)
from continua.validation import number

if TYPE_CHECKING:
    from continua.deformable.deformable_body import DeformableBody

__all__ = ["DeformableStep", "step_alone"]

MAX_EXPANSION = 10.0
"""Largest relative displacement of nodes in one step, in sizes of the body."""

FAILED_VOLUME = 0.05
"""Change of a node's volume, relative to its volume at rest, from which a step of an incompressible body has failed."""

FAILED_RESIDUAL = 0.5
"""Relative residual above which a linear solve has failed."""


class DeformableStep:
    """One step of a soft body."""

    def __init__(self, body: DeformableBody, dt: float) -> None:
        """Prepare a step of `dt` [s]."""
        dt = number(dt, "dt", above=0.0, unit="s")
        for tool in body._haptic_tools:
            tool.read_target()
        self.body = body
        self.state = body._body_state()
        self.min_substeps = body._stepper.substep_count(self.state, dt, body.damping, body._pulls)
        self.may_subdivide = body._stepper.retries
        self._outcomes: list[StepOutcome] = []
        self._saved: dict[str, Any] | None = None
        self._solver_memory = body._stepper.solver_memory()

    def substep(self, time: float, dt: float) -> StepCoroutine:
        """Advance by one substep, or raise and change nothing."""
        body, state = self.body, self.state
        stepper = body._stepper
        step = _step_input(body, time, dt)
        if stepper.incompressibility is not None:
            stepper.incompressibility.begin(state.x, stepper.inverse_masses(state, step))
        outcome = yield from stepper.solve(state, step)
        residual = outcome.solve.residual
        if not residual >= 0.0 or (residual > FAILED_RESIDUAL and not outcome.solve.converged):
            raise SubstepError("the linear solver found no solution")
        if outcome.failure:
            raise SubstepError(outcome.failure)
        measure = mass_kernels.max_relative_displacement.variant(body._elements.pattern.parallel)
        displacement = measure(state.x, stepper.positions, stepper.velocities)
        if not displacement <= MAX_EXPANSION * body._size:
            raise SubstepError("nodes flew apart" if isfinite(displacement) else "positions became infinite")
        if stepper.incompressibility is not None:
            projection = yield from self._keep_volumes(stepper.incompressibility, dt)
            outcome = replace(outcome, projection=projection)
        elif body.integrator.keeps_volumes and step.dirichlet.basis is None:
            yield from self._follow_volumes(step, dt)
        stepper.accept(state)
        if stepper.incompressibility is not None:
            stepper.incompressibility.accept()
        body._advance_material(dt)
        self._outcomes.append(outcome)

    def _follow_volumes(self, step: StepInput, dt: float) -> Generator[VolumePartner, SolveResult, None]:
        """Move with the projections of incompressible bodies that the body touches.

        A node of a stiff body that moved as freely as its mass alone would strain the body: it moves like its part of
        the matrix of an implicit step. Its velocity changes by the whole impulse, so that momentum is kept.
        """
        state, stepper = self.state, self.body._stepper

        def inverse_masses() -> NDArray[np.float64]:
            return stepper.inverse_masses(state, step)

        def effective_inverses() -> NDArray[np.float64]:
            return inverse_masses() / stepper.inertia_ratio(state)[:, None]

        over = VolumePartner(lambda: (stepper.positions - state.x) / dt, effective_inverses)
        yield over
        if over.velocities is not None and over.change is not None and over.change.any():
            stepper.positions = state.x + dt * over.velocities
            stepper.velocities = stepper.velocities + stepper.inertia_ratio(state)[:, None] * over.change
        end = VolumePartner(lambda: stepper.velocities, inverse_masses)
        yield end
        if end.velocities is not None:
            stepper.velocities = end.velocities

    def _keep_volumes(
        self, incompressibility: Incompressibility, dt: float
    ) -> Generator[VolumeProjection, SolveResult, SolveReport]:
        """Project the positions and the velocities of the stepper of an incompressible body."""
        x, stepper = self.state.x, self.body._stepper
        incompressibility.check_enclosed(stepper.positions)
        kept = incompressibility.keep_volumes(x, (stepper.positions - x) / dt, dt)
        first = (yield kept).report
        if not first.residual <= FAILED_VOLUME:
            raise SubstepError("the volumes of nodes could not be kept")
        stepper.update_pressure(kept.problem.rate, kept.problem.impulse, dt)
        stepper.positions = x + dt * kept.velocities
        stepper.velocities = stepper.velocities + kept.problem.change
        end = incompressibility.remove_divergence(stepper.positions, stepper.velocities, dt)
        second = (yield end).report
        return SolveReport(
            incompressibility.iterations + first.iterations + second.iterations,
            first.residual,
            first.converged and second.converged,
            warnings=first.warnings + second.warnings,
        )

    def save(self) -> None:
        """Save the state."""
        self._saved = self.body.state()

    def restore(self) -> None:
        """Restore the saved state."""
        self._outcomes.clear()
        self.body._stepper.restore_solver_memory(self._solver_memory)
        if self._saved is not None:
            self.body.restore(self._saved)

    def report(self, dt: float, parts: int, needed: int, reason: str, seconds: float) -> StepReport:
        """Publish the forces of haptic tools, and return how the step went."""
        body = self.body
        body._reactions = body._stepper.reactions
        for tool in body._haptic_tools:
            tool.publish_force(body._stepper, dt / parts)
        return _report(body, dt, self._outcomes, needed, reason, seconds)

    def diverged(self, dt: float, parts: int, reason: str) -> DivergedError:
        """Return the error of a step that failed."""
        return _diverged(self.body, dt, parts, reason)


def step_alone(body: DeformableBody, dt: float) -> StepReport:
    """Advance a body without contact by `dt` [s]; see `DeformableBody.step`."""
    return advance_with_retries([DeformableStep(body, dt)], body._environment.time, dt, NO_CONTACT)[0]


@timed("forces")
def _step_input(body: DeformableBody, time: float, dt: float) -> StepInput:
    """Return the input of the substep from `time` to `time + dt` [s]."""
    body._dirichlet.update(
        body._constraints, time, time + dt, body._elements.rest_positions, body._x, dt, body.name
    )
    body._collect_forces(body._x, body._v, body._force, time + body._stepper.load_time_fraction * dt)
    return StepInput(
        dt=dt,
        alpha=body.damping[0],
        beta=body.damping[1],
        force=body._force,
        dirichlet=body._dirichlet,
        is_rotation_invariant=body.material.is_rotation_invariant,
        constant_stiffness=body.material.constant_stiffness,
        pulls=tuple(body._pulls),
        position_tolerance=1e-5 * body._element_size,
        size=body._element_size,
    )


def _report(
    body: DeformableBody, dt: float, outcomes: list[StepOutcome], needed: int, reason: str, seconds: float
) -> StepReport:
    around = body._environment
    iterations = sum(outcome.solve.iterations for outcome in outcomes)
    residual = max(outcome.solve.residual for outcome in outcomes)
    converged = all(outcome.solve.converged for outcome in outcomes)
    inverted = body._elements.inverted
    errors = [outcome.solve.error for outcome in outcomes if outcome.solve.error is not None]
    warnings = list(dict.fromkeys(text for outcome in outcomes for text in outcome.solve.warnings))
    projections = [outcome.projection for outcome in outcomes if outcome.projection is not None]
    if not converged and not warnings:
        warnings.append(
            f"the linear solver stopped after {iterations} iterations at a residual of {residual:.1e}"
        )
    warnings += dict.fromkeys(text for projection in projections for text in projection.warnings)
    if inverted:
        warnings.append(
            f"{inverted} of {body.element_count} elements {'is' if inverted == 1 else 'are'} inverted"
        )
    if needed > 1:
        warnings.append(f"the step is above the stability limit and was done in {len(outcomes)} parts")
    if reason:
        warnings.append(f"the step was done in {len(outcomes)} parts, because {reason}")
    return StepReport(
        body=body.name,
        step=around.step + 1,
        time=around.time + dt,
        dt=dt,
        substeps=len(outcomes),
        newton_iterations=sum(outcome.newton for outcome in outcomes),
        iterations=iterations,
        residual=residual,
        converged=converged and all(projection.converged for projection in projections),
        inverted=inverted,
        contacts=max(outcome.contacts for outcome in outcomes),
        seconds=seconds,
        warnings=tuple(warnings),
        solver=_named(body.solver),
        projection_iterations=sum(projection.iterations for projection in projections),
        error=max(errors) if errors else None,
    )


def _named(solver: LinearSolver) -> str:
    """Return the name of the solver, and the reason if it was chosen automatically."""
    reason = getattr(solver, "reason", "")
    return f"{type(solver).__name__}, {reason}" if reason else type(solver).__name__


def _diverged(body: DeformableBody, dt: float, parts: int, reason: str) -> DivergedError:
    around = body._environment
    worst = worst_elements(body._elements, body._stepper.positions, body._x)
    return DivergedError(
        f"body '{body.name}' diverged in step {around.step + 1} at t = {around.time:g} s (dt = {dt:g} s"
        f"{f', even in {parts} parts' if parts > 1 else ''}): {reason}, "
        f"worst at elements {', '.join(map(str, worst))}; "
        "try a smaller dt, more damping or a finer mesh",
        body=body.name,
        step=around.step + 1,
        elements=worst,
    )


def worst_elements(
    elements: Elements, failed: NDArray[np.float64], good: NDArray[np.float64], count: int = 5
) -> tuple[int, ...]:
    """Return the elements that are not finite in `failed` positions, or the most deformed ones.

    If none is finite, the most deformed ones in the last `good` positions.
    """
    nodes = elements.elements
    lost = ~np.isfinite(failed[nodes]).all(axis=(1, 2))
    if lost.any() and not lost.all():
        return tuple(np.flatnonzero(lost)[:count].tolist())
    x = good if lost.any() else failed
    rest = elements.rest_positions
    worst = np.ones(len(nodes))
    with np.errstate(all="ignore"):
        for a, b in combinations(range(min(nodes.shape[1], 8)), 2):
            length = np.linalg.norm(x[nodes[:, a]] - x[nodes[:, b]], axis=1)
            ratio = length / np.linalg.norm(rest[nodes[:, a]] - rest[nodes[:, b]], axis=1)
            worst = np.maximum(worst, np.nan_to_num(np.maximum(ratio, 1.0 / ratio), nan=1.0))
    return tuple(np.argsort(-worst, kind="stable")[:count].tolist())
