"""Compiled conjugate gradients around a preconditioner that is applied elsewhere, one iteration a call.

The preconditioner keeps its rows in an order of its own: row i of the matrix is row `rank[i]` there. It reads the
residual from `b` and leaves its answer in `z`.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.linalg.kernels import (
    CHUNK,
    add_columns,
    blocks_times,
    force_square,
    free_part,
    ordered_sum,
    symmetric_times,
)
from continua.numerics import inline, kernel_pair
from continua.numerics.simd.f64x4 import fma4, load4, zero4


@kernel_pair
def start(
    indptr, indices, blocks, fixed, projections, inverse, rank, rhs, load, x, r, b, p, partial, partial2
):  # fmt: skip
    """Set r to the residual of x and p to zero; return the squares of its norm and of that of rhs and load."""
    n = indptr.shape[0] - 1
    flat = blocks.reshape(-1)
    for c in prange(partial.shape[0]):
        total = 0.0
        scale = 0.0
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            s0, s1, s2 = blocks_times(flat, indices, x, uint32(indptr[i]), uint32(indptr[i + uint64(1)]))
            r0, r1, r2 = free_part(fixed, projections, i, rhs[i, 0] - s0, rhs[i, 1] - s1, rhs[i, 2] - s2)
            to = uint32(rank[i])
            r[i, 0], r[i, 1], r[i, 2] = r0, r1, r2
            b[to, 0], b[to, 1], b[to, 2] = r0, r1, r2
            p[i, 0], p[i, 1], p[i, 2] = 0.0, 0.0, 0.0
            total += force_square(inverse, i, r0, r1, r2)
            scale += force_square(inverse, i, rhs[i, 0], rhs[i, 1], rhs[i, 2])
            scale += force_square(inverse, i, load[i, 0], load[i, 1], load[i, 2])
        partial[c] = total
        partial2[c] = scale
    return ordered_sum(partial), ordered_sum(partial2)


@inline
def _product(flat, indices, x, u, v, first, last):
    """Return the sums of blocks first..last-1 times their columns of three vectors, which are read together."""
    a, b, c = zero4(), zero4(), zero4()
    d, e, f = zero4(), zero4(), zero4()
    g, h, i = zero4(), zero4(), zero4()
    for k in range(first, last):
        j = uint32(indices[k])
        at = uint64(9) * uint64(k)
        column = load4(flat, at)
        a, d, g = fma4(column, x[j, 0], a), fma4(column, u[j, 0], d), fma4(column, v[j, 0], g)
        column = load4(flat, at + uint64(3))
        b, e, h = fma4(column, x[j, 1], b), fma4(column, u[j, 1], e), fma4(column, v[j, 1], h)
        column = load4(flat, at + uint64(6))
        c, f, i = fma4(column, x[j, 2], c), fma4(column, u[j, 2], f), fma4(column, v[j, 2], i)
    return add_columns(a, b, c), add_columns(d, e, f), add_columns(g, h, i)


@kernel_pair
def start_along(
    indptr, indices, blocks, fixed, projections, inverse, rhs, load, x, u, v, r, au, av, partial
):  # fmt: skip
    """Set r to the residual of x, au to A u and av to A v in one pass over the matrix.

    Returns, in the inner product of the inverse diagonal blocks, r.r, that of rhs and load, r.au, r.av, au.au, au.av
    and av.av; `partial` [chunks, 7] is work space. u and v are zero where x is held.
    """
    n = indptr.shape[0] - 1
    flat = blocks.reshape(-1)
    for c in prange(partial.shape[0]):
        s = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            a, b, d = _product(flat, indices, x, u, v, uint32(indptr[i]), uint32(indptr[i + uint64(1)]))
            a = free_part(fixed, projections, i, rhs[i, 0] - a[0], rhs[i, 1] - a[1], rhs[i, 2] - a[2])
            b = free_part(fixed, projections, i, b[0], b[1], b[2])
            d = free_part(fixed, projections, i, d[0], d[1], d[2])
            r[i, 0], r[i, 1], r[i, 2] = a
            au[i, 0], au[i, 1], au[i, 2] = b
            av[i, 0], av[i, 1], av[i, 2] = d
            za = symmetric_times(inverse, i, a[0], a[1], a[2])
            zb = symmetric_times(inverse, i, b[0], b[1], b[2])
            scale = force_square(inverse, i, rhs[i, 0], rhs[i, 1], rhs[i, 2])
            scale += force_square(inverse, i, load[i, 0], load[i, 1], load[i, 2])
            s = (
                s[0] + za[0] * a[0] + za[1] * a[1] + za[2] * a[2],
                s[1] + scale,
                s[2] + za[0] * b[0] + za[1] * b[1] + za[2] * b[2],
                s[3] + za[0] * d[0] + za[1] * d[1] + za[2] * d[2],
                s[4] + zb[0] * b[0] + zb[1] * b[1] + zb[2] * b[2],
                s[5] + zb[0] * d[0] + zb[1] * d[1] + zb[2] * d[2],
                s[6] + force_square(inverse, i, d[0], d[1], d[2]),
            )
        for k in range(7):
            partial[c, k] = s[k]
    sums = np.zeros(7)
    for c in range(partial.shape[0]):
        for k in range(7):
            sums[k] += partial[c, k]
    return sums


@kernel_pair
def shift(inverse, rank, f, g, u, v, au, av, x, r, b, p, partial):
    """Go from x to x + f u + g v, and p to zero; return the square of the norm of the residual there."""
    n = x.shape[0]
    for c in prange(partial.shape[0]):
        total = 0.0
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            r0 = r[i, 0] - f * au[i, 0] - g * av[i, 0]
            r1 = r[i, 1] - f * au[i, 1] - g * av[i, 1]
            r2 = r[i, 2] - f * au[i, 2] - g * av[i, 2]
            to = uint32(rank[i])
            r[i, 0], r[i, 1], r[i, 2] = r0, r1, r2
            b[to, 0], b[to, 1], b[to, 2] = r0, r1, r2
            for a in range(3):
                x[i, a] += f * u[i, a] + g * v[i, a]
                p[i, a] = 0.0
            total += force_square(inverse, i, r0, r1, r2)
        partial[c] = total
    return ordered_sum(partial)


@kernel_pair
def iterate(
    indptr, indices, blocks, fixed, projections, inverse, rank, z, x, r, b, p, q, delta_before, partial
):  # fmt: skip
    """Do one iteration, z the preconditioned residual; return (delta = r.z, curvature p.A p, square of the norm)."""
    n = indptr.shape[0] - 1
    flat = blocks.reshape(-1)
    chunks = partial.shape[0]
    for c in prange(chunks):
        total = 0.0
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            j = uint32(rank[i])
            total += r[i, 0] * z[j, 0] + r[i, 1] * z[j, 1] + r[i, 2] * z[j, 2]
        partial[c] = total
    delta = ordered_sum(partial)
    beta = delta / delta_before
    for c in prange(chunks):
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            j = uint32(rank[i])
            p[i, 0] = z[j, 0] + beta * p[i, 0]
            p[i, 1] = z[j, 1] + beta * p[i, 1]
            p[i, 2] = z[j, 2] + beta * p[i, 2]
    for c in prange(chunks):
        total = 0.0
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            s0, s1, s2 = blocks_times(flat, indices, p, uint32(indptr[i]), uint32(indptr[i + uint64(1)]))
            s0, s1, s2 = free_part(fixed, projections, i, s0, s1, s2)
            q[i, 0], q[i, 1], q[i, 2] = s0, s1, s2
            total += p[i, 0] * s0 + p[i, 1] * s1 + p[i, 2] * s2
        partial[c] = total
    curvature = ordered_sum(partial)
    if not curvature > 0.0:
        return delta, curvature, -1.0
    alpha = delta / curvature
    for c in prange(chunks):
        total = 0.0
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            r0 = r[i, 0] - alpha * q[i, 0]
            r1 = r[i, 1] - alpha * q[i, 1]
            r2 = r[i, 2] - alpha * q[i, 2]
            x[i, 0] += alpha * p[i, 0]
            x[i, 1] += alpha * p[i, 1]
            x[i, 2] += alpha * p[i, 2]
            to = uint32(rank[i])
            r[i, 0], r[i, 1], r[i, 2] = r0, r1, r2
            b[to, 0], b[to, 1], b[to, 2] = r0, r1, r2
            total += force_square(inverse, i, r0, r1, r2)
        partial[c] = total
    return delta, curvature, ordered_sum(partial)
