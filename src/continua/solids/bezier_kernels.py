"""Compiled functions for Bernstein-Bezier tetrahedra of higher order.

The material is isotropic, so rotating an element matrix is the same as building it from rotated gradients:
with G_c = sqrt(V) R grad b_c and the exact table C of integrals, block (I, J) of R K R^T is made of
H = sum_cd C_cdIJ G_c G_d^T as lambda H + mu H^T + mu tr(H) 1. Nothing but G and the offsets w = x - R x0 is
stored for an element.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.numerics import inline, kernel_pair
from continua.numerics.mat3 import det3, matmul3, rotation
from continua.solids.kernels import CHUNK, mises

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
def _outer_sum(records, e, I, J, supports, table):
    """Return the nine entries of H = sum over the supports of I and J of C_cdIJ G_c G_d^T."""
    h0 = h1 = h2 = h3 = h4 = h5 = h6 = h7 = h8 = 0.0
    for s in range(supports.shape[1]):
        c = supports[I, s]
        if c < 0:
            break
        a0 = records[e, 3 * c]
        a1 = records[e, 3 * c + 1]
        a2 = records[e, 3 * c + 2]
        b0 = 0.0
        b1 = 0.0
        b2 = 0.0
        for t in range(supports.shape[1]):
            d = supports[J, t]
            if d < 0:
                break
            w = table[c, d, I, J]
            b0 += w * records[e, 3 * d]
            b1 += w * records[e, 3 * d + 1]
            b2 += w * records[e, 3 * d + 2]
        h0 += a0 * b0
        h1 += a0 * b1
        h2 += a0 * b2
        h3 += a1 * b0
        h4 += a1 * b1
        h5 += a1 * b2
        h6 += a2 * b0
        h7 += a2 * b1
        h8 += a2 * b2
    return h0, h1, h2, h3, h4, h5, h6, h7, h8


@inline
def _block(records, e, I, J, supports, table):
    """Return block (I, J) of the rotated element stiffness, row by row."""
    h = _outer_sum(records, e, I, J, supports, table)
    lam = records[e, 12]
    mu = records[e, 13]
    d = mu * (h[0] + h[4] + h[8])
    return (
        lam * h[0] + mu * h[0] + d, lam * h[1] + mu * h[3], lam * h[2] + mu * h[6],
        lam * h[3] + mu * h[1], lam * h[4] + mu * h[4] + d, lam * h[5] + mu * h[7],
        lam * h[6] + mu * h[2], lam * h[7] + mu * h[5], lam * h[8] + mu * h[8] + d,
    )  # fmt: skip


@kernel_pair
def assemble(
    records, offsets, supports, table, indptr, indices, inc_indptr, inc_codes, slots, corners,
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs,
):  # fmt: skip
    """Set A = c_mass M + c_stiffness K and rhs = M v + load - dt f, row by row."""
    n = indptr.shape[0] - 1
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        for i in range(uint64(chunk * CHUNK), uint64(min(n, (chunk + 1) * CHUNK))):
            start = uint32(indptr[i])
            r0 = load[i, 0]
            r1 = load[i, 1]
            r2 = load[i, 2]
            for k in range(start, uint32(indptr[i + uint64(1)])):
                j = uint32(indices[k])
                w = mass[k]
                r0 += w * velocities[j, 0]
                r1 += w * velocities[j, 1]
                r2 += w * velocities[j, 2]
                for t in range(9):
                    blocks[k, t] = 0.0
                blocks[k, 0] = c_mass * w
                blocks[k, 4] = c_mass * w
                blocks[k, 8] = c_mass * w
            f0 = 0.0
            f1 = 0.0
            f2 = 0.0
            for q in range(uint32(inc_indptr[i]), uint32(inc_indptr[i + uint64(1)])):
                e = inc_codes[q] // corners
                I = inc_codes[q] - e * corners
                for J in range(corners):
                    B = _block(records, e, I, J, supports, table)
                    w0 = offsets[e, J, 0]
                    w1 = offsets[e, J, 1]
                    w2 = offsets[e, J, 2]
                    f0 += B[0] * w0 + B[1] * w1 + B[2] * w2
                    f1 += B[3] * w0 + B[4] * w1 + B[5] * w2
                    f2 += B[6] * w0 + B[7] * w1 + B[8] * w2
                    k = start + uint32(slots[q, J])
                    for r in range(3):
                        for c in range(3):
                            blocks[k, 3 * c + r] += c_stiffness * B[3 * r + c]
            rhs[i, 0] = r0 - dt * f0
            rhs[i, 1] = r1 - dt * f1
            rhs[i, 2] = r2 - dt * f2


@kernel_pair
def element_energy(records, offsets, supports, table, energy):
    """Set the elastic energy [J] of every element: half of w^T K w."""
    m, k, _ = offsets.shape
    for e in prange(m):
        total = 0.0
        for I in range(k):
            for J in range(k):
                B = _block(records, e, I, J, supports, table)
                for a in range(3):
                    for b in range(3):
                        total += offsets[e, I, a] * B[3 * a + b] * offsets[e, J, b]
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
