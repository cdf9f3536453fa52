"""The kernels of `advection_kernels` for sixteen samples of a row at once, in single precision.

Coordinates are offsets from the sample itself, in cells, so that single precision is accurate enough on any grid.
The last block of a row overlaps the one before it; the results are the same.
"""

from __future__ import annotations

from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd.f32x16 import (
    WIDE,
    floor16,
    from16,
    gather16,
    load16,
    max16,
    min16,
    span16,
    splat16,
    store16,
)

__all__ = ["WIDE", "advect", "bfecc_compensate", "interpolate", "maccormack_correct", "trace", "value_at"]


@inline
def _split(offset, at, n):
    """Return the lower sample and the fraction to the next at `offset` from the sample `at`, clamped to n samples."""
    offset = max16(min16(offset, from16(at * -1 + (n - 1))), from16(at * -1))
    low = max16(min16(floor16(offset) + at, n - 2), 0)
    return low, offset - from16(low - at)


@inline
def interpolate(q, x, y, z, i, j, k):
    """Interpolate q at the offset (x, y, z) from the sample (i, j, k); return value, smallest and largest sample."""
    n0, n1, n2 = q.shape
    b, g = _split(y, j, n1)
    c, h = _split(z, k, n2)
    at = b * n2 + c
    if n0 > 1:
        a, f = _split(x, i, n0)
        at = at + a * (n1 * n2)
    p, q1, r, s = gather16(q, at, 0), gather16(q, at, 1), gather16(q, at, n2), gather16(q, at, n2 + 1)
    low = min16(min16(p, q1), min16(r, s))
    high = max16(max16(p, q1), max16(r, s))
    p, r = p + h * (q1 - p), r + h * (s - r)
    value = p + g * (r - p)
    if n0 > 1:
        up = n1 * n2
        p, q1 = gather16(q, at, up), gather16(q, at, up + 1)
        r, s = gather16(q, at, up + n2), gather16(q, at, up + n2 + 1)
        low = min16(low, min16(min16(p, q1), min16(r, s)))
        high = max16(high, max16(max16(p, q1), max16(r, s)))
        p, r = p + h * (q1 - p), r + h * (s - r)
        value = value + f * (p + g * (r - p) - value)
    return value, low, high


@inline
def value_at(q, x, y, z, i, j, k):
    """Interpolate q at the offset (x, y, z) from the sample (i, j, k)."""
    value, _, _ = interpolate(q, x, y, z, i, j, k)
    return value


@inline
def trace(u0, u1, u2, o0, o1, o2, i, j, k, s, order):
    """Trace the flow back from the samples (i, j, k) with offset o for the time s; return the displacement in cells."""
    x, y, z = splat16(0.0), splat16(0.0), splat16(0.0)
    sx, sy, sz = x, y, z
    for stage in range(order):
        vx = splat16(0.0)
        if u1.shape[0] > 1:
            vx = value_at(u0, x + o0, y + (o1 - 0.5), z + (o2 - 0.5), i, j, k)
            vy = value_at(u1, x + (o0 - 0.5), y + o1, z + (o2 - 0.5), i, j, k)
            vz = value_at(u2, x + (o0 - 0.5), y + (o1 - 0.5), z + o2, i, j, k)
        else:
            vy = value_at(u1, x, y + o1, z + (o2 - 0.5), i, j, k)
            vz = value_at(u2, x, y + (o1 - 0.5), z + o2, i, j, k)
        weight = (2.0 + stage) / 9.0 if order == 3 else (1.0 if stage == order - 1 else 0.0)
        sx, sy, sz = sx + weight * vx, sy + weight * vy, sz + weight * vz
        step = -s * (0.5 if stage == 0 else 0.75)
        x, y, z = step * vx, step * vy, step * vz
    return sx * -s, sy * -s, sz * -s


@inline
def _broadcast(n):
    """Return the index `n` in all lanes."""
    return span16(n) - span16(0)


@kernel_pair
def advect(q, o0, o1, o2, u0, u1, u2, s, order, out, low, high):
    """Semi-Lagrangian step; `low` and `high` receive the range of the samples used, unless empty."""
    n0, n1, n2 = q.shape
    limits = low.size > 0
    for r in prange(n0 * n1):
        row = int(r)
        i, j = _broadcast(row // n1), _broadcast(row % n1)
        for block in range((n2 + WIDE - 1) // WIDE):
            first = min(block * WIDE, n2 - WIDE)
            k = span16(first)
            x, y, z = trace(u0, u1, u2, o0, o1, o2, i, j, k, s, order)
            value, lowest, highest = interpolate(q, x, y, z, i, j, k)
            store16(out, row * n2 + first, value)
            if limits:
                store16(low, row * n2 + first, lowest)
                store16(high, row * n2 + first, highest)


@kernel_pair
def maccormack_correct(q, o0, o1, o2, u0, u1, u2, s, order, advected, low, high, out):
    """MacCormack: add half of the round-trip error, clamped to the range of the samples used."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        row = int(r)
        i, j = _broadcast(row // n1), _broadcast(row % n1)
        for block in range((n2 + WIDE - 1) // WIDE):
            first = min(block * WIDE, n2 - WIDE)
            k = span16(first)
            at = row * n2 + first
            x, y, z = trace(u0, u1, u2, o0, o1, o2, i, j, k, -s, order)
            back = value_at(advected, x, y, z, i, j, k)
            value = load16(advected, at) + 0.5 * (load16(q, at) - back)
            store16(out, at, min16(max16(value, load16(low, at)), load16(high, at)))


@kernel_pair
def bfecc_compensate(q, o0, o1, o2, u0, u1, u2, s, order, advected, out):
    """BFECC: the values before the step, compensated by half of the round-trip error."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        row = int(r)
        i, j = _broadcast(row // n1), _broadcast(row % n1)
        for block in range((n2 + WIDE - 1) // WIDE):
            first = min(block * WIDE, n2 - WIDE)
            k = span16(first)
            at = row * n2 + first
            x, y, z = trace(u0, u1, u2, o0, o1, o2, i, j, k, -s, order)
            here = load16(q, at)
            store16(out, at, here + 0.5 * (here - value_at(advected, x, y, z, i, j, k)))
