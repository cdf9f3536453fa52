"""Keeps a simulation from running faster than real time, and measures its speed."""

from __future__ import annotations

import time
from collections import deque

__all__ = ["Clock"]

_MAX_LAG = 0.1  # s of real time that the simulation catches up; a larger lag is dropped


class Clock:
    """Paces simulated time to real time, and measures the speed of the simulation."""

    def __init__(self) -> None:
        self._real = self._simulated = 0.0
        self._marks: deque[tuple[float, float]] = deque()

    def restart(self, simulated: float) -> None:
        """Start again at the simulated time [s]."""
        self._real, self._simulated = time.perf_counter(), simulated
        self._marks.clear()

    def wait(self, simulated: float) -> float:
        """Return the seconds until `simulated` is due; a large lag is dropped, not caught up."""
        lag = (time.perf_counter() - self._real) - (simulated - self._simulated)
        if lag > _MAX_LAG:
            self._real += lag
        return -lag

    def mark(self, simulated: float) -> None:
        """Record a step that ended at the simulated time [s]."""
        now = time.perf_counter()
        self._marks.append((now, simulated))
        while len(self._marks) > 2 and now - self._marks[0][0] > 1.0:
            self._marks.popleft()

    def rates(self) -> tuple[float, float]:
        """Return steps per second and simulated seconds per second."""
        if len(self._marks) < 2:
            return 0.0, 0.0
        (real0, simulated0), (real1, simulated1) = self._marks[0], self._marks[-1]
        real = max(real1 - real0, 1e-9)
        return (len(self._marks) - 1) / real, (simulated1 - simulated0) / real
