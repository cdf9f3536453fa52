"""One run at a time in an output folder."""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from continua.atomic_io import explained
from continua.errors import InputError
from continua.output.folder import OWN_FOLDER

__all__ = ["FolderLock"]


class FolderLock:
    """A lock on an output folder that the operating system releases when the process ends, even by kill -9.

    The lock is on the file `.continua/lock`, which also names the process that holds it. Where a file system has
    no locks, the lock counts while that process is alive.

    Args:
        folder: The output folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / OWN_FOLDER / "lock"
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._handle is not None

    def check(self) -> None:
        """Raise `InputError` if another process holds the lock; make no file."""
        if not self.held and self.path.is_file():
            self.acquire()
            self.release()

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            InputError: Another process holds it.
        """
        if self.held:
            return
        with explained(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            owner = _read_owner(handle)
            if not _lock(handle, owner):
                raise InputError(
                    f"{_describe(owner)} is writing here; wait for it, stop it, or choose another folder with -o",
                    where=str(self.folder),
                )
            with explained(self.path):
                text = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()})
                os.ftruncate(handle, 0)
                os.lseek(handle, 0, os.SEEK_SET)
                os.write(handle, text.encode())
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle

    def release(self) -> None:
        """Give the lock back; the file stays, because removing it would race with another run."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _lock(handle: int, owner: dict[str, Any]) -> bool:
    """Try to lock an open file; return whether it is ours now."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            os.lseek(handle, 1 << 30, os.SEEK_SET)  # a byte beyond the text, which others may read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            os.lseek(handle, 0, os.SEEK_SET)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        return not _is_alive(owner)
    return True


def _is_alive(owner: dict[str, Any]) -> bool:
    if owner.get("host") != socket.gethostname():
        return bool(owner)
    with suppress(OSError, TypeError, OverflowError):
        os.kill(owner["pid"], 0)
        return owner["pid"] != os.getpid()
    return False


def _read_owner(handle: int) -> dict[str, Any]:
    try:
        owner = json.loads(os.read(handle, 4096))
    except (OSError, ValueError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _describe(owner: dict[str, Any]) -> str:
    try:
        since = time.strftime("%H:%M:%S", time.localtime(float(owner["since"])))
        return f"another run (process {int(owner['pid'])} on {owner['host']}, since {since})"
    except (KeyError, TypeError, ValueError, OSError, OverflowError):
        return "another run"
