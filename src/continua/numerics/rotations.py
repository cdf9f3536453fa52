"""Rotations: matrices, rotation vectors (axis times angle) and unit quaternions (w, x, y, z)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.validation import array, vector3

__all__ = [
    "axis_angle_matrix",
    "axis_frame",
    "matrices_from_quaternions",
    "quaternion_from_matrix",
    "rotation_matrix",
    "rotation_vectors",
]


def axis_angle_matrix(axis: ArrayLike, angle: float) -> NDArray[np.float64]:
    """Return the rotation matrix by `angle` [rad] about a unit `axis`, by Rodrigues' formula."""
    x, y, z = np.asarray(axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)


def rotation_matrix(rotate: ArrayLike) -> NDArray[np.float64]:
    """Return the matrix of a rotation given as a rotation vector [rad] or already as a matrix [3, 3]."""
    given = array(rotate, "rotate")
    if given.shape == (3, 3):
        if not np.allclose(given @ given.T, np.eye(3), atol=1e-9) or np.linalg.det(given) < 0:
            raise InputError("rotate must be a rotation matrix: orthogonal with determinant 1")
        return given
    vector3(rotate, "rotate")
    angle = float(np.linalg.norm(given))
    return np.eye(3) if angle == 0.0 else axis_angle_matrix(given / angle, angle)


def axis_frame(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return two unit vectors across a unit `axis` and the axis itself, as rows of a rotation."""
    helper = np.eye(3)[np.abs(axis).argmin()]
    first = np.cross(helper, axis)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first), axis])


def quaternion_from_matrix(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit quaternion of a rotation matrix, w >= 0, shape [4]."""
    m = np.asarray(rotation)
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


def matrices_from_quaternions(q: NDArray[np.float64]) -> NDArray[np.float64]:
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


def rotation_vectors(rotations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation vectors [k, 3] of rotation matrices [k, 3, 3]."""
    q = np.stack([quaternion_from_matrix(rotation) for rotation in rotations])
    length = np.linalg.norm(q[:, 1:], axis=1)
    angle = 2.0 * np.arctan2(length, q[:, 0])
    return q[:, 1:] * np.where(length > 1e-12, angle / np.maximum(length, 1e-300), 2.0)[:, None]
