"""Compiled functions for Bernstein-Bezier tetrahedra of the corotated law with a rotation at every quadrature point.

With F = R S, l = tr S and t = l - 3 the energy density is mu |F - R|^2 + lambda/2 t^2 and the stress
P = 2 mu (F - R) + lambda t R. A change dF turns R by the vector w, (l 1 - S) w = R^T a with a the axial vector of
dF R^T - R dF^T, so that the second derivative of the energy is, in the rotated frame,

    2 mu |dF|^2 + lambda (R . dF)^2 + a^T N a,    N = R (tau/2 - mu) R^T,
    tau = 2 mu - (4 mu - 2 lambda t) (l 1 - S)^-1.

The eigenvalues of tau are the stiffnesses against a relative turn of F and R, (g_i + g_j) / (f_i + f_j) with the
principal stresses g and stretches f; negative ones are set to zero, which makes the whole positive semidefinite.

With G_c = sqrt(V) R grad b_c the stiffness of the slopes of corners c and d is, at a point,
E_cd = lambda G_c G_d^T + 2 mu (G_c . G_d) 1 + [G_c]^T N [G_d] ([g] x = g cross x), and the element's stiffness is a sum
of the moments of E over its points (see `BernsteinTables.moment_terms`).
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.numerics import inline, kernel_pair
from continua.numerics.polar import LANES, polar_lanes
from continua.solids.elements.bernstein_kernels import element_stiffness
from continua.solids.elements.colored_assembly import add_element, begin_rows
from continua.solids.elements.corotated_kernels import turning_stiffness, von_mises_norm

POINT = 25  # columns of a point's record: R (9), N (00, 11, 22, 01, 02, 12), P (9), energy density
ENERGY = 24
AT_ONCE = 4  # points whose share of the moments is added in one pass; their number is padded to a multiple

# rows of the scratch: F, R, det F; N, P, energy; rest gradients, constants, coefficients
_R, _DET, _N, _P, _ENERGY = 9 * LANES, 18 * LANES, 19 * LANES, 25 * LANES, 34 * LANES
_D, _LAM, _MU, _X = 35 * LANES, 44 * LANES, 45 * LANES, 46 * LANES


@inline
def _load_lanes(s, coefficients, elements, rest_inverse, lam, mu, lo, n):
    for a in range(uint64(elements.shape[1])):
        row = uint64(_X) + uint64(3 * LANES) * a
        for e in range(n):
            i = uint32(elements[lo + e, a])
            for c in range(uint64(3)):
                s[row + c * uint64(LANES) + e] = coefficients[i, c]
    for c in range(uint64(9)):
        for e in range(n):
            s[uint64(_D) + c * uint64(LANES) + e] = rest_inverse[c, lo + e]
    for e in range(n):
        s[uint64(_LAM) + e] = lam[lo + e]
        s[uint64(_MU) + e] = mu[lo + e]


@inline
def _deformation_lanes(s, slopes, q):
    """Compute F (rows 0-8, row by row) at point q; the rows of N and P are scratch."""
    for j in range(uint64(12)):
        for e in range(uint64(LANES)):
            s[uint64(_N) + j * uint64(LANES) + e] = 0.0
    for a in range(uint64(slopes.shape[1])):
        row = uint64(_X) + uint64(3 * LANES) * a
        for c in range(uint64(4)):
            w = slopes[q, a, c]
            if w != 0.0:
                to = uint64(_N) + uint64(3 * LANES) * c
                for e in range(uint64(3 * LANES)):
                    s[to + e] += w * s[row + e]
    for e in range(uint64(LANES)):
        for i in range(3):
            h0 = s[_N + i * LANES + e]
            h1 = s[_N + (3 + i) * LANES + e] - h0
            h2 = s[_N + (6 + i) * LANES + e] - h0
            h3 = s[_N + (9 + i) * LANES + e] - h0
            for j in range(3):
                s[(3 * i + j) * LANES + e] = (
                    h1 * s[_D + j * LANES + e]
                    + h2 * s[_D + (3 + j) * LANES + e]
                    + h3 * s[_D + (6 + j) * LANES + e]
                )


@inline
def _law_lanes(s):
    """Compute N, P and the energy density of every lane from F, R and the constants."""
    for e in range(uint64(LANES)):
        lam, mu = s[_LAM + e], s[_MU + e]
        f0, f1, f2 = s[e], s[LANES + e], s[2 * LANES + e]
        f3, f4, f5 = s[3 * LANES + e], s[4 * LANES + e], s[5 * LANES + e]
        f6, f7, f8 = s[6 * LANES + e], s[7 * LANES + e], s[8 * LANES + e]
        r0, r1, r2 = s[_R + e], s[_R + LANES + e], s[_R + 2 * LANES + e]
        r3, r4, r5 = s[_R + 3 * LANES + e], s[_R + 4 * LANES + e], s[_R + 5 * LANES + e]
        r6, r7, r8 = s[_R + 6 * LANES + e], s[_R + 7 * LANES + e], s[_R + 8 * LANES + e]
        s00 = r0 * f0 + r3 * f3 + r6 * f6
        s11 = r1 * f1 + r4 * f4 + r7 * f7
        s22 = r2 * f2 + r5 * f5 + r8 * f8
        s01 = 0.5 * (r0 * f1 + r3 * f4 + r6 * f7 + r1 * f0 + r4 * f3 + r7 * f6)
        s02 = 0.5 * (r0 * f2 + r3 * f5 + r6 * f8 + r2 * f0 + r5 * f3 + r8 * f6)
        s12 = 0.5 * (r1 * f2 + r4 * f5 + r7 * f8 + r2 * f1 + r5 * f4 + r8 * f7)
        total = s00 + s11 + s22
        t = lam * (total - 3.0)
        d0, d1, d2, d3, d4, d5, d6, d7, d8 = (
            f0 - r0, f1 - r1, f2 - r2, f3 - r3, f4 - r4, f5 - r5, f6 - r6, f7 - r7, f8 - r8,
        )  # fmt: skip
        square = d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3 + d4 * d4 + d5 * d5 + d6 * d6 + d7 * d7 + d8 * d8
        s[_ENERGY + e] = mu * square + 0.5 * t * (total - 3.0)
        m = 2.0 * mu
        s[_P + e], s[_P + LANES + e], s[_P + 2 * LANES + e] = (
            m * d0 + t * r0,
            m * d1 + t * r1,
            m * d2 + t * r2,
        )
        s[_P + 3 * LANES + e], s[_P + 4 * LANES + e] = m * d3 + t * r3, m * d4 + t * r4
        s[_P + 5 * LANES + e], s[_P + 6 * LANES + e] = m * d5 + t * r5, m * d6 + t * r6
        s[_P + 7 * LANES + e], s[_P + 8 * LANES + e] = m * d7 + t * r7, m * d8 + t * r8
        turning = turning_stiffness(
            (r0, r1, r2, r3, r4, r5, r6, r7, r8), s00, s11, s22, s01, s02, s12, m, 2.0 * t
        )
        s[_N + e], s[_N + LANES + e], s[_N + 2 * LANES + e] = (
            0.5 * turning[0] - mu, 0.5 * turning[1] - mu, 0.5 * turning[2] - mu,
        )  # fmt: skip
        s[_N + 3 * LANES + e], s[_N + 4 * LANES + e] = 0.5 * turning[3], 0.5 * turning[4]
        s[_N + 5 * LANES + e] = 0.5 * turning[5]


@kernel_pair
def point_records(coefficients, elements, rest_inverse, lam, mu, slopes, records, inverted):
    """Fill the records of all points; `inverted` counts elements with a point of det F <= 0, a block of lanes each.

    Args:
        coefficients: Current coefficients [n, 3].
        elements: Nodes of the elements [m, k].
        rest_inverse: Gradients of corners 1 to 3 at rest [9, m].
        lam, mu: Lame's constants [m].
        slopes: dB_I/db_c at the points [q, k, 4].
        records: Result [m, q, 25].
        inverted: Result.
    """
    m = elements.shape[0]
    for block in prange(inverted.shape[0]):
        s = np.zeros(_X + 3 * LANES * elements.shape[1])
        flipped = np.zeros(LANES, np.int64)
        lo = uint64(block * LANES)
        n = min(uint64(LANES), uint64(m) - lo)
        _load_lanes(s, coefficients, elements, rest_inverse, lam, mu, lo, n)
        for q in range(uint64(slopes.shape[0])):
            _deformation_lanes(s, slopes, q)
            polar_lanes(s, 0, 9, 18, n)
            _law_lanes(s)
            for e in range(n):
                if s[uint64(_DET) + e] <= 0.0:
                    flipped[e] = 1
                for c in range(uint64(9)):
                    records[lo + e, q, c] = s[uint64(_R) + c * uint64(LANES) + e]
                for c in range(uint64(16)):
                    records[lo + e, q, uint64(9) + c] = s[uint64(_N) + c * uint64(LANES) + e]
        inverted[block] = flipped.sum()


@inline
def _corner_gradients(rest_inverse, e, g):
    """Set g [4, 3] to the rest gradients of the corners of element e."""
    for i in range(3):
        g[1, i] = rest_inverse[i, e]
        g[2, i] = rest_inverse[3 + i, e]
        g[3, i] = rest_inverse[6 + i, e]
        g[0, i] = -(g[1, i] + g[2, i] + g[3, i])


@inline
def _point_stiffness(records, e, q, g, root, lam, mu, G, V, E):
    """Set row q of E [q, 144] to the blocks E_cd of point q, each column by column.

    They are linear in G_c: V [3, 4, 9] holds the factors of its three components for every d. G [4, 3] is scratch too.
    """
    for d in range(4):
        h0, h1, h2 = root * g[d, 0], root * g[d, 1], root * g[d, 2]
        for i in range(3):
            G[d, i] = (
                records[e, q, 3 * i] * h0 + records[e, q, 3 * i + 1] * h1 + records[e, q, 3 * i + 2] * h2
            )
    n0, n1, n2 = records[e, q, 9], records[e, q, 10], records[e, q, 11]
    n3, n4, n5 = records[e, q, 12], records[e, q, 13], records[e, q, 14]
    for d in range(4):
        b0, b1, b2 = G[d, 0], G[d, 1], G[d, 2]
        Y = (  # column j of N [G_d], times [G_c]^T
            (n3 * b2 - n4 * b1, n1 * b2 - n5 * b1, n5 * b2 - n2 * b1),
            (n4 * b0 - n0 * b2, n5 * b0 - n3 * b2, n2 * b0 - n4 * b2),
            (n0 * b1 - n3 * b0, n3 * b1 - n1 * b0, n4 * b1 - n5 * b0),
        )
        for j in range(3):
            y0, y1, y2 = Y[j]
            w = lam * G[d, j]
            V[0, d, 3 * j], V[0, d, 3 * j + 1], V[0, d, 3 * j + 2] = w, y2, -y1
            V[1, d, 3 * j], V[1, d, 3 * j + 1], V[1, d, 3 * j + 2] = -y2, w, y0
            V[2, d, 3 * j], V[2, d, 3 * j + 1], V[2, d, 3 * j + 2] = y1, -y0, w
        for i in range(3):
            w = 2.0 * mu * G[d, i]
            V[i, d, 0] += w
            V[i, d, 4] += w
            V[i, d, 8] += w
    flat = V.reshape(-1)
    for c in range(uint64(4)):
        a0, a1, a2 = G[c, 0], G[c, 1], G[c, 2]
        for t in range(uint64(36)):
            E[q, uint64(36) * c + t] = a0 * flat[t] + a1 * flat[uint64(36) + t] + a2 * flat[uint64(72) + t]


@inline
def _sum_moments(weights, E, M):
    """Set M [h, 144] to the products of `weights` [h, q] and E [q, 144]; q is a multiple of `AT_ONCE`."""
    for h in range(uint64(M.shape[0])):
        for t in range(uint64(144)):
            M[h, t] = 0.0
        for q in range(uint64(0), uint64(E.shape[0]), uint64(AT_ONCE)):
            w0, w1 = weights[h, q], weights[h, q + uint64(1)]
            w2, w3 = weights[h, q + uint64(2)], weights[h, q + uint64(3)]
            for t in range(uint64(144)):
                M[h, t] += (
                    w0 * E[q, t]
                    + w1 * E[q + uint64(1), t]
                    + w2 * E[q + uint64(2), t]
                    + w3 * E[q + uint64(3), t]
                )


@inline
def _element_force(records, e, g, volume, weights, parts, S, f):
    """Set f [k, 3] to the elastic force; S [r, 9] is scratch, the moments of the stress with degree p - 1."""
    for J in range(uint64(weights.shape[0])):
        for t in range(uint64(9)):
            S[J, t] = 0.0
        for q in range(uint64(weights.shape[1])):
            w = volume * weights[J, q]
            for t in range(uint64(9)):
                S[J, t] += w * records[e, q, uint64(15) + t]
    for I in range(uint64(parts.shape[0])):
        f0 = f1 = f2 = 0.0
        for c in range(uint64(4)):
            J = parts[I, c]
            if J >= 0:
                g0, g1, g2 = g[c, 0], g[c, 1], g[c, 2]
                f0 += S[J, 0] * g0 + S[J, 1] * g1 + S[J, 2] * g2
                f1 += S[J, 3] * g0 + S[J, 4] * g1 + S[J, 5] * g2
                f2 += S[J, 6] * g0 + S[J, 7] * g1 + S[J, 8] * g2
        f[I, 0] = f0
        f[I, 1] = f1
        f[I, 2] = f2


@kernel_pair
def assemble(
    records, rest_inverse, root_volume, constants, weights, terms, elements, indptr, indices, assembly, system
):
    """Set A = c_mass M + c_stiffness K and rhs = M v + load - dt f (see `elements.colored_assembly`).

    Args:
        records: Of the points [m, q, 25].
        rest_inverse: Gradients of corners 1 to 3 at rest [9, m].
        root_volume: Roots of the volumes [m].
        constants: Lame's, lambda [m] and mu [m].
        weights: Of the points in the moments [h, q], padded, and in the force [r, q]; `parts` of the tables.
        terms: `moment_terms` of the tables.
        elements: Nodes of the elements [m, k].
        indptr, indices: Of the pattern.
        assembly: The `ColoredAssembly`.
        system: The arrays of the `AssembledSystem`.
    """
    lam, mu = constants
    moments, forces, parts = weights
    groups, places, blocks_of, factors = terms
    order, chunks, colors, first, slots = assembly
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs = system
    k = elements.shape[1]
    for color in range(colors.shape[0] - 1):
        for chunk in prange(colors[color], colors[color + 1]):
            g = np.empty((4, 3))
            G = np.empty((4, 3))
            V = np.empty((3, 4, 9))
            E = np.zeros((moments.shape[1], 144))
            M = np.empty((moments.shape[0], 144))
            K = np.empty((k, k, 9))
            S = np.empty((forces.shape[0], 9))
            f = np.empty((k, 3))
            for t in range(chunks[chunk], chunks[chunk + 1]):
                e = uint32(order[t])
                root = root_volume[e]
                _corner_gradients(rest_inverse, e, g)
                for q in range(uint64(records.shape[1])):
                    _point_stiffness(records, e, q, g, root, lam[e], mu[e], G, V, E)
                _sum_moments(moments, E, M)
                _element_force(records, e, g, root * root, forces, parts, S, f)
                begin_rows(e, elements, first, indptr, indices, mass, c_mass, velocities, load, blocks, rhs)
                element_stiffness(M, groups, places, blocks_of, factors, K)
                add_element(e, elements, indptr, slots, K, f, c_stiffness, dt, blocks, rhs)


@inline
def _rotated_stress(records, e, q):
    """Return the stress P R^T of a point in the rotated frame (xx, yy, zz, xy, xz, yz)."""
    R = records[e, q, :9]
    P = records[e, q, 15:24]
    return (
        P[0] * R[0] + P[1] * R[1] + P[2] * R[2],
        P[3] * R[3] + P[4] * R[4] + P[5] * R[5],
        P[6] * R[6] + P[7] * R[7] + P[8] * R[8],
        P[0] * R[3] + P[1] * R[4] + P[2] * R[5],
        P[0] * R[6] + P[1] * R[7] + P[2] * R[8],
        P[3] * R[6] + P[4] * R[7] + P[5] * R[8],
    )


@kernel_pair
def node_stress(records, volumes, to_nodes, inc_indptr, inc_codes, von_mises):
    """Set the von Mises stress at nodes from the volume average of the stress of the adjacent elements.

    `to_nodes` [k, q] extrapolates from the points of an element to its nodes.
    """
    k, points = to_nodes.shape
    for i in prange(inc_indptr.shape[0] - 1):
        total = np.zeros(6)
        volume = 0.0
        for at in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[at] // k
            I = inc_codes[at] - e * k
            for q in range(points):
                w = volumes[e] * to_nodes[I, q]
                s = _rotated_stress(records, e, q)
                for c in range(6):
                    total[c] += w * s[c]
            volume += volumes[e]
        von_mises[i] = (
            von_mises_norm(total[0], total[1], total[2], total[3], total[4], total[5]) / volume
            if volume > 0.0
            else 0.0
        )
