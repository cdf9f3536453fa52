"""Where the time of a step goes: packages name their stages, and a stopwatch measures them.

A stage inside another one pauses it, so the times of all stages add up to the time of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from time import perf_counter
from typing import TypeVar

__all__ = ["REST", "Stopwatch", "timed"]

REST = "rest of the step"
"""The stage of what belongs to no other."""

_watch: ContextVar[Stopwatch | None] = ContextVar("continua_stopwatch", default=None)

F = TypeVar("F", bound=Callable[..., object])


class Stopwatch:
    """Measures stages while it runs.

    Attributes:
        seconds: Time of each stage [s] since it was started last, in the order in which they came.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stack: list[str] = []
        self._since = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure the stages inside the `with` block, from zero on."""
        self.seconds = {}
        self._stack = [REST]
        self._since = perf_counter()
        token = _watch.set(self)
        try:
            yield
        finally:
            self._switch()
            _watch.reset(token)

    def begin(self, stage: str) -> None:
        """Go over to a stage."""
        self._switch()
        self._stack.append(stage)

    def end(self) -> None:
        """Go back to the stage before."""
        self._switch()
        self._stack.pop()

    def _switch(self) -> None:
        now = perf_counter()
        stage = self._stack[-1]
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._since
        self._since = now


def timed(stage: str) -> Callable[[F], F]:
    """Count the time of a function as this stage of a step. Not for functions that yield."""

    def wrap(function: F) -> F:
        @wraps(function)
        def measured(*args: object, **options: object) -> object:
            watch = _watch.get()
            if watch is None:
                return function(*args, **options)
            watch.begin(stage)
            try:
                return function(*args, **options)
            finally:
                watch.end()

        return measured  # type: ignore[return-value]

    return wrap
