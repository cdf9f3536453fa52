"""Compiled semi-Lagrangian advection: paths traced back, values interpolated.

Coordinates are in cells from the corner of the grid, along the array axes. A quantity with offset (a, b, c) has its
sample (i, j, k) at (i + a, j + b, k + c). Beyond its samples a quantity is extrapolated as a constant.
"""

from __future__ import annotations

from numba import prange

from continua.numerics import inline, kernel_pair

__all__ = ["advect", "bfecc_compensate", "clamp", "maccormack_correct", "range_at", "trace", "value_at"]


@inline
def _split(x, n):
    """Return the lower sample and the fraction to the next, clamped to n samples."""
    x = min(max(x, 0.0), n - 1.0)
    i = min(int(x), max(n - 2, 0))
    return i, x - i


@inline
def value_at(q, x, y, z):
    """Interpolate q linearly at the index coordinates (x, y, z)."""
    n0, n1, n2 = q.shape
    j, g = _split(y, n1)
    k, h = _split(z, n2)
    if n0 == 1:
        lower = q[0, j, k] + h * (q[0, j, k + 1] - q[0, j, k])
        upper = q[0, j + 1, k] + h * (q[0, j + 1, k + 1] - q[0, j + 1, k])
        return lower + g * (upper - lower)
    i, f = _split(x, n0)
    a = q[i, j, k] + h * (q[i, j, k + 1] - q[i, j, k])
    b = q[i, j + 1, k] + h * (q[i, j + 1, k + 1] - q[i, j + 1, k])
    c = q[i + 1, j, k] + h * (q[i + 1, j, k + 1] - q[i + 1, j, k])
    d = q[i + 1, j + 1, k] + h * (q[i + 1, j + 1, k + 1] - q[i + 1, j + 1, k])
    lower = a + g * (b - a)
    return lower + f * (c + g * (d - c) - lower)


@inline
def range_at(q, x, y, z):
    """Return the smallest and the largest of the samples that `value_at` interpolates."""
    n0, n1, n2 = q.shape
    j, _ = _split(y, n1)
    k, _ = _split(z, n2)
    i, _ = _split(x, n0)
    lower = min(min(q[i, j, k], q[i, j, k + 1]), min(q[i, j + 1, k], q[i, j + 1, k + 1]))
    upper = max(max(q[i, j, k], q[i, j, k + 1]), max(q[i, j + 1, k], q[i, j + 1, k + 1]))
    if n0 > 1:
        i += 1
        lower = min(lower, min(min(q[i, j, k], q[i, j, k + 1]), min(q[i, j + 1, k], q[i, j + 1, k + 1])))
        upper = max(upper, max(max(q[i, j, k], q[i, j, k + 1]), max(q[i, j + 1, k], q[i, j + 1, k + 1])))
    return lower, upper


@inline
def _velocity(u0, u1, u2, x, y, z):
    if u1.shape[0] == 1:
        return 0.0, value_at(u1, 0.0, y, z - 0.5), value_at(u2, 0.0, y - 0.5, z)
    return (
        value_at(u0, x, y - 0.5, z - 0.5),
        value_at(u1, x - 0.5, y, z - 0.5),
        value_at(u2, x - 0.5, y - 0.5, z),
    )


@inline
def trace(u0, u1, u2, x, y, z, s, order):
    """Trace the flow back for the time s [cells per velocity] with Euler's, the midpoint or Ralston's third rule."""
    px, py, pz = x, y, z
    sx = sy = sz = 0.0
    for stage in range(order):  # a loop, because each inlined interpolation is long
        vx, vy, vz = _velocity(u0, u1, u2, px, py, pz)
        weight = (2.0 + stage) / 9.0 if order == 3 else (1.0 if stage == order - 1 else 0.0)
        sx, sy, sz = sx + weight * vx, sy + weight * vy, sz + weight * vz
        step = s * (0.5 if stage == 0 else 0.75)
        px, py, pz = x - step * vx, y - step * vy, z - step * vz
    return x - s * sx, y - s * sy, z - s * sz


@kernel_pair
def advect(q, o0, o1, o2, u0, u1, u2, s, order, out, lower, upper):
    """Semi-Lagrangian step; `lower` and `upper` receive the range of the samples used, unless empty."""
    n0, n1, n2 = q.shape
    limits = lower.size > 0
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            x, y, z = trace(u0, u1, u2, i + o0, j + o1, k + o2, s, order)
            out[i, j, k] = value_at(q, x - o0, y - o1, z - o2)
            if limits:
                lower[i, j, k], upper[i, j, k] = range_at(q, x - o0, y - o1, z - o2)


@kernel_pair
def maccormack_correct(q, o0, o1, o2, u0, u1, u2, s, order, advected, lower, upper, out):
    """MacCormack: add half of the round-trip error, clamped to the range of the samples used."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            x, y, z = trace(u0, u1, u2, i + o0, j + o1, k + o2, -s, order)
            back = value_at(advected, x - o0, y - o1, z - o2)
            value = advected[i, j, k] + 0.5 * (q[i, j, k] - back)
            out[i, j, k] = min(max(value, lower[i, j, k]), upper[i, j, k])


@kernel_pair
def bfecc_compensate(q, o0, o1, o2, u0, u1, u2, s, order, advected, out):
    """BFECC: the values before the step, compensated by half of the round-trip error."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            x, y, z = trace(u0, u1, u2, i + o0, j + o1, k + o2, -s, order)
            out[i, j, k] = q[i, j, k] + 0.5 * (q[i, j, k] - value_at(advected, x - o0, y - o1, z - o2))


@kernel_pair
def clamp(q, lower, upper):
    """Clamp values to their ranges."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            q[i, j, k] = min(max(q[i, j, k], lower[i, j, k]), upper[i, j, k])
