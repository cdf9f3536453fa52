"""Compiled functions for linear tetrahedra of the linear and the corotated law: rotation, stress, assembly, output.

Two passes fill the matrix and the right-hand side of a step. The first runs over elements in SIMD lanes and writes one
record per element; the second runs over nodes, and each node gathers the records of its elements. Nothing is
scattered, so there are no races and the result does not depend on the number of threads.

A record holds, with V the volume, R the rotation and g_a the rest gradient of corner a's shape function:
columns 0-11 G_a = sqrt(V mu) R g_a; columns 12-17 sqrt(V/mu) times the rotated stress (xx, yy, zz, xy, xz, yz).
With this scaling block (a, b) of the element's stiffness, for a frozen rotation, is made of the outer
product N = G_a G_b^T alone: (lambda/mu) N + N^T + tr(N) 1.

The derivative of the rotation adds [G_a]^T T [G_b], with [g] x = g cross x and T half of the stiffness against turns
over mu (see `turning_stiffness`), in columns 18-26, row by row; column 27 is its trace. Records without them leave it
out. As [a]^T T [b] = (t (a.b) - a.Tb) 1 - (a.b) T + Tb a^T + b (Ta - t a)^T for symmetric T with trace t, the sums over
elements are of outer products as well.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange, uint32, uint64

from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.polar import LANES, polar_lanes
from continua.numerics.simd.f64x4 import fma4, lane4, load4, zero4

RECORD = 28
FROZEN_RECORD = 18  # without the derivative of the rotation
CHUNK = 128  # rows per chunk of the node passes
TASK = 8  # blocks of lanes per task, which share one scratch array

_F_ROW, _R_ROW, _DET_ROW = 18, 27, 36  # deformation gradient, rotation, determinant in the scratch
_F, _R, _DET = _F_ROW * LANES, _R_ROW * LANES, _DET_ROW * LANES
_OUT = 37 * LANES  # rows 37-64: columns of the record
_ROOT, _RATIO = 65 * LANES, 66 * LANES
_SCRATCH = 67 * LANES

_LEAST_SUM = 1e-2  # sum of two stretches below which the stiffness against turns is bounded
_TINY = 1e-150


@inline
def _deformation_lanes(s):
    """Compute F (rows 18-26, row by row) from edges (rows 0-8, by column) and rest inverse (rows 9-17)."""
    for e in range(uint64(LANES)):
        for i in range(3):
            d0 = s[i * LANES + e]
            d1 = s[(3 + i) * LANES + e]
            d2 = s[(6 + i) * LANES + e]
            for j in range(3):
                s[_F + (3 * i + j) * LANES + e] = (
                    d0 * s[(9 + j) * LANES + e] + d1 * s[(12 + j) * LANES + e] + d2 * s[(15 + j) * LANES + e]
                )


@inline
def _record_lanes(s):
    """Compute the rotated gradients and the rotated stress of every lane from F, R and the rest inverse."""
    for e in range(uint64(LANES)):
        v = s[_ROOT + e]
        for i in range(3):
            r0 = s[_R + (3 * i) * LANES + e] * v
            r1 = s[_R + (3 * i + 1) * LANES + e] * v
            r2 = s[_R + (3 * i + 2) * LANES + e] * v
            g1 = r0 * s[9 * LANES + e] + r1 * s[10 * LANES + e] + r2 * s[11 * LANES + e]
            g2 = r0 * s[12 * LANES + e] + r1 * s[13 * LANES + e] + r2 * s[14 * LANES + e]
            g3 = r0 * s[15 * LANES + e] + r1 * s[16 * LANES + e] + r2 * s[17 * LANES + e]
            s[_OUT + i * LANES + e] = -(g1 + g2 + g3)
            s[_OUT + (3 + i) * LANES + e] = g1
            s[_OUT + (6 + i) * LANES + e] = g2
            s[_OUT + (9 + i) * LANES + e] = g3
    for e in range(uint64(LANES)):
        # B = F R^T; the rotated stress is mu (B + B^T - 2 I) + lambda (tr B - 3) I, with R = I for the linear law
        f0, f1, f2 = s[_F + e], s[_F + LANES + e], s[_F + 2 * LANES + e]
        f3, f4, f5 = s[_F + 3 * LANES + e], s[_F + 4 * LANES + e], s[_F + 5 * LANES + e]
        f6, f7, f8 = s[_F + 6 * LANES + e], s[_F + 7 * LANES + e], s[_F + 8 * LANES + e]
        r0, r1, r2 = s[_R + e], s[_R + LANES + e], s[_R + 2 * LANES + e]
        r3, r4, r5 = s[_R + 3 * LANES + e], s[_R + 4 * LANES + e], s[_R + 5 * LANES + e]
        r6, r7, r8 = s[_R + 6 * LANES + e], s[_R + 7 * LANES + e], s[_R + 8 * LANES + e]
        b00 = f0 * r0 + f1 * r1 + f2 * r2
        b11 = f3 * r3 + f4 * r4 + f5 * r5
        b22 = f6 * r6 + f7 * r7 + f8 * r8
        b01 = f0 * r3 + f1 * r4 + f2 * r5 + f3 * r0 + f4 * r1 + f5 * r2
        b02 = f0 * r6 + f1 * r7 + f2 * r8 + f6 * r0 + f7 * r1 + f8 * r2
        b12 = f3 * r6 + f4 * r7 + f5 * r8 + f6 * r3 + f7 * r4 + f8 * r5
        v = s[_ROOT + e]
        p = v * s[_RATIO + e] * (b00 + b11 + b22 - 3.0)
        s[_OUT + 12 * LANES + e] = 2.0 * v * (b00 - 1.0) + p
        s[_OUT + 13 * LANES + e] = 2.0 * v * (b11 - 1.0) + p
        s[_OUT + 14 * LANES + e] = 2.0 * v * (b22 - 1.0) + p
        s[_OUT + 15 * LANES + e] = v * b01
        s[_OUT + 16 * LANES + e] = v * b02
        s[_OUT + 17 * LANES + e] = v * b12


@inline
def _turn(p, q, pq, pr, qr, u, v):
    """Turn axes p and q of a symmetric matrix so that the entry pq vanishes.

    u and v are the columns of the basis that turn with them; returns p, q, pr, qr, u, v.
    """
    d = q - p
    h = 2.0 * pq
    size = sqrt(d * d + h * h)
    far = abs(d) + size + _TINY
    scale = 1.0 / sqrt(far * far + h * h)
    change = 0.5 * (size - abs(d))  # pq times the tangent of the angle
    c = far * scale
    if d >= 0.0:
        s = h * scale
    else:
        s = -h * scale
        change = -change
    return (
        p - change,
        q + change,
        c * pr - s * qr,
        s * pr + c * qr,
        (c * u[0] - s * v[0], c * u[1] - s * v[1], c * u[2] - s * v[2]),
        (s * u[0] + c * v[0], s * u[1] + c * v[1], s * u[2] + c * v[2]),
    )


@inline
def _sweep(p, q, r, pq, pr, qr, u, v, w):
    p, q, pr, qr, u, v = _turn(p, q, pq, pr, qr, u, v)
    p, r, pq, qr, u, w = _turn(p, r, pr, 0.0, qr, u, w)
    q, r, pq, pr, v, w = _turn(q, r, qr, pq, 0.0, v, w)
    return p, q, r, pq, pr, 0.0, u, v, w


@inline
def _principal(p, q, r, pq, pr, qr, u, v, w):
    """Return the eigenvalues of a symmetric matrix, and the basis u, v, w turned to its axes, by Jacobi's method.

    Four sweeps, as the error is squared in each; they are not a loop, which would not be vectorised.
    """
    p, q, r, pq, pr, qr, u, v, w = _sweep(p, q, r, pq, pr, qr, u, v, w)
    p, q, r, pq, pr, qr, u, v, w = _sweep(p, q, r, pq, pr, qr, u, v, w)
    p, q, r, pq, pr, qr, u, v, w = _sweep(p, q, r, pq, pr, qr, u, v, w)
    p, q, r, pq, pr, qr, u, v, w = _sweep(p, q, r, pq, pr, qr, u, v, w)
    return p, q, r, u, v, w


@inline
def turning_stiffness(R, s00, s11, s22, s01, s02, s12, m, t):
    """Return the stiffness of a stressed material against a turn of F relative to its rotation R.

    It is (g_i + g_j) / (f_i + f_j) about axis k, with the stretches f (those of S = R^T F) and the stresses
    g = m (f - 1) + t/2; negative values are set to zero. The result is a symmetric matrix in world axes
    (00, 11, 22, 01, 02, 12).
    """
    total = s00 + s11 + s22
    p, q, r, u, v, w = _principal(
        s00, s11, s22, s01, s02, s12, (R[0], R[3], R[6]), (R[1], R[4], R[7]), (R[2], R[5], R[8])
    )
    p, q, r = total - p, total - q, total - r  # the sums of the other two stretches
    p = max((m * (p - 2.0) + t) / max(p, _LEAST_SUM), 0.0)
    q = max((m * (q - 2.0) + t) / max(q, _LEAST_SUM), 0.0)
    r = max((m * (r - 2.0) + t) / max(r, _LEAST_SUM), 0.0)
    return (
        p * u[0] * u[0] + q * v[0] * v[0] + r * w[0] * w[0],
        p * u[1] * u[1] + q * v[1] * v[1] + r * w[1] * w[1],
        p * u[2] * u[2] + q * v[2] * v[2] + r * w[2] * w[2],
        p * u[0] * u[1] + q * v[0] * v[1] + r * w[0] * w[1],
        p * u[0] * u[2] + q * v[0] * v[2] + r * w[0] * w[2],
        p * u[1] * u[2] + q * v[1] * v[2] + r * w[1] * w[2],
    )


@inline
def _turning_lanes(s):
    """Compute half of the stiffness against turns over mu, in world axes, of every lane from F, R and the ratio."""
    for e in range(uint64(LANES)):
        ratio = s[_RATIO + e]
        f0, f1, f2 = s[_F + e], s[_F + LANES + e], s[_F + 2 * LANES + e]
        f3, f4, f5 = s[_F + 3 * LANES + e], s[_F + 4 * LANES + e], s[_F + 5 * LANES + e]
        f6, f7, f8 = s[_F + 6 * LANES + e], s[_F + 7 * LANES + e], s[_F + 8 * LANES + e]
        r0, r1, r2 = s[_R + e], s[_R + LANES + e], s[_R + 2 * LANES + e]
        r3, r4, r5 = s[_R + 3 * LANES + e], s[_R + 4 * LANES + e], s[_R + 5 * LANES + e]
        r6, r7, r8 = s[_R + 6 * LANES + e], s[_R + 7 * LANES + e], s[_R + 8 * LANES + e]
        s00 = r0 * f0 + r3 * f3 + r6 * f6
        s11 = r1 * f1 + r4 * f4 + r7 * f7
        s22 = r2 * f2 + r5 * f5 + r8 * f8
        s01 = 0.5 * (r0 * f1 + r3 * f4 + r6 * f7 + r1 * f0 + r4 * f3 + r7 * f6)
        s02 = 0.5 * (r0 * f2 + r3 * f5 + r6 * f8 + r2 * f0 + r5 * f3 + r8 * f6)
        s12 = 0.5 * (r1 * f2 + r4 * f5 + r7 * f8 + r2 * f1 + r5 * f4 + r8 * f7)
        turning = turning_stiffness(
            (r0, r1, r2, r3, r4, r5, r6, r7, r8),
            s00, s11, s22, s01, s02, s12, 1.0, ratio * (s00 + s11 + s22 - 3.0),
        )  # fmt: skip
        s[_OUT + 18 * LANES + e], s[_OUT + 22 * LANES + e], s[_OUT + 26 * LANES + e] = (
            turning[0],
            turning[1],
            turning[2],
        )
        s[_OUT + 19 * LANES + e] = s[_OUT + 21 * LANES + e] = turning[3]
        s[_OUT + 20 * LANES + e] = s[_OUT + 24 * LANES + e] = turning[4]
        s[_OUT + 23 * LANES + e] = s[_OUT + 25 * LANES + e] = turning[5]
        s[_OUT + 27 * LANES + e] = turning[0] + turning[1] + turning[2]


@inline
def _no_rotation_lanes(s):
    for e in range(uint64(LANES)):
        for c in range(9):
            s[_R + c * LANES + e] = 0.0
        s[_R + e] = 1.0
        s[_R + 4 * LANES + e] = 1.0
        s[_R + 8 * LANES + e] = 1.0
        f0, f1, f2 = s[_F + e], s[_F + LANES + e], s[_F + 2 * LANES + e]
        f3, f4, f5 = s[_F + 3 * LANES + e], s[_F + 4 * LANES + e], s[_F + 5 * LANES + e]
        f6, f7, f8 = s[_F + 6 * LANES + e], s[_F + 7 * LANES + e], s[_F + 8 * LANES + e]
        s[_DET + e] = f0 * (f4 * f8 - f5 * f7) - f1 * (f3 * f8 - f5 * f6) + f2 * (f3 * f7 - f4 * f6)


@inline
def _load_lanes(s, positions, tets, rest_inverse, root, ratio, lo, n):
    for e in range(n):
        i0 = uint32(tets[lo + e, 0])
        i1 = uint32(tets[lo + e, 1])
        i2 = uint32(tets[lo + e, 2])
        i3 = uint32(tets[lo + e, 3])
        for c in range(uint64(3)):
            x0 = positions[i0, c]
            s[c * uint64(LANES) + e] = positions[i1, c] - x0
            s[(uint64(3) + c) * uint64(LANES) + e] = positions[i2, c] - x0
            s[(uint64(6) + c) * uint64(LANES) + e] = positions[i3, c] - x0
    for c in range(uint64(9)):
        for e in range(n):
            s[(uint64(9) + c) * uint64(LANES) + e] = rest_inverse[c, lo + e]
    for e in range(n):
        s[uint64(_ROOT) + e] = root[lo + e]
        s[uint64(_RATIO) + e] = ratio[lo + e]


@kernel_pair
def element_records(positions, tets, rest_inverse, root, ratio, rotate, records, inverted):
    """Fill one record per element from the current positions; `inverted` counts det F <= 0 per task.

    Args:
        positions: Current node positions [n, 3].
        tets: Corner indices [m, 4].
        rest_inverse: Rows of the inverse of the rest edge matrix, shape [9, m].
        root: Square root of volume times shear modulus [m].
        ratio: Lame constants lambda/mu [m].
        rotate: Whether the law follows the element's rotation (corotated) or not (linear).
        records: Result [m, 28], or [m, 18] for a frozen rotation.
        inverted: Result, one count per task of TASK * LANES elements.
    """
    m = tets.shape[0]
    for task in prange(inverted.shape[0]):
        s = np.empty(_SCRATCH)  # lanes beyond the last element compute values that are not read
        count = 0
        for block in range(task * TASK, (task + 1) * TASK):
            if block * LANES >= m:
                break
            lo = uint64(block * LANES)
            n = min(uint64(LANES), uint64(m) - lo)
            _load_lanes(s, positions, tets, rest_inverse, root, ratio, lo, n)
            _deformation_lanes(s)
            if rotate:
                polar_lanes(s, _F_ROW, _R_ROW, _DET_ROW, n)
            else:
                _no_rotation_lanes(s)
            _record_lanes(s)
            if records.shape[1] > FROZEN_RECORD:
                _turning_lanes(s)
            for e in range(n):
                if s[uint64(_DET) + e] <= 0.0:
                    count += 1
                for c in range(uint64(records.shape[1])):
                    records[lo + e, c] = s[uint64(_OUT) + c * uint64(LANES) + e]
        inverted[task] = count


@inline
def _corner_sums(records, inc_codes, first, last):
    """Return the elastic force of a node and the sum of G_a G_a^T over the elements around it."""
    f0 = f1 = f2 = 0.0
    m00 = m01 = m02 = m11 = m12 = m22 = 0.0
    for q in range(first, last):
        code = uint32(inc_codes[q])
        e = code >> uint32(2)
        a = uint32(3) * (code & uint32(3))
        a0 = records[e, a]
        a1 = records[e, a + uint32(1)]
        a2 = records[e, a + uint32(2)]
        f0 += records[e, 12] * a0 + records[e, 15] * a1 + records[e, 16] * a2
        f1 += records[e, 15] * a0 + records[e, 13] * a1 + records[e, 17] * a2
        f2 += records[e, 16] * a0 + records[e, 17] * a1 + records[e, 14] * a2
        m00 += a0 * a0
        m01 += a0 * a1
        m02 += a0 * a2
        m11 += a1 * a1
        m12 += a1 * a2
        m22 += a2 * a2
    return (f0, f1, f2), (m00, m01, m02, m11, m12, m22)


@inline
def _edge_sums(flat, size, codes, first, last):
    """Return the sum N of G_a G_b^T over the elements around an edge, row by row.

    `flat` are the records, each of the given size, as one row of numbers. A row of N is a multiple of G_b: three lanes
    of a register.
    """
    row0 = zero4()
    row1 = zero4()
    row2 = zero4()
    for q in range(first, last):
        code = uint32(codes[q])
        at = size * uint64(code >> uint32(4))
        a = at + uint64(3) * uint64((code >> uint32(2)) & uint32(3))
        g = load4(flat, at + uint64(3) * uint64(code & uint32(3)))
        row0 = fma4(g, flat[a], row0)
        row1 = fma4(g, flat[a + uint64(1)], row1)
        row2 = fma4(g, flat[a + uint64(2)], row2)
    return (
        lane4(row0, 0), lane4(row0, 1), lane4(row0, 2),
        lane4(row1, 0), lane4(row1, 1), lane4(row1, 2),
        lane4(row2, 0), lane4(row2, 1), lane4(row2, 2),
    )  # fmt: skip


@inline
def _weighted_edge_sums(flat, size, ratios, codes, first, last):
    """Return the sum of (lambda/mu) G_a G_b^T over the elements around an edge, row by row."""
    row0 = zero4()
    row1 = zero4()
    row2 = zero4()
    for q in range(first, last):
        code = uint32(codes[q])
        e = uint64(code >> uint32(4))
        w = ratios[e]
        a = size * e + uint64(3) * uint64((code >> uint32(2)) & uint32(3))
        g = load4(flat, size * e + uint64(3) * uint64(code & uint32(3)))
        row0 = fma4(g, w * flat[a], row0)
        row1 = fma4(g, w * flat[a + uint64(1)], row1)
        row2 = fma4(g, w * flat[a + uint64(2)], row2)
    return (
        lane4(row0, 0), lane4(row0, 1), lane4(row0, 2),
        lane4(row1, 0), lane4(row1, 1), lane4(row1, 2),
        lane4(row2, 0), lane4(row2, 1), lane4(row2, 2),
    )  # fmt: skip


@inline
def _weighted_corner_sums(records, ratios, inc_codes, first, last):
    """Return the sum of (lambda/mu) G_a G_a^T over the elements around a node (00, 01, 02, 11, 12, 22)."""
    m00 = m01 = m02 = m11 = m12 = m22 = 0.0
    for q in range(first, last):
        code = uint32(inc_codes[q])
        e = code >> uint32(2)
        a = uint32(3) * (code & uint32(3))
        w = ratios[e]
        a0 = records[e, a]
        a1 = records[e, a + uint32(1)]
        a2 = records[e, a + uint32(2)]
        m00 += w * a0 * a0
        m01 += w * a0 * a1
        m02 += w * a0 * a2
        m11 += w * a1 * a1
        m12 += w * a1 * a2
        m22 += w * a2 * a2
    return m00, m01, m02, m11, m12, m22


@inline
def _turning_edge_sums(flat, size, codes, first, last):
    """Return the sums of G_a G_b^T and of [G_a]^T T [G_b] over the elements around an edge, row by row."""
    row0 = zero4()
    row1 = zero4()
    row2 = zero4()
    p0 = zero4()
    p1 = zero4()
    p2 = zero4()
    q0 = zero4()
    q1 = zero4()
    q2 = zero4()
    s = 0.0
    for q in range(first, last):
        code = uint32(codes[q])
        e = size * uint64(code >> uint32(4))
        i = e + uint64(3) * uint64((code >> uint32(2)) & uint32(3))
        j = e + uint64(3) * uint64(code & uint32(3))
        a0, a1, a2 = flat[i], flat[i + uint64(1)], flat[i + uint64(2)]
        b0, b1, b2 = flat[j], flat[j + uint64(1)], flat[j + uint64(2)]
        a = load4(flat, i)
        b = load4(flat, j)
        t0 = load4(flat, e + uint64(18))
        t1 = load4(flat, e + uint64(21))
        t2 = load4(flat, e + uint64(24))
        trace = flat[e + uint64(27)]
        row0 = fma4(b, a0, row0)
        row1 = fma4(b, a1, row1)
        row2 = fma4(b, a2, row2)
        tb = fma4(t2, b2, fma4(t1, b1, fma4(t0, b0, zero4())))
        p0 = fma4(tb, a0, p0)  # a (T b)^T
        p1 = fma4(tb, a1, p1)
        p2 = fma4(tb, a2, p2)
        ta = fma4(t2, a2, fma4(t1, a1, fma4(t0, a0, fma4(a, -trace, zero4()))))
        dot = a0 * b0 + a1 * b1 + a2 * b2
        s += trace * dot
        q0 = fma4(t0, -dot, fma4(ta, b0, q0))  # b (T a - t a)^T - (a.b) T
        q1 = fma4(t1, -dot, fma4(ta, b1, q1))
        q2 = fma4(t2, -dot, fma4(ta, b2, q2))
    s -= lane4(p0, 0) + lane4(p1, 1) + lane4(p2, 2)
    return (
        (
            lane4(row0, 0), lane4(row0, 1), lane4(row0, 2),
            lane4(row1, 0), lane4(row1, 1), lane4(row1, 2),
            lane4(row2, 0), lane4(row2, 1), lane4(row2, 2),
        ),
        (
            s + lane4(p0, 0) + lane4(q0, 0), lane4(p1, 0) + lane4(q0, 1), lane4(p2, 0) + lane4(q0, 2),
            lane4(p0, 1) + lane4(q1, 0), s + lane4(p1, 1) + lane4(q1, 1), lane4(p2, 1) + lane4(q1, 2),
            lane4(p0, 2) + lane4(q2, 0), lane4(p1, 2) + lane4(q2, 1), s + lane4(p2, 2) + lane4(q2, 2),
        ),
    )  # fmt: skip


@inline
def _turning_corner_sums(flat, size, inc_codes, first, last):
    """Return the sum of [G_a]^T T [G_a] over the elements around a node (00, 11, 22, 01, 02, 12)."""
    p0 = zero4()
    p1 = zero4()
    p2 = zero4()
    q0 = zero4()
    q1 = zero4()
    q2 = zero4()
    s = 0.0
    for q in range(first, last):
        code = uint32(inc_codes[q])
        e = size * uint64(code >> uint32(2))
        i = e + uint64(3) * uint64(code & uint32(3))
        a0, a1, a2 = flat[i], flat[i + uint64(1)], flat[i + uint64(2)]
        a = load4(flat, i)
        t0 = load4(flat, e + uint64(18))
        t1 = load4(flat, e + uint64(21))
        t2 = load4(flat, e + uint64(24))
        trace = flat[e + uint64(27)]
        ta = fma4(t2, a2, fma4(t1, a1, fma4(t0, a0, zero4())))
        dot = a0 * a0 + a1 * a1 + a2 * a2
        s += trace * dot
        p0 = fma4(ta, a0, p0)
        p1 = fma4(ta, a1, p1)
        p2 = fma4(ta, a2, p2)
        rest = fma4(a, -trace, zero4())
        q0 = fma4(t0, -dot, fma4(rest, a0, q0))
        q1 = fma4(t1, -dot, fma4(rest, a1, q1))
        q2 = fma4(t2, -dot, fma4(rest, a2, q2))
    s -= lane4(p0, 0) + lane4(p1, 1) + lane4(p2, 2)
    return (
        s + 2.0 * lane4(p0, 0) + lane4(q0, 0),
        s + 2.0 * lane4(p1, 1) + lane4(q1, 1),
        s + 2.0 * lane4(p2, 2) + lane4(q2, 2),
        lane4(p0, 1) + lane4(p1, 0) + lane4(q0, 1),
        lane4(p0, 2) + lane4(p2, 0) + lane4(q0, 2),
        lane4(p1, 2) + lane4(p2, 1) + lane4(q1, 2),
    )


@kernel_pair
def assemble(records, pattern, ratio, ratios, system):
    """Set A = c_mass M + c_stiffness K and rhs = M v + load - dt f, f the elastic force.

    Each node sums its diagonal block and those above it, and writes the latter twice, the second time
    transposed into the row of the other node: every block has one writer.

    Args:
        records: Element records [m, 28], or [m, 18] for frozen rotations.
        pattern: The `EdgePattern`.
        ratio: Lame constants lambda/mu if they are the same in all elements, which halves the work.
        ratios: Their array [m] if they differ, else None; each case has its own compiled kernel.
        system: The arrays of the `AssembledSystem`.
    """
    indptr, indices, diagonal, inc_indptr, inc_codes, list_indptr, codes, mirror = pattern
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs = system
    n = indptr.shape[0] - 1
    flat = records.reshape(-1)
    size = uint64(records.shape[1])
    turns = records.shape[1] > FROZEN_RECORD
    s = c_stiffness
    ratio = s * ratio
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            first_inc = uint32(inc_indptr[i])
            last_inc = uint32(inc_indptr[i + uint64(1)])
            f, m = _corner_sums(records, inc_codes, first_inc, last_inc)
            r0 = load[i, 0] - dt * f[0]
            r1 = load[i, 1] - dt * f[1]
            r2 = load[i, 2] - dt * f[2]
            end = uint32(indptr[i + uint64(1)])
            for k in range(uint32(indptr[i]), end):
                j = uint32(indices[k])
                r0 += mass[k] * velocities[j, 0]
                r1 += mass[k] * velocities[j, 1]
                r2 += mass[k] * velocities[j, 2]
            rhs[i, 0] = r0
            rhs[i, 1] = r1
            rhs[i, 2] = r2
            k = uint32(diagonal[i])
            w = c_mass * mass[k] + s * (m[0] + m[3] + m[5])
            if ratios is None:
                t = ratio + s
                d00, d01, d02, d11, d12, d22 = t * m[0], t * m[1], t * m[2], t * m[3], t * m[4], t * m[5]
            else:
                h = _weighted_corner_sums(records, ratios, inc_codes, first_inc, last_inc)
                d00, d01, d02 = s * (h[0] + m[0]), s * (h[1] + m[1]), s * (h[2] + m[2])
                d11, d12, d22 = s * (h[3] + m[3]), s * (h[4] + m[4]), s * (h[5] + m[5])
            if turns:
                h = _turning_corner_sums(flat, size, inc_codes, first_inc, last_inc)
                d00, d11, d22 = d00 + s * h[0], d11 + s * h[1], d22 + s * h[2]
                d01, d02, d12 = d01 + s * h[3], d02 + s * h[4], d12 + s * h[5]
            blocks[k, 0] = d00 + w
            blocks[k, 1] = d01
            blocks[k, 2] = d02
            blocks[k, 3] = d01
            blocks[k, 4] = d11 + w
            blocks[k, 5] = d12
            blocks[k, 6] = d02
            blocks[k, 7] = d12
            blocks[k, 8] = d22 + w
            for k in range(uint32(diagonal[i]) + uint32(1), end):
                first = uint32(list_indptr[k])
                last = uint32(list_indptr[k + uint32(1)])
                if turns:
                    e, turning = _turning_edge_sums(flat, size, codes, first, last)
                else:
                    e = _edge_sums(flat, size, codes, first, last)
                    turning = e
                w = c_mass * mass[k] + s * (e[0] + e[4] + e[8])
                if ratios is None:
                    b0 = (ratio + s) * e[0] + w
                    b1 = ratio * e[1] + s * e[3]
                    b2 = ratio * e[2] + s * e[6]
                    b3 = ratio * e[3] + s * e[1]
                    b4 = (ratio + s) * e[4] + w
                    b5 = ratio * e[5] + s * e[7]
                    b6 = ratio * e[6] + s * e[2]
                    b7 = ratio * e[7] + s * e[5]
                    b8 = (ratio + s) * e[8] + w
                else:
                    h = _weighted_edge_sums(flat, size, ratios, codes, first, last)
                    b0 = s * (h[0] + e[0]) + w
                    b1 = s * (h[1] + e[3])
                    b2 = s * (h[2] + e[6])
                    b3 = s * (h[3] + e[1])
                    b4 = s * (h[4] + e[4]) + w
                    b5 = s * (h[5] + e[7])
                    b6 = s * (h[6] + e[2])
                    b7 = s * (h[7] + e[5])
                    b8 = s * (h[8] + e[8]) + w
                if turns:
                    b0, b1, b2 = b0 + s * turning[0], b1 + s * turning[1], b2 + s * turning[2]
                    b3, b4, b5 = b3 + s * turning[3], b4 + s * turning[4], b5 + s * turning[5]
                    b6, b7, b8 = b6 + s * turning[6], b7 + s * turning[7], b8 + s * turning[8]
                # column by column, so the block above the diagonal is the one that is written transposed
                o = uint32(mirror[k])
                blocks[o, 0] = b0
                blocks[o, 1] = b1
                blocks[o, 2] = b2
                blocks[o, 3] = b3
                blocks[o, 4] = b4
                blocks[o, 5] = b5
                blocks[o, 6] = b6
                blocks[o, 7] = b7
                blocks[o, 8] = b8
                blocks[k, 0] = b0
                blocks[k, 1] = b3
                blocks[k, 2] = b6
                blocks[k, 3] = b1
                blocks[k, 4] = b4
                blocks[k, 5] = b7
                blocks[k, 6] = b2
                blocks[k, 7] = b5
                blocks[k, 8] = b8


@kernel_pair
def node_stress(records, root, volumes, inc_indptr, inc_codes, von_mises):
    """Set the von Mises stress at nodes from the volume average of the stress of the adjacent elements.

    The records hold tensor components, so the shear terms enter once (the 6-vector of Georgii 2007 stores them
    doubled).
    """
    n = inc_indptr.shape[0] - 1
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            s0 = 0.0
            s1 = 0.0
            s2 = 0.0
            s3 = 0.0
            s4 = 0.0
            s5 = 0.0
            volume = 0.0
            for q in range(uint32(inc_indptr[i]), uint32(inc_indptr[i + uint64(1)])):
                e = uint32(inc_codes[q]) >> uint32(2)
                w = root[e]
                volume += volumes[e]
                s0 += w * records[e, 12]
                s1 += w * records[e, 13]
                s2 += w * records[e, 14]
                s3 += w * records[e, 15]
                s4 += w * records[e, 16]
                s5 += w * records[e, 17]
            von_mises[i] = von_mises_norm(s0, s1, s2, s3, s4, s5) / volume if volume > 0.0 else 0.0


@inline
def von_mises_norm(xx, yy, zz, xy, xz, yz):
    """Return the von Mises norm of a symmetric tensor given by its components."""
    d = (xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2
    return np.sqrt(0.5 * d + 3.0 * (xy * xy + xz * xz + yz * yz))


@kernel
def elastic_energy(records, ratios):
    """Return the elastic energy [J]: the sum of V stress:strain / 2, from the records."""
    total = 0.0
    for e in range(records.shape[0]):
        ratio = ratios[e]
        trace = records[e, 12] + records[e, 13] + records[e, 14]
        square = records[e, 12] ** 2 + records[e, 13] ** 2 + records[e, 14] ** 2
        square += 2.0 * (records[e, 15] ** 2 + records[e, 16] ** 2 + records[e, 17] ** 2)
        total += 0.25 * (square - ratio / (3.0 * ratio + 2.0) * trace * trace)
    return total
