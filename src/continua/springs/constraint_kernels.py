"""Position-based dynamics: the projections of constraints, and a whole step as one compiled function.

A constraint C(p) of compliance alpha changes the positions p of its nodes by w_i grad_i C dl with

    dl = (-C - a l - g grad C . (p - x)) / ((1 + g) sum of w_i |grad_i C|^2 + a),    a = alpha/dt^2,

and l by dl (XPBD, Macklin 2016); w_i are inverse masses, and g = damping time/dt. With alpha = 0 and dl times a factor
it is position-based dynamics (Mueller 2007).

If gradients turn while one iterates, positions keep what earlier gradients did to them, and XPBD ends beside the
implicit Euler step of the energy C^2/(2 alpha). So with several iterations (`exact`) the displacement w_i grad_i C l is
renewed as a whole: that with the last gradient is taken away, and -C gets the term that belongs to it,
- sum of w_i (grad_i C - last grad_i C) . grad_i C l. The fixed point is the implicit step then. Gradients
that change by more than half, as in crushed states, are not followed.

Constraints are projected one after the other (Gauss-Seidel). Those of a colour share no nodes, so that any number of
threads gives the same bits.
"""

from math import atan2, pi, sqrt

import numpy as np
from numba import prange

from continua.numerics.kernel import inline, kernel, kernel_pair
from continua.numerics.mat3 import rotation

__all__ = ["dihedral_angles", "greedy_colors", "position_based_step"]

_TINY = 1e-280
WORDS = 8  # of 64 colours each

FOLLOWED = 0.5
"""Largest relative change of a gradient between iterations that displacements follow."""


@kernel
def greedy_colors(nodes, used):
    """Return the smallest colour of each constraint [m] that none of its nodes has yet; `used` [n, 8] is zero.

    A constraint that finds no colour gets -1.
    """
    color = np.empty(nodes.shape[0], np.int32)
    for c in range(nodes.shape[0]):
        found = -1
        for word in range(WORDS):
            taken = np.uint64(0)
            for a in range(nodes.shape[1]):
                taken |= used[nodes[c, a], word]
            if taken != np.uint64(0xFFFFFFFFFFFFFFFF):
                bit = 0
                while (taken >> np.uint64(bit)) & np.uint64(1):
                    bit += 1
                for a in range(nodes.shape[1]):
                    used[nodes[c, a], word] |= np.uint64(1) << np.uint64(bit)
                found = 64 * word + bit
                break
        color[c] = found
    return color


@inline
def _multiplier(C, alpha, factor, multiplier, rate, damping, weight):
    """Return the change of the multiplier of a constraint."""
    g = damping if alpha > 0.0 else 0.0
    return factor * (-C - alpha * multiplier - g * rate) / ((1.0 + g) * weight + alpha)


@inline
def _distance(c, p, x, w, nodes, length, alpha, factor, multiplier, last, exact, scale, damping):
    i, j = nodes[c, 0], nodes[c, 1]
    weight = w[i] + w[j]
    d0, d1, d2 = p[i, 0] - p[j, 0], p[i, 1] - p[j, 1], p[i, 2] - p[j, 2]
    square = d0 * d0 + d1 * d1 + d2 * d2
    if weight > 0.0 and square > _TINY:
        size = sqrt(square)
        d0 /= size
        d1 /= size
        d2 /= size
        rate = 0.0
        if damping > 0.0:
            rate = (
                d0 * (p[i, 0] - x[i, 0] - p[j, 0] + x[j, 0])
                + d1 * (p[i, 1] - x[i, 1] - p[j, 1] + x[j, 1])
                + d2 * (p[i, 2] - x[i, 2] - p[j, 2] + x[j, 2])
            )
        C, l = size - length[c], multiplier[c]
        e0 = e1 = e2 = 0.0
        follows = exact
        if exact and l != 0.0:
            turn = d0 * last[c, 0] + d1 * last[c, 1] + d2 * last[c, 2]
            follows = 1.0 - turn < FOLLOWED
            if follows:
                C += weight * (1.0 - turn) * l
        dl = _multiplier(C, scale * alpha[c], factor, l, rate, damping, weight)
        multiplier[c] = l + dl
        if exact:
            e0, e1, e2 = last[c, 0], last[c, 1], last[c, 2]
            last[c, 0], last[c, 1], last[c, 2] = d0, d1, d2
        if follows:
            dl += l
            d0, d1, d2 = d0 * dl - e0 * l, d1 * dl - e1 * l, d2 * dl - e2 * l
            dl = 1.0
        a, b = w[i] * dl, w[j] * dl
        p[i, 0] += a * d0
        p[i, 1] += a * d1
        p[i, 2] += a * d2
        p[j, 0] -= b * d0
        p[j, 1] -= b * d1
        p[j, 2] -= b * d2


@inline
def _weighted(c, p, x, w, nodes, weights, length, alpha, factor, multiplier, last, exact, scale, damping):
    s0 = s1 = s2 = weight = 0.0
    r0 = r1 = r2 = 0.0
    for a in range(4):
        i, f = nodes[c, a], weights[c, a]
        s0 += f * p[i, 0]
        s1 += f * p[i, 1]
        s2 += f * p[i, 2]
        r0 += f * (p[i, 0] - x[i, 0])
        r1 += f * (p[i, 1] - x[i, 1])
        r2 += f * (p[i, 2] - x[i, 2])
        weight += w[i] * f * f
    square = s0 * s0 + s1 * s1 + s2 * s2
    if weight > 0.0 and square > _TINY:
        size = sqrt(square)
        s0 /= size
        s1 /= size
        s2 /= size
        rate = s0 * r0 + s1 * r1 + s2 * r2
        C, l = size - length[c], multiplier[c]
        e0 = e1 = e2 = 0.0
        follows = exact
        if exact and l != 0.0:
            turn = s0 * last[c, 0] + s1 * last[c, 1] + s2 * last[c, 2]
            follows = 1.0 - turn < FOLLOWED
            if follows:
                C += weight * (1.0 - turn) * l
        dl = _multiplier(C, scale * alpha[c], factor, l, rate, damping, weight)
        multiplier[c] = l + dl
        if exact:
            e0, e1, e2 = last[c, 0], last[c, 1], last[c, 2]
            last[c, 0], last[c, 1], last[c, 2] = s0, s1, s2
        if follows:
            dl += l
            s0, s1, s2 = s0 * dl - e0 * l, s1 * dl - e1 * l, s2 * dl - e2 * l
            dl = 1.0
        for a in range(4):
            i, f = nodes[c, a], weights[c, a]
            if f != 0.0:  # nodes without weight belong to other constraints of the colour
                f *= w[i] * dl
                p[i, 0] += f * s0
                p[i, 1] += f * s1
                p[i, 2] += f * s2


@inline
def _dihedral(p, i0, i1, i2, i3):
    """Return the angle at the edge 01 between the triangles with the tips 2 and 3, its gradients, and if it exists.

    The gradients are those of Bridson (2003): along the normals at the tips, and balanced along the edge.
    """
    e0, e1, e2 = p[i1, 0] - p[i0, 0], p[i1, 1] - p[i0, 1], p[i1, 2] - p[i0, 2]
    a0, a1, a2 = p[i2, 0] - p[i0, 0], p[i2, 1] - p[i0, 1], p[i2, 2] - p[i0, 2]
    b0, b1, b2 = p[i3, 0] - p[i0, 0], p[i3, 1] - p[i0, 1], p[i3, 2] - p[i0, 2]
    n0, n1, n2 = e1 * a2 - e2 * a1, e2 * a0 - e0 * a2, e0 * a1 - e1 * a0
    m0, m1, m2 = b1 * e2 - b2 * e1, b2 * e0 - b0 * e2, b0 * e1 - b1 * e0
    nn, mm, ee = n0 * n0 + n1 * n1 + n2 * n2, m0 * m0 + m1 * m1 + m2 * m2, e0 * e0 + e1 * e1 + e2 * e2
    ok = nn > 1e-12 * ee * ee and mm > 1e-12 * ee * ee and ee > 1e-140
    if not ok:
        z = (0.0, 0.0, 0.0)
        return 0.0, z, z, z, z, False
    size = sqrt(ee)
    cosine = n0 * m0 + n1 * m1 + n2 * m2
    sine = ((n1 * m2 - n2 * m1) * e0 + (n2 * m0 - n0 * m2) * e1 + (n0 * m1 - n1 * m0) * e2) / size
    angle = atan2(sine, cosine)
    fn, fm = -size / nn, -size / mm
    g2 = (fn * n0, fn * n1, fn * n2)
    g3 = (fm * m0, fm * m1, fm * m2)
    # where the feet of the tips are on the edge, from 0 to 1
    s = (a0 * e0 + a1 * e1 + a2 * e2) / ee
    t = (b0 * e0 + b1 * e1 + b2 * e2) / ee
    g1 = (-s * g2[0] - t * g3[0], -s * g2[1] - t * g3[1], -s * g2[2] - t * g3[2])
    g0 = (
        (s - 1.0) * g2[0] + (t - 1.0) * g3[0],
        (s - 1.0) * g2[1] + (t - 1.0) * g3[1],
        (s - 1.0) * g2[2] + (t - 1.0) * g3[2],
    )
    return angle, g0, g1, g2, g3, True


@kernel
def dihedral_angles(p, nodes):
    """Return the angle of each pair of triangles, shape [h]: 0 where they are flat."""
    angles = np.zeros(nodes.shape[0])
    for c in range(nodes.shape[0]):
        angles[c] = _dihedral(p, nodes[c, 0], nodes[c, 1], nodes[c, 2], nodes[c, 3])[0]
    return angles


@inline
def _four(c, p, x, w, nodes, C, g0, g1, g2, g3, alpha, factor, multiplier, last, exact, reach, damping):
    """Project a constraint on four nodes with its value and gradients."""
    i, j, k, l = nodes[c, 0], nodes[c, 1], nodes[c, 2], nodes[c, 3]
    t0 = w[i] * (g0[0] * g0[0] + g0[1] * g0[1] + g0[2] * g0[2])
    t1 = w[j] * (g1[0] * g1[0] + g1[1] * g1[1] + g1[2] * g1[2])
    t2 = w[k] * (g2[0] * g2[0] + g2[1] * g2[1] + g2[2] * g2[2])
    t3 = w[l] * (g3[0] * g3[0] + g3[1] * g3[1] + g3[2] * g3[2])
    weight = t0 + t1 + t2 + t3
    if not (weight > _TINY and weight < 1e200):
        return
    rate = 0.0
    if damping > 0.0:
        for u in range(3):
            rate += g0[u] * (p[i, u] - x[i, u]) + g1[u] * (p[j, u] - x[j, u])
            rate += g2[u] * (p[k, u] - x[k, u]) + g3[u] * (p[l, u] - x[l, u])
    l_before = multiplier[c]
    follows = True
    if exact and l_before != 0.0:
        turn = w[i] * (g0[0] * last[c, 0] + g0[1] * last[c, 1] + g0[2] * last[c, 2])
        turn += w[j] * (g1[0] * last[c, 3] + g1[1] * last[c, 4] + g1[2] * last[c, 5])
        turn += w[k] * (g2[0] * last[c, 6] + g2[1] * last[c, 7] + g2[2] * last[c, 8])
        turn += w[l] * (g3[0] * last[c, 9] + g3[1] * last[c, 10] + g3[2] * last[c, 11])
        follows = abs(weight - turn) < FOLLOWED * weight
        if follows:
            C += (weight - turn) * l_before
    dl = _multiplier(C, alpha, factor, l_before, rate, damping, weight)
    farthest = dl * dl * max(max(w[i] * t0, w[j] * t1), max(w[k] * t2, w[l] * t3))
    if farthest > reach * reach:
        dl *= reach / sqrt(farthest)
    multiplier[c] = l_before + dl
    if exact and not follows:
        for u in range(3):
            last[c, u], last[c, 3 + u], last[c, 6 + u], last[c, 9 + u] = g0[u], g1[u], g2[u], g3[u]
    elif exact:
        dl += l_before
        if l_before != 0.0:
            for u in range(3):
                p[i, u] -= w[i] * l_before * last[c, u]
                p[j, u] -= w[j] * l_before * last[c, 3 + u]
                p[k, u] -= w[k] * l_before * last[c, 6 + u]
                p[l, u] -= w[l] * l_before * last[c, 9 + u]
        for u in range(3):
            last[c, u], last[c, 3 + u], last[c, 6 + u], last[c, 9 + u] = g0[u], g1[u], g2[u], g3[u]
    a, b, d, e = w[i] * dl, w[j] * dl, w[k] * dl, w[l] * dl
    p[i, 0] += a * g0[0]
    p[i, 1] += a * g0[1]
    p[i, 2] += a * g0[2]
    p[j, 0] += b * g1[0]
    p[j, 1] += b * g1[1]
    p[j, 2] += b * g1[2]
    p[k, 0] += d * g2[0]
    p[k, 1] += d * g2[1]
    p[k, 2] += d * g2[2]
    p[l, 0] += e * g3[0]
    p[l, 1] += e * g3[1]
    p[l, 2] += e * g3[2]


@inline
def _hinge(c, p, x, w, nodes, rest, alpha, factor, multiplier, last, exact, reach, scale, damping):
    angle, g0, g1, g2, g3, ok = _dihedral(p, nodes[c, 0], nodes[c, 1], nodes[c, 2], nodes[c, 3])
    if ok:
        C = angle - rest[c]
        if pi < C:
            C -= 2.0 * pi
        elif -pi > C:
            C += 2.0 * pi
        _four(
            c,
            p,
            x,
            w,
            nodes,
            C,
            g0,
            g1,
            g2,
            g3,
            scale * alpha[c],
            factor,
            multiplier,
            last,
            exact,
            reach,
            damping,
        )


@inline
def _edges_of(p, i, j, k, l):
    a = (p[j, 0] - p[i, 0], p[j, 1] - p[i, 1], p[j, 2] - p[i, 2])
    b = (p[k, 0] - p[i, 0], p[k, 1] - p[i, 1], p[k, 2] - p[i, 2])
    c = (p[l, 0] - p[i, 0], p[l, 1] - p[i, 1], p[l, 2] - p[i, 2])
    return a, b, c


@inline
def _cross(s, a, b):
    return (s * (a[1] * b[2] - a[2] * b[1]), s * (a[2] * b[0] - a[0] * b[2]), s * (a[0] * b[1] - a[1] * b[0]))


@inline
def _minus_sum(a, b, c):
    return (-a[0] - b[0] - c[0], -a[1] - b[1] - c[1], -a[2] - b[2] - c[2])


@inline
def _volume(c, p, x, w, nodes, rest, alpha, factor, multiplier, last, exact, reach, scale, damping):
    a, b, d = _edges_of(p, nodes[c, 0], nodes[c, 1], nodes[c, 2], nodes[c, 3])
    sixth = 1.0 / 6.0
    g1, g2, g3 = _cross(sixth, b, d), _cross(sixth, d, a), _cross(sixth, a, b)
    C = a[0] * g1[0] + a[1] * g1[1] + a[2] * g1[2] - rest[c]
    g0 = _minus_sum(g1, g2, g3)
    _four(
        c,
        p,
        x,
        w,
        nodes,
        C,
        g0,
        g1,
        g2,
        g3,
        scale * alpha[c],
        factor,
        multiplier,
        last,
        exact,
        reach,
        damping,
    )


@inline
def _columns(H0, H1, H2, s, c, inverse):
    """Return s H B^T by columns, with the rows H0, H1, H2 of H and B the rest inverse of tetrahedron c."""
    g1 = (
        s * (H0[0] * inverse[c, 0] + H0[1] * inverse[c, 1] + H0[2] * inverse[c, 2]),
        s * (H1[0] * inverse[c, 0] + H1[1] * inverse[c, 1] + H1[2] * inverse[c, 2]),
        s * (H2[0] * inverse[c, 0] + H2[1] * inverse[c, 1] + H2[2] * inverse[c, 2]),
    )
    g2 = (
        s * (H0[0] * inverse[c, 3] + H0[1] * inverse[c, 4] + H0[2] * inverse[c, 5]),
        s * (H1[0] * inverse[c, 3] + H1[1] * inverse[c, 4] + H1[2] * inverse[c, 5]),
        s * (H2[0] * inverse[c, 3] + H2[1] * inverse[c, 4] + H2[2] * inverse[c, 5]),
    )
    g3 = (
        s * (H0[0] * inverse[c, 6] + H0[1] * inverse[c, 7] + H0[2] * inverse[c, 8]),
        s * (H1[0] * inverse[c, 6] + H1[1] * inverse[c, 7] + H1[2] * inverse[c, 8]),
        s * (H2[0] * inverse[c, 6] + H2[1] * inverse[c, 7] + H2[2] * inverse[c, 8]),
    )
    return g1, g2, g3


@inline
def _gradient_rows(p, nodes, c, inverse):
    """Return the rows of the deformation gradient of tetrahedron c."""
    a, b, d = _edges_of(p, nodes[c, 0], nodes[c, 1], nodes[c, 2], nodes[c, 3])
    r0 = (
        a[0] * inverse[c, 0] + b[0] * inverse[c, 3] + d[0] * inverse[c, 6],
        a[0] * inverse[c, 1] + b[0] * inverse[c, 4] + d[0] * inverse[c, 7],
        a[0] * inverse[c, 2] + b[0] * inverse[c, 5] + d[0] * inverse[c, 8],
    )
    r1 = (
        a[1] * inverse[c, 0] + b[1] * inverse[c, 3] + d[1] * inverse[c, 6],
        a[1] * inverse[c, 1] + b[1] * inverse[c, 4] + d[1] * inverse[c, 7],
        a[1] * inverse[c, 2] + b[1] * inverse[c, 5] + d[1] * inverse[c, 8],
    )
    r2 = (
        a[2] * inverse[c, 0] + b[2] * inverse[c, 3] + d[2] * inverse[c, 6],
        a[2] * inverse[c, 1] + b[2] * inverse[c, 4] + d[2] * inverse[c, 7],
        a[2] * inverse[c, 2] + b[2] * inverse[c, 5] + d[2] * inverse[c, 8],
    )
    return r0, r1, r2


@inline
def _neo_hookean(
    c, p, x, w, nodes, inverse, volume, mu, lam, multipliers, lasts, exact, reach, scale, damping
):
    """Project |F| with the compliance 1/(mu V), then det F - 1 - mu/lambda with 1/(lambda V) (Macklin 2021)."""
    r0, r1, r2 = _gradient_rows(p, nodes, c, inverse)
    square = r0[0] * r0[0] + r0[1] * r0[1] + r0[2] * r0[2] + r1[0] * r1[0] + r1[1] * r1[1] + r1[2] * r1[2]
    square += r2[0] * r2[0] + r2[1] * r2[1] + r2[2] * r2[2]
    if mu > 0.0 and square > _TINY:
        size = sqrt(square)
        g1, g2, g3 = _columns(r0, r1, r2, 1.0 / size, c, inverse)
        alpha = scale / (mu * volume[c])
        g0 = _minus_sum(g1, g2, g3)
        _four(
            c,
            p,
            x,
            w,
            nodes,
            size,
            g0,
            g1,
            g2,
            g3,
            alpha,
            1.0,
            multipliers[0],
            lasts[0],
            exact,
            reach,
            damping,
        )
        r0, r1, r2 = _gradient_rows(p, nodes, c, inverse)
    h0, h1, h2 = _cross(1.0, r1, r2), _cross(1.0, r2, r0), _cross(1.0, r0, r1)
    C = r0[0] * h0[0] + r0[1] * h0[1] + r0[2] * h0[2] - 1.0 - mu / lam
    g1, g2, g3 = _columns(h0, h1, h2, 1.0, c, inverse)
    alpha = scale / (lam * volume[c])
    g0 = _minus_sum(g1, g2, g3)
    _four(c, p, x, w, nodes, C, g0, g1, g2, g3, alpha, 1.0, multipliers[1], lasts[1], exact, reach, damping)


@inline
def _stvk(c, p, x, w, nodes, inverse, volume, mu, lam, multiplier, last, exact, reach, scale, damping):
    """Project sqrt(2 V psi) with the compliance 1, psi the energy density of St. Venant and Kirchhoff."""
    r0, r1, r2 = _gradient_rows(p, nodes, c, inverse)
    e00 = 0.5 * (r0[0] * r0[0] + r1[0] * r1[0] + r2[0] * r2[0] - 1.0)
    e11 = 0.5 * (r0[1] * r0[1] + r1[1] * r1[1] + r2[1] * r2[1] - 1.0)
    e22 = 0.5 * (r0[2] * r0[2] + r1[2] * r1[2] + r2[2] * r2[2] - 1.0)
    e01 = 0.5 * (r0[0] * r0[1] + r1[0] * r1[1] + r2[0] * r2[1])
    e02 = 0.5 * (r0[0] * r0[2] + r1[0] * r1[2] + r2[0] * r2[2])
    e12 = 0.5 * (r0[1] * r0[2] + r1[1] * r1[2] + r2[1] * r2[2])
    trace = e00 + e11 + e22
    norm = e00 * e00 + e11 * e11 + e22 * e22 + 2.0 * (e01 * e01 + e02 * e02 + e12 * e12)
    psi = mu * norm + 0.5 * lam * trace * trace
    if not norm > 1e-26:  # at rest the direction is unknown
        return
    C = sqrt(2.0 * volume[c] * psi)
    t, m = lam * trace, 2.0 * mu
    s00, s11, s22, s01, s02, s12 = m * e00 + t, m * e11 + t, m * e22 + t, m * e01, m * e02, m * e12
    q0 = (
        r0[0] * s00 + r0[1] * s01 + r0[2] * s02,
        r0[0] * s01 + r0[1] * s11 + r0[2] * s12,
        r0[0] * s02 + r0[1] * s12 + r0[2] * s22,
    )
    q1 = (
        r1[0] * s00 + r1[1] * s01 + r1[2] * s02,
        r1[0] * s01 + r1[1] * s11 + r1[2] * s12,
        r1[0] * s02 + r1[1] * s12 + r1[2] * s22,
    )
    q2 = (
        r2[0] * s00 + r2[1] * s01 + r2[2] * s02,
        r2[0] * s01 + r2[1] * s11 + r2[2] * s12,
        r2[0] * s02 + r2[1] * s12 + r2[2] * s22,
    )
    g1, g2, g3 = _columns(q0, q1, q2, volume[c] / C, c, inverse)
    g0 = _minus_sum(g1, g2, g3)
    _four(c, p, x, w, nodes, C, g0, g1, g2, g3, scale, 1.0, multiplier, last, exact, reach, damping)


@kernel
def _global_volume(p, w, triangles, rest, alpha, factor, multiplier, gradient, last, exact, reach):
    """Project the volume inside a closed surface."""
    gradient[:] = 0.0
    volume = 0.0
    for f in range(triangles.shape[0]):
        i, j, k = triangles[f, 0], triangles[f, 1], triangles[f, 2]
        a, b, c = (p[i, 0], p[i, 1], p[i, 2]), (p[j, 0], p[j, 1], p[j, 2]), (p[k, 0], p[k, 1], p[k, 2])
        g0, g1, g2 = _cross(1.0 / 6.0, b, c), _cross(1.0 / 6.0, c, a), _cross(1.0 / 6.0, a, b)
        volume += a[0] * g0[0] + a[1] * g0[1] + a[2] * g0[2]
        for u in range(3):
            gradient[i, u] += g0[u]
            gradient[j, u] += g1[u]
            gradient[k, u] += g2[u]
    weight = 0.0
    for i in range(p.shape[0]):
        weight += w[i] * (gradient[i, 0] ** 2 + gradient[i, 1] ** 2 + gradient[i, 2] ** 2)
    if not (weight > _TINY and weight < 1e200):
        return
    C, l, farthest, turn = volume - rest, multiplier[0], 0.0, 0.0
    for i in range(p.shape[0]):
        size = 0.0
        for u in range(3):
            size += (w[i] * gradient[i, u]) ** 2
            turn += w[i] * gradient[i, u] * last[i, u]
        farthest = max(farthest, size)
    follows = exact and l != 0.0 and abs(weight - turn) < FOLLOWED * weight
    if follows:
        C += (weight - turn) * l
    dl = _multiplier(C, alpha, factor, l, 0.0, 0.0, weight)
    farthest *= dl * dl
    if farthest > reach * reach:
        dl *= reach / sqrt(farthest)
    multiplier[0] = l + dl
    for i in range(p.shape[0]):
        for u in range(3):
            g = gradient[i, u]
            p[i, u] += w[i] * (dl * g + (l * (g - last[i, u]) if follows else 0.0))
            last[i, u] = g


@kernel
def _match_shapes(p, w, offsets, nodes, masses, rest, indptr, members, factor, centers, rotations):
    """Move nodes towards the mean of their clusters' goals (Mueller 2005).

    In a cluster the mass of a node is divided by the number of its clusters, so that the mean keeps momentum and
    angular momentum (Rivers 2007).
    """
    for q in range(offsets.shape[0] - 1):
        c0 = c1 = c2 = total = 0.0
        for k in range(offsets[q], offsets[q + 1]):
            i, m = nodes[k], masses[k]
            total += m
            c0 += m * p[i, 0]
            c1 += m * p[i, 1]
            c2 += m * p[i, 2]
        c0 /= total
        c1 /= total
        c2 /= total
        a00 = a01 = a02 = a10 = a11 = a12 = a20 = a21 = a22 = 0.0
        for k in range(offsets[q], offsets[q + 1]):
            i, m = nodes[k], masses[k]
            d0, d1, d2 = m * (p[i, 0] - c0), m * (p[i, 1] - c1), m * (p[i, 2] - c2)
            a00 += d0 * rest[k, 0]
            a01 += d0 * rest[k, 1]
            a02 += d0 * rest[k, 2]
            a10 += d1 * rest[k, 0]
            a11 += d1 * rest[k, 1]
            a12 += d1 * rest[k, 2]
            a20 += d2 * rest[k, 0]
            a21 += d2 * rest[k, 1]
            a22 += d2 * rest[k, 2]
        R = rotation((a00, a01, a02, a10, a11, a12, a20, a21, a22))
        centers[q, 0], centers[q, 1], centers[q, 2] = c0, c1, c2
        for u in range(9):
            rotations[q, u] = R[u]
    for i in range(indptr.shape[0] - 1):
        count = indptr[i + 1] - indptr[i]
        if count == 0 or w[i] == 0.0:
            continue
        g0 = g1 = g2 = 0.0
        for s in range(indptr[i], indptr[i + 1]):
            k, q = members[s, 0], members[s, 1]
            y0, y1, y2 = rest[k, 0], rest[k, 1], rest[k, 2]
            g0 += centers[q, 0] + rotations[q, 0] * y0 + rotations[q, 1] * y1 + rotations[q, 2] * y2
            g1 += centers[q, 1] + rotations[q, 3] * y0 + rotations[q, 4] * y1 + rotations[q, 5] * y2
            g2 += centers[q, 2] + rotations[q, 6] * y0 + rotations[q, 7] * y1 + rotations[q, 8] * y2
        p[i, 0] += factor * (g0 / count - p[i, 0])
        p[i, 1] += factor * (g1 / count - p[i, 1])
        p[i, 2] += factor * (g2 / count - p[i, 2])


@kernel
def _attachments(p, w, nodes, weights, targets, alpha, multipliers, scale):
    """Project weighted means of nodes onto targets; each axis is a constraint."""
    for c in range(nodes.shape[0]):
        weight = 0.0
        for a in range(4):
            weight += w[nodes[c, a]] * weights[c, a] * weights[c, a]
        if not weight > 0.0:
            continue
        for u in range(3):
            C = -targets[c, u]
            for a in range(4):
                C += weights[c, a] * p[nodes[c, a], u]
            dl = (-C - scale * alpha[c] * multipliers[c, u]) / (weight + scale * alpha[c])
            multipliers[c, u] += dl
            for a in range(4):
                p[nodes[c, a], u] += w[nodes[c, a]] * weights[c, a] * dl


@kernel_pair
def position_based_step(
    x,
    v,
    p,
    w,
    moving,
    prescribed,
    acceleration,
    dt,
    small_steps,
    iterations,
    drag,
    damping_time,
    exact,
    reach,
    distance,
    bending,
    hinges,
    volumes,
    strain,
    surface,
    clusters,
    attached,
):
    """Advance positions x and velocities v [n, 3] by dt [s], in `small_steps` steps of `iterations` iterations each.

    Args:
        x: Positions [m].
        v: Velocities [m/s].
        p: Work array [n, 3].
        w: Inverse masses [1/kg]; 0 of nodes that are held or driven.
        moving: 1 where the velocity is prescribed, shape [n].
        prescribed: These velocities [m/s].
        acceleration: That of loads [m/s2], shape [n, 3].
        dt: Time step [s].
        small_steps: Number of small steps.
        iterations: Iterations of each.
        drag: Damping of all velocities [1/s].
        damping_time: Damping along the constraints, relative to their stiffness [s].
        exact: Whether the displacement of a constraint follows its gradient from iteration to iteration.
        reach: Farthest that one projection may move a node [m], as gradients of crushed tetrahedra are tiny.
        distance: Colours, nodes, lengths, compliances, factor, multipliers, last gradients.
        bending: Colours, nodes, weights, lengths, compliances, factor, multipliers, last gradients.
        hinges: Colours, nodes, angles, compliances, factor, multipliers, last gradients.
        volumes: Colours, nodes, volumes, compliances, factor, multipliers, last gradients.
        strain: Colours, nodes, rest inverses, volumes, mu, lambda, kind (1 neo-Hookean, 2 StVK), multipliers [2, m],
            last gradients [2, m, 12].
        surface: Triangles, volume, compliance, factor, multiplier, work array [n, 3], last gradient [n, 3].
        clusters: Offsets, nodes, masses, rest, indptr, members, factor, centres, rotations.
        attached: Nodes, weights, targets, compliances, multipliers.
    """
    d_colors, d_nodes, d_length, d_alpha, d_factor, d_multiplier, d_last = distance
    b_colors, b_nodes, b_weights, b_length, b_alpha, b_factor, b_multiplier, b_last = bending
    h_colors, h_nodes, h_rest, h_alpha, h_factor, h_multiplier, h_last = hinges
    v_colors, v_nodes, v_rest, v_alpha, v_factor, v_multiplier, v_last = volumes
    s_colors, s_nodes, s_inverse, s_volume, mu, lam, kind, s_multipliers, s_last = strain
    s_first, s_second = s_multipliers[0], s_multipliers[1]
    s_last_first, s_last_second = s_last[0], s_last[1]
    triangles, g_rest, g_alpha, g_factor, g_multiplier, g_work, g_last = surface
    c_offsets, c_nodes, c_masses, c_rest, c_indptr, c_members, c_factor, centers, rotations = clusters
    a_nodes, a_weights, a_targets, a_alpha, a_multipliers = attached
    n = x.shape[0]
    h = dt / small_steps
    scale = 1.0 / (h * h)
    damping = damping_time / h
    for _ in range(small_steps):
        for i in prange(n):
            for u in range(3):
                if moving[i]:
                    v[i, u] = prescribed[i, u]
                else:
                    v[i, u] = v[i, u] / (1.0 + h * drag) + h * acceleration[i, u]
                p[i, u] = x[i, u] + h * v[i, u]
        d_multiplier[:] = 0.0
        b_multiplier[:] = 0.0
        h_multiplier[:] = 0.0
        v_multiplier[:] = 0.0
        s_multipliers[:] = 0.0
        g_multiplier[:] = 0.0
        a_multipliers[:] = 0.0
        for _ in range(iterations):
            for q in range(d_colors.shape[0] - 1):
                for c in prange(d_colors[q], d_colors[q + 1]):
                    _distance(
                        c,
                        p,
                        x,
                        w,
                        d_nodes,
                        d_length,
                        d_alpha,
                        d_factor,
                        d_multiplier,
                        d_last,
                        exact,
                        scale,
                        damping,
                    )
            for q in range(b_colors.shape[0] - 1):
                for c in prange(b_colors[q], b_colors[q + 1]):
                    _weighted(
                        c,
                        p,
                        x,
                        w,
                        b_nodes,
                        b_weights,
                        b_length,
                        b_alpha,
                        b_factor,
                        b_multiplier,
                        b_last,
                        exact,
                        scale,
                        damping,
                    )
            for q in range(h_colors.shape[0] - 1):
                for c in prange(h_colors[q], h_colors[q + 1]):
                    _hinge(
                        c,
                        p,
                        x,
                        w,
                        h_nodes,
                        h_rest,
                        h_alpha,
                        h_factor,
                        h_multiplier,
                        h_last,
                        exact,
                        reach,
                        scale,
                        damping,
                    )
            for q in range(v_colors.shape[0] - 1):
                for c in prange(v_colors[q], v_colors[q + 1]):
                    _volume(
                        c,
                        p,
                        x,
                        w,
                        v_nodes,
                        v_rest,
                        v_alpha,
                        v_factor,
                        v_multiplier,
                        v_last,
                        exact,
                        reach,
                        scale,
                        damping,
                    )
            for q in range(s_colors.shape[0] - 1):
                for c in prange(s_colors[q], s_colors[q + 1]):
                    if kind == 1:
                        _neo_hookean(
                            c,
                            p,
                            x,
                            w,
                            s_nodes,
                            s_inverse,
                            s_volume,
                            mu,
                            lam,
                            (s_first, s_second),
                            (s_last_first, s_last_second),
                            exact,
                            reach,
                            scale,
                            damping,
                        )
                    else:
                        _stvk(
                            c,
                            p,
                            x,
                            w,
                            s_nodes,
                            s_inverse,
                            s_volume,
                            mu,
                            lam,
                            s_first,
                            s_last_first,
                            exact,
                            reach,
                            scale,
                            damping,
                        )
            if triangles.shape[0] > 0:
                _global_volume(
                    p,
                    w,
                    triangles,
                    g_rest,
                    scale * g_alpha,
                    g_factor,
                    g_multiplier,
                    g_work,
                    g_last,
                    exact,
                    reach,
                )
            if c_offsets.shape[0] > 1:
                _match_shapes(
                    p,
                    w,
                    c_offsets,
                    c_nodes,
                    c_masses,
                    c_rest,
                    c_indptr,
                    c_members,
                    c_factor,
                    centers,
                    rotations,
                )
            if a_nodes.shape[0] > 0:
                _attachments(p, w, a_nodes, a_weights, a_targets, a_alpha, a_multipliers, scale)
        for i in prange(n):
            for u in range(3):
                v[i, u] = (p[i, u] - x[i, u]) / h
                x[i, u] = p[i, u]
