"""Files that the user names: what cannot be read as a file is refused in one sentence, before it is opened."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from continua.errors import InputError

__all__ = ["check_file", "read_file"]


def check_file(path: str | os.PathLike[str], where: str = "") -> Path:
    """Return the path of a file that is there and can be read to its end: no folder, pipe or device.

    Args:
        path: The file.
        where: How the user named it, for messages; by default the path.

    Raises:
        InputError: It is missing or something else than a file, or its name cannot be one.
    """
    label = where or str(path)
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InputError("there is no such file", where=label) from None
    except (OSError, ValueError) as error:  # a name that is too long or has a zero byte
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the file cannot be read ({reason})", where=label) from None
    if stat.S_ISDIR(mode):
        raise InputError("is a folder, not a file", where=label)
    if not stat.S_ISREG(mode):
        raise InputError("is a pipe or a device, not a file", where=label)
    return Path(path)


def read_file(path: str | os.PathLike[str], where: str = "") -> bytes:
    """Return the bytes of a file, or raise InputError; see `check_file`."""
    file = check_file(path, where)
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", where=where or str(path)) from None
