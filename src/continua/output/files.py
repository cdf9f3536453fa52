"""Folders and file names of results."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from continua.errors import InputError

__all__ = ["file_names", "prepare_folder"]

_RESERVED = {"con", "prn", "aux", "nul", *(f"{p}{i}" for p in ("com", "lpt") for i in range(1, 10))}


def prepare_folder(path: str | os.PathLike[str], *, within: str | os.PathLike[str] | None = None) -> Path:
    """Create the folder `path` if needed and check that files can be written there.

    Args:
        path: The folder.
        within: If given, the folder must lie inside this one, after links and ".." are resolved. Scene
            files cannot place their results elsewhere.

    Raises:
        InputError: The folder lies outside `within`, its path is a file, or it is not writable.
    """
    folder = Path(path).expanduser()
    if within is not None:
        root = Path(within).resolve()
        if not (root / folder).resolve().is_relative_to(root):
            raise InputError(
                f"the output folder must lie inside {root}; choose a folder below it", where=str(path)
            )
        folder = root / folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(
            "the path of the output folder is a file; remove it or choose another folder", where=str(path)
        ) from None
    except OSError as error:
        raise InputError(
            f"the output folder cannot be created ({error.strerror}); choose another", where=str(path)
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError("the output folder is not writable; choose another", where=str(path))
    return folder


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a unique, portable file name for each body.

    Returns:
        The file name (without folder and suffix) by body name.
    """
    result: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        base = re.sub(r"[^\w\-]+", "_", name, flags=re.ASCII).strip("_")[:80] or "body"
        if base.lower() in _RESERVED:
            base += "_"
        choice, count = base, 1
        while choice.lower() in taken:
            count += 1
            choice = f"{base}_{count}"
        taken.add(choice.lower())
        result[name] = choice
    return result
