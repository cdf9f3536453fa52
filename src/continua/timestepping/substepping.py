"""Steps of several bodies in common substeps, with retries.

A step that fails is repeated in 2, 4, ... substeps, up to 64; loads, motions and contacts are those of each substep's
own time. If every attempt fails, the bodies keep the state they had. Each substep of a body is a coroutine that yields
requests (see `timestepping.requests`), and a driver resolves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Protocol

from continua.errors import DivergedError
from continua.frames import StepReport
from continua.linalg import SolveReport
from continua.timestepping.requests import SolveResult, StepCoroutine, VelocityProjection

__all__ = ["NO_CONTACT", "BodyStep", "StepDriver", "SubstepError", "advance_with_retries"]

MAX_SUBSTEPS = 64


class SubstepError(ArithmeticError):
    """A substep failed; the text says why."""


class BodyStep(Protocol):
    """The step of one body, as `advance_with_retries` sees it."""

    min_substeps: int
    """Substeps that the step needs at least."""

    may_subdivide: bool
    """Whether a failed step may be repeated in more substeps."""

    def substep(self, time: float, dt: float) -> StepCoroutine:
        """Do one substep; raises SubstepError if that fails."""

    def save(self) -> None:
        """Save the state."""

    def restore(self) -> None:
        """Restore the saved state."""

    def report(self, dt: float, substeps: int, min_substeps: int, reason: str, seconds: float) -> StepReport:
        """Return the report of a step that succeeded."""

    def diverged(self, dt: float, substeps: int, reason: str) -> DivergedError:
        """Return the error of a step that failed."""


class StepDriver(Protocol):
    """Runs the coroutines of steps and resolves their requests."""

    failing: BodyStep | None
    """The step whose substep failed last, if known."""

    def substep(self, steps: Sequence[BodyStep], time: float, dt: float) -> None:
        """Do one substep of all bodies."""

    def save(self) -> None:
        """Save what is carried from step to step."""

    def restore(self) -> None:
        """Restore what was saved."""


class _ContactFreeDriver:
    """Solves every body by itself."""

    failing: BodyStep | None = None

    def substep(self, steps: Sequence[BodyStep], time: float, dt: float) -> None:
        for step in steps:
            coroutine = step.substep(time, dt)
            result: SolveResult | None = None
            while True:
                try:
                    request = coroutine.send(result) if result is not None else next(coroutine)
                except StopIteration:
                    break
                result = SolveResult(
                    SolveReport(0, 0.0, True)
                    if isinstance(request, VelocityProjection)
                    else request.solve_alone()
                )

    def save(self) -> None:
        pass

    def restore(self) -> None:
        pass


NO_CONTACT = _ContactFreeDriver()
"""The driver of bodies without contacts."""


def advance_with_retries(
    steps: Sequence[BodyStep], time: float, dt: float, driver: StepDriver
) -> list[StepReport]:
    """Advance bodies from `time` by `dt` [s], all in the same substeps.

    If that fails for every number of substeps, DivergedError is raised and all bodies are back in their initial state.
    """
    start = perf_counter()
    min_substeps = max(step.min_substeps for step in steps)
    saved, reason, culprit = False, "", steps[0]
    restores: list[Callable[[], None]] = [driver.restore, *(step.restore for step in steps)]
    for doublings in range(MAX_SUBSTEPS.bit_length() if all(step.may_subdivide for step in steps) else 1):
        substeps = min_substeps << doublings
        if not saved and (substeps > 1 or len(steps) > 1):
            for step in steps:
                step.save()
            driver.save()
            saved = True
        try:
            for k in range(substeps):
                driver.substep(steps, time + (k * dt) / substeps, dt / substeps)
        except SubstepError as failure:
            reason, culprit = str(failure), driver.failing or culprit
        except BaseException:
            for restore in restores:
                restore()
            raise
        else:
            seconds = (perf_counter() - start) / len(steps)
            return [step.report(dt, substeps, min_substeps, reason, seconds) for step in steps]
        for restore in restores:
            restore()
    raise culprit.diverged(dt, substeps, reason)
