"""Steps of bodies in parts that all do together.

A step that fails is done again in 2, 4, ... parts, up to 64; loads, motions and contacts are those of each part's own
time. If nothing helps, the bodies keep the state they had. Each part of a body is a coroutine that asks for what has to
be solved (see `contact.asks`), and a driver answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Protocol

from continua.contact.asks import Answer, BodySystem, Conversation
from continua.errors import DivergedError
from continua.frames import StepReport
from continua.linalg import SolveReport

__all__ = ["ALONE", "BodyStep", "Driver", "FailedPartError", "advance"]

MOST_PARTS = 64


class FailedPartError(ArithmeticError):
    """A part of a step failed; the text says why."""


class BodyStep(Protocol):
    """The step of one body, as `advance` sees it."""

    needed: int
    """Parts that the step has to be cut into."""

    retries: bool
    """Whether it may be tried in more parts."""

    def part(self, time: float, dt: float) -> Conversation:
        """Do one part; raises FailedPartError if that fails."""

    def save(self) -> None:
        """Remember the state."""

    def restore(self) -> None:
        """Go back to the state that was saved."""

    def report(self, dt: float, parts: int, needed: int, reason: str, seconds: float) -> StepReport:
        """Tell how it went."""

    def diverged(self, dt: float, parts: int, reason: str) -> DivergedError:
        """Return the error of a step that failed."""


class Driver(Protocol):
    """What answers the questions of steps."""

    failing: BodyStep | None
    """The step whose part failed last, if that is known."""

    def part(self, steps: Sequence[BodyStep], time: float, dt: float) -> None:
        """Let all bodies do one part."""

    def save(self) -> None:
        """Remember what goes from step to step."""

    def restore(self) -> None:
        """Go back to what was saved."""


class _Alone:
    """Answers the questions of bodies that touch nothing."""

    failing: BodyStep | None = None

    def part(self, steps: Sequence[BodyStep], time: float, dt: float) -> None:
        for step in steps:
            talk = step.part(time, dt)
            answer: Answer | None = None
            while True:
                try:
                    ask = talk.send(answer) if answer is not None else next(talk)
                except StopIteration:
                    break
                answer = Answer(ask.alone() if isinstance(ask, BodySystem) else SolveReport(0, 0.0, True))

    def save(self) -> None:
        pass

    def restore(self) -> None:
        pass


ALONE = _Alone()
"""The driver of bodies that touch nothing."""


def advance(steps: Sequence[BodyStep], time: float, dt: float, driver: Driver) -> list[StepReport]:
    """Do the steps of bodies from `time` on by `dt` [s], all in the same parts.

    If that fails in every number of parts, DivergedError is raised and all bodies are back where they were.
    """
    start = perf_counter()
    needed = max(step.needed for step in steps)
    saved, reason, culprit = False, "", steps[0]
    restore: list[Callable[[], None]] = [driver.restore, *(step.restore for step in steps)]
    for more in range(MOST_PARTS.bit_length() if all(step.retries for step in steps) else 1):
        parts = needed << more
        if not saved and (parts > 1 or len(steps) > 1):
            for step in steps:
                step.save()
            driver.save()
            saved = True
        try:
            for k in range(parts):
                driver.part(steps, time + (k * dt) / parts, dt / parts)
        except FailedPartError as failure:
            reason, culprit = str(failure), driver.failing or culprit
        except BaseException:
            for back in restore:
                back()
            raise
        else:
            seconds = (perf_counter() - start) / len(steps)
            return [step.report(dt, parts, needed, reason, seconds) for step in steps]
        for back in restore:
            back()
    raise culprit.diverged(dt, parts, reason)
