"""Checks of surface coefficients: friction and restitution."""

from __future__ import annotations

from continua.errors import InputError
from continua.validation import isfinite

__all__ = ["check_coefficient"]


def check_coefficient(value: float | None, what: str, most: float | None = None) -> None:
    """Raise InputError unless `value` is None or a finite number from 0 to `most`."""
    if value is None:
        return
    if not isfinite(value) or value < 0.0 or (most is not None and value > most):
        to = "at least 0" if most is None else f"from 0 to {most:g}"
        raise InputError(f"{what} must be a finite number of {to}, not {value}")
