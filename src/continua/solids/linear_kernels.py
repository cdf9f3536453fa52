"""Compiled functions for bodies whose stiffness does not change: forces by one product, a matrix by one sum."""

from __future__ import annotations

from numba import prange, uint32, uint64

from continua.linalg.kernels import CHUNK, blocks_times
from continua.numerics import kernel_pair

_TETS = 4096  # tetrahedra a chunk


@kernel_pair
def momentum(indptr, indices, stiffness, mass, x, rest, moved, velocities, load, dt, rhs):
    """Set rhs = M v + load - dt K (x - rest); `moved` [n, 3] is work space."""
    n = indptr.shape[0] - 1
    chunks = (n + CHUNK - 1) // CHUNK
    flat = stiffness.reshape(-1)
    for c in prange(chunks):
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            for a in range(3):
                moved[i, a] = x[i, a] - rest[i, a]
    for c in prange(chunks):
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            first, last = uint32(indptr[i]), uint32(indptr[i + uint64(1)])
            s0, s1, s2 = blocks_times(flat, indices, moved, first, last)
            m0 = 0.0
            m1 = 0.0
            m2 = 0.0
            for k in range(first, last):
                j = uint32(indices[k])
                m0 += mass[k] * velocities[j, 0]
                m1 += mass[k] * velocities[j, 1]
                m2 += mass[k] * velocities[j, 2]
            rhs[i, 0] = m0 + load[i, 0] - dt * s0
            rhs[i, 1] = m1 + load[i, 1] - dt * s1
            rhs[i, 2] = m2 + load[i, 2] - dt * s2


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
    """Count tetrahedra of volume zero or less, a chunk each."""
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
    """Return into how many chunks `count_inverted` cuts `tets` elements."""
    return -(-tets // _TETS)
