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
from continua.numerics.mat3 import det3, matmul3
from continua.numerics.polar import LANES, polar_lanes
from continua.numerics.simd.f64x4 import fma4, load4, store4, zero4
from continua.solids.elements.colored_assembly import add_element, begin_rows
from continua.solids.elements.corotated_kernels import CHUNK, von_mises_norm

GRADIENTS = 14  # columns of an element's record: G (4 x 3), lambda, mu


@inline
def _deformation(coefficients, elements, e, D, table):
    """Return the deformation gradient of element e that the rows of `table` [4, k] take from its coefficients.

    D are the rest gradients of corners 1 to 3, row by row; the gradient of corner 0 is minus their sum.
    """
    f0 = f1 = f2 = f3 = f4 = f5 = f6 = f7 = f8 = 0.0
    for a in range(uint32(elements.shape[1])):
        i = uint32(elements[e, a])
        w1 = table[1, a] - table[0, a]
        w2 = table[2, a] - table[0, a]
        w3 = table[3, a] - table[0, a]
        x, y, z = coefficients[i, 0], coefficients[i, 1], coefficients[i, 2]
        f0 += w1 * x
        f1 += w2 * x
        f2 += w3 * x
        f3 += w1 * y
        f4 += w2 * y
        f5 += w3 * y
        f6 += w1 * z
        f7 += w2 * z
        f8 += w3 * z
    return matmul3((f0, f1, f2, f3, f4, f5, f6, f7, f8), D)


@inline
def _rest_gradients(rest_inverse, e):
    return (
        rest_inverse[0, e], rest_inverse[1, e], rest_inverse[2, e],
        rest_inverse[3, e], rest_inverse[4, e], rest_inverse[5, e],
        rest_inverse[6, e], rest_inverse[7, e], rest_inverse[8, e],
    )  # fmt: skip


@inline
def _fill_record(coefficients, rest, elements, e, D, R, v, lam, mu, records, offsets):
    """Write the rotated gradients, the constants and the offsets of element e; v is the root of its volume."""
    for i in range(3):
        total = 0.0
        for c in range(3):
            g = v * (R[3 * i] * D[3 * c] + R[3 * i + 1] * D[3 * c + 1] + R[3 * i + 2] * D[3 * c + 2])
            records[e, 3 * (c + 1) + i] = g
            total += g
        records[e, i] = -total
    records[e, 12] = lam
    records[e, 13] = mu
    for a in range(uint32(elements.shape[1])):
        j = uint32(elements[e, a])
        for i in range(3):
            offsets[e, a, i] = coefficients[j, i] - (
                R[3 * i] * rest[j, 0] + R[3 * i + 1] * rest[j, 1] + R[3 * i + 2] * rest[j, 2]
            )


@kernel_pair
def element_state(
    coefficients,
    rest,
    elements,
    rest_inverse,
    root_volume,
    lam,
    mu,
    table,
    rotate,
    records,
    offsets,
    inverted,
):
    """Fill records (rotated gradients, constants) and offsets w = x - R x0 of every element.

    The rotation is that of the deformation gradient which `table` [4, k] takes from the coefficients: its volume
    mean, or that of the corners. `inverted` counts elements with det F <= 0, a block of lanes each.
    """
    m = elements.shape[0]
    for block in prange(inverted.shape[0]):
        s = np.zeros(19 * LANES)
        lo = block * LANES
        n = min(LANES, m - lo)
        count = 0
        for l in range(uint64(n)):
            e = uint64(lo) + l
            F = _deformation(coefficients, elements, e, _rest_gradients(rest_inverse, e), table)
            for c in range(9):
                s[uint64(c * LANES) + l] = F[c]
            if not rotate and det3(F) <= 0.0:
                count += 1
        if rotate:
            polar_lanes(s, 0, 9, 18, n)
        for l in range(uint64(n)):
            e = uint64(lo) + l
            R = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
            if rotate:
                R = (
                    s[9 * LANES + l], s[10 * LANES + l], s[11 * LANES + l],
                    s[12 * LANES + l], s[13 * LANES + l], s[14 * LANES + l],
                    s[15 * LANES + l], s[16 * LANES + l], s[17 * LANES + l],
                )  # fmt: skip
                if s[18 * LANES + l] <= 0.0:
                    count += 1
            _fill_record(
                coefficients, rest, elements, e, _rest_gradients(rest_inverse, e), R, root_volume[e],
                lam[e], mu[e], records, offsets,
            )  # fmt: skip
        inverted[block] = count


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
def element_stiffness(E, groups, places, terms, weights, K):
    """Set the upper half of the element stiffness K [k, k, 9] to its sums of corner blocks (see `block_terms`)."""
    corner, flat = E.reshape(-1), K.reshape(-1)
    for g in range(uint64(groups.shape[0])):
        count = uint64(groups[g, 0])
        t = uint64(groups[g, 3])
        for q in range(uint64(groups[g, 1]), uint64(groups[g, 2])):
            low, high, last = zero4(), zero4(), 0.0
            for s in range(t, t + count):
                at = uint64(terms[s])
                w = weights[s]
                low = fma4(load4(corner, at), w, low)
                high = fma4(load4(corner, at + uint64(4)), w, high)
                last += w * corner[at + uint64(8)]
            t += count
            at = uint64(places[q])
            store4(flat, at, low)
            store4(flat, at + uint64(4), high)
            flat[at + uint64(8)] = last


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
def assemble(records, offsets, block_terms, inner, elements, indptr, indices, assembly, system):
    """Set A = c_mass M + c_stiffness K and rhs = M v + load - dt f (see `elements.colored_assembly`).

    Args:
        records: Rotated gradients and constants of the elements [m, 14].
        offsets: w = x - R x0 [m, k, 3].
        block_terms: Tables of the stiffness, see `numerics.bernstein`.
        inner: `parts` and `inner_mass` of the tables.
        elements: Nodes of the elements [m, k].
        indptr, indices: Of the pattern.
        assembly: The `ColoredAssembly`.
        system: The arrays of the `AssembledSystem`.
    """
    groups, places, terms, weights = block_terms
    parts, inner_mass = inner
    order, chunks, colors, first, slots = assembly
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs = system
    k = elements.shape[1]
    for color in range(colors.shape[0] - 1):
        for chunk in prange(colors[color], colors[color + 1]):
            E = np.empty((16, 9))
            K = np.empty((k, k, 9))
            S = np.empty((2, inner_mass.shape[0], 9))
            f = np.empty((k, 3))
            for t in range(chunks[chunk], chunks[chunk + 1]):
                e = uint32(order[t])
                corner_blocks(records, e, E)
                element_force(records, offsets, e, parts, inner_mass, S, f)
                begin_rows(e, elements, first, indptr, indices, mass, c_mass, velocities, load, blocks, rhs)
                element_stiffness(E, groups, places, terms, weights, K)
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
    """Set the von Mises stress at nodes from the volume average of the stress of the adjacent elements."""
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
            von_mises_norm(total[0], total[1], total[2], total[3], total[4], total[5]) / volume
            if volume > 0.0
            else 0.0
        )
