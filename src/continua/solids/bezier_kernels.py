"""Compiled functions for Bernstein-Bezier tetrahedra of higher order.

The material is isotropic, so rotating an element matrix is the same as building it from rotated gradients:
with G_c = sqrt(V) R grad b_c, the stiffness E_cd = lambda G_c G_d^T + mu G_d G_c^T + mu (G_c . G_d) 1 of the linear
element and the exact table C of integrals, block (I, J) of R K R^T is sum_cd C_cdIJ E_cd. Nothing but G and the offsets
w = x - R x0 is stored for an element.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.numerics import inline, kernel_pair
from continua.numerics.mat3 import det3, matmul3, rotation
from continua.solids.kernels import CHUNK, mises
from continua.solids.scatter import add_element, begin_row

GRADIENTS = 14  # columns of an element's record: G (4 x 3), lambda, mu


@kernel_pair
def element_state(
    coefficients, rest, elements, rest_inverse, root_volume, lam, mu, mean, rotate, records, offsets, inverted
):
    """Fill records (rotated gradients, constants) and offsets w = x - R x0 of every element.

    The rotation is that of the volume mean of the deformation gradient, which leaves less spurious torque
    than the corners alone.
    """
    m, k = elements.shape
    for chunk in prange(inverted.shape[0]):
        count = 0
        y = np.empty((4, 3))
        for e in range(chunk * CHUNK, min(m, (chunk + 1) * CHUNK)):
            for c in range(4):
                for i in range(3):
                    total = 0.0
                    for a in range(k):
                        total += mean[c, a] * coefficients[elements[e, a], i]
                    y[c, i] = total
            edges = (
                y[1, 0] - y[0, 0], y[2, 0] - y[0, 0], y[3, 0] - y[0, 0],
                y[1, 1] - y[0, 1], y[2, 1] - y[0, 1], y[3, 1] - y[0, 1],
                y[1, 2] - y[0, 2], y[2, 2] - y[0, 2], y[3, 2] - y[0, 2],
            )  # fmt: skip
            D = (
                rest_inverse[0, e], rest_inverse[1, e], rest_inverse[2, e],
                rest_inverse[3, e], rest_inverse[4, e], rest_inverse[5, e],
                rest_inverse[6, e], rest_inverse[7, e], rest_inverse[8, e],
            )  # fmt: skip
            F = matmul3(edges, D)
            if det3(F) <= 0.0:
                count += 1
            R = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
            if rotate:
                R = rotation(F)
            v = root_volume[e]
            for i in range(3):
                total = 0.0
                for c in range(3):
                    g = v * (R[3 * i] * D[3 * c] + R[3 * i + 1] * D[3 * c + 1] + R[3 * i + 2] * D[3 * c + 2])
                    records[e, 3 * (c + 1) + i] = g
                    total += g
                records[e, i] = -total
            records[e, 12] = lam[e]
            records[e, 13] = mu[e]
            for a in range(k):
                j = elements[e, a]
                for i in range(3):
                    offsets[e, a, i] = coefficients[j, i] - (
                        R[3 * i] * rest[j, 0] + R[3 * i + 1] * rest[j, 1] + R[3 * i + 2] * rest[j, 2]
                    )
        inverted[chunk] = count


@inline
def corner_blocks(records, e, E):
    """Set E [16, 9] to the stiffness of the element's linear part, block (c, d) column by column.

    E_cd = lambda G_c G_d^T + mu G_d G_c^T + mu (G_c . G_d) 1; all higher orders are sums of these.
    """
    lam = records[e, 12]
    mu = records[e, 13]
    for c in range(4):
        for d in range(4):
            dot = 0.0
            for i in range(3):
                dot += records[e, 3 * c + i] * records[e, 3 * d + i]
            for i in range(3):
                for j in range(3):
                    E[4 * c + d, 3 * j + i] = (
                        lam * records[e, 3 * c + i] * records[e, 3 * d + j]
                        + mu * records[e, 3 * d + i] * records[e, 3 * c + j]
                    )
                E[4 * c + d, 4 * i] += mu * dot


@inline
def element_stiffness(E, pairs, starts, terms, weights, K):
    """Set the upper half of the element stiffness K [k, k, 9] to its sums of corner blocks."""
    for q in range(pairs.shape[0]):
        k0 = k1 = k2 = k3 = k4 = k5 = k6 = k7 = k8 = 0.0
        for t in range(uint32(starts[q]), uint32(starts[q + 1])):
            w = weights[t]
            c = uint32(terms[t])
            k0 += w * E[c, 0]
            k1 += w * E[c, 1]
            k2 += w * E[c, 2]
            k3 += w * E[c, 3]
            k4 += w * E[c, 4]
            k5 += w * E[c, 5]
            k6 += w * E[c, 6]
            k7 += w * E[c, 7]
            k8 += w * E[c, 8]
        I = uint32(pairs[q, 0])
        J = uint32(pairs[q, 1])
        K[I, J, 0] = k0
        K[I, J, 1] = k1
        K[I, J, 2] = k2
        K[I, J, 3] = k3
        K[I, J, 4] = k4
        K[I, J, 5] = k5
        K[I, J, 6] = k6
        K[I, J, 7] = k7
        K[I, J, 8] = k8


@inline
def element_force(records, offsets, e, parts, inner_mass, S, f):
    """Set f [k, 3] to K w, through the stress; S [2, r, 9] is scratch, r the number of coefficients of degree p - 1.

    The gradient of w has the coefficients p sum_c w_{J + e_c} G_c^T of degree p - 1, and so has the stress; the
    force is p sum_c T_{I - e_c} G_c with T the products of the stress with the basis of degree p - 1.
    """
    lam = records[e, 12]
    mu = records[e, 13]
    k = parts.shape[0]
    r = inner_mass.shape[0]
    for J in range(r):
        for t in range(9):
            S[0, J, t] = 0.0
    for I in range(k):
        for c in range(4):
            J = parts[I, c]
            if J >= 0:
                for i in range(3):
                    for j in range(3):
                        S[0, J, 3 * i + j] += offsets[e, I, i] * records[e, 3 * c + j]
    for J in range(r):
        d = S[0, J]
        trace = lam * (d[0] + d[4] + d[8])
        a, b, c = mu * (d[1] + d[3]), mu * (d[2] + d[6]), mu * (d[5] + d[7])
        d[0] = 2.0 * mu * d[0] + trace
        d[4] = 2.0 * mu * d[4] + trace
        d[8] = 2.0 * mu * d[8] + trace
        d[1] = a
        d[2] = b
        d[5] = c
    for J in range(r):
        s0 = s1 = s2 = s4 = s5 = s8 = 0.0
        for L in range(r):
            w = inner_mass[J, L]
            s0 += w * S[0, L, 0]
            s1 += w * S[0, L, 1]
            s2 += w * S[0, L, 2]
            s4 += w * S[0, L, 4]
            s5 += w * S[0, L, 5]
            s8 += w * S[0, L, 8]
        S[1, J, 0] = s0
        S[1, J, 1] = s1
        S[1, J, 2] = s2
        S[1, J, 4] = s4
        S[1, J, 5] = s5
        S[1, J, 8] = s8
    for I in range(k):
        f0 = f1 = f2 = 0.0
        for c in range(4):
            J = parts[I, c]
            if J >= 0:
                g0, g1, g2 = records[e, 3 * c], records[e, 3 * c + 1], records[e, 3 * c + 2]
                f0 += S[1, J, 0] * g0 + S[1, J, 1] * g1 + S[1, J, 2] * g2
                f1 += S[1, J, 1] * g0 + S[1, J, 4] * g1 + S[1, J, 5] * g2
                f2 += S[1, J, 2] * g0 + S[1, J, 5] * g1 + S[1, J, 8] * g2
        f[I, 0] = f0
        f[I, 1] = f1
        f[I, 2] = f2


@kernel_pair
def assemble(
    records, offsets, pairs, starts, terms, weights, parts, inner_mass, elements, indptr, indices, order, chunks,
    colors, slots, mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs,
):  # fmt: skip
    """Set A = c_mass M + c_stiffness K and rhs = M v + load - dt f, element by element (see `solids.scatter`)."""
    n = indptr.shape[0] - 1
    k = elements.shape[1]
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        for i in range(uint64(chunk * CHUNK), uint64(min(n, (chunk + 1) * CHUNK))):
            begin_row(i, indptr, indices, mass, c_mass, velocities, load, blocks, rhs)
    for color in range(colors.shape[0] - 1):
        for chunk in prange(colors[color], colors[color + 1]):
            E = np.empty((16, 9))
            K = np.empty((k, k, 9))
            S = np.empty((2, inner_mass.shape[0], 9))
            f = np.empty((k, 3))
            for t in range(chunks[chunk], chunks[chunk + 1]):
                e = uint32(order[t])
                corner_blocks(records, e, E)
                element_stiffness(E, pairs, starts, terms, weights, K)
                element_force(records, offsets, e, parts, inner_mass, S, f)
                add_element(e, elements, indptr, slots, K, f, c_stiffness, dt, blocks, rhs)


@kernel_pair
def element_energy(records, offsets, parts, inner_mass, energy):
    """Set the elastic energy [J] of every element: half of w^T K w."""
    m, k, _ = offsets.shape
    for chunk in prange((m + CHUNK - 1) // CHUNK):
        S = np.empty((2, inner_mass.shape[0], 9))
        f = np.empty((k, 3))
        for e in range(chunk * CHUNK, min(m, (chunk + 1) * CHUNK)):
            element_force(records, offsets, e, parts, inner_mass, S, f)
            total = 0.0
            for I in range(k):
                for i in range(3):
                    total += f[I, i] * offsets[e, I, i]
            energy[e] = 0.5 * total


@kernel_pair
def node_stress(records, offsets, root_volume, slopes, inc_indptr, inc_codes, von_mises):
    """Set the von Mises stress at nodes from the volume average of the stress of the elements around."""
    n = inc_indptr.shape[0] - 1
    k = offsets.shape[1]
    for i in prange(n):
        total = np.zeros(6)
        volume = 0.0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[q] // k
            I = inc_codes[q] - e * k
            D = np.zeros((3, 3))
            for J in range(k):
                for c in range(4):
                    w = slopes[I, J, c] / root_volume[e]
                    for a in range(3):
                        for b in range(3):
                            D[a, b] += w * offsets[e, J, a] * records[e, 3 * c + b]
            v = root_volume[e] ** 2
            mu = records[e, 13]
            p = records[e, 12] * (D[0, 0] + D[1, 1] + D[2, 2])
            total[0] += v * (2.0 * mu * D[0, 0] + p)
            total[1] += v * (2.0 * mu * D[1, 1] + p)
            total[2] += v * (2.0 * mu * D[2, 2] + p)
            total[3] += v * mu * (D[0, 1] + D[1, 0])
            total[4] += v * mu * (D[0, 2] + D[2, 0])
            total[5] += v * mu * (D[1, 2] + D[2, 1])
            volume += v
        von_mises[i] = (
            mises(total[0], total[1], total[2], total[3], total[4], total[5]) / volume
            if volume > 0.0
            else 0.0
        )
