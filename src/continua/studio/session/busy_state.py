"""What keeps the simulation's thread busy for long, as pages are told, and a way to stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from continua.errors import StoppedError
from continua.numerics.progress import watching

__all__ = ["Work"]

_PAUSE = 0.1  # s between two messages about the same work


class Work:
    """The long work at hand. Only `cancel` may be called by other threads.

    Args:
        changed: Called when there is something new to tell.

    Attributes:
        text: What is done, or None.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._cancelled = threading.Event()
        self._stoppable = False
        self._part: float | None = None
        self._told = 0.0
        self.text: str | None = None

    def describe(self) -> dict[str, Any]:
        """Return what pages are told: what is done, which part of it is, and whether it can be stopped."""
        return {"busy": self.text, "part": self._part, "stoppable": self._stoppable}

    def cancel(self) -> None:
        """Stop the work at hand as soon as that is possible."""
        self._cancelled.set()

    def say(self, text: str | None, part: float | None = None) -> None:
        """Tell what is done now, or that nothing is."""
        self.text, self._part = text, part
        self._told = time.monotonic()
        self._changed()

    @contextmanager
    def watched(self, text: str, stopped: str) -> Iterator[None]:
        """Tell of all long work in the block; `StoppedError` ends it, with the sentence `stopped`."""
        self._cancelled.clear()
        self._stoppable = True
        self.say(text)

        def hear(part: float | None, news: str) -> None:
            self.check(stopped)
            if time.monotonic() - self._told > _PAUSE:
                self.say(news, part)

        try:
            with watching(hear):
                yield
        finally:
            self._stoppable = False
            self.text = self._part = None

    def check(self, stopped: str) -> None:
        """Raise `StoppedError` if the work is to stop."""
        if self._cancelled.is_set():
            raise StoppedError(stopped)

    def begin(self) -> None:
        """Forget that earlier work was stopped."""
        self._cancelled.clear()
