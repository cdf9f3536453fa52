"""Quaternions (w, x, y, z) and rotation matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.transform import rotation_matrix

__all__ = ["as_matrix", "from_quaternions", "to_quaternion"]


def as_matrix(rotate: ArrayLike | None) -> NDArray[np.float64]:
    """Return a rotation matrix from a rotation vector [rad], a matrix, or None for no turn."""
    if rotate is None:
        return np.eye(3)
    array = np.asarray(rotate, dtype=np.float64)
    if array.shape not in ((3,), (3, 3)) or not np.isfinite(array).all():
        raise InputError("a rotation is a vector of three finite numbers [rad] or a matrix of 3 x 3")
    return rotation_matrix(array)


def to_quaternion(turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quaternion of a rotation matrix, w >= 0."""
    m = np.asarray(turn)
    squares = np.array(
        [
            1.0 + m[0, 0] + m[1, 1] + m[2, 2],
            1.0 + m[0, 0] - m[1, 1] - m[2, 2],
            1.0 - m[0, 0] + m[1, 1] - m[2, 2],
            1.0 - m[0, 0] - m[1, 1] + m[2, 2],
        ]
    )
    k = int(squares.argmax())
    s = 0.5 * np.sqrt(squares[k])
    f = 0.25 / s
    x, y, z = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    xy, xz, yz = m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1]
    rows = (
        [s, x * f, y * f, z * f],
        [x * f, s, xy * f, xz * f],
        [y * f, xy * f, s, yz * f],
        [z * f, xz * f, yz * f, s],
    )
    q = np.array(rows[k])
    return (-q if q[0] < 0.0 else q) / np.linalg.norm(q)


def from_quaternions(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation matrices [n, 3, 3] of unit quaternions [n, 4]."""
    w, x, y, z = np.asarray(q).T
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=-1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=-1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1),
        ],
        axis=-2,
    )
