"""Times of a run: how long the work took without compiling, and how long the rest will take."""

from __future__ import annotations

import time

from continua.numerics import compile_stats

__all__ = ["LapTimer", "TimeLeft"]

SHORTEST_MEMORY = 2.0
MEMORY_SHARE = 0.25


class LapTimer:
    """Measures the time between two calls; kernels that compile in between are counted apart."""

    def __init__(self) -> None:
        self._now = time.perf_counter()
        self._compiled = compile_stats()[1]

    def lap(self) -> tuple[float, float]:
        """Return the seconds of work and those of compiling since the last call; neither is negative."""
        now, compiled = time.perf_counter(), compile_stats()[1]
        took = now - self._now
        compiling = min(max(compiled - self._compiled, 0.0), took)
        self._now, self._compiled = now, compiled
        return took - compiling, compiling


class TimeLeft:
    """Estimates how long the rest of some work takes, from its speed.

    Old measurements count less: their weight halves in a quarter of the time that the work has taken so far, and in 2 s
    at least. So the estimate follows a run that becomes slower, and settles in a long one.

    Args:
        total: The amount of work, in any unit.
    """

    def __init__(self, total: float) -> None:
        self.total = total
        self._done: float | None = None
        self._elapsed = 0.0
        self._work = 0.0
        self._seconds = 0.0

    def update(self, done: float, seconds: float) -> None:
        """Count work.

        Args:
            done: How much is done of the total. The first call gives the start.
            seconds: Time [s] since the last call.
        """
        if self._done is not None:
            self._elapsed += seconds
            keep = 0.5 ** (seconds / max(SHORTEST_MEMORY, MEMORY_SHARE * self._elapsed))
            self._work = self._work * keep + done - self._done
            self._seconds = self._seconds * keep + seconds
        self._done = done

    @property
    def seconds(self) -> float | None:
        """The time left [s], or None if it is not known yet."""
        if self._done is None or self._work <= 0.0:
            return None
        return max(self.total - self._done, 0.0) * self._seconds / self._work
