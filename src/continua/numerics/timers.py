"""Timers of the stages of a step: packages name their stages, and a stopwatch measures them.

A stage inside another one pauses it, so the times of all stages sum to the total. Kernels that compile are a stage of
their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from time import perf_counter
from typing import TypeVar

from continua.numerics.kernel import compile_stats

__all__ = ["COMPILING", "REST", "Stopwatch", "timed"]

REST = "rest of the step"
"""The stage of what belongs to no other."""
COMPILING = "compiling"
"""The stage of kernels that compile at their first call."""

_watch: ContextVar[Stopwatch | None] = ContextVar("continua_stopwatch", default=None)

F = TypeVar("F", bound=Callable[..., object])


class Stopwatch:
    """Measures stages while it runs.

    Attributes:
        seconds: Time of each stage [s] since it was last started, in the order of their first use.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stack: list[str] = []
        self._since = 0.0
        self._compiled = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure the stages inside the `with` block, from zero."""
        self.seconds = {}
        self._stack = [REST]
        self._since = perf_counter()
        self._compiled = compile_stats()[1]
        token = _watch.set(self)
        try:
            yield
        finally:
            self._switch()
            _watch.reset(token)

    def begin(self, stage: str) -> None:
        """Enter a stage."""
        self._switch()
        self._stack.append(stage)

    def end(self) -> None:
        """Return to the previous stage."""
        self._switch()
        self._stack.pop()

    def _switch(self) -> None:
        now, compiled = perf_counter(), compile_stats()[1]
        took = now - self._since
        compiling = min(compiled - self._compiled, took)
        stage = self._stack[-1]
        self.seconds[stage] = self.seconds.get(stage, 0.0) + took - compiling
        if compiling > 0.0:
            self.seconds[COMPILING] = self.seconds.get(COMPILING, 0.0) + compiling
        self._since, self._compiled = now, compiled


def timed(stage: str) -> Callable[[F], F]:
    """Measure the time of a function as this stage of a step. Not for generators."""

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
