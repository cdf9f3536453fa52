"""The errors that Continua raises on purpose: each says what, where, and what to do."""

from __future__ import annotations

import re
import sys
import warnings
from functools import partial
from typing import Any

__all__ = [
    "ContinuaError",
    "DivergedError",
    "InputError",
    "MissingExtraError",
    "OutputError",
    "StoppedError",
    "install_command",
    "shortened",
    "warn_user",
]

_LONGEST_PLACE = 400


class ContinuaError(Exception):
    """Base of every error that Continua raises on purpose.

    Errors can be pickled whatever arguments they take: a process pool waits forever for one that cannot.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, vars(self))


def _restored(kind: type[ContinuaError], args: tuple[Any, ...], attributes: dict[str, Any]) -> ContinuaError:
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(attributes)
    return error


class InputError(ContinuaError, ValueError):
    """Something the user gave cannot be used.

    The message is one sentence for a person: what is wrong and what to do. `where` names the place
    (a file, a line, a key such as `bodies[0].material.young`) and is put before the message.
    """

    def __init__(self, message: str, *, where: str = "") -> None:
        self.message = message
        self.where = shortened(where, _LONGEST_PLACE)
        super().__init__(f"{self.where}: {message}" if where else message)


class DivergedError(ContinuaError, ArithmeticError):
    """A step failed, even in many small parts; the last good state is kept.

    `body` names the body, `step` is the number of the step, and `elements` are the numbers of the elements where it
    is worst.
    """

    def __init__(
        self, message: str, *, body: str = "", step: int = -1, elements: tuple[int, ...] = ()
    ) -> None:
        self.body = body
        self.step = step
        self.elements = elements
        super().__init__(message)


class OutputError(ContinuaError, OSError):
    """A file cannot be written, for example because the disk is full; what was there before stays.

    `path` is the file.
    """

    def __init__(self, message: str, *, path: str = "", errno: int | None = None) -> None:
        self.path = path
        self.message = f"{path}: {message}" if path else message
        super().__init__(self.message)
        self.errno, self.strerror = errno, message

    def __str__(self) -> str:  # that of OSError begins with the number
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), path=self.path, errno=self.errno), (self.strerror,)


class MissingExtraError(ContinuaError, ImportError):
    """An optional part of Continua is not installed; the message says which command installs it."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f'{what} needs the "{extra}" extra: run  {install_command(extra)}')


class StoppedError(ContinuaError):
    """Long work was ended because somebody asked for it; what was there before stays."""


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra.

    It names the packages themselves: `continua[extra]` would be looked up in a registry, also after an installation
    from a clone.
    """
    from importlib import metadata

    try:
        listed = metadata.requires("continua") or []
    except metadata.PackageNotFoundError:  # used from its folder, without an installation
        listed = []
    packages = []
    for requirement in listed:
        name, _, marker = requirement.partition(";")
        if re.search(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]", marker):
            packages.append(f'"{name.strip()}"')
    return "python -m pip install " + (" ".join(packages) or f'".[{extra}]"')


def shortened(text: str, length: int = 60) -> str:
    """Return a text for a message; of one that is longer than `length` only the beginning and the end."""
    if len(text) <= length:
        return text
    return f"{text[: length - length // 4 - 3]}...{text[-(length // 4) :]}"


def warn_user(message: str) -> None:
    """Warn of something that went on all the same; the warning names the line outside of Continua that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "continua":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
