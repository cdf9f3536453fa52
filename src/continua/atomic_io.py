"""Atomic writing of files: under a temporary name first, then renamed."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from continua.errors import ContinuaError, OutputError

__all__ = ["atomic_path", "atomic_write", "explained", "temporary_path"]

_MARK = ".tmp"


# errors of a full or failing disk
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ENXIO, errno.ENODEV}
_NEARLY_FULL = 64 * 1024  # bytes


def temporary_path(path: Path) -> Path:
    """Return the hidden name beside `path` under which it is written until it is complete; it keeps the suffix."""
    return path.with_name(f".{path.stem}{_MARK}{path.suffix}")


@contextmanager
def explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert the error of a full or failing disk, raised while `path` is written, to an `OutputError`.

    Libraries that write files themselves report a full disk differently, so the free space is checked
    after any failure.
    """
    try:
        yield
    except ContinuaError:
        raise
    except Exception as error:
        number = error.errno if isinstance(error, OSError) else None
        if number not in _DISK_ERRORS and _free_bytes(Path(path)) > _NEARLY_FULL:
            raise
        code = number if number in _DISK_ERRORS else errno.ENOSPC
        assert code is not None
        raise OutputError(f"cannot be written ({os.strerror(code)})", path=str(path), errno=code) from error


def _free_bytes(path: Path) -> int:
    for folder in path.absolute().parents:
        with suppress(OSError):
            return shutil.disk_usage(folder).free
    return 1 << 62


def _sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable, if the system can sync a folder."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path for a library that opens files itself; rename it to `path` at the end.

    The temporary name has the suffix of `path`. If the block raises, the temporary file is removed and a
    file at `path` is unchanged.

    Raises:
        OutputError: The disk is full or fails.
    """
    goal = Path(path)
    temporary = temporary_path(goal)
    try:
        with explained(goal):
            yield temporary
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, goal)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
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
    with atomic_path(path) as temporary, open(temporary, mode, **text) as file:  # type: ignore[call-overload]
        yield file
        file.flush()
