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

__all__ = ["LANES", "polar_lanes", "rotation_batch", "rotation_fast"]

LANES = 64  # elements of a block: eight AVX-512 or sixteen AVX2 registers, and 18 rows still fit the L1 cache

_ROOT3 = sqrt(3.0)
_HALLEY = 5  # iterations; enough for stretches from 0.05 to 1 and for nearly all inverted matrices
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
def rotation_fast(F):
    """Return the rotation of F without any branch, so that loops over many matrices vectorise.

    Args:
        F: matrix as a tuple of 9, row by row.

    Returns:
        The rotation (9), the determinant of F, and whether the rotation is exact to rounding; if it is
        not, `mat3.rotation` must do it over.
    """
    f0, f1, f2, f3, f4, f5, f6, f7, f8 = F
    # cofactors and C = F^T F
    k0, k1, k2 = f4 * f8 - f5 * f7, f5 * f6 - f3 * f8, f3 * f7 - f4 * f6
    k3, k4, k5 = f2 * f7 - f1 * f8, f0 * f8 - f2 * f6, f1 * f6 - f0 * f7
    k6, k7, k8 = f1 * f5 - f2 * f4, f2 * f3 - f0 * f5, f0 * f4 - f1 * f3
    c00, c11, c22 = f0 * f0 + f3 * f3 + f6 * f6, f1 * f1 + f4 * f4 + f7 * f7, f2 * f2 + f5 * f5 + f8 * f8
    c01, c02, c12 = f0 * f1 + f3 * f4 + f6 * f7, f0 * f2 + f3 * f5 + f6 * f8, f1 * f2 + f4 * f5 + f7 * f8
    a = c00 + c11 + c22
    d = f0 * k0 + f1 * k1 + f2 * k2
    b = (k0 * k0 + k1 * k1 + k2 * k2) + (k3 * k3 + k4 * k4 + k5 * k5) + (k6 * k6 + k7 * k7 + k8 * k8)
    s = 1.0 / sqrt(a)
    s2 = s * s
    dn = d * s2 * s
    l = _largest_root(b * s2 * s2, dn)
    bottom = l * (l * l - 1.0) - 2.0 * dn
    q = s / bottom
    x = q * (l * l + 1.0)  # of F
    y = -2.0 * q * s2  # of F C
    z = 2.0 * q * s * l  # of the cofactors
    # x + y C, then R = F (x + y C) + z cof F
    e00, e11, e22, e01, e02, e12 = x + y * c00, x + y * c11, x + y * c22, y * c01, y * c02, y * c12
    r0 = f0 * e00 + f1 * e01 + f2 * e02 + z * k0
    r1 = f0 * e01 + f1 * e11 + f2 * e12 + z * k1
    r2 = f0 * e02 + f1 * e12 + f2 * e22 + z * k2
    r3 = f3 * e00 + f4 * e01 + f5 * e02 + z * k3
    r4 = f3 * e01 + f4 * e11 + f5 * e12 + z * k4
    r5 = f3 * e02 + f4 * e12 + f5 * e22 + z * k5
    r6 = f6 * e00 + f7 * e01 + f8 * e02 + z * k6
    r7 = f6 * e01 + f7 * e11 + f8 * e12 + z * k7
    r8 = f6 * e02 + f7 * e12 + f8 * e22 + z * k8
    # half of 1 - R^T R
    h00 = 0.5 - 0.5 * (r0 * r0 + r3 * r3 + r6 * r6)
    h11 = 0.5 - 0.5 * (r1 * r1 + r4 * r4 + r7 * r7)
    h22 = 0.5 - 0.5 * (r2 * r2 + r5 * r5 + r8 * r8)
    h01 = -0.5 * (r0 * r1 + r3 * r4 + r6 * r7)
    h02 = -0.5 * (r0 * r2 + r3 * r5 + r6 * r8)
    h12 = -0.5 * (r1 * r2 + r4 * r5 + r7 * r8)
    bent2 = h00 * h00 + h11 * h11 + h22 * h22 + 2.0 * (h01 * h01 + h02 * h02 + h12 * h12)
    good = (bent2 < _BENT2) & (bottom > _CANCELLED)
    R = (
        r0 + (r0 * h00 + r1 * h01 + r2 * h02),
        r1 + (r0 * h01 + r1 * h11 + r2 * h12),
        r2 + (r0 * h02 + r1 * h12 + r2 * h22),
        r3 + (r3 * h00 + r4 * h01 + r5 * h02),
        r4 + (r3 * h01 + r4 * h11 + r5 * h12),
        r5 + (r3 * h02 + r4 * h12 + r5 * h22),
        r6 + (r6 * h00 + r7 * h01 + r8 * h02),
        r7 + (r6 * h01 + r7 * h11 + r8 * h12),
        r8 + (r6 * h02 + r7 * h12 + r8 * h22),
    )
    return R, d, good


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
    fine = 0.0
    for e in range(uint64(LANES)):
        R, det, good = rotation_fast(_load_lane(s, fo, e))
        _store_lane(s, ro, e, R)
        s[do + e] = det if good else nan
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
    _rotate_each.pick(len(F) >= _PARALLEL_FROM)(F, R)
    return R
