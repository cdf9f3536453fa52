"""One step of a body, in one piece or, when that fails, in parts.

A step fails when a value is not finite, the linear solver gets nowhere, Newton's iteration does not settle, or nodes
fly apart. It is then done again in 2, 4, ... parts, up to 64; loads, motions and contacts are those of each part's own
time. If nothing helps, the body keeps the state it had.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import isfinite
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.contact import NO_CONTACTS, ContactSet
from continua.errors import DivergedError, InputError
from continua.frames import StepReport
from continua.linalg import LinearSolver
from continua.solids import mass_kernels
from continua.solids.elements import Elements
from continua.solids.integrators import Matter, StepInput
from continua.solids.integrators.integrator import Outcome

if TYPE_CHECKING:
    from continua.solids.soft_body import SoftBody

__all__ = ["Touch", "step_body"]

Touch = Callable[..., ContactSet]
"""Finds contacts: called with what `SoftBody.contact_surface` returns, and dt."""

MOST_PARTS = 64
FAR = 10.0
"""Sizes of the body that its nodes may move away from each other in one step."""

HOPELESS = 0.5
"""Relative residual from which a linear solve has failed."""


class _FailedError(ArithmeticError):
    """A part of a step failed; the text says why."""


def step_body(body: SoftBody, dt: float, touch: Touch | None = None) -> StepReport:
    """Advance a body by `dt` [s]; see `SoftBody.step`."""
    if not (isfinite(dt) and dt > 0.0):
        raise InputError(f"dt must be greater than 0 s, not {dt}")
    start = perf_counter()
    matter = body._matter()
    around = body._surroundings
    needed = body._stepper.parts(matter, dt, body.damping, body._pulls)
    before: dict[str, Any] | None = None
    reason = ""
    for more in range(MOST_PARTS.bit_length() if body._stepper.retries else 1):
        parts = needed << more
        if parts > 1 and before is None:
            before = body.state()
        try:
            outcomes = [
                _part(body, matter, around.time + (k * dt) / parts, dt / parts, touch) for k in range(parts)
            ]
        except _FailedError as failure:
            reason = str(failure)
        except BaseException:
            if before is not None:
                body.restore(before)
            raise
        else:
            return _report(body, dt, outcomes, needed, reason, perf_counter() - start)
        if before is not None:
            body.restore(before)
    raise _diverged(body, dt, parts, reason)


def _step_input(body: SoftBody, time: float, dt: float, touch: Touch | None) -> StepInput:
    """Return what acts on a body in the part of a step from `time` to `time + dt` [s]."""
    around = body._surroundings
    body._held.place(body._constraints, time, time + dt, body.rest_positions, body._x, dt, body.name)
    body._collect_forces(body._x, body._v, body._force, time + body._stepper.when * dt)

    def find(velocities: NDArray[np.float64]) -> ContactSet:
        if touch is None:
            return NO_CONTACTS
        surface = body.contact_surface()
        return touch(**{**surface, "velocities": velocities[surface["nodes"]]}, time=time, dt=dt)

    return StepInput(
        dt=dt,
        alpha=body.damping[0],
        beta=body.damping[1],
        force=body._force,
        held=body._held,
        follows_rotation=body.material.follows_rotation,
        constant_stiffness=body.material.constant_stiffness,
        pulls=tuple(body._pulls),
        touch=find,
        slip=0.01 * float(np.linalg.norm(around.gravity)) * dt + 1e-6 * body._size / dt,
        settled=1e-5 * body._element_size,
        size=body._element_size,
    )


def _part(body: SoftBody, matter: Matter, time: float, dt: float, touch: Touch | None) -> Outcome:
    """Advance by one part of a step, or raise and change nothing."""
    stepper = body._stepper
    outcome = stepper.solve(matter, _step_input(body, time, dt, touch))
    residual = outcome.solve.residual
    if not residual >= 0.0 or (residual > HOPELESS and not outcome.solve.converged):
        raise _FailedError("the linear solver found no solution")
    if outcome.failure:
        raise _FailedError(outcome.failure)
    way = mass_kernels.departure(matter.x, stepper.positions, stepper.velocities)
    if not way <= FAR * body._size:
        raise _FailedError("nodes flew apart" if isfinite(way) else "positions became infinite")
    stepper.accept(matter)
    if body._flow is not None:
        body._flow.advance(matter.x, dt)
    return outcome


def _report(
    body: SoftBody, dt: float, outcomes: list[Outcome], needed: int, reason: str, seconds: float
) -> StepReport:
    around = body._surroundings
    iterations = sum(outcome.solve.iterations for outcome in outcomes)
    residual = max(outcome.solve.residual for outcome in outcomes)
    converged = all(outcome.solve.converged for outcome in outcomes)
    inverted = body._elements.inverted
    errors = [outcome.solve.error for outcome in outcomes if outcome.solve.error is not None]
    warnings = list(dict.fromkeys(said for outcome in outcomes for said in outcome.solve.warnings))
    if not converged and not warnings:
        warnings.append(
            f"the linear solver stopped after {iterations} iterations at a residual of {residual:.1e}"
        )
    if inverted:
        warnings.append(f"{inverted} of {body.element_count} elements are inverted")
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
        newton=sum(outcome.newton for outcome in outcomes),
        iterations=iterations,
        residual=residual,
        converged=converged,
        inverted=inverted,
        contacts=max(outcome.contacts for outcome in outcomes),
        seconds=seconds,
        warnings=tuple(warnings),
        solver=_named(body.solver),
        error=max(errors) if errors else None,
    )


def _named(solver: LinearSolver) -> str:
    """Return which solver it is, and why if it was not the user's choice."""
    reason = getattr(solver, "reason", "")
    return f"{type(solver).__name__}, {reason}" if reason else type(solver).__name__


def _diverged(body: SoftBody, dt: float, parts: int, reason: str) -> DivergedError:
    around = body._surroundings
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
    """Return the numbers of elements that are not finite in `failed` positions, or the most deformed ones.

    Where all are lost, those that were the most deformed in the last `good` positions.
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
