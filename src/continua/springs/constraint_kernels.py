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
from numba import prange, uint32

from continua.numerics.kernel import inline, kernel, kernel_pair
from continua.numerics.mat3 import rotation

__all__ = ["dihedral_angles", "greedy_colors", "position_based_step"]

_TINY = 1e-280
WORDS = 8  # of 64 colours each

CHUNK = 256  # constraints of one task
HINGE, VOLUME, SHEAR, BULK, STVK = 0, 1, 2, 3, 4

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


@kernel
def _solve_distances(
    first, end, p, x, w, nodes, length, alpha, factor, multiplier, last, exact, scale, damping
):
    """Project constraints `first` to `end` on the distance of two nodes."""
    for c in range(uint32(first), uint32(end)):
        i, j = uint32(nodes[c, 0]), uint32(nodes[c, 1])
        weight = w[i] + w[j]
        d0, d1, d2 = p[i, 0] - p[j, 0], p[i, 1] - p[j, 1], p[i, 2] - p[j, 2]
        square = d0 * d0 + d1 * d1 + d2 * d2
        if weight > 0.0 and square > _TINY:
            size = sqrt(square)
            inverse = 1.0 / size
            d0 *= inverse
            d1 *= inverse
            d2 *= inverse
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


@kernel
def _solve_weighted(
    first, end, p, x, w, nodes, weights, length, alpha, factor, multiplier, last, exact, scale, damping
):
    """Project constraints `first` to `end` on the length of a weighted sum of four nodes."""
    for c in range(uint32(first), uint32(end)):
        i0, i1 = uint32(nodes[c, 0]), uint32(nodes[c, 1])
        i2, i3 = uint32(nodes[c, 2]), uint32(nodes[c, 3])
        f0, f1, f2, f3 = weights[c, 0], weights[c, 1], weights[c, 2], weights[c, 3]
        s0 = f0 * p[i0, 0] + f1 * p[i1, 0] + f2 * p[i2, 0] + f3 * p[i3, 0]
        s1 = f0 * p[i0, 1] + f1 * p[i1, 1] + f2 * p[i2, 1] + f3 * p[i3, 1]
        s2 = f0 * p[i0, 2] + f1 * p[i1, 2] + f2 * p[i2, 2] + f3 * p[i3, 2]
        weight = w[i0] * f0 * f0 + w[i1] * f1 * f1 + w[i2] * f2 * f2 + w[i3] * f3 * f3
        square = s0 * s0 + s1 * s1 + s2 * s2
        if weight > 0.0 and square > _TINY:
            size = sqrt(square)
            inverse = 1.0 / size
            s0 *= inverse
            s1 *= inverse
            s2 *= inverse
            rate = 0.0
            if damping > 0.0:
                r0 = f0 * x[i0, 0] + f1 * x[i1, 0] + f2 * x[i2, 0] + f3 * x[i3, 0]
                r1 = f0 * x[i0, 1] + f1 * x[i1, 1] + f2 * x[i2, 1] + f3 * x[i3, 1]
                r2 = f0 * x[i0, 2] + f1 * x[i1, 2] + f2 * x[i2, 2] + f3 * x[i3, 2]
                rate = size - s0 * r0 - s1 * r1 - s2 * r2
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
            f0 *= w[i0] * dl
            f1 *= w[i1] * dl
            f2 *= w[i2] * dl
            p[i0, 0] += f0 * s0
            p[i0, 1] += f0 * s1
            p[i0, 2] += f0 * s2
            p[i1, 0] += f1 * s0
            p[i1, 1] += f1 * s1
            p[i1, 2] += f1 * s2
            p[i2, 0] += f2 * s0
            p[i2, 1] += f2 * s1
            p[i2, 2] += f2 * s2
            if f3 != 0.0:
                f3 *= w[i3] * dl
                p[i3, 0] += f3 * s0
                p[i3, 1] += f3 * s1
                p[i3, 2] += f3 * s2


@inline
def _minus(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inline
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def _dihedral(p0, p1, p2, p3):
    """Return the angle at the edge 01 between the triangles with the tips 2 and 3, its gradients, and if it exists.

    The gradients are those of Bridson (2003): along the normals at the tips, and balanced along the edge.
    """
    e0, e1, e2 = _minus(p1, p0)
    a0, a1, a2 = _minus(p2, p0)
    b0, b1, b2 = _minus(p3, p0)
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
        i, j, k, l = nodes[c, 0], nodes[c, 1], nodes[c, 2], nodes[c, 3]
        angles[c] = _dihedral(
            (p[i, 0], p[i, 1], p[i, 2]),
            (p[j, 0], p[j, 1], p[j, 2]),
            (p[k, 0], p[k, 1], p[k, 2]),
            (p[l, 0], p[l, 1], p[l, 2]),
        )[0]
    return angles


@inline
def _cross(s, a, b):
    return (
        s * (a[1] * b[2] - a[2] * b[1]),
        s * (a[2] * b[0] - a[0] * b[2]),
        s * (a[0] * b[1] - a[1] * b[0]),
    )


@inline
def _minus_sum(a, b, c):
    return (-a[0] - b[0] - c[0], -a[1] - b[1] - c[1], -a[2] - b[2] - c[2])


@inline
def _combination(s, a, b, c, x, y, z):
    return (
        s * (a[0] * x + b[0] * y + c[0] * z),
        s * (a[1] * x + b[1] * y + c[1] * z),
        s * (a[2] * x + b[2] * y + c[2] * z),
    )


@inline
def _stvk(f0, f1, f2, mu, lam):
    """Return the energy density of St. Venant and Kirchhoff, |E|^2 and the columns of the stress P of those of F."""
    e00, e11, e22 = 0.5 * (_dot(f0, f0) - 1.0), 0.5 * (_dot(f1, f1) - 1.0), 0.5 * (_dot(f2, f2) - 1.0)
    e01, e02, e12 = 0.5 * _dot(f0, f1), 0.5 * _dot(f0, f2), 0.5 * _dot(f1, f2)
    trace = e00 + e11 + e22
    norm = e00 * e00 + e11 * e11 + e22 * e22 + 2.0 * (e01 * e01 + e02 * e02 + e12 * e12)
    t, m = lam * trace, 2.0 * mu
    P0 = _combination(1.0, f0, f1, f2, m * e00 + t, m * e01, m * e02)
    P1 = _combination(1.0, f0, f1, f2, m * e01, m * e11 + t, m * e12)
    P2 = _combination(1.0, f0, f1, f2, m * e02, m * e12, m * e22 + t)
    return mu * norm + 0.5 * lam * trace * trace, norm, P0, P1, P2


@kernel
def _solve_four(
    kind,
    first,
    end,
    p,
    x,
    w,
    nodes,
    rest,
    inverse,
    alpha,
    mu,
    lam,
    factor,
    multiplier,
    last,
    exact,
    reach,
    scale,
    damping,
):
    """Project constraints `first` to `end` on four nodes of a `kind`.

    HINGE is an angle and VOLUME a volume; SHEAR is |F| and BULK det F - 1 - mu/lambda, with the compliances 1/(mu V)
    and 1/(lambda V) (Macklin 2021); STVK is sqrt(2 V psi) with the compliance 1.
    """
    for c in range(uint32(first), uint32(end)):
        i, j = uint32(nodes[c, 0]), uint32(nodes[c, 1])
        k, l = uint32(nodes[c, 2]), uint32(nodes[c, 3])
        p0, p1 = (p[i, 0], p[i, 1], p[i, 2]), (p[j, 0], p[j, 1], p[j, 2])
        p2, p3 = (p[k, 0], p[k, 1], p[k, 2]), (p[l, 0], p[l, 1], p[l, 2])
        C, a = 0.0, 0.0
        if kind == HINGE:
            angle, g0, g1, g2, g3, ok = _dihedral(p0, p1, p2, p3)
            if not ok:
                continue
            C, a = angle - rest[c], scale * alpha[c]
            if pi < C:
                C -= 2.0 * pi
            elif -pi > C:
                C += 2.0 * pi
        else:
            d1, d2, d3 = _minus(p1, p0), _minus(p2, p0), _minus(p3, p0)
            if kind == VOLUME:
                g1, g2, g3 = _cross(1.0 / 6.0, d2, d3), _cross(1.0 / 6.0, d3, d1), _cross(1.0 / 6.0, d1, d2)
                C, a = _dot(d1, g1) - rest[c], scale * alpha[c]
            else:
                b0, b1, b2 = inverse[c, 0], inverse[c, 1], inverse[c, 2]
                b3, b4, b5 = inverse[c, 3], inverse[c, 4], inverse[c, 5]
                b6, b7, b8 = inverse[c, 6], inverse[c, 7], inverse[c, 8]
                f0 = _combination(1.0, d1, d2, d3, b0, b3, b6)  # columns of F
                f1 = _combination(1.0, d1, d2, d3, b1, b4, b7)
                f2 = _combination(1.0, d1, d2, d3, b2, b5, b8)
                h0, h1, h2, s = f0, f1, f2, 0.0
                if kind == SHEAR:
                    square = _dot(f0, f0) + _dot(f1, f1) + _dot(f2, f2)
                    if not square > _TINY:
                        continue
                    C = sqrt(square)
                    s, a = 1.0 / C, scale / (mu * rest[c])
                elif kind == BULK:
                    h0, h1, h2 = _cross(1.0, f1, f2), _cross(1.0, f2, f0), _cross(1.0, f0, f1)
                    C = _dot(f0, h0) - 1.0 - mu / lam
                    s, a = 1.0, scale / (lam * rest[c])
                else:
                    psi, norm, h0, h1, h2 = _stvk(f0, f1, f2, mu, lam)
                    if not norm > 1e-26:  # at rest the direction is unknown
                        continue
                    C = sqrt(2.0 * rest[c] * psi)
                    s, a = rest[c] / C, scale
                g1 = _combination(s, h0, h1, h2, b0, b1, b2)
                g2 = _combination(s, h0, h1, h2, b3, b4, b5)
                g3 = _combination(s, h0, h1, h2, b6, b7, b8)
            g0 = _minus_sum(g1, g2, g3)
        t0, t1, t2, t3 = w[i] * _dot(g0, g0), w[j] * _dot(g1, g1), w[k] * _dot(g2, g2), w[l] * _dot(g3, g3)
        weight = t0 + t1 + t2 + t3
        if not (weight > _TINY and weight < 1e200):
            continue
        rate = 0.0
        if damping > 0.0:
            rate = _dot(g0, _minus(p0, (x[i, 0], x[i, 1], x[i, 2])))
            rate += _dot(g1, _minus(p1, (x[j, 0], x[j, 1], x[j, 2])))
            rate += _dot(g2, _minus(p2, (x[k, 0], x[k, 1], x[k, 2])))
            rate += _dot(g3, _minus(p3, (x[l, 0], x[l, 1], x[l, 2])))
        before = multiplier[c]
        follows = exact and before != 0.0
        if follows:
            turn = w[i] * _dot(g0, (last[c, 0], last[c, 1], last[c, 2]))
            turn += w[j] * _dot(g1, (last[c, 3], last[c, 4], last[c, 5]))
            turn += w[k] * _dot(g2, (last[c, 6], last[c, 7], last[c, 8]))
            turn += w[l] * _dot(g3, (last[c, 9], last[c, 10], last[c, 11]))
            follows = abs(weight - turn) < FOLLOWED * weight
            if follows:
                C += (weight - turn) * before
        dl = _multiplier(C, a, factor, before, rate, damping, weight)
        farthest = dl * dl * max(max(w[i] * t0, w[j] * t1), max(w[k] * t2, w[l] * t3))
        if farthest > reach * reach:
            dl *= reach / sqrt(farthest)
        multiplier[c] = before + dl
        if follows:
            dl += before
            for u in range(3):
                p[i, u] -= w[i] * before * last[c, u]
                p[j, u] -= w[j] * before * last[c, 3 + u]
                p[k, u] -= w[k] * before * last[c, 6 + u]
                p[l, u] -= w[l] * before * last[c, 9 + u]
        if exact:
            for u in range(3):
                last[c, u], last[c, 3 + u], last[c, 6 + u], last[c, 9 + u] = g0[u], g1[u], g2[u], g3[u]
        a0, a1, a2, a3 = w[i] * dl, w[j] * dl, w[k] * dl, w[l] * dl
        p[i, 0] += a0 * g0[0]
        p[i, 1] += a0 * g0[1]
        p[i, 2] += a0 * g0[2]
        p[j, 0] += a1 * g1[0]
        p[j, 1] += a1 * g1[1]
        p[j, 2] += a1 * g1[2]
        p[k, 0] += a2 * g2[0]
        p[k, 1] += a2 * g2[1]
        p[k, 2] += a2 * g2[2]
        p[l, 0] += a3 * g3[0]
        p[l, 1] += a3 * g3[1]
        p[l, 2] += a3 * g3[2]


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
                a, b = d_colors[q], d_colors[q + 1]
                for t in prange((b - a + CHUNK - 1) // CHUNK):
                    _solve_distances(
                        a + CHUNK * t, min(b, a + CHUNK * (t + 1)), p, x, w, d_nodes, d_length, d_alpha, d_factor,
                        d_multiplier, d_last, exact, scale, damping,
                    )  # fmt: skip
            for q in range(b_colors.shape[0] - 1):
                a, b = b_colors[q], b_colors[q + 1]
                for t in prange((b - a + CHUNK - 1) // CHUNK):
                    _solve_weighted(
                        a + CHUNK * t, min(b, a + CHUNK * (t + 1)), p, x, w, b_nodes, b_weights, b_length, b_alpha,
                        b_factor, b_multiplier, b_last, exact, scale, damping,
                    )  # fmt: skip
            for q in range(h_colors.shape[0] - 1):
                a, b = h_colors[q], h_colors[q + 1]
                for t in prange((b - a + CHUNK - 1) // CHUNK):
                    _solve_four(
                        HINGE, a + CHUNK * t, min(b, a + CHUNK * (t + 1)), p, x, w, h_nodes, h_rest, s_inverse, h_alpha,
                        mu, lam, h_factor, h_multiplier, h_last, exact, reach, scale, damping,
                    )  # fmt: skip
            for q in range(v_colors.shape[0] - 1):
                a, b = v_colors[q], v_colors[q + 1]
                for t in prange((b - a + CHUNK - 1) // CHUNK):
                    _solve_four(
                        VOLUME, a + CHUNK * t, min(b, a + CHUNK * (t + 1)), p, x, w, v_nodes, v_rest, s_inverse,
                        v_alpha, mu, lam, v_factor, v_multiplier, v_last, exact, reach, scale, damping,
                    )  # fmt: skip
            for q in range(s_colors.shape[0] - 1):
                a, b = s_colors[q], s_colors[q + 1]
                for t in prange((b - a + CHUNK - 1) // CHUNK):
                    _solve_four(
                        SHEAR if kind == 1 else STVK, a + CHUNK * t, min(b, a + CHUNK * (t + 1)), p, x, w, s_nodes,
                        s_volume, s_inverse, v_alpha, mu, lam, 1.0, s_first, s_last_first, exact, reach, scale, damping,
                    )  # fmt: skip
                if kind == 1:
                    for t in prange((b - a + CHUNK - 1) // CHUNK):
                        _solve_four(
                            BULK, a + CHUNK * t, min(b, a + CHUNK * (t + 1)), p, x, w, s_nodes, s_volume, s_inverse,
                            v_alpha, mu, lam, 1.0, s_second, s_last_second, exact, reach, scale, damping,
                        )  # fmt: skip
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
