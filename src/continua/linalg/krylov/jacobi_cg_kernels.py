"""Compiled conjugate gradients with the inverse diagonal blocks as preconditioner, and their row updates."""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.linalg.block_kernels import (
    CHUNK,
    blocks_times,
    inverse_norm_square,
    ordered_sum,
    project_partly_fixed,
    symmetric_times,
)
from continua.numerics import inline, kernel_pair


@inline
def cg_begin_row(inverse, rhs, tolerance_scale, i, r0, r1, r2, r, d):
    """Set the residual and first direction of row i; return the squares of the residual and of rhs and its scale."""
    z0, z1, z2 = symmetric_times(inverse, i, r0, r1, r2)
    r[i, 0] = r0
    r[i, 1] = r1
    r[i, 2] = r2
    d[i, 0] = z0
    d[i, 1] = z1
    d[i, 2] = z2
    scale = inverse_norm_square(inverse, i, rhs[i, 0], rhs[i, 1], rhs[i, 2])
    scale += inverse_norm_square(
        inverse, i, tolerance_scale[i, 0], tolerance_scale[i, 1], tolerance_scale[i, 2]
    )
    return r0 * z0 + r1 * z1 + r2 * z2, scale


@inline
def cg_update_row(inverse, alpha, x, r, z, d, q, i):
    """Update solution, residual and preconditioned residual of row i; return the square of the residual."""
    r0 = r[i, 0] - alpha * q[i, 0]
    r1 = r[i, 1] - alpha * q[i, 1]
    r2 = r[i, 2] - alpha * q[i, 2]
    x[i, 0] += alpha * d[i, 0]
    x[i, 1] += alpha * d[i, 1]
    x[i, 2] += alpha * d[i, 2]
    z0, z1, z2 = symmetric_times(inverse, i, r0, r1, r2)
    r[i, 0] = r0
    r[i, 1] = r1
    r[i, 2] = r2
    z[i, 0] = z0
    z[i, 1] = z1
    z[i, 2] = z2
    return r0 * z0 + r1 * z1 + r2 * z2


@inline
def cg_direction_row(beta, z, d, i):
    """Set the next direction of row i."""
    d[i, 0] = z[i, 0] + beta * d[i, 0]
    d[i, 1] = z[i, 1] + beta * d[i, 1]
    d[i, 2] = z[i, 2] + beta * d[i, 2]


@kernel_pair
def conjugate_gradients(
    indptr, indices, blocks, fixed, projections, inverse, rhs, tolerance_scale, x, rtol, max_iterations,
    r, z, d, q, partial, partial2,
):  # fmt: skip
    """Solve A x = rhs by block-Jacobi conjugate gradients, starting from x.

    The residual is measured in the norm of the preconditioner, relative to rhs and `tolerance_scale` together
    (a vector of the size of the forces that may cancel in rhs). Components with a zero preconditioner
    block keep their starting value. Returns (iterations, relative residual).
    """
    n = indptr.shape[0] - 1
    flat = blocks.reshape(-1)
    chunks = partial.shape[0]
    for c in prange(chunks):
        total = 0.0
        scale = 0.0
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            s0, s1, s2 = blocks_times(flat, indices, x, uint32(indptr[i]), uint32(indptr[i + uint64(1)]))
            r0, r1, r2 = project_partly_fixed(
                fixed, projections, i, rhs[i, 0] - s0, rhs[i, 1] - s1, rhs[i, 2] - s2
            )
            square, whole = cg_begin_row(inverse, rhs, tolerance_scale, i, r0, r1, r2, r, d)
            total += square
            scale += whole
        partial[c] = total
        partial2[c] = scale
    delta = ordered_sum(partial)
    reference = ordered_sum(partial2)
    if reference <= 0.0 and delta <= 0.0:
        return 0, 0.0
    if reference <= 0.0:
        reference = delta
    goal = rtol * rtol * reference
    iteration = 0
    while iteration < max_iterations and delta > goal:
        for c in prange(chunks):
            total = 0.0
            for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
                s0, s1, s2 = blocks_times(flat, indices, d, uint32(indptr[i]), uint32(indptr[i + uint64(1)]))
                s0, s1, s2 = project_partly_fixed(fixed, projections, i, s0, s1, s2)
                q[i, 0] = s0
                q[i, 1] = s1
                q[i, 2] = s2
                total += d[i, 0] * s0 + d[i, 1] * s1 + d[i, 2] * s2
            partial[c] = total
        curvature = ordered_sum(partial)
        if not curvature > 0.0:  # not positive definite, or not a number
            return iteration, -1.0
        alpha = delta / curvature
        for c in prange(chunks):
            total = 0.0
            for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
                total += cg_update_row(inverse, alpha, x, r, z, d, q, i)
            partial[c] = total
        fresh = ordered_sum(partial)
        beta = fresh / delta
        delta = fresh
        iteration += 1
        for c in prange(chunks):
            for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
                cg_direction_row(beta, z, d, i)
    return iteration, np.sqrt(delta / reference)
