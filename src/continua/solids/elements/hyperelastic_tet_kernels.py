"""Compiled functions for linear tetrahedra of any isotropic law.

The records of the elements are those of `materials.tet_kernels`. In the diagonal frame the derivative of the stress
has 12 numbers, and block (a, b) of the stiffness is U K U^T with K_ii = H_ii p_i q_i + sum_j a_ij p_j q_j and
K_ij = H_ij p_i q_j + b_ij p_j q_i, where p and q are the corners' gradients.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32

from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.mat3 import matmul3
from continua.solids.elements.corotated_kernels import von_mises_norm
from continua.solids.elements.edge_assembly import assembly_kernel


@inline
def element_block(records, e, a, b):
    """Return block (a, b) of an element's stiffness, row by row; a and b are three times the corner numbers."""
    p0, p1, p2 = records[e, a], records[e, a + uint32(1)], records[e, a + uint32(2)]
    q0, q1, q2 = records[e, b], records[e, b + uint32(1)], records[e, b + uint32(2)]
    s0, s1, s2 = p0 * q0, p1 * q1, p2 * q2
    k00 = records[e, 21] * s0 + records[e, 27] * s1 + records[e, 28] * s2
    k11 = records[e, 22] * s1 + records[e, 27] * s0 + records[e, 29] * s2
    k22 = records[e, 23] * s2 + records[e, 28] * s0 + records[e, 29] * s1
    k01 = records[e, 24] * p0 * q1 + records[e, 30] * p1 * q0
    k10 = records[e, 24] * p1 * q0 + records[e, 30] * p0 * q1
    k02 = records[e, 25] * p0 * q2 + records[e, 31] * p2 * q0
    k20 = records[e, 25] * p2 * q0 + records[e, 31] * p0 * q2
    k12 = records[e, 26] * p1 * q2 + records[e, 32] * p2 * q1
    k21 = records[e, 26] * p2 * q1 + records[e, 32] * p1 * q2
    U = (
        records[e, 12], records[e, 13], records[e, 14],
        records[e, 15], records[e, 16], records[e, 17],
        records[e, 18], records[e, 19], records[e, 20],
    )  # fmt: skip
    W = matmul3(U, (k00, k01, k02, k10, k11, k12, k20, k21, k22))
    return (
        W[0] * U[0] + W[1] * U[1] + W[2] * U[2], W[0] * U[3] + W[1] * U[4] + W[2] * U[5],
        W[0] * U[6] + W[1] * U[7] + W[2] * U[8],
        W[3] * U[0] + W[4] * U[1] + W[5] * U[2], W[3] * U[3] + W[4] * U[4] + W[5] * U[5],
        W[3] * U[6] + W[4] * U[7] + W[5] * U[8],
        W[6] * U[0] + W[7] * U[1] + W[8] * U[2], W[6] * U[3] + W[7] * U[4] + W[8] * U[5],
        W[6] * U[6] + W[7] * U[7] + W[8] * U[8],
    )  # fmt: skip


@inline
def _block(data, e, a, b):
    return element_block(data[0], e, uint32(3) * a, uint32(3) * b)


@inline
def _force(data, e, a, dt):
    records = data[0]
    p = uint32(3) * a
    s0 = dt * records[e, 33] * records[e, p]
    s1 = dt * records[e, 34] * records[e, p + uint32(1)]
    s2 = dt * records[e, 35] * records[e, p + uint32(2)]
    return (
        records[e, 12] * s0 + records[e, 13] * s1 + records[e, 14] * s2,
        records[e, 15] * s0 + records[e, 16] * s1 + records[e, 17] * s2,
        records[e, 18] * s0 + records[e, 19] * s1 + records[e, 20] * s2,
    )


assemble = assembly_kernel(__file__, _block, _force)


@kernel
def total_energy(records):
    """Return the elastic energy [J]."""
    total = 0.0
    for e in range(records.shape[0]):
        total += records[e, 39]
    return total


@kernel_pair
def node_stress(records, volumes, inc_indptr, inc_codes, von_mises):
    """Set the von Mises norm of the Cauchy stress at nodes, averaged over the adjacent elements by volume.

    The Cauchy stress is U diag(g f) U^T / J, with |J| at least 0.1.
    """
    n = inc_indptr.shape[0] - 1
    for i in prange(n):
        s = np.zeros(6)
        volume = 0.0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[q] >> 2
            J = records[e, 36] * records[e, 37] * records[e, 38]
            scale = 1.0 / max(abs(J), 0.1)
            for c in range(3):
                t = scale * records[e, 33 + c] * records[e, 36 + c]
                u0, u1, u2 = records[e, 12 + c], records[e, 15 + c], records[e, 18 + c]
                s[0] += t * u0 * u0
                s[1] += t * u1 * u1
                s[2] += t * u2 * u2
                s[3] += t * u0 * u1
                s[4] += t * u0 * u2
                s[5] += t * u1 * u2
            volume += volumes[e]
        von_mises[i] = von_mises_norm(s[0], s[1], s[2], s[3], s[4], s[5]) / volume if volume > 0.0 else 0.0
