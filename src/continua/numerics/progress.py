"""Progress of long operations: reported to a listener, which can stop them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Progress", "progress_listener", "report_progress", "stage"]

Progress = Callable[[float | None, str], None]
"""Called with the fraction done, from 0 to 1 or None if unknown, and the current operation; may raise to stop it."""

_hear: ContextVar[Progress | None] = ContextVar("continua_progress", default=None)


@contextmanager
def progress_listener(hear: Progress) -> Iterator[None]:
    """Report the progress of all long operations inside the `with` block to `hear`.

    It is called a few times per second. An exception that it raises, such as `StoppedError`, stops the operation.
    """
    token = _hear.set(hear)
    try:
        yield
    finally:
        _hear.reset(token)


def report_progress(part: float | None, text: str) -> None:
    """Report the current operation to the listener."""
    hear = _hear.get()
    if hear is not None:
        hear(part, text)


@contextmanager
def stage(text: str, part: float | None = None) -> Iterator[None]:
    """Report the current operation, and prefix all reports inside the `with` block with it."""
    report_progress(part, text)
    outer = _hear.get()
    if outer is None:
        yield
        return
    with progress_listener(lambda _part, inner: outer(part, f"{text}: {inner}")):
        yield
