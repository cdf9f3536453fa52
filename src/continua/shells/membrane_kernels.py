"""Compiled functions for the stretching of triangles in space.

The deformation gradient of a triangle is the 3x2 matrix F = (x_1 - x_0, x_2 - x_0) D^-1, with D the same edges at rest
in two axes of the rest triangle (Irving 2007, 2.4). Whatever the law, a triangle leaves a record: columns 0-26 are the
blocks (0, 1), (0, 2) and (1, 2) of its stiffness, row by row; 27-32 the elastic forces of corners 1 and 2; 33 the
energy. The other blocks follow, since a translation does no work.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32

from continua.numerics import inline, kernel_pair

RECORD = 34
CHUNK = 64


@inline
def deformation(x, triangles, rest_inverse, e):
    """Return F (column by column) of triangle e."""
    i, j, k = uint32(triangles[e, 0]), uint32(triangles[e, 1]), uint32(triangles[e, 2])
    a0, a1, a2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    b0, b1, b2 = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
    r0, r1, r2, r3 = rest_inverse[0, e], rest_inverse[1, e], rest_inverse[2, e], rest_inverse[3, e]
    return (
        a0 * r0 + b0 * r2,
        a1 * r0 + b1 * r2,
        a2 * r0 + b2 * r2,
        a0 * r1 + b0 * r3,
        a1 * r1 + b1 * r3,
        a2 * r1 + b2 * r3,
    )


@inline
def positive_part(s00, s01, s11):
    """Return the positive semidefinite part of a symmetric 2x2 matrix."""
    mean = 0.5 * (s00 + s11)
    half = 0.5 * (s00 - s11)
    radius = np.sqrt(half * half + s01 * s01)
    low, high = mean - radius, mean + radius
    if low >= 0.0:
        return s00, s01, s11
    if high <= 0.0:
        return 0.0, 0.0, 0.0
    scale = 0.5 * high / radius
    return scale * (radius + half), scale * s01, scale * (radius - half)


@kernel_pair
def stvk_records(x, triangles, rest_inverse, volumes, constants, records):
    """Fill the records of St. Venant-Kirchhoff triangles in plane stress; `constants` start with Lame's [Pa].

    With E = (F^T F - I)/2 and S = lambda' tr(E) I + 2 mu E, lambda' = 2 lambda mu / (lambda + 2 mu), the force of
    corner a is V F S g_a and block (a, b) is
    V [(g_a.S g_b) I + F (lambda' g_a g_b^T + mu (g_a.g_b) I + mu g_b g_a^T) F^T].
    For a definite stiffness S is replaced by its positive part, that of tension.
    """
    count = triangles.shape[0]
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for e in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            u0, u1, u2, v0, v1, v2 = deformation(x, triangles, rest_inverse, e)
            w = volumes[e]
            lam, mu = constants[e, 0], constants[e, 1]
            total = lam + 2.0 * mu
            lam = 2.0 * lam * mu / total if total > 0.0 else 0.0
            e00 = 0.5 * (u0 * u0 + u1 * u1 + u2 * u2 - 1.0)
            e11 = 0.5 * (v0 * v0 + v1 * v1 + v2 * v2 - 1.0)
            e01 = 0.5 * (u0 * v0 + u1 * v1 + u2 * v2)
            trace = lam * (e00 + e11)
            s00, s01, s11 = w * (trace + 2.0 * mu * e00), w * 2.0 * mu * e01, w * (trace + 2.0 * mu * e11)
            records[e, 33] = 0.5 * (s00 * e00 + 2.0 * s01 * e01 + s11 * e11)
            a0, a1 = rest_inverse[0, e], rest_inverse[1, e]
            b0, b1 = rest_inverse[2, e], rest_inverse[3, e]
            ta, tb = s00 * a0 + s01 * a1, s01 * a0 + s11 * a1
            records[e, 27] = u0 * ta + v0 * tb
            records[e, 28] = u1 * ta + v1 * tb
            records[e, 29] = u2 * ta + v2 * tb
            ta, tb = s00 * b0 + s01 * b1, s01 * b0 + s11 * b1
            records[e, 30] = u0 * ta + v0 * tb
            records[e, 31] = u1 * ta + v1 * tb
            records[e, 32] = u2 * ta + v2 * tb
            s00, s01, s11 = positive_part(s00, s01, s11)
            lam, mu = w * lam, w * mu
            p0, p1, p2 = u0 * a0 + v0 * a1, u1 * a0 + v1 * a1, u2 * a0 + v2 * a1
            q0, q1, q2 = u0 * b0 + v0 * b1, u1 * b0 + v1 * b1, u2 * b0 + v2 * b1
            o0, o1, o2 = -(p0 + q0), -(p1 + q1), -(p2 + q2)
            m00, m11, m22 = u0 * u0 + v0 * v0, u1 * u1 + v1 * v1, u2 * u2 + v2 * v2
            m01, m02, m12 = u0 * u1 + v0 * v1, u0 * u2 + v0 * v2, u1 * u2 + v1 * v2
            m = (m00, m01, m02, m11, m12, m22)
            # forms of corners: with themselves by the metric at rest, and by the stress
            d12, s12 = mu * (a0 * b0 + a1 * b1), s00 * a0 * b0 + s01 * (a0 * b1 + a1 * b0) + s11 * a1 * b1
            d11, t11 = mu * (a0 * a0 + a1 * a1), s00 * a0 * a0 + 2.0 * s01 * a0 * a1 + s11 * a1 * a1
            d22, t22 = mu * (b0 * b0 + b1 * b1), s00 * b0 * b0 + 2.0 * s01 * b0 * b1 + s11 * b1 * b1
            _write_block(records, e, 0, (o0, o1, o2), (p0, p1, p2), lam, mu, -(d11 + d12), -(t11 + s12), m)
            _write_block(records, e, 9, (o0, o1, o2), (q0, q1, q2), lam, mu, -(d22 + d12), -(t22 + s12), m)
            _write_block(records, e, 18, (p0, p1, p2), (q0, q1, q2), lam, mu, d12, s12, m)


@inline
def _write_block(records, e, at, p, q, lam, mu, metric, stress, m):
    """Write lam p q^T + mu q p^T + metric M + stress I from column `at`, with M symmetric (00, 01, 02, 11, 12, 22)."""
    records[e, at] = (lam + mu) * p[0] * q[0] + metric * m[0] + stress
    records[e, at + 1] = lam * p[0] * q[1] + mu * q[0] * p[1] + metric * m[1]
    records[e, at + 2] = lam * p[0] * q[2] + mu * q[0] * p[2] + metric * m[2]
    records[e, at + 3] = lam * p[1] * q[0] + mu * q[1] * p[0] + metric * m[1]
    records[e, at + 4] = (lam + mu) * p[1] * q[1] + metric * m[3] + stress
    records[e, at + 5] = lam * p[1] * q[2] + mu * q[1] * p[2] + metric * m[4]
    records[e, at + 6] = lam * p[2] * q[0] + mu * q[2] * p[0] + metric * m[2]
    records[e, at + 7] = lam * p[2] * q[1] + mu * q[2] * p[1] + metric * m[4]
    records[e, at + 8] = (lam + mu) * p[2] * q[2] + metric * m[5] + stress
