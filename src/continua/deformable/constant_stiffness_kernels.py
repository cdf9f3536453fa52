"""Compiled functions for bodies of constant stiffness: forces by one product, a matrix by one sum."""

from __future__ import annotations

from numba import prange, uint32, uint64

from continua.linalg.block_kernels import CHUNK, add_columns
from continua.numerics import kernel_pair
from continua.numerics.simd.f64x4 import fma4, lane4, load4, zero4

_TETS = 4096  # tetrahedra per chunk


@kernel_pair
def momentum(indptr, indices, stiffness, mass, x, rest, both, velocities, load, dt, rhs):
    """Set rhs = M v + load - dt K (x - rest).

    `both` [n, 8] is work space: displacements and velocities side by side, four numbers each, so that one block
    reads one cache line.
    """
    n = indptr.shape[0] - 1
    chunks = (n + CHUNK - 1) // CHUNK
    flat = stiffness.reshape(-1)
    pairs = both.reshape(-1)
    for c in prange(chunks):
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            for a in range(3):
                both[i, a] = x[i, a] - rest[i, a]
                both[i, 4 + a] = velocities[i, a]
    for c in prange(chunks):
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            s = zero4()
            t = zero4()
            u = zero4()
            m = zero4()
            for k in range(uint32(indptr[i]), uint32(indptr[i + uint64(1)])):
                j = uint64(8) * uint64(uint32(indices[k]))
                at = uint64(9) * uint64(k)
                s = fma4(load4(flat, at), pairs[j], s)
                t = fma4(load4(flat, at + uint64(3)), pairs[j + uint64(1)], t)
                u = fma4(load4(flat, at + uint64(6)), pairs[j + uint64(2)], u)
                m = fma4(load4(pairs, j + uint64(4)), mass[k], m)
            s0, s1, s2 = add_columns(s, t, u)
            rhs[i, 0] = lane4(m, 0) + load[i, 0] - dt * s0
            rhs[i, 1] = lane4(m, 1) + load[i, 1] - dt * s1
            rhs[i, 2] = lane4(m, 2) + load[i, 2] - dt * s2


@kernel_pair
def combine(stiffness, mass, c_mass, c_stiffness, blocks):
    """Set blocks = c_mass M + c_stiffness K."""
    count = blocks.shape[0]
    for c in prange((count + CHUNK - 1) // CHUNK):
        for k in range(uint64(c * CHUNK), uint64(min(count, (c + 1) * CHUNK))):
            for a in range(9):
                blocks[k, a] = c_stiffness * stiffness[k, a]
            m = c_mass * mass[k]
            blocks[k, 0] += m
            blocks[k, 4] += m
            blocks[k, 8] += m


@kernel_pair
def count_inverted(positions, tets, inverted):
    """Count tetrahedra of volume zero or less, per chunk."""
    m = tets.shape[0]
    for c in prange(inverted.shape[0]):
        count = 0
        for e in range(uint64(c * _TETS), uint64(min(m, (c + 1) * _TETS))):
            o = uint32(tets[e, 0])
            i, j, k = uint32(tets[e, 1]), uint32(tets[e, 2]), uint32(tets[e, 3])
            x, y, z = positions[o, 0], positions[o, 1], positions[o, 2]
            a0, a1, a2 = positions[i, 0] - x, positions[i, 1] - y, positions[i, 2] - z
            b0, b1, b2 = positions[j, 0] - x, positions[j, 1] - y, positions[j, 2] - z
            c0, c1, c2 = positions[k, 0] - x, positions[k, 1] - y, positions[k, 2] - z
            six = a0 * (b1 * c2 - b2 * c1) + a1 * (b2 * c0 - b0 * c2) + a2 * (b0 * c1 - b1 * c0)
            if not six > 0.0:
                count += 1
        inverted[c] = count


def chunk_count(tets):
    """Return the number of chunks of `count_inverted` for `tets` elements."""
    return -(-tets // _TETS)
