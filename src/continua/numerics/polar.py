"""Rotations of many 3x3 matrices at once, in lanes.

The rotation R of F (its polar factor) is the proper rotation with the largest `tr(R^T F)`. That largest
value is `λ = f0 + f1 + f2`, the sum of the signed singular values, and R is its derivative, `R = ∂λ/∂F`.
λ is the largest root of a quartic whose coefficients are the invariants of F,

    (λ² - a)² = 4 b + 8 d λ,    a = |F|²,  b = |cof F|²,  d = det F,

so that differentiating the quartic gives the rotation in closed form,

    R = ((λ² + a) F - 2 F F^T F + 2 λ cof F) / (λ³ - a λ - 2 d).

Nothing here tells inverted matrices from others: the largest root belongs to the signed decomposition, with
the smallest value flipped where `det F < 0`. Halley's iteration from the upper bound `sqrt(3 a)`, which is
exact for a pure rotation, falls monotonically to the largest root because all four roots are real. The
formula shares its singular vectors with F for every λ; an error in λ therefore only stretches R, and one
Newton-Schulz step, `R (3 - R^T R) / 2`, takes it away quadratically.

Where two singular values nearly cancel (`f1 + f2` far below `f0`: a line, a point, an inverted and symmetric
matrix), the formula loses digits. Such lanes are found by their denominator and by how far they are from
orthogonal, and the signed SVD does them over. There is no warm start: R depends on F alone, not on the
past, on the number of threads or on the neighbours in the block.
"""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
from numba import prange, uint64

from continua.numerics.kernel import inline, kernel_pair
from continua.numerics.mat3 import _as_matrices, det3, load3, rotation, store3

__all__ = ["LANES", "polar_lanes", "rotation_batch"]

LANES = 64  # elements of a block: eight AVX-512 or sixteen AVX2 registers, and 18 rows still fit the L1 cache

_ROOT3 = sqrt(3.0)
_HALLEY = 6  # iterations; enough for stretches from 0.03 to 1 and for nearly all inverted matrices
_BENT2 = 1e-15  # squared deviation from orthogonal, which one Newton-Schulz step brings down to rounding
_CANCELLED = 2e-3  # normalised denominator below which the formula loses more than three digits
_BLOCKS = 8  # of one task
_PARALLEL_FROM = 2048  # matrices


@inline
def _largest_root(b, d):
    """Return the largest root of `(l² - 1)² - 8 d l - 4 b`, from above, by Halley's iteration."""
    l = _ROOT3
    for _ in range(_HALLEY):
        l2 = l * l
        m = l2 - 1.0
        p = m * m - 8.0 * d * l - 4.0 * b
        p1 = 4.0 * l * m - 8.0 * d
        p2 = 6.0 * l2 - 2.0  # half of the second derivative
        l -= p * p1 / (p1 * p1 - p * p2)
    return l


@inline
def _cofactors(f0, f1, f2, f3, f4, f5, f6, f7, f8):
    return (
        f4 * f8 - f5 * f7, f5 * f6 - f3 * f8, f3 * f7 - f4 * f6,
        f2 * f7 - f1 * f8, f0 * f8 - f2 * f6, f1 * f6 - f0 * f7,
        f1 * f5 - f2 * f4, f2 * f3 - f0 * f5, f0 * f4 - f1 * f3,
    )  # fmt: skip


@inline
def _squares(m):
    return (
        (m[0] * m[0] + m[1] * m[1] + m[2] * m[2])
        + (m[3] * m[3] + m[4] * m[4] + m[5] * m[5])
        + (m[6] * m[6] + m[7] * m[7] + m[8] * m[8])
    )


@inline
def _columns(m):
    """Return the products m^T m of the columns: 00, 11, 22, 01, 02, 12."""
    return (
        m[0] * m[0] + m[3] * m[3] + m[6] * m[6],
        m[1] * m[1] + m[4] * m[4] + m[7] * m[7],
        m[2] * m[2] + m[5] * m[5] + m[8] * m[8],
        m[0] * m[1] + m[3] * m[4] + m[6] * m[7],
        m[0] * m[2] + m[3] * m[5] + m[6] * m[8],
        m[1] * m[2] + m[4] * m[5] + m[7] * m[8],
    )


@inline
def _times_symmetric(m, e00, e11, e22, e01, e02, e12):
    return (
        m[0] * e00 + m[1] * e01 + m[2] * e02,
        m[0] * e01 + m[1] * e11 + m[2] * e12,
        m[0] * e02 + m[1] * e12 + m[2] * e22,
        m[3] * e00 + m[4] * e01 + m[5] * e02,
        m[3] * e01 + m[4] * e11 + m[5] * e12,
        m[3] * e02 + m[4] * e12 + m[5] * e22,
        m[6] * e00 + m[7] * e01 + m[8] * e02,
        m[6] * e01 + m[7] * e11 + m[8] * e12,
        m[6] * e02 + m[7] * e12 + m[8] * e22,
    )


@inline
def _invariants(F):
    """Return det F, 1/|F|, and the coefficients b and d of F/|F|."""
    k = _cofactors(*F)
    det = F[0] * k[0] + F[1] * k[1] + F[2] * k[2]
    s = 1.0 / sqrt(_squares(F))
    s2 = s * s
    return det, s, _squares(k) * (s2 * s2), det * s2 * s


@inline
def _from_root(F, s, d, l):
    """Return the rotation of F for the root `l`, and whether it is exact to rounding."""
    bottom = l * (l * l - 1.0) - 2.0 * d
    q = s / bottom
    x = q * (l * l + 1.0)  # of F
    y = -2.0 * q * (s * s)  # of F F^T F
    z = 2.0 * q * s * l  # of the cofactors
    c = _columns(F)
    g = _times_symmetric(F, x + y * c[0], x + y * c[1], x + y * c[2], y * c[3], y * c[4], y * c[5])
    k = _cofactors(*F)
    r = (
        g[0] + z * k[0], g[1] + z * k[1], g[2] + z * k[2],
        g[3] + z * k[3], g[4] + z * k[4], g[5] + z * k[5],
        g[6] + z * k[6], g[7] + z * k[7], g[8] + z * k[8],
    )  # fmt: skip
    c = _columns(r)
    h = (0.5 - 0.5 * c[0], 0.5 - 0.5 * c[1], 0.5 - 0.5 * c[2], -0.5 * c[3], -0.5 * c[4], -0.5 * c[5])
    bent2 = h[0] * h[0] + h[1] * h[1] + h[2] * h[2] + 2.0 * (h[3] * h[3] + h[4] * h[4] + h[5] * h[5])
    g = _times_symmetric(r, *h)
    R = (
        r[0] + g[0], r[1] + g[1], r[2] + g[2],
        r[3] + g[3], r[4] + g[4], r[5] + g[5],
        r[6] + g[6], r[7] + g[7], r[8] + g[8],
    )  # fmt: skip
    return R, (bent2 < _BENT2) & (bottom > _CANCELLED)


@inline
def _load_lane(s, o, e):
    return (
        s[o + e], s[o + LANES + e], s[o + 2 * LANES + e],
        s[o + 3 * LANES + e], s[o + 4 * LANES + e], s[o + 5 * LANES + e],
        s[o + 6 * LANES + e], s[o + 7 * LANES + e], s[o + 8 * LANES + e],
    )  # fmt: skip


@inline
def _store_lane(s, o, e, m):
    s[o + e], s[o + LANES + e], s[o + 2 * LANES + e] = m[0], m[1], m[2]
    s[o + 3 * LANES + e], s[o + 4 * LANES + e], s[o + 5 * LANES + e] = m[3], m[4], m[5]
    s[o + 6 * LANES + e], s[o + 7 * LANES + e], s[o + 8 * LANES + e] = m[6], m[7], m[8]


@inline
def polar_lanes(s, f, r, d, n):
    """Compute the rotations of a block of `LANES` matrices that lie in lanes in one flat scratch array.

    Row k of the scratch is `s[k * LANES : (k + 1) * LANES]`, one value for each matrix of the block. One
    array with constant rows lets the compiler prove that nothing overlaps, and so vectorise.

    Args:
        s: scratch, float64, at least 19 rows.
        f: first of the 9 rows that hold F, row by row (a constant).
        r: first of the 9 rows for the rotations (a constant); may not overlap F.
        d: row for det F (a constant).
        n: how many lanes are in use; the others may hold anything.
    """
    fo, ro, do = f * LANES, r * LANES, d * LANES
    so, bo, no, lo = (
        ro,
        ro + LANES,
        ro + 2 * LANES,
        ro + 3 * LANES,
    )  # rows of R serve as scratch until the end
    for e in range(uint64(LANES)):
        s[do + e], s[so + e], s[bo + e], s[no + e] = _invariants(_load_lane(s, fo, e))
    # A loop of its own: each root is a long chain of dependent operations, and only a short body lets the
    # processor work on many of them at once.
    for e in range(uint64(LANES)):
        s[lo + e] = _largest_root(s[bo + e], s[no + e])
    fine = 0.0
    for e in range(uint64(LANES)):
        R, good = _from_root(_load_lane(s, fo, e), s[so + e], s[no + e], s[lo + e])
        _store_lane(s, ro, e, R)
        s[do + e] = s[do + e] if good else nan
        fine += 1.0 if good else 0.0
    if fine < LANES:
        for e in range(uint64(n)):
            if s[do + e] != s[do + e]:
                F = _load_lane(s, fo, e)
                _store_lane(s, ro, e, rotation(F))
                s[do + e] = det3(F)


@kernel_pair
def _rotate_each(F, R):
    n = F.shape[0]
    task = _BLOCKS * LANES
    for t in prange((n + task - 1) // task):
        s = np.zeros(19 * LANES)
        for start in range(t * task, min(n, (t + 1) * task), LANES):
            used = min(LANES, n - start)
            for e in range(used):
                _store_lane(s, 0, uint64(e), load3(F, start + e))
            polar_lanes(s, 0, 9, 18, used)
            for e in range(used):
                store3(R, start + e, _load_lane(s, 9 * LANES, uint64(e)))


def rotation_batch(F: np.ndarray) -> np.ndarray:
    """Return the rotations [n, 3, 3] of matrices `F`, shape [n, 3, 3].

    They are those of the signed SVD, `U V^T`: proper for inverted, flat and zero matrices too.
    """
    F = _as_matrices(F)
    R = np.empty_like(F)
    _rotate_each.variant(len(F) >= _PARALLEL_FROM)(F, R)
    return R
