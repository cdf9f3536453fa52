"""One run of a benchmark: its size, threads and time budget, and its progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import continua as ct
from continua.errors import InputError

T = TypeVar("T")


class PeerError(Exception):
    """A peer failed."""


class PeerStoppedError(PeerError):
    """A peer was stopped before it gave a result."""


SIZES = ("quick", "default", "full")
BUDGET = 300.0
"""Default time budget of a run [s]."""

_PLAIN_INTERVAL = 5.0  # s between lines of progress where there is no terminal


class Run:
    """Size, threads, budget and progress of a run.

    The budget is shared out over the cases of a benchmark: each may use an equal part of the time that is left when it
    starts. Repetitions and steps end early when that part is used up, peers are stopped, and a note says so. What has
    started is not interrupted, so a run may exceed its budget by one step or one solve.

    Args:
        name: Name of the benchmark, for the progress.
        size: "quick" (seconds; the form that the tests run), "default" or "full" (the large sizes too).
        threads: Threads for Continua and its peers; None for the benchmark's own choice.
        budget: Wall time [s].
        show: Whether to show progress on the standard error.

    Attributes:
        notes: Sentences for the report, such as cases that the budget left out and peers that are not installed.
    """

    def __init__(
        self,
        name: str = "",
        size: str = "default",
        threads: int | None = None,
        budget: float = BUDGET,
        *,
        show: bool = False,
    ) -> None:
        if size not in SIZES:
            raise InputError(f"the size of a benchmark must be one of {', '.join(SIZES)}, not {size!r}")
        if threads is not None and threads < 1:
            raise InputError(f"threads must be at least 1, not {threads}")
        if not budget > 0.0:
            raise InputError(f"the budget must be greater than 0 s, not {budget}")
        self.name, self.size, self.threads, self.budget = name, size, threads, budget
        self.notes: list[str] = []
        self._start = time.perf_counter()
        self._case_end = self._start + budget
        self._done, self._total = 0, 1
        self._label = ""
        self._progress = _Progress(show)

    @property
    def quick(self) -> bool:
        """Whether the run is to take seconds only."""
        return self.size == "quick"

    @property
    def full(self) -> bool:
        """Whether the large sizes are wanted."""
        return self.size == "full"

    @property
    def elapsed(self) -> float:
        """Seconds since the start of the run."""
        return time.perf_counter() - self._start

    @property
    def seconds_left(self) -> float:
        """Seconds of the budget that the current case has left; at least 0."""
        return max(0.0, self._case_end - time.perf_counter())

    def choose(self, quick: T, default: T, full: T | None = None) -> T:
        """Return the value for the size of this run; the large sizes are the default ones unless given."""
        if self.quick:
            return quick
        return full if self.full and full is not None else default

    def set_threads(self, default: int) -> int:
        """Set the threads of Continua to those asked for, or to `default`; return their number."""
        count = self.threads if self.threads is not None else default
        ct.set_threads(count)
        return count

    def cases(self, items: Sequence[T], label: Callable[[T], str] = str) -> Iterator[T]:
        """Yield the cases in turn, until the budget is used up; at least one."""
        self._total = len(items)
        for self._done, item in enumerate(items):
            if self._done and self.elapsed > self.budget:
                rest = ", ".join(label(other) for other in items[self._done :])
                self.notes.append(
                    f"budget of {self.budget:g} s used up: {self._done} of {self._total} cases done, without {rest}"
                )
                break
            self._case_end = time.perf_counter() + max(0.0, self.budget - self.elapsed) / (
                self._total - self._done
            )
            self.stage(label(item))
            yield item
        else:
            self._done = self._total
        self._case_end = self._start + self.budget
        self._progress.clear()

    def stage(self, text: str) -> None:
        """Show what runs now."""
        self._label = text
        self._show(0.0, "", True)

    def steps(self, count: int, label: str = "", part: float = 1.0) -> Iterator[int]:
        """Yield 0 to count - 1, until `part` of the time that the case has left is used up; at least two steps."""
        start, end = time.perf_counter(), time.perf_counter() + part * self.seconds_left
        what = ", ".join(filter(None, (self._label, label)))
        for step in range(count):
            now = time.perf_counter()
            if step > 1 and now > end:
                self.notes.append(
                    f"{what}: stopped after {now - start:.0f} s, {step} of {count} steps; compared on the steps done"
                )
                break
            self._show(step / count, f"{label} step {step + 1}/{count}".strip(), step == 0)
            yield step

    def least(self, function: Callable[[], object], rounds: int = 20) -> float:
        """Return the least seconds of a function over `rounds` calls, after one that warms up.

        A quick run takes one; others fewer than `rounds` when the time of the case is used up.
        """
        return self.best_of({"": function}, rounds)[""]

    def best_of(
        self, functions: dict[str, Callable[[], object]], rounds: int = 10, repeats: int = 1
    ) -> dict[str, float]:
        """Return the least seconds of each function; they take turns, so that all see the same drift of the machine."""
        best = dict.fromkeys(functions, float("inf"))
        for function in functions.values():
            function()
        for number in range(1 if self.quick else rounds):
            if number and not self.seconds_left:
                break
            for name, function in functions.items():
                for _ in range(1 if self.quick else repeats):
                    start = time.perf_counter()
                    function()
                    best[name] = min(best[name], time.perf_counter() - start)
        return best

    def peer(self, name: str, function: Callable[[], T]) -> T | None:
        """Return what a peer gives, or None with a note if it is not installed or has failed."""
        try:
            return function()
        except ImportError:
            note = f"{name} is not installed: left out"
        except PeerError as error:
            note = f"{name} {error}: left out"
        if note not in self.notes:
            self.notes.append(note)
        return None

    def _show(self, part: float, text: str, now: bool) -> None:
        done = (self._done + part) / self._total
        left = self.budget - self.elapsed
        if done > 0.02:
            left = min(left, self.elapsed / done * (1.0 - done))
        what = "  ".join(filter(None, (self._label, text)))
        until = f"{'about' if done > 0.02 else 'at most'} {max(left, 0.0):.0f} s left"
        self._progress.show(
            f"{self.name} {self._done + 1}/{self._total}: {what}  ({self.elapsed:.0f} s, {until})", now
        )


class _Progress:
    """One line on the standard error: overwritten on a terminal, printed every few seconds elsewhere."""

    def __init__(self, show: bool) -> None:
        self._on = show
        self._live = show and sys.stderr.isatty()
        self._next = 0.0

    def show(self, text: str, now: bool) -> None:
        time_now = time.perf_counter()
        if not self._on or (not now and time_now < self._next):
            return
        self._next = time_now + (0.2 if self._live else _PLAIN_INTERVAL)
        if self._live:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
