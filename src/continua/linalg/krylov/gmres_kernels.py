"""GMRES and conjugate gradients with symmetric over-relaxation, for a matrix plus a sum of small terms G^T H G.

GMRES is for terms that are not symmetric; where all are, conjugate gradients need no basis and no restarts.

The preconditioner is that of `ssor_kernels`, P = (D/w + L) K^-1 (D/w + L^T), and Eisenstat's trick (1981) saves the
product with the matrix as it does there. D includes `extra_diagonal`, which stands for the diagonal blocks of the terms
G^T H G; the rest of them is applied as it is. Residuals are orthogonal in the inner product of K.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.linalg.block_kernels import blocks_times, symmetric_times
from continua.linalg.krylov.ssor_kernels import forward_part
from continua.numerics import inline, kernel_pair


@inline
def _backward_part(flat, indices, diagonal, inner, inverse, scaled, v, factor, t, lo, hi):
    """Solve (D/w + L^T) t = K v times a factor in one part."""
    count = uint64(hi) - uint64(lo)
    for back in range(count):
        i = uint64(lo) + (count - uint64(1) - back)
        z0, z1, z2 = symmetric_times(scaled, i, factor * v[i, 0], factor * v[i, 1], factor * v[i, 2])
        s0, s1, s2 = blocks_times(flat, indices, t, uint32(diagonal[i]) + uint32(1), uint32(inner[i, 1]))
        s0, s1, s2 = symmetric_times(inverse, i, z0 - s0, z1 - s1, z2 - s2)
        t[i, 0], t[i, 1], t[i, 2] = s0, s1, s2


@inline
def _products(basis, first, count, v, lo, hi, out):
    """Set out[a] to the sum of products of the rows lo..hi-1 of v and of the vectors basis[a], count of them.

    Four vectors at a time, with eight sums that do not wait for each other.
    """
    flat, x = basis.reshape((basis.shape[0], -1)), v.reshape(-1)
    begin, end = uint64(3) * lo, uint64(3) * hi
    even = begin + (end - begin) // uint64(2) * uint64(2)
    a = first
    while a < count:
        b0, b1 = flat[a], flat[min(a + 1, count - 1)]
        b2, b3 = flat[min(a + 2, count - 1)], flat[min(a + 3, count - 1)]
        s0, s1, s2, s3, t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        i = begin
        while i < even:
            y0, y1 = x[i], x[i + uint64(1)]
            s0 += b0[i] * y0
            t0 += b0[i + uint64(1)] * y1
            s1 += b1[i] * y0
            t1 += b1[i + uint64(1)] * y1
            s2 += b2[i] * y0
            t2 += b2[i + uint64(1)] * y1
            s3 += b3[i] * y0
            t3 += b3[i + uint64(1)] * y1
            i += uint64(2)
        if even < end:
            y0 = x[even]
            s0 += b0[even] * y0
            s1 += b1[even] * y0
            s2 += b2[even] * y0
            s3 += b3[even] * y0
        out[a] = s0 + t0
        if a + 1 < count:
            out[a + 1] = s1 + t1
        if a + 2 < count:
            out[a + 2] = s2 + t2
        if a + 3 < count:
            out[a + 3] = s3 + t3
        a += 4


@inline
def _subtract(basis, factor, count, y, lo, hi):
    """Subtract the rows lo..hi-1 of the vectors basis[a] times their factors from those of y, four at a time."""
    flat, z = basis.reshape((basis.shape[0], -1)), y.reshape(-1)
    begin, end = uint64(3) * lo, uint64(3) * hi
    a = 0
    while a < count:
        b0, b1 = flat[a], flat[min(a + 1, count - 1)]
        b2, b3 = flat[min(a + 2, count - 1)], flat[min(a + 3, count - 1)]
        f0, f1 = factor[a], factor[a + 1] if a + 1 < count else 0.0
        f2, f3 = factor[a + 2] if a + 2 < count else 0.0, factor[a + 3] if a + 3 < count else 0.0
        for i in range(begin, end):
            z[i] -= f0 * b0[i] + f1 * b1[i] + (f2 * b2[i] + f3 * b3[i])
        a += 4


@inline
def _small_terms(ptr, row, block, hessian, which, touched, extra_diagonal, t, out):
    """Set `out` in the rows `touched` to G^T H G t minus the extra diagonal times t."""
    for k in range(touched.shape[0]):
        i = uint64(touched[k])
        z0, z1, z2 = symmetric_times(extra_diagonal, i, t[i, 0], t[i, 1], t[i, 2])
        out[i, 0], out[i, 1], out[i, 2] = -z0, -z1, -z2
    for k in range(which.shape[0]):
        c = which[k]
        u0, u1, u2 = 0.0, 0.0, 0.0
        for e in range(ptr[c], ptr[c + 1]):
            g, i = block[e], row[e]
            u0 += g[0] * t[i, 0] + g[1] * t[i, 1] + g[2] * t[i, 2]
            u1 += g[3] * t[i, 0] + g[4] * t[i, 1] + g[5] * t[i, 2]
            u2 += g[6] * t[i, 0] + g[7] * t[i, 1] + g[8] * t[i, 2]
        h = hessian[c]
        f0 = h[0] * u0 + h[1] * u1 + h[2] * u2
        f1 = h[3] * u0 + h[4] * u1 + h[5] * u2
        f2 = h[6] * u0 + h[7] * u1 + h[8] * u2
        for e in range(ptr[c], ptr[c + 1]):
            g, i = block[e], row[e]
            out[i, 0] += g[0] * f0 + g[3] * f1 + g[6] * f2
            out[i, 1] += g[1] * f0 + g[4] * f1 + g[7] * f2
            out[i, 2] += g[2] * f0 + g[5] * f1 + g[8] * f2


@kernel_pair
def ssor_gmres(
    indptr, indices, blocks, diagonal, inner, starts, inverse, scaled, ptr, row, block, hessian, which, touched,
    extra_diagonal, rhs, x, reduction, goal, basis, t, q, scaled_q, extra, partial,
):  # fmt: skip
    """Add to x the solution of (A + G^T H G) x = rhs by one cycle of GMRES.

    Args:
        indptr: Row starts of A.
        indices: Its columns.
        blocks: Its blocks.
        diagonal: Index of each diagonal block.
        inner: Ranges of blocks inside the parts, see `ssor_kernels.split_rows`.
        starts: First rows of the parts, and the end.
        inverse: (D/w)^-1, see `ssor_kernels.diagonal_blocks`.
        scaled: K.
        ptr: First entry of every small term, and the end.
        row: Row of every entry.
        block: Matrices G of the entries, row by row [e, 9].
        hessian: Matrices H of the terms, row by row [c, 9].
        which: The terms that are not zero.
        touched: Rows in which terms act, or the extra diagonal is not zero.
        extra_diagonal: What D has beyond the diagonal blocks of A, six values per row.
        rhs: Right-hand side [n, 3].
        x: Receives the solution [n, 3].
        reduction: Factor by which to reduce the residual.
        goal: Norm of the residual at which to stop as well.
        basis: Work space [m + 1, n, 3]; m is the limit of the iterations.
        t: Work space [n, 3].
        q: Work space [n, 3].
        scaled_q: Work space [n, 3].
        extra: Work space [n, 3]; zero outside of the rows `touched`.
        partial: Work space [parts, m + 2].

    Returns:
        The iterations, and the norms of the residual at the end and at the start; -1 if it is not a number.
    """
    parts = starts.shape[0] - 1
    flat = blocks.reshape(-1)
    limit = basis.shape[0] - 1
    # Numba 0.68 makes arrays of `limit + 2` in parallel functions two numbers too short
    size = partial.shape[1]
    h = np.zeros((size, size))
    cosine, sine, residual = np.zeros(size), np.zeros(size), np.zeros(size)
    factor = np.zeros(size)
    weight = np.zeros(size)  # by which vectors of the basis have to be multiplied
    for part in prange(parts):
        partial[part, 0] = forward_part(
            flat, indices, diagonal, inner, inverse, scaled, rhs, basis[0], starts[part], starts[part + 1]
        )
    total = 0.0
    for part in range(parts):
        total += partial[part, 0]
    start = np.sqrt(total)
    if not start > 0.0:
        return 0, 0.0 if total == 0.0 else -1.0, start
    weight[0] = 1.0 / start
    residual[0] = start
    target = max(reduction * start, goal)
    j = 0
    while j < limit and abs(residual[j]) > target:
        v = basis[j]
        for part in prange(parts):
            _backward_part(
                flat,
                indices,
                diagonal,
                inner,
                inverse,
                scaled,
                v,
                weight[j],
                t,
                starts[part],
                starts[part + 1],
            )
        _small_terms(ptr, row, block, hessian, which, touched, extra_diagonal, t, extra)
        for part in prange(
            parts
        ):  # q + t, q = (D/w + L)^-1 (K v - K t + E t + small terms), and its products
            lo, hi = uint64(starts[part]), uint64(starts[part + 1])
            w = weight[j]
            for i in range(lo, hi):
                k0, k1, k2 = symmetric_times(
                    scaled, i, w * v[i, 0] - t[i, 0], w * v[i, 1] - t[i, 1], w * v[i, 2] - t[i, 2]
                )
                first, last = uint32(inner[i, 0]), uint32(inner[i, 1])
                a0, a1, a2 = blocks_times(flat, indices, t, uint32(indptr[i]), first)
                b0, b1, b2 = blocks_times(flat, indices, t, last, uint32(indptr[i + uint64(1)]))
                s0, s1, s2 = blocks_times(flat, indices, q, first, uint32(diagonal[i]))
                s0, s1, s2 = symmetric_times(
                    inverse,
                    i,
                    k0 + a0 + b0 + extra[i, 0] - s0,
                    k1 + a1 + b1 + extra[i, 1] - s1,
                    k2 + a2 + b2 + extra[i, 2] - s2,
                )
                q[i, 0], q[i, 1], q[i, 2] = s0, s1, s2
            for i in range(lo, hi):
                s0, s1, s2 = q[i, 0] + t[i, 0], q[i, 1] + t[i, 1], q[i, 2] + t[i, 2]
                scaled_q[i, 0], scaled_q[i, 1], scaled_q[i, 2] = symmetric_times(scaled, i, s0, s1, s2)
            _products(basis, 0, j + 1, scaled_q, lo, hi, partial[part])
        for a in range(j + 1):
            total = 0.0
            for part in range(parts):
                total += partial[part, a]
            h[a, j] = weight[a] * total
            factor[a] = weight[a] * h[a, j]
        for part in prange(parts):
            lo, hi = uint64(starts[part]), uint64(starts[part + 1])
            new = basis[j + 1]
            for i in range(lo, hi):
                new[i, 0], new[i, 1], new[i, 2] = q[i, 0] + t[i, 0], q[i, 1] + t[i, 1], q[i, 2] + t[i, 2]
            _subtract(basis, factor, j + 1, new, lo, hi)
            square = 0.0
            for i in range(lo, hi):
                q0, q1, q2 = new[i, 0], new[i, 1], new[i, 2]
                s0, s1, s2 = symmetric_times(scaled, i, q0, q1, q2)
                square += q0 * s0 + q1 * s1 + q2 * s2
            partial[part, 0] = square
        total = 0.0
        for part in range(parts):
            total += partial[part, 0]
        if not total >= 0.0 or not np.isfinite(total):
            return j, -1.0, start
        norm = np.sqrt(total)
        weight[j + 1] = 1.0 / norm if norm > 0.0 else 0.0
        h[j + 1, j] = norm
        for a in range(j):  # Givens rotations
            upper, lower = h[a, j], h[a + 1, j]
            h[a, j] = cosine[a] * upper + sine[a] * lower
            h[a + 1, j] = cosine[a] * lower - sine[a] * upper
        length = np.hypot(h[j, j], norm)
        if not length > 0.0:
            break
        cosine[j], sine[j] = h[j, j] / length, norm / length
        h[j, j] = length
        residual[j + 1] = -sine[j] * residual[j]
        residual[j] *= cosine[j]
        j += 1
        if norm <= 1e-14 * length:
            break
    for back in range(j):
        a = j - 1 - back
        value = residual[a]
        for b in range(a + 1, j):
            value -= h[a, b] * sine[b]  # the entries of `sine` from here on hold the solution
        sine[a] = value / h[a, a]
    for part in prange(parts):
        for i in range(uint64(starts[part]), uint64(starts[part + 1])):
            s0, s1, s2 = 0.0, 0.0, 0.0
            for a in range(j):
                f = sine[a] * weight[a]
                s0 += f * basis[a, i, 0]
                s1 += f * basis[a, i, 1]
                s2 += f * basis[a, i, 2]
            q[i, 0], q[i, 1], q[i, 2] = s0, s1, s2
        _backward_part(
            flat, indices, diagonal, inner, inverse, scaled, q, 1.0, t, starts[part], starts[part + 1]
        )
        for i in range(uint64(starts[part]), uint64(starts[part + 1])):
            x[i, 0] += t[i, 0]
            x[i, 1] += t[i, 1]
            x[i, 2] += t[i, 2]
    return j, abs(residual[j]), start


@kernel_pair
def ssor_cg(
    indptr, indices, blocks, diagonal, inner, starts, inverse, scaled, ptr, row, block, hessian, which, touched,
    extra_diagonal, rhs, x, reduction, goal, max_iterations, r, z, p, t, q, extra, partial,
):  # fmt: skip
    """Add to x the solution of (A + G^T H G) x = rhs, with symmetric H, by conjugate gradients.

    The arguments are those of `ssor_gmres`; r, z, p, t, q and `extra` are work space [n, 3], and `partial` [parts, 2].
    Where the matrix is found not to be positive definite, the iteration ends with what it has.

    Returns:
        The iterations, and the norms of the residual at the end and at the start; -1 if it is not a number.
    """
    parts = starts.shape[0] - 1
    flat = blocks.reshape(-1)
    for part in prange(parts):
        lo, hi = starts[part], starts[part + 1]
        partial[part, 0] = forward_part(flat, indices, diagonal, inner, inverse, scaled, rhs, r, lo, hi)
        for i in range(uint64(lo), uint64(hi)):
            z[i, 0], z[i, 1], z[i, 2] = symmetric_times(scaled, i, r[i, 0], r[i, 1], r[i, 2])
            p[i, 0], p[i, 1], p[i, 2] = 0.0, 0.0, 0.0
    delta = 0.0
    for part in range(parts):
        delta += partial[part, 0]
    start = np.sqrt(delta)
    if not start > 0.0:
        return 0, 0.0 if delta == 0.0 else -1.0, start
    target = max(reduction * start, goal) ** 2
    iteration = 0
    beta = 0.0
    while iteration < max_iterations and delta > target:
        for part in prange(parts):  # p = z + beta p and t = (D/w + L^T)^-1 p, from the last row up
            lo = uint64(starts[part])
            count = uint64(starts[part + 1]) - lo
            for back in range(count):
                i = lo + (count - uint64(1) - back)
                p0, p1, p2 = z[i, 0] + beta * p[i, 0], z[i, 1] + beta * p[i, 1], z[i, 2] + beta * p[i, 2]
                p[i, 0], p[i, 1], p[i, 2] = p0, p1, p2
                s0, s1, s2 = blocks_times(
                    flat, indices, t, uint32(diagonal[i]) + uint32(1), uint32(inner[i, 1])
                )
                s0, s1, s2 = symmetric_times(inverse, i, p0 - s0, p1 - s1, p2 - s2)
                t[i, 0], t[i, 1], t[i, 2] = s0, s1, s2
        _small_terms(ptr, row, block, hessian, which, touched, extra_diagonal, t, extra)
        for part in prange(parts):  # q = (D/w + L)^-1 (p - K t + E t + small terms)
            total = 0.0
            for i in range(uint64(starts[part]), uint64(starts[part + 1])):
                k0, k1, k2 = symmetric_times(scaled, i, t[i, 0], t[i, 1], t[i, 2])
                first, last = uint32(inner[i, 0]), uint32(inner[i, 1])
                a0, a1, a2 = blocks_times(flat, indices, t, uint32(indptr[i]), first)
                b0, b1, b2 = blocks_times(flat, indices, t, last, uint32(indptr[i + uint64(1)]))
                s0, s1, s2 = blocks_times(flat, indices, q, first, uint32(diagonal[i]))
                s0, s1, s2 = symmetric_times(
                    inverse,
                    i,
                    p[i, 0] - k0 + a0 + b0 + extra[i, 0] - s0,
                    p[i, 1] - k1 + a1 + b1 + extra[i, 1] - s1,
                    p[i, 2] - k2 + a2 + b2 + extra[i, 2] - s2,
                )
                q[i, 0], q[i, 1], q[i, 2] = s0, s1, s2
                total += p[i, 0] * (t[i, 0] + s0) + p[i, 1] * (t[i, 1] + s1) + p[i, 2] * (t[i, 2] + s2)
            partial[part, 0] = total
        curvature = 0.0
        for part in range(parts):
            curvature += partial[part, 0]
        if not np.isfinite(curvature):
            return iteration, -1.0, start
        if not curvature > 0.0:
            break
        alpha = delta / curvature
        for part in prange(parts):
            total = 0.0
            for i in range(uint64(starts[part]), uint64(starts[part + 1])):
                r0 = r[i, 0] - alpha * (t[i, 0] + q[i, 0])
                r1 = r[i, 1] - alpha * (t[i, 1] + q[i, 1])
                r2 = r[i, 2] - alpha * (t[i, 2] + q[i, 2])
                x[i, 0] += alpha * t[i, 0]
                x[i, 1] += alpha * t[i, 1]
                x[i, 2] += alpha * t[i, 2]
                z0, z1, z2 = symmetric_times(scaled, i, r0, r1, r2)
                r[i, 0], r[i, 1], r[i, 2] = r0, r1, r2
                z[i, 0], z[i, 1], z[i, 2] = z0, z1, z2
                total += r0 * z0 + r1 * z1 + r2 * z2
            partial[part, 0] = total
        fresh = 0.0
        for part in range(parts):
            fresh += partial[part, 0]
        beta = fresh / delta
        delta = fresh
        iteration += 1
    return iteration, np.sqrt(delta), start
