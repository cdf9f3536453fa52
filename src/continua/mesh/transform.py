"""Scaling, turning and moving of points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError

__all__ = ["apply_transform", "rotation_matrix"]


def _vector(values: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InputError(f"{what} must be three finite numbers, not {values!r}")
    return vector


def rotation_matrix(rotate: ArrayLike) -> NDArray[np.float64]:
    """Return the matrix of a rotation given as axis times angle [rad] or already as a matrix [3, 3]."""
    given = np.asarray(rotate, dtype=np.float64)
    if given.shape == (3, 3):
        if not np.allclose(given @ given.T, np.eye(3), atol=1e-9) or np.linalg.det(given) < 0:
            raise InputError("rotate must be a rotation matrix: orthogonal with determinant 1")
        return given
    vector = _vector(rotate, "rotate")
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)


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
