"""Tells whoever waits what long work is doing, and lets them stop it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Progress", "progress_listener", "report_progress", "stage"]

Progress = Callable[[float | None, str], None]
"""Hears which part of the work is done, from 0 to 1 or None where nobody knows, and what is done; may raise to stop."""

_hear: ContextVar[Progress | None] = ContextVar("continua_progress", default=None)


@contextmanager
def progress_listener(hear: Progress) -> Iterator[None]:
    """Let `hear` know of all long work inside the `with` block.

    It is called a few times a second. What it raises, such as `StoppedError`, ends the work.
    """
    token = _hear.set(hear)
    try:
        yield
    finally:
        _hear.reset(token)


def report_progress(part: float | None, text: str) -> None:
    """Say what is done now to whoever watches."""
    hear = _hear.get()
    if hear is not None:
        hear(part, text)


@contextmanager
def stage(text: str, part: float | None = None) -> Iterator[None]:
    """Say what is done now, and put that before all that is told inside the `with` block."""
    report_progress(part, text)
    outer = _hear.get()
    if outer is None:
        yield
        return
    with progress_listener(lambda _part, inner: outer(part, f"{text}: {inner}")):
        yield
