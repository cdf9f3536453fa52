"""Compiled preparation of the levels of a hierarchy: blocks in the order of sweeps, inverse diagonals, constraints."""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.linalg.kernels import CHUNK, free_part
from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.simd.f64x4 import load4, store4


@inline
def _copy_block(source, at, target, to):
    store4(target, to, load4(source, at))
    store4(target, to + uint64(4), load4(source, at + uint64(4)))
    target[to + uint64(8)] = source[at + uint64(8)]


@kernel_pair
def copy_blocks(blocks, first, last, e_ptr, e_from, early, l_ptr, l_from, late):
    """Copy the blocks of rows first..last-1 into the order of sweeps, rounded to the precision of the target.

    `e_from` and `l_from` are the numbers of blocks in the matrix.
    """
    flat = blocks.reshape(-1)
    e_flat = early.reshape(-1)
    l_flat = late.reshape(-1)
    for c in prange((last - first + CHUNK - 1) // CHUNK):
        for i in range(uint64(first + c * CHUNK), uint64(min(last, first + (c + 1) * CHUNK))):
            for k in range(uint64(e_ptr[i]), uint64(e_ptr[i + uint64(1)])):
                _copy_block(flat, uint64(9) * uint64(uint32(e_from[k])), e_flat, uint64(9) * k)
            for k in range(uint64(l_ptr[i]), uint64(l_ptr[i + uint64(1)])):
                _copy_block(flat, uint64(9) * uint64(uint32(l_from[k])), l_flat, uint64(9) * k)


@kernel
def invert_dense(A):
    """Replace a symmetric positive semidefinite matrix by its inverse, without the directions that have no stiffness.

    Small enough for one thread: Cholesky, the inverse of the factor, and its square.
    """
    n = A.shape[0]
    scale = np.zeros(n)
    largest = 0.0
    for i in range(n):
        largest = max(largest, A[i, i])
    for i in range(n):
        if A[i, i] > 1e-14 * largest:
            scale[i] = 1.0 / np.sqrt(A[i, i])
    factor = np.zeros((n, n))
    pivot = np.zeros(n)  # inverse pivots, zero where nothing is left
    for i in range(n):
        for j in range(i + 1):
            total = A[i, j] * scale[i] * scale[j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = total * pivot[j]
            elif total > 1e-11:
                factor[i, i] = np.sqrt(total)
                pivot[i] = 1.0 / factor[i, i]
    inverse = np.zeros((n, n))  # of the factor
    for i in range(n):
        if pivot[i] > 0.0:
            for k in range(i):
                if factor[i, k] != 0.0:
                    w = factor[i, k]
                    for j in range(k + 1):
                        inverse[i, j] -= w * inverse[k, j]
            for j in range(i):
                inverse[i, j] *= pivot[i]
            inverse[i, i] = pivot[i]
    A[:] = 0.0
    for k in range(n):
        for i in range(k + 1):
            w = inverse[k, i]
            if w != 0.0:
                for j in range(k + 1):
                    A[i, j] += w * inverse[k, j]
    for i in range(n):
        for j in range(n):
            A[i, j] *= scale[i] * scale[j]


@kernel
def dense_matrix(indptr, indices, blocks, dense):
    """Write a block matrix out in full."""
    dense[:] = 0.0
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            for a in range(3):
                for b in range(3):
                    dense[3 * i + a, 3 * indices[k] + b] = blocks[k, 3 * b + a]


@inline
def _pseudo_inverse(a, b, d, e, f, g):
    """Return the inverse of a positive semidefinite symmetric block in the directions that have stiffness."""
    m = np.empty((3, 3))
    m[0, 0], m[0, 1], m[0, 2] = a, b, d
    m[1, 0], m[1, 1], m[1, 2] = b, e, f
    m[2, 0], m[2, 1], m[2, 2] = d, f, g
    v = np.eye(3)
    for _ in range(30):  # Jacobi rotations
        for p in range(2):
            for q in range(p + 1, 3):
                if m[p, q] != 0.0:
                    theta = 0.5 * (m[q, q] - m[p, p]) / m[p, q]
                    t = (1.0 if theta >= 0.0 else -1.0) / (abs(theta) + np.sqrt(theta * theta + 1.0))
                    c = 1.0 / np.sqrt(t * t + 1.0)
                    s = t * c
                    for k in range(3):
                        x, y = m[k, p], m[k, q]
                        m[k, p], m[k, q] = c * x - s * y, s * x + c * y
                    for k in range(3):
                        x, y = m[p, k], m[q, k]
                        m[p, k], m[q, k] = c * x - s * y, s * x + c * y
                        x, y = v[k, p], v[k, q]
                        v[k, p], v[k, q] = c * x - s * y, s * x + c * y
    least = 1e-9 * max(m[0, 0], m[1, 1], m[2, 2])
    r = np.zeros(6)
    for k in range(3):
        if m[k, k] > least and m[k, k] > 0.0:
            w = 1.0 / m[k, k]
            r[0] += w * v[0, k] * v[0, k]
            r[1] += w * v[0, k] * v[1, k]
            r[2] += w * v[0, k] * v[2, k]
            r[3] += w * v[1, k] * v[1, k]
            r[4] += w * v[1, k] * v[2, k]
            r[5] += w * v[2, k] * v[2, k]
    return r[0], r[1], r[2], r[3], r[4], r[5]


@kernel_pair
def take_diagonal(blocks, at, first, diagonal, inverse):
    """Copy the diagonal blocks `at` and invert them, for rows from `first` on.

    A coarse node may have no stiffness in some directions, or none at all, because all it stands for is held: there
    its inverse is zero.
    """
    n = at.shape[0]
    for c in prange((n + CHUNK - 1) // CHUNK):
        for row in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            k = uint32(at[row])
            i = first + row
            a, b, d = blocks[k, 0], 0.5 * (blocks[k, 1] + blocks[k, 3]), 0.5 * (blocks[k, 2] + blocks[k, 6])
            e, f, g = blocks[k, 4], 0.5 * (blocks[k, 5] + blocks[k, 7]), blocks[k, 8]
            c00 = e * g - f * f
            c01 = d * f - b * g
            c02 = b * f - d * e
            det = a * c00 + b * c01 + d * c02
            size = max(a, e, g)
            if det > 1e-9 * size * size * size:
                s = 1.0 / det
                r = (s * c00, s * c01, s * c02, s * (a * g - d * d), s * (b * d - a * f), s * (a * e - b * b))
            else:
                r = _pseudo_inverse(a, b, d, e, f, g)
            diagonal[i, 0], diagonal[i, 1], diagonal[i, 2] = a, b, d
            diagonal[i, 3], diagonal[i, 4], diagonal[i, 5] = e, f, g
            inverse[i, 0], inverse[i, 1], inverse[i, 2] = r[0], r[1], r[2]
            inverse[i, 3], inverse[i, 4], inverse[i, 5] = r[3], r[4], r[5]


@kernel_pair
def project_blocks(indptr, indices, blocks, fixed, projections, target):
    """Set target to S A S, S the projector of every node onto its free directions."""
    n = indptr.shape[0] - 1
    for i in prange(n):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            for a in range(9):
                target[k, a] = blocks[k, a]
            if fixed[i] != 0 or fixed[j] != 0:
                for column in range(3):
                    x = blocks[k, 3 * column], blocks[k, 3 * column + 1], blocks[k, 3 * column + 2]
                    y = free_part(fixed, projections, i, x[0], x[1], x[2])
                    target[k, 3 * column] = y[0]
                    target[k, 3 * column + 1] = y[1]
                    target[k, 3 * column + 2] = y[2]
                for row in range(3):
                    y = free_part(
                        fixed, projections, j, target[k, row], target[k, 3 + row], target[k, 6 + row]
                    )
                    target[k, row] = y[0]
                    target[k, 3 + row] = y[1]
                    target[k, 6 + row] = y[2]
