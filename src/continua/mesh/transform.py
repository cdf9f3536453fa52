"""Scaling, turning and moving of points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.numerics.rotations import rotation_matrix
from continua.validation import LARGEST, numbers, vector3

__all__ = ["apply_transform"]


def apply_transform(
    points: NDArray[np.float64], translate: ArrayLike, rotate: ArrayLike | None, scale: float | ArrayLike
) -> tuple[NDArray[np.float64], bool]:
    """Scale, turn and move points; also say whether the scaling mirrors them."""
    one = numbers(scale)
    factors = vector3(np.full(3, one) if one is not None and one.shape == () else scale, "scale")
    if (np.abs(factors) < 1.0 / LARGEST).any():
        raise InputError("scale must not be zero")
    result = points * factors
    if rotate is not None:
        result = result @ rotation_matrix(rotate).T
    return result + vector3(translate, "translate"), bool(np.prod(np.sign(factors)) < 0)
