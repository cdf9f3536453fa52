"""Writing files so that nobody ever sees half of one: aside first, then renamed over the goal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_path", "atomic_write", "is_aside"]

_MARK = ".tmp"


def _aside(path: Path) -> Path:
    """Return the hidden name beside `path` under which it is written; it keeps the suffix."""
    return path.with_name(f".{path.stem}{_MARK}{path.suffix}")


def is_aside(path: Path) -> bool:
    """Tell whether `path` is a file that a killed process left behind before the rename."""
    return path.name.startswith(".") and Path(path.stem).suffix == _MARK


def _sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut, where the system allows to sync a folder."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path aside to a library that opens files itself; rename it to `path` at the end.

    The name aside has the suffix of `path`. If the block raises, the file aside is removed and whatever
    was at `path` before stays as it was.
    """
    goal = Path(path)
    aside = _aside(goal)
    try:
        yield aside
        with open(aside, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(aside, goal)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise
    _sync_folder(goal.parent)


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file for writing that appears at `path` complete, or not at all.

    Args:
        path: Where the file will be. Its folder must exist.
        mode: "wb" for bytes, "w" for text (UTF-8, line ends as written).

    Yields:
        The open file.
    """
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    with atomic_path(path) as aside, open(aside, mode, **text) as file:  # type: ignore[call-overload]
        yield file
        file.flush()
