"""Interpolation between key frames: steps, lines, cubic Hermite splines and great arcs of rotations, with rates."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Interpolation", "hermite", "interpolate", "quaternion_matrix"]

Interpolation = Literal["STEP", "LINEAR", "CUBICSPLINE"]
Values = NDArray[np.float64]

_SAME_COSINE = 1.0 - 1e-12  # cosine of the half angle above which a great arc is a straight line to rounding


def hermite(
    p: Values, p_rate: Values, q: Values, q_rate: Values, u: float, h: float
) -> tuple[Values, Values]:
    """Return value and rate at the fraction u of an interval of h [s], from values and rates at its ends."""
    value = (
        (2.0 * u**3 - 3.0 * u**2 + 1.0) * p
        + h * (u**3 - 2.0 * u**2 + u) * p_rate
        + (3.0 * u**2 - 2.0 * u**3) * q
        + h * (u**3 - u**2) * q_rate
    )
    rate = (
        6.0 * (u**2 - u) / h * (p - q)
        + (3.0 * u**2 - 4.0 * u + 1.0) * p_rate
        + (3.0 * u**2 - 2.0 * u) * q_rate
    )
    return value, rate


def interpolate(
    times: Values, values: Values, kind: Interpolation, time: float, *, rotation: bool = False
) -> tuple[Values, Values]:
    """Return value and rate at `time` [s]; constant before the first and after the last key.

    Args:
        times: Increasing times of the keys [s], shape [k].
        values: Values of the keys, shape [k, c]; of a CUBICSPLINE the incoming rate, the value and the outgoing rate
            of each key, shape [k, 3, c].
        kind: How values are interpolated, as in glTF.
        time: The time [s].
        rotation: Whether the values are unit quaternions: lines are great arcs (Shoemake 1985), and splines are
            normalised.
    """
    keys = values[:, 1] if kind == "CUBICSPLINE" else values
    k = int(np.searchsorted(times, time, side="right")) - 1
    if k < 0 or k >= len(times) - 1 or kind == "STEP":
        value = keys[max(k, 0)]
        return (_normalised(value, np.zeros_like(value)) if rotation else (value, np.zeros_like(value)))  # fmt: skip
    h = float(times[k + 1] - times[k])
    u = (time - float(times[k])) / h
    if kind == "CUBICSPLINE":
        value, rate = hermite(keys[k], values[k, 2], keys[k + 1], values[k + 1, 0], u, h)
        return _normalised(value, rate) if rotation else (value, rate)
    if rotation:
        return _great_arc(keys[k], keys[k + 1], u, h)
    return (1.0 - u) * keys[k] + u * keys[k + 1], (keys[k + 1] - keys[k]) / h


def _normalised(value: Values, rate: Values) -> tuple[Values, Values]:
    length = float(np.linalg.norm(value))
    unit = value / length
    return unit, (rate - unit * (unit @ rate)) / length


def _great_arc(a: Values, b: Values, u: float, h: float) -> tuple[Values, Values]:
    """Return the quaternion on the shorter arc from a to b, and its rate."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    cosine = float(a @ b)
    if cosine < 0.0:  # the negative quaternion is the same rotation
        b, cosine = -b, -cosine
    if cosine > _SAME_COSINE:
        return _normalised((1.0 - u) * a + u * b, (b - a) / h)
    angle = float(np.arccos(cosine))
    sine = np.sin(angle)
    value = (np.sin((1.0 - u) * angle) * a + np.sin(u * angle) * b) / sine
    rate = angle / (h * sine) * (np.cos(u * angle) * b - np.cos((1.0 - u) * angle) * a)
    return value, rate


def quaternion_matrix(q: Values, q_rate: Values) -> tuple[Values, Values]:
    """Return the rotation matrix of a unit quaternion (x, y, z, w), and its rate."""
    x, y, z, w = q
    dx, dy, dz, dw = q_rate
    matrix = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    xy, xz, yz = dx * y + x * dy, dx * z + x * dz, dy * z + y * dz
    xw, yw, zw = dx * w + x * dw, dy * w + y * dw, dz * w + z * dw
    xx, yy, zz = 2 * x * dx, 2 * y * dy, 2 * z * dz
    rate = 2.0 * np.array(
        [[-yy - zz, xy - zw, xz + yw], [xy + zw, -xx - zz, yz - xw], [xz - yw, yz + xw, -xx - yy]]
    )
    return matrix, rate
