"""Checks of values given by the user, and helpers for the messages about them.

Each check returns the value as the type it is meant to have, or raises InputError with one sentence: what it is the
value of, what is wanted, and what was given.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError

__all__ = [
    "LARGEST",
    "array",
    "check_memory",
    "choice",
    "color",
    "file_path",
    "flag",
    "function",
    "given_array",
    "index",
    "indices",
    "instance_of",
    "instances_of",
    "is_number",
    "mapping",
    "mask_or_indices",
    "memory_limit",
    "name",
    "number",
    "numbers",
    "pluralize",
    "positive_triple",
    "rgb",
    "rows3",
    "sequence",
    "shortened",
    "state_arrays",
    "text",
    "triple",
    "unit_vector",
    "vector",
    "vector3",
    "whole_number",
    "whole_numbers",
]

LARGEST = 1e40
"""Largest magnitude of a number that is accepted: its powers in volumes and inertias are still finite."""

_SMALLEST = 1.0 / LARGEST  # of numbers that must be greater than 0
_LONGEST = 80  # characters of a value that a message repeats
_MEMORY_FRACTION = 0.8  # of the machine's memory that one object may take
_T = TypeVar("_T")


# --- messages -------------------------------------------------------------------------------------------------


class _Shortener(reprlib.Repr):
    """`repr` that is short whatever it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 40

    def repr_int(self, x: int, level: int) -> str:
        return (
            str(x)
            if x.bit_length() < 80
            else f"an integer of about {int(x.bit_length() * 0.30103) + 1} digits"
        )

    def repr_ndarray(self, x: NDArray, level: int) -> str:
        if x.size <= 4 and x.ndim <= 1:
            return self.repr1(x.tolist(), level)
        return f"an array of shape {list(x.shape)} and type {x.dtype}"

    def repr_instance(self, x: Any, level: int) -> str:
        kind = type(x)
        if isinstance(x, type):
            return f"the class {x.__name__}"
        if isinstance(x, np.generic):
            return self.repr1(x.item(), level)
        if callable(x) and hasattr(x, "__name__"):
            return f"the function {x.__name__}"
        if isinstance(x, os.PathLike) or kind.__module__ == "builtins":
            return super().repr_instance(x, level)
        article = "an" if kind.__name__[:1] in "AEIOaeio" else "a"
        return f"{article} {kind.__name__}"


_SHORTENER = _Shortener()


def shortened(value: object) -> str:
    """Return what was given, for a message: never more than 80 characters, whatever it is."""
    try:
        said = _SHORTENER.repr(value)
    except Exception:  # a class of the user's own may fail here in any way
        said = f"a {type(value).__name__}"
    said = " ".join(said.split())
    return said if len(said) <= _LONGEST else said[: _LONGEST - 3] + "..."


def pluralize(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: "1 node", "12 nodes"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def _refuse(what: str, wanted: str, value: object) -> InputError:
    return InputError(f"{what} must be {wanted}, not {shortened(value)}")


# --- single values --------------------------------------------------------------------------------------------


def _real(value: Any) -> float | None:
    """Return a number as a float, or None if it is none: text, a truth value, NaN or too large for a float."""
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray, complex, np.complexfloating)):
        return None
    if isinstance(value, np.ndarray) and (value.ndim > 0 or value.dtype.kind not in "iuf"):
        return None
    try:
        real = float(value)
    except Exception:  # also what `__float__` of a class of the user's own may raise
        return None
    return None if math.isnan(real) else real


def is_number(value: Any) -> bool:
    """Return whether a value is one finite number of an ordinary magnitude."""
    real = _real(value)
    return real is not None and abs(real) <= LARGEST


def number(
    value: Any,
    what: str,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    unit: str = "",
    infinite: bool = False,
) -> float:
    """Return `value` as a finite number within limits.

    Args:
        value: What was given.
        what: What it is, for the message: "a gear's radius".
        low: Smallest value.
        high: Largest value.
        above: The value must be greater than this.
        below: The value must be less than this.
        unit: Unit, for the message.
        infinite: Whether infinity is a value too.
    """
    real = _real(value)
    right = real is not None and (abs(real) <= LARGEST or (infinite and math.isinf(real)))
    if right and real is not None:
        right = (
            (low is None or real >= low)
            and (high is None or real <= high)
            and (above is None or (real > above and (above != 0.0 or real >= _SMALLEST)))
            and (below is None or real < below)
        )
    if not right or real is None:
        raise _refuse(what, _wanted_number(low, high, above, below, unit, infinite), value)
    return real


def _wanted_number(
    low: float | None, high: float | None, above: float | None, below: float | None, unit: str, infinite: bool
) -> str:
    """Return what a number must be: "a finite number from 0 to 1"."""
    si = f" {unit}" if unit else ""
    limits = []
    if low is not None and high is not None:
        limits = [f"from {low:g} to {high:g}{si}"]
    else:
        limits += [f"of at least {low:g}{si}"] if low is not None else []
        limits += [f"greater than {above:g}{si}"] if above is not None else []
        limits += [f"of at most {high:g}{si}"] if high is not None else []
    limits += [f"less than {below:g}{si}"] if below is not None else []
    return " ".join(["a number" if infinite else "a finite number", " and ".join(limits)]).strip()


def whole_number(value: Any, what: str, *, low: int | None = None, high: int | None = None) -> int:
    """Return `value` as a whole number within limits; floats that are whole count."""
    real = _real(value)
    most = 2**63 - 1 if high is None else high
    whole = real is not None and math.isfinite(real) and real == math.floor(real)
    if not whole or real is None or abs(real) > most or (low is not None and real < low):
        wanted = str(low) if low is not None and low == high else f"a whole number {_whole_limits(low, high)}"
        raise _refuse(what, wanted.rstrip(), value)
    return int(value)


def _whole_limits(low: int | None, high: int | None) -> str:
    """Return the limits of whole numbers: "from 0 to 7"; an upper one that nobody would reach is not given."""
    if high is not None and high < 2**31 - 1:
        return f"of at most {high}" if low is None else f"from {low} to {high}"
    return "" if low is None else f"of at least {low}"


def index(value: Any, what: str, count: int) -> int:
    """Return `value` as the number of one of `count` things, counted from 0."""
    if count < 1:
        raise InputError(f"{what} cannot be chosen, for there is none")
    return whole_number(value, what, low=0, high=count - 1)


def flag(value: Any, what: str) -> bool:
    """Return `value` as True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise _refuse(what, "True or False", value)
    return bool(value)


def choice(value: Any, what: str, choices: Collection[str]) -> str:
    """Return `value`, one of several words."""
    if not isinstance(value, str) or value not in choices:
        words = [f"'{word}'" for word in choices]
        wanted = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
        raise _refuse(what, wanted, value)
    return value


def text(value: Any, what: str) -> str:
    """Return `value`, a text."""
    if not isinstance(value, str):
        raise _refuse(what, "a text", value)
    return value


def name(value: Any, what: str) -> str:
    """Return `value` as a name; None is the empty one."""
    if value is None:
        return ""
    if not isinstance(value, str) or not value.isprintable() or len(value) > 200:
        raise _refuse(what, "a printable text of at most 200 characters", value)
    return value


def file_path(value: Any, what: str) -> Path:
    """Return `value` as the path of a file."""
    if not isinstance(value, (str, os.PathLike)):
        raise _refuse(what, "the path of a file", value)
    try:
        path = Path(os.fspath(value))
    except Exception:  # a path of bytes, or of a class of the user's own
        raise _refuse(what, "the path of a file", value) from None
    if "\0" in str(path) or not path.name:
        raise _refuse(what, "the path of a file", value)
    return path


def function(value: Any, what: str, wanted: str = "a function") -> Any:
    """Return `value`, which can be called."""
    if not callable(value):
        raise _refuse(what, wanted, value)
    return value


def instance_of(value: Any, kind: type[_T] | tuple[type, ...], what: str, wanted: str = "") -> _T:
    """Return `value`, an object of a class or one of several; `wanted` says so in other words."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names = [f"{'an' if one.__name__[:1] in 'AEIOaeio' else 'a'} {one.__name__}" for one in kinds]
        raise _refuse(what, wanted or " or ".join(names), value)
    return value  # type: ignore[return-value]


def instances_of(
    values: Any, kind: type[_T] | tuple[type, ...], what: str, wanted: str = ""
) -> tuple[_T, ...]:
    """Return several objects of a class as a tuple; `what` names them: "the drains of a fluid"."""
    return tuple(instance_of(value, kind, f"each of {what}", wanted) for value in sequence(values, what))


def sequence(values: Any, what: str) -> tuple[Any, ...]:
    """Return several objects as a tuple; `what` names them."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise _refuse(what, "a list", values)
    try:
        return tuple(values)
    except Exception:  # an array without axes, or an iterator of the user's own
        raise _refuse(what, "a list", values) from None


def mapping(value: Any, what: str) -> Mapping[Any, Any]:
    """Return `value`, a mapping such as a dict."""
    if not isinstance(value, Mapping):
        raise _refuse(what, "a mapping", value)
    return value


# --- arrays ---------------------------------------------------------------------------------------------------


def numbers(values: Any, dtype: Any = np.float64) -> NDArray | None:
    """Return the values as a new array of numbers, or None if they are not: text, ragged lists, complex numbers."""
    try:
        given = np.asarray(values)
        if given.dtype.kind == "O":  # such as integers too long for any type
            reals = [_real(value) for value in given.ravel()]
            return None if None in reals or not reals else np.array(reals, dtype).reshape(given.shape)
        with np.errstate(over="ignore"):
            return np.array(given, dtype, order="C") if given.dtype.kind in "iufb" else None
    except Exception:  # also what `__array__` of a class of the user's own may raise
        return None


def _ordinary(found: NDArray) -> bool:
    """Return whether all numbers are finite and of an ordinary magnitude."""
    return bool((np.abs(found) <= found.dtype.type(min(LARGEST, float(np.finfo(found.dtype).max)))).all())


def _fits(shape: tuple[int, ...], wanted: Sequence[int | None]) -> bool:
    return len(shape) == len(wanted) and all(w is None or n == w for n, w in zip(shape, wanted))


def _shape_text(shape: Sequence[int | None]) -> str:
    letters = iter("nmkl")
    return f"[{', '.join(next(letters) if size is None else str(size) for size in shape)}]"


def array(
    values: Any,
    what: str,
    shape: Sequence[int | None] | None = None,
    *,
    finite: bool = True,
    empty: bool = True,
    dtype: Any = np.float64,
) -> NDArray:
    """Return the values as a new array of finite numbers.

    Args:
        values: What was given.
        what: What it is, for the message: "the points of a fluid".
        shape: Its shape; None stands for any size along an axis, or for any shape.
        finite: Whether NaN, infinity and numbers of extreme magnitude are refused.
        empty: Whether an array without any number is accepted.
        dtype: Type of the numbers.
    """
    found = numbers(values, dtype)
    if found is not None and found.size == 0 and shape is not None and empty and None in shape:
        found = found.reshape([0 if n is None else n for n in shape])  # an empty list has no shape of its own
    right = found is not None and (shape is None or _fits(found.shape, shape)) and (empty or found.size > 0)
    if found is None or not right or (finite and not _ordinary(found)):
        kind = "finite numbers" if finite else "numbers"
        raise _refuse(what, kind if shape is None else f"{kind} of shape {_shape_text(shape)}", values)
    return found


def given_array(values: Any, what: str, shape: Sequence[int | None], dtype: Any = np.float64) -> NDArray:
    """Return `values` itself, an array of this shape and type that kernels can work on in place."""
    if not isinstance(values, np.ndarray) or values.dtype != dtype or not _fits(values.shape, shape):
        raise _refuse(what, f"an array of shape {_shape_text(shape)} and type {np.dtype(dtype)}", values)
    return values


def rows3(values: Any, what: str) -> NDArray[np.float64]:
    """Return an array of shape [n, 3]; one of floats is returned as it is, whatever numbers it holds."""
    if (
        isinstance(values, np.ndarray)
        and values.dtype == np.float64
        and values.ndim == 2
        and values.shape[1] == 3
    ):
        return values
    return array(values, what, (None, 3), finite=False)


def vector(value: Any, what: str, size: int) -> NDArray[np.float64]:
    """Return `value` as so many finite numbers."""
    found = numbers(value)
    if found is None or found.shape != (size,) or not _ordinary(found):
        counts = {1: "one finite number", 2: "two finite numbers", 3: "three finite numbers"}
        raise _refuse(what, counts.get(size, f"{size} finite numbers"), value)
    return found


def vector3(value: Any, what: str) -> NDArray[np.float64]:
    """Return `value` as three finite numbers."""
    return vector(value, what, 3)


def triple(value: Any, what: str) -> tuple[float, float, float]:
    """Return `value` as a tuple of three finite numbers."""
    x, y, z = vector3(value, what).tolist()
    return x, y, z


def positive_triple(value: Any, what: str, unit: str = "") -> tuple[float, float, float]:
    """Return `value` as a tuple of three finite numbers greater than 0."""
    x, y, z = (number(part, what, above=0.0, unit=unit) for part in vector3(value, what).tolist())
    return x, y, z


def unit_vector(value: Any, what: str) -> NDArray[np.float64]:
    """Return a direction, three numbers that are not all zero, as a vector of length 1."""
    direction = vector3(value, what)
    if not direction.any():
        raise InputError(f"{what} must not be zero")
    # A power of two changes no bit of the result, and keeps squares of 1e-300 representable.
    direction = np.ldexp(direction, -int(np.frexp(np.abs(direction).max())[1]))
    return np.asarray(direction / np.linalg.norm(direction))


def color(value: Any, what: str) -> tuple[float, float, float] | None:
    """Return a colour, three numbers from 0 to 1, or None."""
    return None if value is None else rgb(value, what)


def rgb(value: Any, what: str) -> tuple[float, float, float]:
    """Return a colour, three numbers from 0 to 1."""
    found = numbers(value)
    if found is None or found.shape != (3,) or not ((found >= 0.0) & (found <= 1.0)).all():
        raise _refuse(what, "three numbers from 0 to 1", value)
    r, g, b = found.tolist()
    return r, g, b


def whole_numbers(
    values: Any, what: str, shape: Sequence[int | None], *, low: int = 0, high: int = 2**31 - 1
) -> NDArray[np.int64]:
    """Return the values as a new array of whole numbers within limits, of a shape as for `array`."""
    found = numbers(values)
    if found is not None and found.size == 0 and None in shape:
        found = found.reshape([0 if n is None else n for n in shape])
    if (
        found is None
        or not _fits(found.shape, shape)
        or not ((found >= low) & (found <= high)).all()
        or (found != np.floor(found)).any()
    ):
        limits = _whole_limits(low, high)
        size = f"{shape[0]} whole numbers" if len(shape) == 1 and shape[0] else "whole numbers"
        of_shape = "" if len(shape) == 1 and shape[0] else f" in an array of shape {_shape_text(shape)}"
        raise _refuse(what, f"{size} {limits}{of_shape}", values)
    return found.astype(np.int64)


def indices(values: Any, what: str, count: int) -> NDArray[np.int32]:
    """Return the numbers of some of `count` things, counted from 0, shape [k]."""
    return whole_numbers(values, what, (None,), high=max(count - 1, 0)).astype(np.int32)


def mask_or_indices(values: Any, what: str, count: int) -> NDArray[np.int32]:
    """Return the numbers of those of `count` things that a mask [count] or a list of numbers selects."""
    try:
        given = np.asarray(values)
    except Exception:
        given = np.zeros(0, dtype=object)
    if given.dtype.kind == "b" and given.ndim == 1:
        if len(given) != count:
            raise InputError(f"{what}: a mask must have {count} entries, not {len(given)}")
        return np.flatnonzero(given).astype(np.int32)
    return indices(values, what, count)


# --- memory ---------------------------------------------------------------------------------------------------


def memory_limit() -> float:
    """Return the bytes one object may use: most of the machine's memory."""
    try:
        return _MEMORY_FRACTION * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _MEMORY_FRACTION * 8.0 * 2**30


def check_memory(
    count: float, bytes_each: float, owner: str, parts: str, remedy: str, most: float = math.inf
) -> None:
    """Refuse what would not fit into memory, before anything is allocated.

    Args:
        count: Number of parts.
        bytes_each: Bytes that each needs.
        owner: What has the parts: "a mesh".
        parts: What they are: "cells".
        remedy: What to do: "use fewer cells".
        most: Largest number of them in any case.
    """
    have = memory_limit()
    need = float(count) * bytes_each
    if count > most or need > have:
        raise InputError(
            f"{owner} of {float(count):.4g} {parts} needs about {need / 2**30:.3g} GiB, but {have / 2**30:.3g} GiB are "
            f"free for it; {remedy}"
        )


# --- states ---------------------------------------------------------------------------------------------------


def state_arrays(
    state: Any, shapes: Mapping[str, Sequence[int | None] | None], what: str, optional: Collection[str] = ()
) -> dict[str, NDArray]:
    """Return the arrays of a state, as `restore` gets it, or raise InputError if they do not fit.

    Args:
        state: What was given.
        shapes: Shapes of the arrays by name, as for `array`.
        what: What it is the state of: "body 'beam'".
        optional: Names of arrays that may be missing.
    """
    found: dict[str, NDArray] = {}
    for key, shape in shapes.items():
        if key not in mapping(state, f"the state of {what}"):
            if key in optional:
                continue
            raise InputError(f"the state of {what} lacks '{key}'")
        given = (
            np.asarray(state[key])
            if isinstance(state[key], (np.ndarray, np.generic, int, float, list))
            else None
        )
        if (
            given is None
            or given.dtype.kind not in "biuf"
            or not (shape is None or _fits(given.shape, shape))
        ):
            wanted = "numbers" if shape is None else f"numbers of shape {_shape_text(shape)}"
            raise _refuse(f"'{key}' of the state of {what}", wanted, state[key])
        found[key] = given
    return found
