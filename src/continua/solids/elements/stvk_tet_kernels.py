"""Compiled functions for linear tetrahedra of the St. Venant-Kirchhoff law, without a singular value decomposition.

With Green's strain E = (F^T F - I)/2 and the stress S = 2 mu E + lambda tr(E) I the law needs F alone (Georgii 2007):
the force of corner a is V F S g_a, and block (a, b) of the stiffness

    V [(g_a.S g_b) I + F (lambda g_a g_b^T + mu (g_a.g_b) I + mu g_b g_a^T) F^T].

The second part is positive semidefinite. The first is made so by shifting S by its most negative eigenvalue. It comes
from Newton's iteration on the characteristic polynomial; started from the left it converges monotonically.

Where a stretch is below the limit of the law the law is extrapolated in principal stretches; such elements get a record
of `materials.tet_kernels` as well.

A record holds, with r = sqrt(V mu): columns 0-11 G_a = r F g_a; 12-17 F F^T (00, 01, 02, 11, 12, 22); 18-27 r^2 g_a.g_b
and 28-37 r^2 g_a.S g_b/mu of the corners (00, 01, 02, 03, 11, 12, 13, 22, 23, 33); 38-49 the forces; 50 the energy; 51
whether the law is extrapolated.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32

from continua.materials.st_venant_kirchhoff import LEAST_STRETCH, principal
from continua.materials.tet_kernels import fill_record
from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.mat3 import det3, matmul3
from continua.solids.elements.corotated_kernels import CHUNK
from continua.solids.elements.edge_assembly import assembly_kernel
from continua.solids.elements.hyperelastic_tet_kernels import element_block

RECORD = 52
_PAIR = np.array([[0, 1, 2, 3], [1, 4, 5, 6], [2, 5, 7, 8], [3, 6, 8, 9]], np.uint32)


@inline
def _spd_shift(s00, s01, s02, s11, s12, s22):
    """Return the shift that makes a symmetric matrix positive semidefinite: minus its least eigenvalue, or 0."""
    i1 = s00 + s11 + s22
    i2 = s00 * s11 + s00 * s22 + s11 * s22 - s01 * s01 - s02 * s02 - s12 * s12
    i3 = s00 * (s11 * s22 - s12 * s12) - s01 * (s01 * s22 - s12 * s02) + s02 * (s01 * s12 - s11 * s02)
    spread = max(i1 * i1 - 3.0 * i2, 0.0)  # 3/2 of the squared norm of the deviator
    value = (i1 - 2.0 * np.sqrt(spread)) / 3.0
    if value >= 0.0:
        return 0.0
    for _ in range(4):
        slope = (3.0 * value - 2.0 * i1) * value + i2
        if not slope > 1e-12 * (spread + i1 * i1):
            break
        value -= (((value - i1) * value + i2) * value - i3) / slope
    return max(-value, 0.0)


@inline
def _fill(F, D, root, ratio, records, e):
    """Fill the record of an element whose law is not extrapolated."""
    f0, f1, f2, f3, f4, f5, f6, f7, f8 = F
    e00 = 0.5 * (f0 * f0 + f3 * f3 + f6 * f6 - 1.0)
    e11 = 0.5 * (f1 * f1 + f4 * f4 + f7 * f7 - 1.0)
    e22 = 0.5 * (f2 * f2 + f5 * f5 + f8 * f8 - 1.0)
    e01 = 0.5 * (f0 * f1 + f3 * f4 + f6 * f7)
    e02 = 0.5 * (f0 * f2 + f3 * f5 + f6 * f8)
    e12 = 0.5 * (f1 * f2 + f4 * f5 + f7 * f8)
    trace = ratio * (e00 + e11 + e22)
    s00, s11, s22 = 2.0 * e00 + trace, 2.0 * e11 + trace, 2.0 * e22 + trace
    s01, s02, s12 = 2.0 * e01, 2.0 * e02, 2.0 * e12
    square = e00 * e00 + e11 * e11 + e22 * e22 + 2.0 * (e01 * e01 + e02 * e02 + e12 * e12)
    records[e, 50] = root * root * (square + 0.5 * trace * (e00 + e11 + e22))
    P = matmul3(F, (s00, s01, s02, s01, s11, s12, s02, s12, s22))
    shift = _spd_shift(s00, s01, s02, s11, s12, s22)
    s00 += shift
    s11 += shift
    s22 += shift
    records[e, 12] = f0 * f0 + f1 * f1 + f2 * f2
    records[e, 13] = f0 * f3 + f1 * f4 + f2 * f5
    records[e, 14] = f0 * f6 + f1 * f7 + f2 * f8
    records[e, 15] = f3 * f3 + f4 * f4 + f5 * f5
    records[e, 16] = f3 * f6 + f4 * f7 + f5 * f8
    records[e, 17] = f6 * f6 + f7 * f7 + f8 * f8
    # rows: the gradients of the corners, that of the first being minus the sum of the others
    a0, a1, a2 = root * D[0], root * D[1], root * D[2]
    b0, b1, b2 = root * D[3], root * D[4], root * D[5]
    c0, c1, c2 = root * D[6], root * D[7], root * D[8]
    for i in range(3):
        g1 = F[3 * i] * a0 + F[3 * i + 1] * a1 + F[3 * i + 2] * a2
        g2 = F[3 * i] * b0 + F[3 * i + 1] * b1 + F[3 * i + 2] * b2
        g3 = F[3 * i] * c0 + F[3 * i + 1] * c1 + F[3 * i + 2] * c2
        records[e, i] = -(g1 + g2 + g3)
        records[e, 3 + i] = g1
        records[e, 6 + i] = g2
        records[e, 9 + i] = g3
        p1 = root * (P[3 * i] * a0 + P[3 * i + 1] * a1 + P[3 * i + 2] * a2)
        p2 = root * (P[3 * i] * b0 + P[3 * i + 1] * b1 + P[3 * i + 2] * b2)
        p3 = root * (P[3 * i] * c0 + P[3 * i + 1] * c1 + P[3 * i + 2] * c2)
        records[e, 38 + i] = -(p1 + p2 + p3)
        records[e, 41 + i] = p1
        records[e, 44 + i] = p2
        records[e, 47 + i] = p3
    _fill_pairs(
        a0 * a0 + a1 * a1 + a2 * a2, a0 * b0 + a1 * b1 + a2 * b2, a0 * c0 + a1 * c1 + a2 * c2,
        b0 * b0 + b1 * b1 + b2 * b2, b0 * c0 + b1 * c1 + b2 * c2, c0 * c0 + c1 * c1 + c2 * c2,
        records, e, 18,
    )  # fmt: skip
    u0, u1, u2 = (
        s00 * a0 + s01 * a1 + s02 * a2,
        s01 * a0 + s11 * a1 + s12 * a2,
        s02 * a0 + s12 * a1 + s22 * a2,
    )
    v0, v1, v2 = (
        s00 * b0 + s01 * b1 + s02 * b2,
        s01 * b0 + s11 * b1 + s12 * b2,
        s02 * b0 + s12 * b1 + s22 * b2,
    )
    w0, w1, w2 = (
        s00 * c0 + s01 * c1 + s02 * c2,
        s01 * c0 + s11 * c1 + s12 * c2,
        s02 * c0 + s12 * c1 + s22 * c2,
    )
    _fill_pairs(
        a0 * u0 + a1 * u1 + a2 * u2, a0 * v0 + a1 * v1 + a2 * v2, a0 * w0 + a1 * w1 + a2 * w2,
        b0 * v0 + b1 * v1 + b2 * v2, b0 * w0 + b1 * w1 + b2 * w2, c0 * w0 + c1 * w1 + c2 * w2,
        records, e, 28,
    )  # fmt: skip
    records[e, 51] = 0.0


@inline
def _fill_pairs(k11, k12, k13, k22, k23, k33, records, e, at):
    """Write a form of all pairs of corners from that of the last three."""
    k01, k02, k03 = -(k11 + k12 + k13), -(k12 + k22 + k23), -(k13 + k23 + k33)
    records[e, at] = -(k01 + k02 + k03)
    records[e, at + 1] = k01
    records[e, at + 2] = k02
    records[e, at + 3] = k03
    records[e, at + 4] = k11
    records[e, at + 5] = k12
    records[e, at + 6] = k13
    records[e, at + 7] = k22
    records[e, at + 8] = k23
    records[e, at + 9] = k33


@inline
def _above_limit(F, det):
    """Return whether all stretches are above the limit: F^T F - limit^2 is positive definite, and det F too."""
    least = LEAST_STRETCH * LEAST_STRETCH
    c00 = F[0] * F[0] + F[3] * F[3] + F[6] * F[6] - least
    c11 = F[1] * F[1] + F[4] * F[4] + F[7] * F[7] - least
    c22 = F[2] * F[2] + F[5] * F[5] + F[8] * F[8] - least
    c01 = F[0] * F[1] + F[3] * F[4] + F[6] * F[7]
    c02 = F[0] * F[2] + F[3] * F[5] + F[6] * F[8]
    c12 = F[1] * F[2] + F[4] * F[5] + F[7] * F[8]
    minor = c00 * c11 - c01 * c01
    whole = c22 * minor - c00 * c12 * c12 + 2.0 * c01 * c02 * c12 - c11 * c02 * c02
    return det > 0.0 and c00 > 0.0 and minor > 0.0 and whole > 0.0


@kernel_pair
def fill_records(
    positions, tets, rest_inverse, volumes, constants, root, ratio, records, principals, inverted
):
    """Linearise every element at the positions [n, 3]; `inverted` counts det F <= 0 a chunk.

    Args:
        positions: Node positions [n, 3].
        tets: Corner indices [m, 4].
        rest_inverse: Rows of the inverse of the rest edge matrix, shape [9, m].
        volumes: Volumes at rest [m].
        constants: Lame's constants [m, 2].
        root: Square root of volume times shear modulus [m].
        ratio: Lame constants lambda/mu [m].
        records: Result [m, 52].
        principals: Records of `hyper_kernels` [m, 40], written where the law is extrapolated.
        inverted: Result, one count a chunk.
    """
    for chunk in prange(inverted.shape[0]):
        count = 0
        for e in range(chunk * CHUNK, min(tets.shape[0], (chunk + 1) * CHUNK)):
            i, j, k, l = tets[e, 0], tets[e, 1], tets[e, 2], tets[e, 3]
            x, y, z = positions[i, 0], positions[i, 1], positions[i, 2]
            edges = (
                positions[j, 0] - x, positions[k, 0] - x, positions[l, 0] - x,
                positions[j, 1] - y, positions[k, 1] - y, positions[l, 1] - y,
                positions[j, 2] - z, positions[k, 2] - z, positions[l, 2] - z,
            )  # fmt: skip
            D = (
                rest_inverse[0, e], rest_inverse[1, e], rest_inverse[2, e],
                rest_inverse[3, e], rest_inverse[4, e], rest_inverse[5, e],
                rest_inverse[6, e], rest_inverse[7, e], rest_inverse[8, e],
            )  # fmt: skip
            F = matmul3(edges, D)
            det = det3(F)
            if det <= 0.0:
                count += 1
            if _above_limit(F, det):
                _fill(F, D, root[e], ratio[e], records, e)
            else:
                fill_record(
                    principal,
                    positions,
                    tets,
                    rest_inverse,
                    volumes[e],
                    constants[e],
                    LEAST_STRETCH,
                    principals,
                    e,
                )
                records[e, 50] = principals[e, 39]
                records[e, 51] = 1.0
        inverted[chunk] = count


@inline
def _block(data, e, a, b):
    """Return block (a, b) of an element's stiffness, row by row."""
    records, principals, ratio = data
    if records[e, 51] != 0.0:
        return element_block(principals, e, uint32(3) * a, uint32(3) * b)
    p = uint32(3) * a
    q = uint32(3) * b
    pair = _PAIR[a, b]
    m = records[e, uint32(18) + pair]
    t = records[e, uint32(28) + pair]
    r = ratio[e]
    a0, a1, a2 = records[e, p], records[e, p + uint32(1)], records[e, p + uint32(2)]
    b0, b1, b2 = records[e, q], records[e, q + uint32(1)], records[e, q + uint32(2)]
    n01, n10 = a0 * b1, a1 * b0
    n02, n20 = a0 * b2, a2 * b0
    n12, n21 = a1 * b2, a2 * b1
    c01, c02, c12 = m * records[e, 13], m * records[e, 14], m * records[e, 16]
    return (
        (r + 1.0) * a0 * b0 + m * records[e, 12] + t, r * n01 + n10 + c01, r * n02 + n20 + c02,
        r * n10 + n01 + c01, (r + 1.0) * a1 * b1 + m * records[e, 15] + t, r * n12 + n21 + c12,
        r * n20 + n02 + c02, r * n21 + n12 + c12, (r + 1.0) * a2 * b2 + m * records[e, 17] + t,
    )  # fmt: skip


@inline
def _force(data, e, a, dt):
    """Return dt times the elastic force of corner a."""
    records, principals, _ = data
    if records[e, 51] == 0.0:
        at = uint32(38) + uint32(3) * a
        return dt * records[e, at], dt * records[e, at + uint32(1)], dt * records[e, at + uint32(2)]
    p = uint32(3) * a
    s0 = principals[e, 33] * principals[e, p]
    s1 = principals[e, 34] * principals[e, p + uint32(1)]
    s2 = principals[e, 35] * principals[e, p + uint32(2)]
    return (
        dt * (principals[e, 12] * s0 + principals[e, 13] * s1 + principals[e, 14] * s2),
        dt * (principals[e, 15] * s0 + principals[e, 16] * s1 + principals[e, 17] * s2),
        dt * (principals[e, 18] * s0 + principals[e, 19] * s1 + principals[e, 20] * s2),
    )


assemble = assembly_kernel(__file__, _block, _force)


@kernel
def total_energy(records):
    """Return the elastic energy [J]."""
    total = 0.0
    for e in range(records.shape[0]):
        total += records[e, 50]
    return total
