"""Checks of surface coefficients: friction and restitution."""

from __future__ import annotations

from typing import Any

from continua.validation import number

__all__ = ["check_coefficient"]


def check_coefficient(value: Any, what: str, most: float | None = None) -> float | None:
    """Return a coefficient, a finite number from 0 to `most`, or None."""
    return None if value is None else number(value, what, low=0.0, high=most)
