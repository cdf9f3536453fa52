"""Compiled functions of cloth made of springs: energies, and the matrix by rows."""

from __future__ import annotations

import numpy as np
from numba import prange, uint32

from continua.numerics import kernel_pair

CHUNK = 128


@kernel_pair
def assemble(x, pattern, spring_of, stiffness, lengths, system):
    """Set A = c_mass M + c_stiffness K and rhs = M v + load - dt f, every row from the springs of its node.

    A spring of stiffness k, length l and rest length l_0 along n has the tangent
    k (n n^T + max(0, 1 - l_0/l) (I - n n^T)), without the negative part of one under compression (Choi and Ko 2002).

    Args:
        x: Positions [m], shape [n, 3].
        pattern: Row starts, columns and the diagonal of the matrix.
        spring_of: The spring of every block, -1 on the diagonal.
        stiffness: k of every spring [N/m].
        lengths: l_0 of every spring [m].
        system: The arrays of the `AssembledSystem`.
    """
    indptr, indices, diagonal = pattern
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs = system
    n = indptr.shape[0] - 1
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            p0, p1, p2 = x[i, 0], x[i, 1], x[i, 2]
            f0 = f1 = f2 = 0.0
            r0 = r1 = r2 = 0.0
            d0 = d1 = d2 = d4 = d5 = d8 = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                j = uint32(indices[k])
                m = mass[k]
                r0 += m * velocities[j, 0]
                r1 += m * velocities[j, 1]
                r2 += m * velocities[j, 2]
                s = spring_of[k]
                if s < 0:
                    continue
                stiff, rest = stiffness[s], lengths[s]
                e0, e1, e2 = p0 - x[j, 0], p1 - x[j, 1], p2 - x[j, 2]
                length = np.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
                inverse = 1.0 / length if length > 0.0 else 0.0
                tension = stiff * (1.0 - rest * inverse)
                if length > 0.0:
                    f0 += tension * e0
                    f1 += tension * e1
                    f2 += tension * e2
                side = c_stiffness * max(tension, 0.0) if length > 0.0 else c_stiffness * stiff
                along = (c_stiffness * stiff - side) * inverse * inverse
                b0, b1, b2 = side + along * e0 * e0, along * e0 * e1, along * e0 * e2
                b4, b5, b8 = side + along * e1 * e1, along * e1 * e2, side + along * e2 * e2
                d0 += b0
                d1 += b1
                d2 += b2
                d4 += b4
                d5 += b5
                d8 += b8
                w = c_mass * m
                blocks[k, 0], blocks[k, 1], blocks[k, 2] = w - b0, -b1, -b2
                blocks[k, 3], blocks[k, 4], blocks[k, 5] = -b1, w - b4, -b5
                blocks[k, 6], blocks[k, 7], blocks[k, 8] = -b2, -b5, w - b8
            k = diagonal[i]
            w = c_mass * mass[k]
            blocks[k, 0], blocks[k, 1], blocks[k, 2] = w + d0, d1, d2
            blocks[k, 3], blocks[k, 4], blocks[k, 5] = d1, w + d4, d5
            blocks[k, 6], blocks[k, 7], blocks[k, 8] = d2, d5, w + d8
            rhs[i, 0] = r0 + load[i, 0] - dt * f0
            rhs[i, 1] = r1 + load[i, 1] - dt * f1
            rhs[i, 2] = r2 + load[i, 2] - dt * f2


@kernel_pair
def energies(x, pairs, stiffness, lengths, partial):
    """Set the energy [J] of all springs, summed in fixed chunks."""
    count = pairs.shape[0]
    size = (count + partial.shape[0] - 1) // partial.shape[0]
    for chunk in prange(partial.shape[0]):
        total = 0.0
        for s in range(chunk * size, min(count, (chunk + 1) * size)):
            i, j = uint32(pairs[s, 0]), uint32(pairs[s, 1])
            e0, e1, e2 = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            stretch = np.sqrt(e0 * e0 + e1 * e1 + e2 * e2) - lengths[s]
            total += 0.5 * stiffness[s] * stretch * stretch
        partial[chunk] = total
