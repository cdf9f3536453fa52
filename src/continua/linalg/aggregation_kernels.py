"""Compiled smoothed aggregation on 3x3-block matrices: groups of nodes, their interpolation, and P^T A P in place.

Every group has one block column for its translation and, where positions are known, one for its rotation. P is a
block matrix like the others (nine values a block, column by column). All results have one writer and sums in a fixed
order, so the bits do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.linalg.kernels import symmetric_times
from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.simd.f64x4 import fma4, load4, store4

_ROWS = 64  # rows a chunk
_COARSE = 16  # the same where a row is more work
_PAD = 12  # numbers of a block whose columns are registers of four


@kernel
def coupling_strengths(indptr, indices, blocks, width):
    """Return (indptr, indices, strengths) of the graph of nodes, `width` block rows each.

    The strength of a coupling is |A_ij|^2 / (|A_ii| |A_jj|) in Frobenius norms, of the first rows of the nodes.
    """
    n = (indptr.shape[0] - 1) // width
    size = np.zeros(n)
    for i in range(n):
        for k in range(indptr[width * i], indptr[width * i + 1]):
            if indices[k] == width * i:
                for a in range(9):
                    size[i] += blocks[k, a] * blocks[k, a]
    starts = np.zeros(n + 1, np.int32)
    for i in range(n):
        count = 0
        for k in range(indptr[width * i], indptr[width * i + 1]):
            if indices[k] % width == 0:
                count += 1
        starts[i + 1] = starts[i] + count
    nodes = np.empty(starts[n], np.int32)
    strengths = np.empty(starts[n], np.float64)
    for i in range(n):
        at = starts[i]
        for k in range(indptr[width * i], indptr[width * i + 1]):
            j = indices[k] // width
            if indices[k] % width == 0:
                total = 0.0
                for a in range(9):
                    total += blocks[k, a] * blocks[k, a]
                both = np.sqrt(size[i] * size[j])
                nodes[at] = j
                strengths[at] = total / both if both > 0.0 else 0.0
                at += 1
    return starts, nodes, strengths


@kernel
def strong_groups(indptr, indices, strengths, least):
    """Return the group of every node: whole neighbourhoods first, then what is left joins what it couples with most.

    Couplings weaker than `least` do not count, unless a node has no others.
    """
    n = indptr.shape[0] - 1
    group = np.full(n, -1, np.int64)
    count = 0
    for i in range(n):
        if group[i] >= 0:
            continue
        alone = True
        neighbours = 0
        for k in range(indptr[i], indptr[i + 1]):
            if strengths[k] >= least and indices[k] != i:
                neighbours += 1
                if group[indices[k]] >= 0:
                    alone = False
                    break
        if alone and neighbours > 0:
            group[i] = count
            for k in range(indptr[i], indptr[i + 1]):
                if strengths[k] >= least:
                    group[indices[k]] = count
            count += 1
    joined = group.copy()
    for i in range(n):
        if group[i] < 0:
            best = -1.0
            for k in range(indptr[i], indptr[i + 1]):
                if group[indices[k]] >= 0 and strengths[k] > best:
                    best = strengths[k]
                    joined[i] = group[indices[k]]
            if joined[i] < 0:
                joined[i] = count
                count += 1
    return joined


@kernel
def interpolation_pattern(indptr, indices, group, group_count, width, columns):
    """Return (indptr, indices) of P: every row couples with the groups of its neighbours.

    `width` block rows make a node, and `columns` block columns a group.
    """
    n = indptr.shape[0] - 1
    p_indptr = np.zeros(n + 1, np.int32)
    seen = np.full(group_count, -1, np.int32)
    for i in range(n):
        found = 0
        for k in range(indptr[i], indptr[i + 1]):
            g = group[indices[k] // width]
            if seen[g] != i:
                seen[g] = i
                found += 1
        p_indptr[i + 1] = p_indptr[i] + columns * found
    p_indices = np.empty(p_indptr[n], np.int32)
    seen[:] = -1
    for i in range(n):
        at = p_indptr[i]
        for k in range(indptr[i], indptr[i + 1]):
            g = group[indices[k] // width]
            if seen[g] != i:
                seen[g] = i
                for c in range(columns):
                    p_indices[at] = columns * g + c
                    at += 1
        p_indices[p_indptr[i] : at].sort()
    return p_indptr, p_indices


@kernel
def product_pattern(indptr, indices, p_indptr, p_indices, column_count):
    """Return (indptr, indices) of the product of two block matrices, columns sorted."""
    n = indptr.shape[0] - 1
    c_indptr = np.zeros(n + 1, np.int32)
    seen = np.full(column_count, -1, np.int32)
    for i in range(n):
        found = 0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            for q in range(p_indptr[j], p_indptr[j + 1]):
                if seen[p_indices[q]] != i:
                    seen[p_indices[q]] = i
                    found += 1
        c_indptr[i + 1] = c_indptr[i] + found
    c_indices = np.empty(c_indptr[n], np.int32)
    seen[:] = -1
    for i in range(n):
        at = c_indptr[i]
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            for q in range(p_indptr[j], p_indptr[j + 1]):
                if seen[p_indices[q]] != i:
                    seen[p_indices[q]] = i
                    c_indices[at] = p_indices[q]
                    at += 1
        c_indices[c_indptr[i] : at].sort()
    return c_indptr, c_indices


@kernel
def transposed_pattern(indptr, indices, column_count):
    """Return (indptr, indices, sources, targets) of the transpose.

    Block k of it is block sources[k] of the matrix, and targets is the way back.
    """
    t_indptr = np.zeros(column_count + 1, np.int32)
    for j in indices:
        t_indptr[j + 1] += 1
    for j in range(column_count):
        t_indptr[j + 1] += t_indptr[j]
    place = t_indptr[:-1].copy()
    t_indices = np.empty(indices.shape[0], np.int32)
    sources = np.empty(indices.shape[0], np.int32)
    targets = np.empty(indices.shape[0], np.int32)
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            at = place[indices[k]]
            t_indices[at] = i
            sources[at] = k
            targets[k] = at
            place[indices[k]] += 1
    return t_indptr, t_indices, sources, targets


@inline
def _columns(flat, k):
    """Return the three columns of block k."""
    at = uint64(9) * uint64(uint32(k))
    return load4(flat, at), load4(flat, at + uint64(3)), load4(flat, at + uint64(6))


@inline
def _add_product(a0, a1, a2, b, at, stride, target, to):
    """Add the product of a block with columns a0, a1, a2 and the block of b from `at` on to a padded block of target.

    `stride` is how far the columns of b are apart.
    """
    t0 = fma4(a0, b[at], load4(target, to))
    t1 = fma4(a0, b[at + stride], load4(target, to + uint64(4)))
    t2 = fma4(a0, b[at + stride + stride], load4(target, to + uint64(8)))
    at += uint64(1)
    t0 = fma4(a1, b[at], t0)
    t1 = fma4(a1, b[at + stride], t1)
    t2 = fma4(a1, b[at + stride + stride], t2)
    at += uint64(1)
    store4(target, to, fma4(a2, b[at], t0))
    store4(target, to + uint64(4), fma4(a2, b[at + stride], t1))
    store4(target, to + uint64(8), fma4(a2, b[at + stride + stride], t2))


@inline
def _put(row, at, coarse, k, m):
    """Set block k, and its mirror image m, to the padded block of row from `at` on; k = m is made symmetric."""
    for c in range(3):
        for a in range(3):
            value = row[at + 4 * a + c] if m == k and a > c else row[at + 4 * c + a]
            coarse[k, 3 * c + a] = value
            coarse[m, 3 * a + c] = value


@kernel_pair
def smooth_interpolation(
    indptr, indices, blocks, inverse, order, group, columns, modes, factor, p_indptr, p_indices, t_targets, up, down
):  # fmt: skip
    """Set P = T - factor D^-1 A T, and its transpose; row i of T has its `modes` in the columns of its group.

    Args:
        indptr, indices, blocks: The matrix A.
        inverse: Inverse diagonal blocks, six values each.
        order: Order in which rows are visited, neighbours soon after each other.
        group: Group of every row, shape [n].
        columns: Block columns of a group, 1 or 2.
        modes: Blocks of the rows of T, shape [n columns, 9].
        factor: Damping over the largest eigenvalue of D^-1 A.
        p_indptr, p_indices: Pattern of P.
        t_targets: Where every block of P goes in its transpose.
        up, down: Blocks of P and of its transpose.
    """
    n = indptr.shape[0] - 1
    flat = blocks.reshape(-1)
    flat_modes = modes.reshape(-1)
    most = 0
    for i in range(n):
        most = max(most, p_indptr[i + 1] - p_indptr[i])
    column_count = 0
    for g in group:
        column_count = max(column_count, columns * (g + 1))
    pad = uint64(_PAD)
    wide = uint64(columns)
    for chunk in prange((n + _ROWS - 1) // _ROWS):
        row = np.zeros(_PAD * most)
        place = np.zeros(column_count, np.uint32)
        for visit in range(uint32(chunk * _ROWS), uint32(min(n, (chunk + 1) * _ROWS))):
            i = uint32(order[visit])
            first = uint32(p_indptr[i])
            count = uint32(p_indptr[i + 1]) - first
            for t in range(pad * count):
                row[t] = 0.0
            for s in range(count):
                place[uint32(p_indices[first + s])] = s
            for k in range(uint32(indptr[i]), uint32(indptr[i + 1])):
                j = uint32(indices[k])
                to = pad * uint64(place[wide * uint32(group[j])])
                a0, a1, a2 = _columns(flat, k)
                for c in range(wide):
                    at = uint64(9) * (wide * uint64(j) + c)
                    _add_product(a0, a1, a2, flat_modes, at, uint64(3), row, to + pad * c)
            own = uint64(place[wide * uint32(group[i])])
            for s in range(count):
                q = first + s
                t = uint32(t_targets[q])
                at = pad * uint64(s)
                mine = own <= s < own + wide
                m = wide * uint64(i) + (uint64(s) - own)
                for c in range(uint64(3)):
                    from_ = at + uint64(4) * c
                    y0, y1, y2 = symmetric_times(
                        inverse, i, row[from_], row[from_ + uint64(1)], row[from_ + uint64(2)]
                    )
                    y0, y1, y2 = -factor * y0, -factor * y1, -factor * y2
                    if mine:
                        y0 += modes[m, uint64(3) * c]
                        y1 += modes[m, uint64(3) * c + uint64(1)]
                        y2 += modes[m, uint64(3) * c + uint64(2)]
                    up[q, uint64(3) * c] = y0
                    up[q, uint64(3) * c + uint64(1)] = y1
                    up[q, uint64(3) * c + uint64(2)] = y2
                    down[t, c] = y0
                    down[t, uint64(3) + c] = y1
                    down[t, uint64(6) + c] = y2


@kernel_pair
def multiply_blocks(
    indptr, indices, blocks, order, p_indptr, p_indices, p_blocks, c_indptr, c_indices, column_count, target
):  # fmt: skip
    """Set the padded blocks of `target` to the product of two block matrices; rows are visited in `order`."""
    n = indptr.shape[0] - 1
    flat = blocks.reshape(-1)
    p_flat = p_blocks.reshape(-1)
    t_flat = target.reshape(-1)
    pad = uint64(_PAD)
    for chunk in prange((n + _ROWS - 1) // _ROWS):
        place = np.zeros(column_count, np.uint32)
        for visit in range(uint32(chunk * _ROWS), uint32(min(n, (chunk + 1) * _ROWS))):
            i = uint32(order[visit])
            for k in range(uint32(c_indptr[i]), uint32(c_indptr[i + 1])):
                place[uint32(c_indices[k])] = k
                for t in range(pad * uint64(k), pad * uint64(k) + pad):
                    t_flat[t] = 0.0
            for k in range(uint32(indptr[i]), uint32(indptr[i + 1])):
                j = uint32(indices[k])
                a0, a1, a2 = _columns(flat, k)
                for q in range(uint32(p_indptr[j]), uint32(p_indptr[j + 1])):
                    to = pad * uint64(place[uint32(p_indices[q])])
                    _add_product(a0, a1, a2, p_flat, uint64(9) * uint64(q), uint64(3), t_flat, to)


@kernel_pair
def restrict_blocks(
    t_indptr, t_indices, t_blocks, m_indptr, m_indices, middle, c_indptr, c_indices, mirror, columns, coarse
):  # fmt: skip
    """Set the coarse blocks to P^T (A P): the upper half, mirrored.

    `t_blocks` is P^T and `middle` the padded product A P. The `columns` rows of a group have the same pattern and are
    worked out together, since they read the same rows of the product.
    """
    rows = c_indptr.shape[0] - 1
    t_flat = t_blocks.reshape(-1)
    m_flat = middle.reshape(-1)
    most = 0
    for i in range(rows):
        most = max(most, c_indptr[i + 1] - c_indptr[i])
    pad = uint64(_PAD)
    for chunk in prange((rows // columns + _COARSE - 1) // _COARSE):
        row = np.zeros(_PAD * most * columns)
        place = np.zeros(rows, np.uint32)
        second = pad * uint64(most)
        for g in range(chunk * _COARSE, min(rows // columns, (chunk + 1) * _COARSE)):
            i = uint32(columns * g)
            first = uint32(c_indptr[i])
            for k in range(first, uint32(c_indptr[i + 1])):
                place[uint32(c_indices[k])] = k - first
            row[:] = 0.0
            ahead = uint32(t_indptr[i + 1]) - uint32(t_indptr[i])
            for k in range(uint32(t_indptr[i]), uint32(t_indptr[i + 1])):
                j = uint32(t_indices[k])
                a0, a1, a2 = _columns(t_flat, k)
                b0, b1, b2 = _columns(t_flat, k + ahead if columns == 2 else k)
                for q in range(uint32(m_indptr[j]), uint32(m_indptr[j + 1])):
                    column = uint32(m_indices[q])
                    if column >= i:
                        to = pad * uint64(place[column])
                        _add_product(a0, a1, a2, m_flat, pad * uint64(q), uint64(4), row, to)
                        if columns == 2:
                            _add_product(b0, b1, b2, m_flat, pad * uint64(q), uint64(4), row, second + to)
            for part in range(columns):
                base = part * _PAD * most
                start = c_indptr[columns * g + part]
                for k in range(start, c_indptr[columns * g + part + 1]):
                    if c_indices[k] >= columns * g + part:
                        _put(row, base + _PAD * (k - start), coarse, k, mirror[k])


@kernel
def point_modes(points, group, centers, sizes, modes):
    """Set the blocks of T for points: w x arm / size beside the identity, shape [2 n, 9]."""
    for i in range(points.shape[0]):
        g = group[i]
        x = (points[i, 0] - centers[g, 0]) / sizes[g]
        y = (points[i, 1] - centers[g, 1]) / sizes[g]
        z = (points[i, 2] - centers[g, 2]) / sizes[g]
        modes[2 * i, :] = 0.0
        modes[2 * i, 0] = modes[2 * i, 4] = modes[2 * i, 8] = 1.0
        m = 2 * i + 1
        modes[m, 0], modes[m, 1], modes[m, 2] = 0.0, -z, y
        modes[m, 3], modes[m, 4], modes[m, 5] = z, 0.0, -x
        modes[m, 6], modes[m, 7], modes[m, 8] = -y, x, 0.0


@kernel
def mirrored(indptr, indices):
    """Return for every block of a symmetric pattern the block opposite to it."""
    mirror = np.empty(indices.shape[0], np.int32)
    place = indptr[:-1].copy()
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            mirror[k] = place[j]  # rows are visited in order, so entry i is the next of row j
            place[j] += 1
    return mirror


@kernel
def largest_eigenvalue(indptr, indices, blocks, inverse, vector, steps):
    """Estimate the largest eigenvalue of D^-1 A from below by power steps on `vector`, which is changed."""
    n = indptr.shape[0] - 1
    result = np.empty_like(vector)
    value = 0.0
    for _ in range(steps):
        size = 0.0
        for i in range(n):
            size += vector[i, 0] ** 2 + vector[i, 1] ** 2 + vector[i, 2] ** 2
        if not size > 0.0:
            return 0.0
        scale = 1.0 / np.sqrt(size)
        total = 0.0
        for i in range(n):
            s0 = 0.0
            s1 = 0.0
            s2 = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                x, y, z = vector[indices[k], 0], vector[indices[k], 1], vector[indices[k], 2]
                s0 += blocks[k, 0] * x + blocks[k, 3] * y + blocks[k, 6] * z
                s1 += blocks[k, 1] * x + blocks[k, 4] * y + blocks[k, 7] * z
                s2 += blocks[k, 2] * x + blocks[k, 5] * y + blocks[k, 8] * z
            s0, s1, s2 = symmetric_times(inverse, i, s0, s1, s2)
            result[i, 0], result[i, 1], result[i, 2] = scale * s0, scale * s1, scale * s2
            total += result[i, 0] ** 2 + result[i, 1] ** 2 + result[i, 2] ** 2
        vector[:] = result
        value = np.sqrt(total)
    return value
