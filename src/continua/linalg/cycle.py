"""Compiled multigrid cycles with Gauss-Seidel sweeps, over all levels of a hierarchy at once.

All levels lie one behind the other in one set of arrays, and columns count through, so that a level is a range of
rows. A sweep visits the even parts of a level, in parallel, then the odd ones; parts of the same kind do not couple, so
the result is that of a sequential sweep for any number of threads. Off-diagonal blocks are kept as those of columns
that a forward sweep visits before the row (`early`) and after it (`late`). From zero, a forward sweep needs the early
blocks alone and leaves the residual -(late blocks) x: both together cost one pass over the matrix.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.linalg.kernels import CHUNK, blocks_times, symmetric_times
from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.simd import load4, store4

FIRST, LAST, PARTS, PARTS_END, WIDE = range(5)  # columns of the table of levels


@inline
def _free(held, free, i, a0, a1, a2):
    """Return the part of a vector of row i that constraints leave."""
    if held[i] == 0:
        return a0, a1, a2
    if held[i] == 1:
        return 0.0, 0.0, 0.0
    return symmetric_times(free, i, a0, a1, a2)


@inline
def _forward_from_zero(ptr, cols, flat, inverse, b, x, lo, hi):
    """Sweep rows lo..hi-1 up when everything that is visited later is zero."""
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = blocks_times(flat, cols, x, uint32(ptr[i]), uint32(ptr[i + uint64(1)]))
        s0, s1, s2 = symmetric_times(inverse, i, b[i, 0] - s0, b[i, 1] - s1, b[i, 2] - s2)
        x[i, 0] = s0
        x[i, 1] = s1
        x[i, 2] = s2


@inline
def _late_residual(ptr, cols, flat, held, free, x, r, lo, hi):
    """Set the residual of rows lo..hi-1 after a forward sweep from zero."""
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = blocks_times(flat, cols, x, uint32(ptr[i]), uint32(ptr[i + uint64(1)]))
        s0, s1, s2 = _free(held, free, i, -s0, -s1, -s2)
        r[i, 0] = s0
        r[i, 1] = s1
        r[i, 2] = s2


@inline
def _relax(e_ptr, e_cols, e_flat, l_ptr, l_cols, l_flat, inverse, b, x, i):
    """Solve row i for its own unknowns."""
    s0, s1, s2 = blocks_times(e_flat, e_cols, x, uint32(e_ptr[i]), uint32(e_ptr[i + uint64(1)]))
    t0, t1, t2 = blocks_times(l_flat, l_cols, x, uint32(l_ptr[i]), uint32(l_ptr[i + uint64(1)]))
    s0, s1, s2 = symmetric_times(inverse, i, b[i, 0] - s0 - t0, b[i, 1] - s1 - t1, b[i, 2] - s2 - t2)
    x[i, 0] = s0
    x[i, 1] = s1
    x[i, 2] = s2


@inline
def _sweep_up(e_ptr, e_cols, e_flat, l_ptr, l_cols, l_flat, inverse, b, x, lo, hi):
    for i in range(uint64(lo), uint64(hi)):
        _relax(e_ptr, e_cols, e_flat, l_ptr, l_cols, l_flat, inverse, b, x, i)


@inline
def _sweep_down(e_ptr, e_cols, e_flat, l_ptr, l_cols, l_flat, inverse, b, x, lo, hi):
    count = uint64(hi) - uint64(lo)
    for back in range(count):
        i = uint64(lo) + (count - uint64(1) - back)
        _relax(e_ptr, e_cols, e_flat, l_ptr, l_cols, l_flat, inverse, b, x, i)


@inline
def residual_rows(e_ptr, e_cols, e_flat, l_ptr, l_cols, l_flat, diagonal, held, free, b, x, r, lo, hi):
    """Set r = b - A x in rows lo..hi-1."""
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = blocks_times(e_flat, e_cols, x, uint32(e_ptr[i]), uint32(e_ptr[i + uint64(1)]))
        t0, t1, t2 = blocks_times(l_flat, l_cols, x, uint32(l_ptr[i]), uint32(l_ptr[i + uint64(1)]))
        d0, d1, d2 = symmetric_times(diagonal, i, x[i, 0], x[i, 1], x[i, 2])
        s0, s1, s2 = _free(
            held, free, i, b[i, 0] - s0 - t0 - d0, b[i, 1] - s1 - t1 - d1, b[i, 2] - s2 - t2 - d2
        )
        r[i, 0] = s0
        r[i, 1] = s1
        r[i, 2] = s2


@inline
def _weighted(ptr, cols, values, q_ptr, q_cols, q_flat, source, i):
    """Return the sum of rows of source that a transfer takes to row i: numbers times rows, and blocks times rows."""
    s0, s1, s2 = blocks_times(q_flat, q_cols, source, uint32(q_ptr[i]), uint32(q_ptr[i + uint64(1)]))
    for k in range(uint64(ptr[i]), uint64(ptr[i + uint64(1)])):
        j = uint32(cols[k])
        w = values[k]
        s0 += w * source[j, 0]
        s1 += w * source[j, 1]
        s2 += w * source[j, 2]
    return s0, s1, s2


@inline
def gather_rows(ptr, cols, values, q_ptr, q_cols, q_flat, source, target, lo, hi):
    """Set rows lo..hi-1 of target to the weighted sums of rows of source."""
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = _weighted(ptr, cols, values, q_ptr, q_cols, q_flat, source, i)
        target[i, 0] = s0
        target[i, 1] = s1
        target[i, 2] = s2


@inline
def add_interpolated(ptr, cols, values, q_ptr, q_cols, q_flat, held, free, x, lo, hi):
    """Add to rows lo..hi-1 of x what the coarser level says."""
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = _weighted(ptr, cols, values, q_ptr, q_cols, q_flat, x, i)
        s0, s1, s2 = _free(held, free, i, s0, s1, s2)
        x[i, 0] += s0
        x[i, 1] += s1
        x[i, 2] += s2


@inline
def _coarse_solve(dense, b, x, lo, hi):
    """Multiply with the dense inverse of the coarsest matrix."""
    size = 3 * (hi - lo)
    for row in range(size):
        total = 0.0
        for column in range(size):
            total += dense[row, column] * b[lo + column // 3, column % 3]
        x[lo + row // 3, row % 3] = total


@kernel_pair
def gauss_seidel_cycle(
    levels, starts, e_ptr, e_cols, e_blocks, l_ptr, l_cols, l_blocks, diagonal, inverse, held, free,
    p_ptr, p_cols, p_values, pb_ptr, pb_cols, pb_blocks, r_ptr, r_cols, r_values, rb_ptr, rb_cols, rb_blocks,
    dense, b, x, r, top, repeats, sweeps, visits,
):  # fmt: skip
    """Set x on level `top` to one cycle from zero for the right-hand side in b.

    With `repeats` = 1 it is a V-cycle, with 2 a W-cycle. `sweeps` forward sweeps go before the correction of the
    coarser level and as many backward ones after it, so the cycle is a symmetric operator.
    """
    e_flat = e_blocks.reshape(-1)
    l_flat = l_blocks.reshape(-1)
    pb_flat = pb_blocks.reshape(-1)
    rb_flat = rb_blocks.reshape(-1)
    bottom = levels.shape[0] - 1
    level = top
    visits[:] = 0
    down = True
    while True:
        first, last = levels[level, FIRST], levels[level, LAST]
        p0, p1 = levels[level, PARTS], levels[level, PARTS_END]
        wide = levels[level, WIDE] == 1
        chunks = (last - first + CHUNK - 1) // CHUNK
        if level == bottom:
            _coarse_solve(dense, b, x, first, last)
            visits[level] = repeats
            down = False
        elif down:
            for sweep in range(sweeps):
                fresh = sweep == 0 and visits[level] == 0
                if wide:
                    for color in range(2):
                        for t in prange((p1 - p0 + 1 - color) // 2):
                            lo, hi = starts[p0 + 2 * t + color], starts[p0 + 2 * t + color + 1]
                            if fresh:
                                _forward_from_zero(e_ptr, e_cols, e_flat, inverse, b, x, lo, hi)
                            else:
                                _sweep_up(e_ptr, e_cols, e_flat, l_ptr, l_cols, l_flat, inverse, b, x, lo, hi)
                elif fresh:
                    _forward_from_zero(e_ptr, e_cols, e_flat, inverse, b, x, first, last)
                else:
                    _sweep_up(e_ptr, e_cols, e_flat, l_ptr, l_cols, l_flat, inverse, b, x, first, last)
            short = sweeps == 1 and visits[level] == 0
            below_first, below_last = levels[level + 1, FIRST], levels[level + 1, LAST]
            if wide:
                for c in prange(chunks):
                    lo, hi = first + c * CHUNK, min(last, first + (c + 1) * CHUNK)
                    if short:
                        _late_residual(l_ptr, l_cols, l_flat, held, free, x, r, lo, hi)
                    else:
                        residual_rows(
                            e_ptr,
                            e_cols,
                            e_flat,
                            l_ptr,
                            l_cols,
                            l_flat,
                            diagonal,
                            held,
                            free,
                            b,
                            x,
                            r,
                            lo,
                            hi,
                        )
                for c in prange((below_last - below_first + CHUNK - 1) // CHUNK):
                    lo, hi = below_first + c * CHUNK, min(below_last, below_first + (c + 1) * CHUNK)
                    gather_rows(r_ptr, r_cols, r_values, rb_ptr, rb_cols, rb_flat, r, b, lo, hi)
            else:
                if short:
                    _late_residual(l_ptr, l_cols, l_flat, held, free, x, r, first, last)
                else:
                    residual_rows(
                        e_ptr,
                        e_cols,
                        e_flat,
                        l_ptr,
                        l_cols,
                        l_flat,
                        diagonal,
                        held,
                        free,
                        b,
                        x,
                        r,
                        first,
                        last,
                    )
                gather_rows(r_ptr, r_cols, r_values, rb_ptr, rb_cols, rb_flat, r, b, below_first, below_last)
            level += 1
            visits[level] = 0
            continue
        else:
            if wide:
                for c in prange(chunks):
                    lo, hi = first + c * CHUNK, min(last, first + (c + 1) * CHUNK)
                    add_interpolated(p_ptr, p_cols, p_values, pb_ptr, pb_cols, pb_flat, held, free, x, lo, hi)
            else:
                add_interpolated(
                    p_ptr, p_cols, p_values, pb_ptr, pb_cols, pb_flat, held, free, x, first, last
                )
            for _sweep in range(sweeps):
                if wide:
                    for back in range(2):
                        color = 1 - back
                        for t in prange((p1 - p0 + 1 - color) // 2):
                            lo, hi = starts[p0 + 2 * t + color], starts[p0 + 2 * t + color + 1]
                            _sweep_down(e_ptr, e_cols, e_flat, l_ptr, l_cols, l_flat, inverse, b, x, lo, hi)
                else:
                    _sweep_down(e_ptr, e_cols, e_flat, l_ptr, l_cols, l_flat, inverse, b, x, first, last)
            visits[level] += 1
        if level == top:
            return
        if visits[level] < repeats:
            down = True
        else:
            level -= 1
            down = False


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
                    y = _free(fixed, projections, i, x[0], x[1], x[2])
                    target[k, 3 * column] = y[0]
                    target[k, 3 * column + 1] = y[1]
                    target[k, 3 * column + 2] = y[2]
                for row in range(3):
                    y = _free(fixed, projections, j, target[k, row], target[k, 3 + row], target[k, 6 + row])
                    target[k, row] = y[0]
                    target[k, 3 + row] = y[1]
                    target[k, 6 + row] = y[2]
