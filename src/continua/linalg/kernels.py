"""Compiled functions on 3x3-block sparse matrices: pattern, product, diagonal inverse, conjugate gradients.

A matrix is (indptr, indices, blocks): row i holds the blocks `indptr[i]:indptr[i+1]`, block k couples it to
column `indices[k]`, `blocks[k]` are its nine values column by column, so that a product adds up whole columns in
a register. The last column is read with the number behind it: blocks need one double of memory after their end.
Vectors are [n, 3].

Sums run over chunks of fixed size whose partial results are added in order: the bits do not depend on the
number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.simd.f64x4 import fma4, lane4, load4, zero4

CHUNK = 256  # rows a chunk


@kernel
def incidences(elements, node_count):
    """Return for every node its (element, corner) pairs as CSR: indptr [n+1], codes [m*k] = element*k + corner."""
    m, k = elements.shape
    indptr = np.zeros(node_count + 1, np.int32)
    for e in range(m):
        for a in range(k):
            indptr[elements[e, a] + 1] += 1
    for i in range(node_count):
        indptr[i + 1] += indptr[i]
    cursor = indptr[:-1].copy()
    codes = np.empty(m * k, np.int32)
    for e in range(m):
        for a in range(k):
            i = elements[e, a]
            codes[cursor[i]] = e * k + a
            cursor[i] += 1
    return indptr, codes


@kernel
def row_patterns(elements, inc_indptr, inc_codes, node_count):
    """Return (indptr, indices, slots): sorted block columns, and where in its row each coupling goes.

    `slots[q, b]` belongs to incidence q = (element e, corner a): the position, counted from the start of
    row `elements[e, a]`, of the block that couples it to `elements[e, b]`.
    """
    k = elements.shape[1]
    indptr = np.zeros(node_count + 1, np.int32)
    seen = np.full(node_count, -1, np.int32)
    for i in range(node_count):
        count = 0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[q] // k
            for b in range(k):
                j = elements[e, b]
                if seen[j] != i:
                    seen[j] = i
                    count += 1
        if count == 0:
            count = 1  # a node of no element keeps its diagonal block
        indptr[i + 1] = indptr[i] + count
    indices = np.empty(indptr[node_count], np.int32)
    slots = np.empty((inc_codes.shape[0], k), np.uint16)
    place = np.empty(node_count, np.int32)
    seen[:] = -1
    for i in range(node_count):
        start = indptr[i]
        count = 0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[q] // k
            for b in range(k):
                j = elements[e, b]
                if seen[j] != i:
                    seen[j] = i
                    indices[start + count] = j
                    count += 1
        if count == 0:
            indices[start] = i
            count = 1
        indices[start : start + count].sort()
        for s in range(count):
            place[indices[start + s]] = s
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[q] // k
            for b in range(k):
                slots[q, b] = place[elements[e, b]]
    return indptr, indices, slots


@kernel
def diagonal_slots(indptr, indices):
    """Return the index of the diagonal block of every row."""
    n = indptr.shape[0] - 1
    diagonal = np.empty(n, np.int32)
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] == i:
                diagonal[i] = k
    return diagonal


@inline
def add_columns(a, b, c):
    """Return the three components of the sum of three registers."""
    return (
        lane4(a, 0) + lane4(b, 0) + lane4(c, 0),
        lane4(a, 1) + lane4(b, 1) + lane4(c, 1),
        lane4(a, 2) + lane4(b, 2) + lane4(c, 2),
    )


@inline
def blocks_times(flat, indices, x, first, last):
    """Return the three components of the sum of blocks first..last-1 times their columns of x.

    `flat` are the blocks as one row of numbers.
    """
    a = zero4()
    b = zero4()
    c = zero4()
    for k in range(first, last):
        j = uint32(indices[k])
        at = uint64(9) * uint64(k)
        a = fma4(load4(flat, at), x[j, 0], a)
        b = fma4(load4(flat, at + uint64(3)), x[j, 1], b)
        c = fma4(load4(flat, at + uint64(6)), x[j, 2], c)
    return add_columns(a, b, c)


@kernel_pair
def multiply(indptr, indices, blocks, x, y):
    """Set y = A x."""
    n = indptr.shape[0] - 1
    flat = blocks.reshape(-1)
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            s0, s1, s2 = blocks_times(flat, indices, x, uint32(indptr[i]), uint32(indptr[i + uint64(1)]))
            y[i, 0] = s0
            y[i, 1] = s1
            y[i, 2] = s2


@kernel_pair
def magnitudes(indptr, indices, blocks, x, y):
    """Set y = |A| |x|, with the absolute values of all numbers: nothing cancels."""
    n = indptr.shape[0] - 1
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            s0, s1, s2 = 0.0, 0.0, 0.0
            for k in range(uint32(indptr[i]), uint32(indptr[i + uint64(1)])):
                j = uint32(indices[k])
                x0, x1, x2 = abs(x[j, 0]), abs(x[j, 1]), abs(x[j, 2])
                s0 += abs(blocks[k, 0]) * x0 + abs(blocks[k, 3]) * x1 + abs(blocks[k, 6]) * x2
                s1 += abs(blocks[k, 1]) * x0 + abs(blocks[k, 4]) * x1 + abs(blocks[k, 7]) * x2
                s2 += abs(blocks[k, 2]) * x0 + abs(blocks[k, 5]) * x1 + abs(blocks[k, 8]) * x2
            y[i, 0] = s0
            y[i, 1] = s1
            y[i, 2] = s2


@inline
def _invert(a, b, d, e, f, g, factor):
    """Return whether a symmetric block is positive definite, and `factor` times its inverse as six values."""
    c00 = e * g - f * f
    c01 = d * f - b * g
    c02 = b * f - d * e
    det = a * c00 + b * c01 + d * c02
    good = det > 0.0 and a > 0.0
    s = factor / det
    return good, (s * c00, s * c01, s * c02, s * (a * g - d * d), s * (b * d - a * f), s * (a * e - b * b))


@inline
def invert_block(blocks, k, fixed, factor, inverse, i):
    """Set `inverse[i]` to `factor` times the inverse of the symmetric block k, or to zero where `fixed`.

    Returns whether it could: a free row whose block is not positive definite gets zeros as well.
    """
    good, r = _invert(
        blocks[k, 0], blocks[k, 1], blocks[k, 2], blocks[k, 4], blocks[k, 5], blocks[k, 8], factor
    )
    if fixed != 0 or not good:
        for q in range(6):
            inverse[i, q] = 0.0
        return fixed != 0
    inverse[i, 0] = r[0]
    inverse[i, 1] = r[1]
    inverse[i, 2] = r[2]
    inverse[i, 3] = r[3]
    inverse[i, 4] = r[4]
    inverse[i, 5] = r[5]
    return True


@kernel_pair
def invert_diagonal(blocks, diagonal, fixed, inverse):
    """Set `inverse[i]` to the inverse of row i's diagonal block (symmetric, six values), zero where `fixed`.

    A zero block keeps a fixed node out of every search direction: that is the filter of Baraff and Witkin
    without touching the matrix. Returns the number of rows whose diagonal block is not positive definite;
    those get a zero block too.
    """
    n = diagonal.shape[0]
    chunks = (n + CHUNK - 1) // CHUNK
    bad = np.zeros(chunks, np.int64)
    for c in prange(chunks):
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            if not invert_block(blocks, uint32(diagonal[i]), fixed[i], 1.0, inverse, i):
                bad[c] += 1
    return bad.sum()


@inline
def _project(s, a, b, d, e, f, g):
    """Return S D S of a symmetric block D = (a, b, d, e, f, g) and a projector S = `s`, as six values."""
    p0, p1, p2, p3, p4, p5 = s[0], s[1], s[2], s[3], s[4], s[5]
    # D S, then S (D S)
    x0, y0, z0 = a * p0 + b * p1 + d * p2, a * p1 + b * p3 + d * p4, a * p2 + b * p4 + d * p5
    x1, y1, z1 = b * p0 + e * p1 + f * p2, b * p1 + e * p3 + f * p4, b * p2 + e * p4 + f * p5
    x2, y2, z2 = d * p0 + f * p1 + g * p2, d * p1 + f * p3 + g * p4, d * p2 + f * p4 + g * p5
    return (
        p0 * x0 + p1 * x1 + p2 * x2,
        p0 * y0 + p1 * y1 + p2 * y2,
        p0 * z0 + p1 * z1 + p2 * z2,
        p1 * y0 + p3 * y1 + p4 * y2,
        p1 * z0 + p3 * z1 + p4 * z2,
        p2 * z0 + p4 * z1 + p5 * z2,
    )


@kernel_pair
def project_diagonal(blocks, diagonal, fixed, projections, relaxation, inverse, scaled):
    """Do over the preconditioner blocks of rows with `fixed` = 2: they act in the free directions alone.

    `inverse` becomes `relaxation` times the pseudo-inverse of S D S, S the projector in `projections`: the inverse of
    S D S + c (1 - S), which is regular for any c > 0, projected again. `scaled`, if it has rows, becomes
    (2/relaxation - 1) S D S (see `ssor`). A row that is not positive definite is left out.
    """
    n = diagonal.shape[0]
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            if fixed[i] != 2:
                continue
            s = projections[i]
            k = diagonal[i]
            a, b, d, e, f, g = _project(
                s, blocks[k, 0], blocks[k, 1], blocks[k, 2], blocks[k, 4], blocks[k, 5], blocks[k, 8]
            )
            t = a + e + g
            good, r = _invert(
                a + t * (1.0 - s[0]), b - t * s[1], d - t * s[2],
                e + t * (1.0 - s[3]), f - t * s[4], g + t * (1.0 - s[5]), relaxation,
            )  # fmt: skip
            q = _project(s, r[0], r[1], r[2], r[3], r[4], r[5])
            block = (a, b, d, e, f, g)
            keep = 2.0 / relaxation - 1.0 if good else 0.0
            for m in range(6):
                inverse[i, m] = q[m] if good else 0.0
                if scaled.shape[0] > 0:
                    scaled[i, m] = keep * block[m]


@inline
def symmetric_times(block, i, a0, a1, a2):
    """Apply a symmetric 3x3 block that is kept as six values (00, 01, 02, 11, 12, 22)."""
    return (
        block[i, 0] * a0 + block[i, 1] * a1 + block[i, 2] * a2,
        block[i, 1] * a0 + block[i, 3] * a1 + block[i, 4] * a2,
        block[i, 2] * a0 + block[i, 4] * a1 + block[i, 5] * a2,
    )


@inline
def ordered_sum(partial):
    """Return the sum of partial results, one after the other: the same bits for any number of threads."""
    total = 0.0
    for c in range(partial.shape[0]):
        total += partial[c]
    return total


@inline
def free_part(fixed, projections, i, a0, a1, a2):
    """Return the part of a vector of row i that constraints leave."""
    if fixed[i] == 0:
        return a0, a1, a2
    if fixed[i] == 1:
        return 0.0, 0.0, 0.0
    return symmetric_times(projections, i, a0, a1, a2)


@inline
def partly_free(fixed, projections, i, a0, a1, a2):
    """Return the free part of a vector of node i: what is held would drown in rounding as the rest gets small."""
    if fixed[i] != 2:
        return a0, a1, a2
    return symmetric_times(projections, i, a0, a1, a2)


@inline
def force_square(inverse, i, a0, a1, a2):
    """Return the square of a force at row i in the norm of the inverse diagonal block."""
    z0, z1, z2 = symmetric_times(inverse, i, a0, a1, a2)
    return a0 * z0 + a1 * z1 + a2 * z2


@inline
def begin_row(inverse, rhs, load, i, r0, r1, r2, r, d):
    """Set the residual of row i and its first direction; return the squares of the residual and of rhs and load."""
    z0, z1, z2 = symmetric_times(inverse, i, r0, r1, r2)
    r[i, 0] = r0
    r[i, 1] = r1
    r[i, 2] = r2
    d[i, 0] = z0
    d[i, 1] = z1
    d[i, 2] = z2
    scale = force_square(inverse, i, rhs[i, 0], rhs[i, 1], rhs[i, 2])
    scale += force_square(inverse, i, load[i, 0], load[i, 1], load[i, 2])
    return r0 * z0 + r1 * z1 + r2 * z2, scale


@inline
def advance_row(inverse, alpha, x, r, z, d, q, i):
    """Go along the direction at row i: solution, residual, preconditioned residual; return the residual's square."""
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
def turn_row(beta, z, d, i):
    """Set the next direction of row i."""
    d[i, 0] = z[i, 0] + beta * d[i, 0]
    d[i, 1] = z[i, 1] + beta * d[i, 1]
    d[i, 2] = z[i, 2] + beta * d[i, 2]


@kernel_pair
def conjugate_gradients(
    indptr, indices, blocks, fixed, projections, inverse, rhs, load, x, rtol, max_iterations,
    r, z, d, q, partial, partial2,
):  # fmt: skip
    """Solve A x = rhs by block-Jacobi conjugate gradients, starting from x.

    The residual is measured in the norm of the preconditioner, relative to rhs and `load` together (`load`
    is a vector of the size of the forces that may cancel in rhs). Components with a zero preconditioner
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
            r0, r1, r2 = partly_free(fixed, projections, i, rhs[i, 0] - s0, rhs[i, 1] - s1, rhs[i, 2] - s2)
            square, whole = begin_row(inverse, rhs, load, i, r0, r1, r2, r, d)
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
                s0, s1, s2 = partly_free(fixed, projections, i, s0, s1, s2)
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
                total += advance_row(inverse, alpha, x, r, z, d, q, i)
            partial[c] = total
        fresh = ordered_sum(partial)
        beta = fresh / delta
        delta = fresh
        iteration += 1
        for c in prange(chunks):
            for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
                turn_row(beta, z, d, i)
    return iteration, np.sqrt(delta / reference)
