"""Collects worlds that were replaced, and returns their memory to the system."""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable
from contextlib import suppress

__all__ = ["WorldCollector"]

_QUIET_TIME = 1.0  # s without another world before collecting, so that edits at the start do not wait for it
_MAX_WORLDS = 8  # replaced worlds before collecting anyway


class WorldCollector:
    """Counts replaced worlds. Only the simulation's thread calls it.

    A world and its bodies refer to each other, so only the garbage collector can free them, and it counts
    objects, not the megabytes that they hold: dozens of worlds would pile up before it ran.
    """

    def __init__(self) -> None:
        self._count = 0
        self._last = 0.0

    def add(self) -> None:
        """Count a world that was replaced."""
        self._count += 1
        self._last = time.monotonic()

    def collect(self) -> bool:
        """Free replaced worlds if it is time to; return whether it was."""
        quiet = time.monotonic() - self._last >= _QUIET_TIME
        if not self._count or not (quiet or self._count >= _MAX_WORLDS):
            return False
        self._count = 0
        gc.collect()
        _trim(0)
        return True


def _find_trim() -> Callable[[int], object]:
    """Return glibc's `malloc_trim`, which returns free pages of all threads; elsewhere a function that does nothing."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library has no such function
            trim = ctypes.CDLL(None).malloc_trim
            trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
            return trim
    return lambda _pad: None


_trim = _find_trim()
