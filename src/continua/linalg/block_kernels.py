"""Compiled functions on sparse matrices of 3x3 blocks: pattern, product, inverse diagonal, constraints.

A matrix is (indptr, indices, blocks): row i holds the blocks `indptr[i]:indptr[i+1]`, block k couples it to column
`indices[k]`, and `blocks[k]` are its nine values column by column, so that a product accumulates whole columns in a
register. The last column is loaded with the number after it: blocks need one double of padding at the end. Vectors
are [n, 3].

Sums run over chunks of fixed size whose partial results are added in order: results are bitwise identical for any
number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.simd.f64x4 import fma4, lane4, load4, zero4

CHUNK = 256  # rows per chunk


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
    """Return (indptr, indices, slots): sorted block columns, and the offset of each coupling in its row.

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
            count = 1  # a node without elements still has its diagonal block
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

    `flat` are the blocks as a flat array.
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
    """Set y = |A| |x|, with absolute values throughout: nothing cancels."""
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

    A zero block removes a fixed node from every search direction: the filter of Baraff and Witkin without
    changing the matrix. Returns the number of rows whose diagonal block is not positive definite;
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
    """Replace the preconditioner blocks of rows with `fixed` = 2 by blocks that act in the free directions only.

    `inverse` becomes `relaxation` times the pseudo-inverse of S D S, S the projector in `projections`: the inverse of
    S D S + c (1 - S), which is regular for any c > 0, projected again. `scaled`, if it has rows, becomes
    (2/relaxation - 1) S D S (see `ssor_kernels`). A row that is not positive definite gets zeros.
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
    """Apply a symmetric 3x3 block stored as six values (00, 01, 02, 11, 12, 22)."""
    return (
        block[i, 0] * a0 + block[i, 1] * a1 + block[i, 2] * a2,
        block[i, 1] * a0 + block[i, 3] * a1 + block[i, 4] * a2,
        block[i, 2] * a0 + block[i, 4] * a1 + block[i, 5] * a2,
    )


@inline
def ordered_sum(partial):
    """Return the sum of partial results in order: bitwise identical for any number of threads."""
    total = 0.0
    for c in range(partial.shape[0]):
        total += partial[c]
    return total


@inline
def project_free(fixed, projections, i, a0, a1, a2):
    """Return the part of a vector of row i in its free directions."""
    if fixed[i] == 0:
        return a0, a1, a2
    if fixed[i] == 1:
        return 0.0, 0.0, 0.0
    return symmetric_times(projections, i, a0, a1, a2)


@inline
def project_partly_fixed(fixed, projections, i, a0, a1, a2):
    """Return a vector of row i, projected if the row is partly fixed.

    Without it, rounding of the fixed part would dominate as the rest gets small. Fixed rows need no projection: their
    preconditioner block is zero.
    """
    if fixed[i] != 2:
        return a0, a1, a2
    return symmetric_times(projections, i, a0, a1, a2)


@inline
def inverse_norm_square(inverse, i, a0, a1, a2):
    """Return the square of the norm of a force at row i, in the inner product of the inverse diagonal block."""
    z0, z1, z2 = symmetric_times(inverse, i, a0, a1, a2)
    return a0 * z0 + a1 * z1 + a2 * z2


@kernel_pair
def project_blocks(indptr, indices, blocks, fixed, projections, target):
    """Set target to S A S, with S the projector of every node onto its free directions."""
    n = indptr.shape[0] - 1
    for i in prange(n):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            for a in range(9):
                target[k, a] = blocks[k, a]
            if fixed[i] != 0 or fixed[j] != 0:
                for column in range(3):
                    x = blocks[k, 3 * column], blocks[k, 3 * column + 1], blocks[k, 3 * column + 2]
                    y = project_free(fixed, projections, i, x[0], x[1], x[2])
                    target[k, 3 * column] = y[0]
                    target[k, 3 * column + 1] = y[1]
                    target[k, 3 * column + 2] = y[2]
                for row in range(3):
                    y = project_free(
                        fixed, projections, j, target[k, row], target[k, 3 + row], target[k, 6 + row]
                    )
                    target[k, row] = y[0]
                    target[k, 3 + row] = y[1]
                    target[k, 6 + row] = y[2]
