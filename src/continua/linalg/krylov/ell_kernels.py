"""Compiled functions on sliced ELLPACK matrices of 3x3 blocks: layout, product, merged conjugate gradients."""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.linalg.block_kernels import ordered_sum, project_partly_fixed
from continua.linalg.krylov.jacobi_cg_kernels import cg_begin_row, cg_direction_row, cg_update_row
from continua.numerics import inline, kernel, kernel_pair

WIDTH = 8  # rows per slice: lanes of a register
BINS = 32  # slices per chunk


@kernel
def fill_columns(indptr, indices, starts, columns):
    """Set the column of every entry; padding refers to the row itself, or to row 0 after the last row."""
    n = indptr.shape[0] - 1
    for b in range(starts.shape[0] - 1):
        for lane in range(WIDTH):
            i = b * WIDTH + lane
            for s in range(starts[b + 1] - starts[b]):
                if i >= n:
                    columns[starts[b] + s, lane] = 0
                elif s < indptr[i + 1] - indptr[i]:
                    columns[starts[b] + s, lane] = indices[indptr[i] + s]
                else:
                    columns[starts[b] + s, lane] = i


@kernel_pair
def fill_values(indptr, blocks, starts, values):
    """Copy the blocks of a matrix."""
    n = indptr.shape[0] - 1
    for b in prange(starts.shape[0] - 1):
        for lane in range(min(WIDTH, n - b * WIDTH)):
            first = indptr[b * WIDTH + lane]
            for s in range(indptr[b * WIDTH + lane + 1] - first):
                for a in range(9):
                    values[starts[b] + s, a, lane] = blocks[first + s, a]


@inline
def _bin_times(starts, columns, values, x, b, sums):
    """Set sums [3, WIDTH] to the rows of slice b of A x."""
    for lane in range(WIDTH):
        sums[0, lane] = 0.0
        sums[1, lane] = 0.0
        sums[2, lane] = 0.0
    for e in range(uint64(starts[b]), uint64(starts[b + 1])):
        for lane in range(WIDTH):
            j = uint32(columns[e, lane])
            x0, x1, x2 = x[j, 0], x[j, 1], x[j, 2]
            sums[0, lane] += values[e, 0, lane] * x0 + values[e, 3, lane] * x1 + values[e, 6, lane] * x2
            sums[1, lane] += values[e, 1, lane] * x0 + values[e, 4, lane] * x1 + values[e, 7, lane] * x2
            sums[2, lane] += values[e, 2, lane] * x0 + values[e, 5, lane] * x1 + values[e, 8, lane] * x2


@kernel_pair
def multiply(starts, columns, values, x, y):
    """Set y = A x."""
    n = y.shape[0]
    bins = starts.shape[0] - 1
    for c in prange((bins + BINS - 1) // BINS):
        sums = np.empty((3, WIDTH))
        for b in range(c * BINS, min(bins, (c + 1) * BINS)):
            _bin_times(starts, columns, values, x, b, sums)
            for lane in range(min(WIDTH, n - b * WIDTH)):
                y[b * WIDTH + lane, 0] = sums[0, lane]
                y[b * WIDTH + lane, 1] = sums[1, lane]
                y[b * WIDTH + lane, 2] = sums[2, lane]


@kernel_pair
def conjugate_gradients(
    starts, columns, values, fixed, projections, inverse, rhs, tolerance_scale, x, rtol, max_iterations,
    r, z, d, q, partial, partial2,
):  # fmt: skip
    """Solve A x = rhs, starting from x; the arguments are those of `jacobi_cg_kernels.conjugate_gradients`.

    Returns (iterations, relative residual, passes over the vectors).
    """
    n = x.shape[0]
    bins = starts.shape[0] - 1
    chunks = partial.shape[0]
    for c in prange(chunks):
        sums = np.empty((3, WIDTH))
        total = 0.0
        scale = 0.0
        for b in range(c * BINS, min(bins, (c + 1) * BINS)):
            _bin_times(starts, columns, values, x, b, sums)
            for lane in range(min(WIDTH, n - b * WIDTH)):
                i = b * WIDTH + lane
                r0, r1, r2 = project_partly_fixed(
                    fixed,
                    projections,
                    i,
                    rhs[i, 0] - sums[0, lane],
                    rhs[i, 1] - sums[1, lane],
                    rhs[i, 2] - sums[2, lane],
                )
                square, whole = cg_begin_row(inverse, rhs, tolerance_scale, i, r0, r1, r2, r, d)
                total += square
                scale += whole
        partial[c] = total
        partial2[c] = scale
    delta = ordered_sum(partial)
    reference = ordered_sum(partial2)
    if reference <= 0.0 and delta <= 0.0:
        return 0, 0.0, 1
    if reference <= 0.0:
        reference = delta
    goal = rtol * rtol * reference
    iteration = 0
    passes = 1
    while iteration < max_iterations and delta > goal:
        for c in prange(chunks):  # first pass: q = A d and the curvature
            sums = np.empty((3, WIDTH))
            total = 0.0
            for b in range(c * BINS, min(bins, (c + 1) * BINS)):
                _bin_times(starts, columns, values, d, b, sums)
                for lane in range(min(WIDTH, n - b * WIDTH)):
                    i = b * WIDTH + lane
                    s0, s1, s2 = project_partly_fixed(
                        fixed, projections, i, sums[0, lane], sums[1, lane], sums[2, lane]
                    )
                    q[i, 0], q[i, 1], q[i, 2] = s0, s1, s2
                    total += d[i, 0] * s0 + d[i, 1] * s1 + d[i, 2] * s2
            partial[c] = total
        curvature = ordered_sum(partial)
        if not curvature > 0.0:
            return iteration, -1.0, passes
        alpha = delta / curvature
        for c in prange(chunks):  # second pass: solution, residual, preconditioned residual
            total = 0.0
            for i in range(uint64(c * BINS * WIDTH), uint64(min(n, (c + 1) * BINS * WIDTH))):
                total += cg_update_row(inverse, alpha, x, r, z, d, q, i)
            partial[c] = total
        fresh = ordered_sum(partial)
        beta = fresh / delta
        delta = fresh
        for c in prange(chunks):  # third pass: search direction
            for i in range(uint64(c * BINS * WIDTH), uint64(min(n, (c + 1) * BINS * WIDTH))):
                cg_direction_row(beta, z, d, i)
        iteration += 1
        passes += 3
    return iteration, np.sqrt(delta / reference), passes
