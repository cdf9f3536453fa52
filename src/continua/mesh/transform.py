"""Scaling, turning and moving of points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.numerics.rotations import rotation_matrix

__all__ = ["apply_transform"]


def _vector(values: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InputError(f"{what} must be three finite numbers, not {values!r}")
    return vector


def apply_transform(
    points: NDArray[np.float64], translate: ArrayLike, rotate: ArrayLike | None, scale: float | ArrayLike
) -> tuple[NDArray[np.float64], bool]:
    """Scale, turn and move points; also say whether the scaling mirrors them."""
    factors = _vector(np.broadcast_to(np.asarray(scale, dtype=np.float64), 3), "scale")
    if (factors == 0.0).any():
        raise InputError("scale must not be zero")
    result = points * factors
    if rotate is not None:
        result = result @ rotation_matrix(rotate).T
    return result + _vector(translate, "translate"), bool(np.prod(np.sign(factors)) < 0)
