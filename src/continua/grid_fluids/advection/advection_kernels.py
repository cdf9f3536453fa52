"""Compiled transport of quantities along a flow: paths traced back, values interpolated.

Places are counted in cells from the corner of the grid, along the array axes. A quantity with offset (a, b, c) has its
sample (i, j, k) at (i + a, j + b, k + c). Outside of its samples a quantity continues as a constant.
"""

from __future__ import annotations

from numba import prange

from continua.numerics import inline, kernel_pair

__all__ = [
    "advect", "clamp_to", "correct", "fill_layer", "fill_layer_within", "over_correct", "range_at", "trace",
    "value_at",
]  # fmt: skip


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
def range_at(q, x, y, z):
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
    px, py, pz = x, y, z
    sx = sy = sz = 0.0
    for stage in range(order):  # a loop, because every copy of the interpolation is long
        vx, vy, vz = _velocity(u0, u1, u2, px, py, pz)
        share = (2.0 + stage) / 9.0 if order == 3 else (1.0 if stage == order - 1 else 0.0)
        sx, sy, sz = sx + share * vx, sy + share * vy, sz + share * vz
        reach = s * (0.5 if stage == 0 else 0.75)
        px, py, pz = x - reach * vx, y - reach * vy, z - reach * vz
    return x - s * sx, y - s * sy, z - s * sz


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
                low[i, j, k], high[i, j, k] = range_at(q, x - o0, y - o1, z - o2)


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
def _mean_beside(q, state, number, i, j, k):
    """Return the mean of the neighbours of a sample along the axes in layers below `number`."""
    n0, n1, n2 = q.shape
    total = 0.0
    count = 0
    if i > 0 and state[i - 1, j, k] < number:
        total += q[i - 1, j, k]
        count += 1
    if i < n0 - 1 and state[i + 1, j, k] < number:
        total += q[i + 1, j, k]
        count += 1
    if j > 0 and state[i, j - 1, k] < number:
        total += q[i, j - 1, k]
        count += 1
    if j < n1 - 1 and state[i, j + 1, k] < number:
        total += q[i, j + 1, k]
        count += 1
    if k > 0 and state[i, j, k - 1] < number:
        total += q[i, j, k - 1]
        count += 1
    if k < n2 - 1 and state[i, j, k + 1] < number:
        total += q[i, j, k + 1]
        count += 1
    return total / count


@kernel_pair
def fill_layer(q, state, number):
    """Give samples in layer `number` the mean of their neighbours along the axes in lower layers."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            if state[i, j, k] == number:
                q[i, j, k] = _mean_beside(q, state, number, i, j, k)


@kernel_pair
def fill_layer_within(q, state, number, low, high):
    """The same as `fill_layer` for samples from `low` to before `high` (three numbers each)."""
    wide = high[1] - low[1]
    for r in prange((high[0] - low[0]) * wide):
        i, j = low[0] + r // wide, low[1] + r % wide
        for k in range(low[2], high[2]):
            if state[i, j, k] == number:
                q[i, j, k] = _mean_beside(q, state, number, i, j, k)


@kernel_pair
def clamp_to(q, low, high):
    """Keep values inside of their ranges."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            q[i, j, k] = min(max(q[i, j, k], low[i, j, k]), high[i, j, k])
