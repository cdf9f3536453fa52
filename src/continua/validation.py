"""Checks of values given by the user, and helpers for the messages about them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError

__all__ = ["isfinite", "numbers", "pluralize", "unit_vector", "vector3"]


def isfinite(value: object) -> bool:
    """Return whether a value is a finite number; anything that is not a number, such as text, is not."""
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except TypeError:
        return False


def numbers(values: Any) -> NDArray[np.float64]:
    """Return the values as a new array of numbers, or an array of shape [0] if they are not numbers."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.zeros(0)


def pluralize(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: "1 node", "12 nodes"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def vector3(value: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return `value` as three finite numbers, or raise InputError naming `what`."""
    try:
        vector = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.zeros(0)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InputError(f"{what} must be three finite numbers, not {value!r}")
    return vector


def unit_vector(value: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return the direction of three finite numbers, or raise InputError naming `what` if all are zero."""
    vector = vector3(value, what)
    if not vector.any():
        raise InputError(f"{what} must not be zero")
    # A power of two changes no bit of the result, and keeps squares of 1e-300 and 1e300 representable.
    vector = np.ldexp(vector, -int(np.frexp(np.abs(vector).max())[1]))
    return np.asarray(vector / np.linalg.norm(vector))
