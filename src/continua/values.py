"""Values that people give, and how sentences speak of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["counted", "isfinite", "numbers"]


def isfinite(value: object) -> bool:
    """Tell whether a value is a finite number; what is no number at all, such as text, is not."""
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except TypeError:
        return False


def numbers(values: Any) -> NDArray[np.float64]:
    """Return an array of numbers, or one of shape [0] for what has none, such as text; a copy."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.zeros(0)


def counted(count: int, one: str, many: str = "") -> str:
    """Return how many there are: "1 node", "12 nodes"."""
    return f"{count} {one if count == 1 else many or one + 's'}"
