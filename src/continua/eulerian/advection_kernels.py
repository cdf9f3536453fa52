"""Compiled transport of quantities along a flow: paths traced back, values interpolated.

Places are counted in cells from the corner of the grid, along the array axes. A quantity with offset (a, b, c) has its
sample (i, j, k) at (i + a, j + b, k + c). Outside of its samples a quantity continues as a constant.
"""

from __future__ import annotations

from numba import prange

from continua.numerics import inline, kernel_pair

__all__ = ["advect", "advect_at", "correct", "fill_layer", "over_correct", "value_at"]


@inline
def _split(x, n):
    """Return the lower sample and the part of the way to the next, inside of n samples."""
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
        low = q[0, j, k] + h * (q[0, j, k + 1] - q[0, j, k])
        high = q[0, j + 1, k] + h * (q[0, j + 1, k + 1] - q[0, j + 1, k])
        return low + g * (high - low)
    i, f = _split(x, n0)
    a = q[i, j, k] + h * (q[i, j, k + 1] - q[i, j, k])
    b = q[i, j + 1, k] + h * (q[i, j + 1, k + 1] - q[i, j + 1, k])
    c = q[i + 1, j, k] + h * (q[i + 1, j, k + 1] - q[i + 1, j, k])
    d = q[i + 1, j + 1, k] + h * (q[i + 1, j + 1, k + 1] - q[i + 1, j + 1, k])
    low = a + g * (b - a)
    return low + f * (c + g * (d - c) - low)


@inline
def _range_at(q, x, y, z):
    """Return the smallest and the largest of the samples that `value_at` blends."""
    n0, n1, n2 = q.shape
    j, _ = _split(y, n1)
    k, _ = _split(z, n2)
    i, _ = _split(x, n0)
    low = min(min(q[i, j, k], q[i, j, k + 1]), min(q[i, j + 1, k], q[i, j + 1, k + 1]))
    high = max(max(q[i, j, k], q[i, j, k + 1]), max(q[i, j + 1, k], q[i, j + 1, k + 1]))
    if n0 > 1:
        i += 1
        low = min(low, min(min(q[i, j, k], q[i, j, k + 1]), min(q[i, j + 1, k], q[i, j + 1, k + 1])))
        high = max(high, max(max(q[i, j, k], q[i, j, k + 1]), max(q[i, j + 1, k], q[i, j + 1, k + 1])))
    return low, high


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
    """Follow the flow back for the time s [cells per velocity] with Euler's, the midpoint or Ralston's third rule."""
    a0, a1, a2 = _velocity(u0, u1, u2, x, y, z)
    if order == 1:
        return x - s * a0, y - s * a1, z - s * a2
    b0, b1, b2 = _velocity(u0, u1, u2, x - 0.5 * s * a0, y - 0.5 * s * a1, z - 0.5 * s * a2)
    if order == 2:
        return x - s * b0, y - s * b1, z - s * b2
    c0, c1, c2 = _velocity(u0, u1, u2, x - 0.75 * s * b0, y - 0.75 * s * b1, z - 0.75 * s * b2)
    t = s / 9.0
    return (
        x - t * (2.0 * a0 + 3.0 * b0 + 4.0 * c0),
        y - t * (2.0 * a1 + 3.0 * b1 + 4.0 * c1),
        z - t * (2.0 * a2 + 3.0 * b2 + 4.0 * c2),
    )


@kernel_pair
def advect(q, o0, o1, o2, u0, u1, u2, s, order, out, low, high):
    """Semi-Lagrangian step; `low` and `high` receive the range of the samples used, unless they are empty."""
    n0, n1, n2 = q.shape
    limits = low.size > 0
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            x, y, z = trace(u0, u1, u2, i + o0, j + o1, k + o2, s, order)
            out[i, j, k] = value_at(q, x - o0, y - o1, z - o2)
            if limits:
                low[i, j, k], high[i, j, k] = _range_at(q, x - o0, y - o1, z - o2)


@kernel_pair
def advect_at(q, o0, o1, o2, u0, u1, u2, s, order, index, shift, out):
    """Semi-Lagrangian step of the samples `index` [m, 3] only, from starts moved by `shift` [m, 3] cells."""
    for m in prange(len(index)):
        i, j, k = index[m, 0], index[m, 1], index[m, 2]
        x, y, z = trace(u0, u1, u2, i + o0 + shift[m, 0], j + o1 + shift[m, 1], k + o2 + shift[m, 2], s, order)
        out[i, j, k] = value_at(q, x - o0, y - o1, z - o2)


@kernel_pair
def correct(q, o0, o1, o2, u0, u1, u2, s, order, once, low, high, out):
    """MacCormack: add half of what going there and back misses, inside of the range of the samples used."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            x, y, z = trace(u0, u1, u2, i + o0, j + o1, k + o2, -s, order)
            back = value_at(once, x - o0, y - o1, z - o2)
            value = once[i, j, k] + 0.5 * (q[i, j, k] - back)
            out[i, j, k] = min(max(value, low[i, j, k]), high[i, j, k])


@kernel_pair
def over_correct(q, o0, o1, o2, u0, u1, u2, s, order, once, out):
    """BFECC: the start values that, carried along, make up for what going there and back misses."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            x, y, z = trace(u0, u1, u2, i + o0, j + o1, k + o2, -s, order)
            out[i, j, k] = q[i, j, k] + 0.5 * (q[i, j, k] - value_at(once, x - o0, y - o1, z - o2))


@inline
def _beyond(q, state, i, j, k, di, dj, dk, number, linear):
    """Return the value that the samples in direction (di, dj, dk) continue with, and whether there is one."""
    n0, n1, n2 = q.shape
    a, b, c = i + di, j + dj, k + dk
    if a < 0 or b < 0 or c < 0 or a >= n0 or b >= n1 or c >= n2 or state[a, b, c] >= number:
        return 0.0, 0.0
    near = q[a, b, c]
    a, b, c = a + di, b + dj, c + dk
    if not linear or a < 0 or b < 0 or c < 0 or a >= n0 or b >= n1 or c >= n2 or state[a, b, c] >= number:
        return near, 1.0
    return 2.0 * near - q[a, b, c], 1.0


@kernel_pair
def fill_layer(q, state, number, linear):
    """Give samples in layer `number` the mean of what their neighbours in lower layers continue with."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            if state[i, j, k] != number:
                continue
            total = count = 0.0
            for way in range(6):
                step = 1 - 2 * (way % 2)
                axis = way // 2
                value, found = _beyond(
                    q, state, i, j, k,
                    step if axis == 0 else 0, step if axis == 1 else 0, step if axis == 2 else 0, number, linear,
                )  # fmt: skip
                total += value
                count += found
            q[i, j, k] = total / count


@kernel_pair
def clamp_to(q, low, high):
    """Keep values inside of their ranges."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            q[i, j, k] = min(max(q[i, j, k], low[i, j, k]), high[i, j, k])
