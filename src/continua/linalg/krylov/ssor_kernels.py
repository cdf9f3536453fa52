"""Conjugate gradients preconditioned by symmetric over-relaxation, at the cost of one product per iteration.

With D the block diagonal, L the blocks below it and w the relaxation, P = (D/w + L) K^-1 (D/w + L^T) with
K = (2/w - 1) D is the preconditioner. Eisenstat (1981) showed that the conjugate gradients of
(D/w + L)^-1 A (D/w + L^T)^-1 need no product with A: with t = (D/w + L^T)^-1 p,

    (D/w + L)^-1 A t = t + (D/w + L)^-1 (p - K t).

A sweep over the rows is sequential. To run it in parallel with a result that does not depend on the number of threads,
rows are divided into a number of parts that depends on the size only. L holds only couplings inside a part; those
between parts, E, enter as p - K t + E t.

The blocks of partly fixed rows act in the free directions only (`block_kernels.project_diagonal`). All vectors of the
iteration then stay in these, so the conjugate gradients are those of S A S.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.linalg.block_kernels import blocks_times, invert_block, ordered_sum, symmetric_times
from continua.numerics import inline, kernel_pair

_ROWS_PER_PART = 1024
_MAX_PARTS = 64


def part_starts(node_count: int, parallel: bool) -> np.ndarray:
    """Return the first row of each part, and the end; small systems have one part."""
    parts = min(_MAX_PARTS, max(1, node_count // _ROWS_PER_PART)) if parallel else 1
    return np.linspace(0, node_count, parts + 1).astype(np.int64)


@kernel_pair
def split_rows(indptr, indices, starts, inner):
    """Set `inner[i]` to the range of row i's blocks whose columns lie in the row's own part."""
    for part in prange(starts.shape[0] - 1):
        lo = starts[part]
        hi = starts[part + 1]
        for i in range(lo, hi):
            first = indptr[i]
            while indices[first] < lo:
                first += 1
            last = indptr[i + 1]
            while indices[last - 1] >= hi:
                last -= 1
            inner[i, 0] = first
            inner[i, 1] = last


@kernel_pair
def diagonal_blocks(blocks, diagonal, fixed, relaxation, starts, scaled, inverse):
    """Set `scaled` = K and `inverse` = (D/w)^-1 as six values per row; both are zero where `fixed`.

    A row whose diagonal block is not positive definite is left out of the preconditioner like a fixed one;
    returns how many there are.
    """
    parts = starts.shape[0] - 1
    bad = np.zeros(parts, np.int64)
    factor = 2.0 / relaxation - 1.0
    for part in prange(parts):
        for i in range(uint64(starts[part]), uint64(starts[part + 1])):
            k = uint32(diagonal[i])
            if not invert_block(blocks, k, fixed[i], relaxation, inverse, i):
                bad[part] += 1
            keep = 0.0 if inverse[i, 0] == 0.0 else factor
            scaled[i, 0] = keep * blocks[k, 0]
            scaled[i, 1] = keep * blocks[k, 1]
            scaled[i, 2] = keep * blocks[k, 2]
            scaled[i, 3] = keep * blocks[k, 4]
            scaled[i, 4] = keep * blocks[k, 5]
            scaled[i, 5] = keep * blocks[k, 8]
    return bad.sum()


@inline
def forward_part(flat, indices, diagonal, inner, inverse, scaled, rhs, y, lo, hi):
    """Solve (D/w + L) y = rhs in one part and return y^T K y."""
    total = 0.0
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = blocks_times(flat, indices, y, uint32(inner[i, 0]), uint32(diagonal[i]))
        s0, s1, s2 = symmetric_times(inverse, i, rhs[i, 0] - s0, rhs[i, 1] - s1, rhs[i, 2] - s2)
        y[i, 0] = s0
        y[i, 1] = s1
        y[i, 2] = s2
        z0, z1, z2 = symmetric_times(scaled, i, s0, s1, s2)
        total += s0 * z0 + s1 * z1 + s2 * z2
    return total


@kernel_pair
def ssor_conjugate_gradients(
    indptr, indices, blocks, diagonal, inner, starts, inverse, scaled, rhs, tolerance_scale, x, rtol, max_iterations,
    r, z, p, q, t, partial,
):  # fmt: skip
    """Solve A x = rhs, starting from x; the arguments are those of `conjugate_gradients`.

    The residual is measured in the norm of P^-1. Returns (iterations, relative residual).
    """
    parts = starts.shape[0] - 1
    flat = blocks.reshape(-1)
    squares = np.zeros(parts)
    from_zero = True
    for i in range(x.shape[0]):
        if x[i, 0] != 0.0 or x[i, 1] != 0.0 or x[i, 2] != 0.0:
            from_zero = False
            break
    # residual of the start into t, then the transformed right-hand sides
    for part in prange(parts):
        lo, hi = starts[part], starts[part + 1]
        if not from_zero:
            for i in range(uint64(lo), uint64(hi)):
                s0, s1, s2 = blocks_times(flat, indices, x, uint32(indptr[i]), uint32(indptr[i + uint64(1)]))
                t[i, 0] = rhs[i, 0] - s0
                t[i, 1] = rhs[i, 1] - s1
                t[i, 2] = rhs[i, 2] - s2
        a = forward_part(flat, indices, diagonal, inner, inverse, scaled, tolerance_scale, q, lo, hi)
        b = forward_part(flat, indices, diagonal, inner, inverse, scaled, rhs, r, lo, hi)
        partial[part] = a + b
        squares[part] = b
    reference = ordered_sum(partial)
    for part in prange(parts):
        if not from_zero:
            squares[part] = forward_part(
                flat, indices, diagonal, inner, inverse, scaled, t, r, starts[part], starts[part + 1]
            )
        for i in range(uint64(starts[part]), uint64(starts[part + 1])):
            z0, z1, z2 = symmetric_times(scaled, i, r[i, 0], r[i, 1], r[i, 2])
            z[i, 0] = z0
            z[i, 1] = z1
            z[i, 2] = z2
            p[i, 0] = 0.0
            p[i, 1] = 0.0
            p[i, 2] = 0.0
    delta = ordered_sum(squares)
    if reference <= 0.0 and delta <= 0.0:
        return 0, 0.0
    if reference <= 0.0:
        reference = delta
    goal = rtol * rtol * reference
    iteration = 0
    beta = 0.0
    while iteration < max_iterations and delta > goal:
        for part in prange(parts):  # p = z + beta p and t = (D/w + L^T)^-1 p, from the last row up
            lo = uint64(starts[part])
            count = uint64(starts[part + 1]) - lo
            for back in range(count):
                i = lo + (count - uint64(1) - back)
                p0 = z[i, 0] + beta * p[i, 0]
                p1 = z[i, 1] + beta * p[i, 1]
                p2 = z[i, 2] + beta * p[i, 2]
                p[i, 0] = p0
                p[i, 1] = p1
                p[i, 2] = p2
                s0, s1, s2 = blocks_times(
                    flat, indices, t, uint32(diagonal[i]) + uint32(1), uint32(inner[i, 1])
                )
                s0, s1, s2 = symmetric_times(inverse, i, p0 - s0, p1 - s1, p2 - s2)
                t[i, 0] = s0
                t[i, 1] = s1
                t[i, 2] = s2
        for part in prange(parts):  # q = t + (D/w + L)^-1 (p - K t + E t)
            total = 0.0
            for i in range(uint64(starts[part]), uint64(starts[part + 1])):
                t0 = t[i, 0]
                t1 = t[i, 1]
                t2 = t[i, 2]
                k0, k1, k2 = symmetric_times(scaled, i, t0, t1, t2)
                first = uint32(inner[i, 0])
                last = uint32(inner[i, 1])
                a0, a1, a2 = blocks_times(flat, indices, t, uint32(indptr[i]), first)
                b0, b1, b2 = blocks_times(flat, indices, t, last, uint32(indptr[i + uint64(1)]))
                s0, s1, s2 = blocks_times(flat, indices, q, first, uint32(diagonal[i]))
                s0, s1, s2 = symmetric_times(
                    inverse,
                    i,
                    p[i, 0] - k0 + a0 + b0 - s0,
                    p[i, 1] - k1 + a1 + b1 - s1,
                    p[i, 2] - k2 + a2 + b2 - s2,
                )
                q[i, 0] = s0
                q[i, 1] = s1
                q[i, 2] = s2
                total += p[i, 0] * (t0 + s0) + p[i, 1] * (t1 + s1) + p[i, 2] * (t2 + s2)
            partial[part] = total
        curvature = ordered_sum(partial)
        if not curvature > 0.0:  # not positive definite, or not a number
            return iteration, -1.0
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
                r[i, 0] = r0
                r[i, 1] = r1
                r[i, 2] = r2
                z[i, 0] = z0
                z[i, 1] = z1
                z[i, 2] = z2
                total += r0 * z0 + r1 * z1 + r2 * z2
            partial[part] = total
        fresh = ordered_sum(partial)
        beta = fresh / delta
        delta = fresh
        iteration += 1
    return iteration, np.sqrt(delta / reference)
