"""Sweeps up after worlds that were replaced, and gives their memory back to the machine."""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable
from contextlib import suppress

__all__ = ["Leftovers"]

_PAUSE = 1.0  # s without another world before it is swept, so that a slider at the start does not wait for it
_MOST = 8  # worlds that may lie about


class Leftovers:
    """Counts worlds that nobody shows any more. Only the simulation's thread calls it.

    A world and its bodies know each other, so only the garbage collector finds that they are dead, and it counts
    objects, not the megabytes that they hold: dozens of worlds would pile up before it looked.
    """

    def __init__(self) -> None:
        self._count = 0
        self._last = 0.0

    def add(self) -> None:
        """Say that a world was replaced."""
        self._count += 1
        self._last = time.monotonic()

    def sweep(self) -> bool:
        """Free what was replaced if it is time to; return whether it was."""
        quiet = time.monotonic() - self._last >= _PAUSE
        if not self._count or not (quiet or self._count >= _MOST):
            return False
        self._count = 0
        gc.collect()
        _trim(0)
        return True


def _find_trim() -> Callable[[int], object]:
    """Return glibc's `malloc_trim`, which gives free pages of all threads back; elsewhere what does nothing."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library has no such function
            trim = ctypes.CDLL(None).malloc_trim
            trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
            return trim
    return lambda _pad: None


_trim = _find_trim()
