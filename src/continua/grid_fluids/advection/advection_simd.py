"""The transport of `advection_kernels` for sixteen samples of a row at once, in single precision.

Places are kept as distances from the sample itself, in cells, so that single precision is exact enough on any grid.
The last samples of a row are worked out together with some that were before; the results are the same.
"""

from __future__ import annotations

from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.lanes16 import (
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

__all__ = ["WIDE", "advect", "blend", "correct", "over_correct", "trace", "value_at"]


@inline
def _spot(way, at, n):
    """Return the lower sample and the part of the way to the next, `way` from the sample `at`, inside of n samples."""
    way = max16(min16(way, from16(at * -1 + (n - 1))), from16(at * -1))
    low = max16(min16(floor16(way) + at, n - 2), 0)
    return low, way - from16(low - at)


@inline
def blend(q, x, y, z, i, j, k):
    """Interpolate q the way (x, y, z) from the sample (i, j, k); return value, smallest and largest sample."""
    n0, n1, n2 = q.shape
    b, g = _spot(y, j, n1)
    c, h = _spot(z, k, n2)
    at = b * n2 + c
    if n0 > 1:
        a, f = _spot(x, i, n0)
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
    """Interpolate q the way (x, y, z) from the sample (i, j, k)."""
    value, _, _ = blend(q, x, y, z, i, j, k)
    return value


@inline
def trace(u0, u1, u2, o0, o1, o2, i, j, k, s, order):
    """Follow the flow back from the samples (i, j, k) with offset o for the time s; return the way in cells."""
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
        share = (2.0 + stage) / 9.0 if order == 3 else (1.0 if stage == order - 1 else 0.0)
        sx, sy, sz = sx + share * vx, sy + share * vy, sz + share * vz
        reach = -s * (0.5 if stage == 0 else 0.75)
        x, y, z = reach * vx, reach * vy, reach * vz
    return sx * -s, sy * -s, sz * -s


@inline
def _lanes(n):
    """Return the sample `n` in all lanes."""
    return span16(n) - span16(0)


@kernel_pair
def advect(q, o0, o1, o2, u0, u1, u2, s, order, out, low, high):
    """Semi-Lagrangian step; `low` and `high` receive the range of the samples used, unless they are empty."""
    n0, n1, n2 = q.shape
    limits = low.size > 0
    for r in prange(n0 * n1):
        row = int(r)
        i, j = _lanes(row // n1), _lanes(row % n1)
        for block in range((n2 + WIDE - 1) // WIDE):
            first = min(block * WIDE, n2 - WIDE)
            k = span16(first)
            x, y, z = trace(u0, u1, u2, o0, o1, o2, i, j, k, s, order)
            value, least, most = blend(q, x, y, z, i, j, k)
            store16(out, row * n2 + first, value)
            if limits:
                store16(low, row * n2 + first, least)
                store16(high, row * n2 + first, most)


@kernel_pair
def correct(q, o0, o1, o2, u0, u1, u2, s, order, once, low, high, out):
    """MacCormack: add half of what going there and back misses, inside of the range of the samples used."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        row = int(r)
        i, j = _lanes(row // n1), _lanes(row % n1)
        for block in range((n2 + WIDE - 1) // WIDE):
            first = min(block * WIDE, n2 - WIDE)
            k = span16(first)
            at = row * n2 + first
            x, y, z = trace(u0, u1, u2, o0, o1, o2, i, j, k, -s, order)
            back = value_at(once, x, y, z, i, j, k)
            value = load16(once, at) + 0.5 * (load16(q, at) - back)
            store16(out, at, min16(max16(value, load16(low, at)), load16(high, at)))


@kernel_pair
def over_correct(q, o0, o1, o2, u0, u1, u2, s, order, once, out):
    """BFECC: the start values that, carried along, make up for what going there and back misses."""
    n0, n1, n2 = q.shape
    for r in prange(n0 * n1):
        row = int(r)
        i, j = _lanes(row // n1), _lanes(row % n1)
        for block in range((n2 + WIDE - 1) // WIDE):
            first = min(block * WIDE, n2 - WIDE)
            k = span16(first)
            at = row * n2 + first
            x, y, z = trace(u0, u1, u2, o0, o1, o2, i, j, k, -s, order)
            mine = load16(q, at)
            store16(out, at, mine + 0.5 * (mine - value_at(once, x, y, z, i, j, k)))
