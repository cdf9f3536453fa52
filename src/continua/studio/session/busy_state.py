"""Long work of the simulation's thread: its progress as shown by pages, and its cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from continua.errors import StoppedError
from continua.numerics.progress import progress_listener

__all__ = ["BusyState"]

_REPORT_INTERVAL = 0.1  # s between two messages about the same work


class BusyState:
    """The current long work. Only `cancel` may be called by other threads.

    Args:
        changed: Called when the state has changed.

    Attributes:
        text: Description of the work, or None.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._cancelled = threading.Event()
        self._cancellable = False
        self._cancel_message = ""
        self._progress: float | None = None
        self._count: tuple[int, int] | None = None
        self._seconds_left: float | None = None
        self._reported = 0.0
        self.text: str | None = None

    def describe(self) -> dict[str, Any]:
        """Return the work, whether it can be cancelled and, as far as known, its progress, ready for JSON.

        The progress is a fraction from 0 to 1, a number of `total` parts that are done, and the seconds left.
        """
        done, total = self._count or (None, None)
        return {
            "busy": self.text,
            "progress": self._progress,
            "done": done,
            "total": total,
            "secondsLeft": self._seconds_left,
            "cancellable": self._cancellable,
        }

    def cancel(self) -> None:
        """Stop the current work as soon as possible."""
        self._cancelled.set()

    def report(
        self,
        text: str | None,
        progress: float | None = None,
        *,
        done: int | None = None,
        total: int | None = None,
        seconds_left: float | None = None,
    ) -> None:
        """Set the description of the current work, or None if there is none, and its progress as far as known.

        With `done` and `total`, pages show "`text` 3 of 12, about 20 s left" and a bar.

        Args:
            text: The work.
            progress: Fraction done, from 0 to 1; from `done` and `total` if they are given.
            done: Number of parts that are done.
            total: Number of all parts.
            seconds_left: Estimated time until the work is done [s].
        """
        self.text, self._progress = text, progress
        self._count, self._seconds_left = None, seconds_left
        if done is not None and total is not None:
            self._count = done, total
            self._progress = done / max(total, 1)
        self._reported = time.monotonic()
        self._changed()

    @contextmanager
    def track(self, text: str, cancelled: str) -> Iterator[None]:
        """Report the progress of long work in the block; `cancel` ends it with `StoppedError(cancelled)`."""
        self._cancelled.clear()
        self._cancellable = True
        self._cancel_message = cancelled
        self.report(text)

        def on_progress(progress: float | None, text: str) -> None:
            self.check_cancelled(cancelled)
            if time.monotonic() - self._reported > _REPORT_INTERVAL:
                self.report(text, progress)

        try:
            with progress_listener(on_progress):
                yield
        finally:
            self._cancellable = False
            self.clear()

    def report_count(self, text: str, done: int, total: int, seconds_left: float) -> None:
        """Report the progress of tracked work now and then by the number of its parts; raise if it was cancelled."""
        self.check_cancelled(self._cancel_message)
        if time.monotonic() - self._reported > _REPORT_INTERVAL or self._count != (done, total):
            self.report(text, done=done, total=total, seconds_left=seconds_left)

    def clear(self) -> None:
        """Forget the work; the caller publishes the state."""
        self.text = self._progress = self._count = self._seconds_left = None

    def check_cancelled(self, message: str) -> None:
        """Raise `StoppedError` if the work was cancelled."""
        if self._cancelled.is_set():
            raise StoppedError(message)

    def clear_cancel(self) -> None:
        """Discard an earlier cancellation."""
        self._cancelled.clear()
