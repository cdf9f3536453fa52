"""Compiled conjugate gradients for many unit loads at once.

The columns of A^-1 of some nodes are found by the method of `ssor_kernels`, with all right-hand sides in one pass over
the matrix. Right-hand sides are stored in lanes: component c of row i of the four right-hand sides of pack v starts at
((i packs + v) 3 + c) 4 in a flat array. Each right-hand side has its own step lengths.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.simd.f64x4 import fma4, fnma4, load4, store4, zero4

LANES = 4
"""Right-hand sides in a pack."""

PACKS = 3
"""Packs in a group: the right-hand sides of four nodes."""

NODES_PER_GROUP = LANES * PACKS // 3


@inline
def _product(flat, indices, x, pack, packs, first, last):
    """Return the sums of blocks first..last-1 times their rows of x, for one pack of right-hand sides."""
    a, b, c = zero4(), zero4(), zero4()
    for k in range(first, last):
        j = uint64(indices[k])
        at = uint64(9) * uint64(k)
        to = (j * packs + pack) * uint64(12)
        column = load4(x, to)
        a, b, c = fma4(column, flat[at], a), fma4(column, flat[at + 1], b), fma4(column, flat[at + 2], c)
        column = load4(x, to + uint64(4))
        a, b, c = fma4(column, flat[at + 3], a), fma4(column, flat[at + 4], b), fma4(column, flat[at + 5], c)
        column = load4(x, to + uint64(8))
        a, b, c = fma4(column, flat[at + 6], a), fma4(column, flat[at + 7], b), fma4(column, flat[at + 8], c)
    return a, b, c


@inline
def _store_symmetric_times(block, i, a, b, c, out, to):
    """Store a symmetric block, of six values, times three rows of lanes."""
    s = block[i]
    store4(out, to, fma4(c, s[2], fma4(b, s[1], fma4(a, s[0], zero4()))))
    store4(out, to + uint64(4), fma4(c, s[4], fma4(b, s[3], fma4(a, s[1], zero4()))))
    store4(out, to + uint64(8), fma4(c, s[5], fma4(b, s[4], fma4(a, s[2], zero4()))))


@inline
def _solve_group(
    indptr, indices, flat, diagonal, inverse, scaled, nodes, products, coefficients, first_node, packs, rtol,
    max_iterations, x, r, z, p, q, t
):  # fmt: skip
    """Find the responses x to unit loads on up to four nodes, minus those of the modes; returns the iterations."""
    n = indptr.shape[0] - 1
    width = packs * uint64(12)
    lanes = packs * LANES
    count = min(nodes.shape[0] - first_node, NODES_PER_GROUP)
    size = n * packs * 12
    for k in range(size):
        x[k], r[k], p[k], q[k] = 0.0, 0.0, 0.0, 0.0
    # right-hand sides, in t
    for k in range(size):
        t[k] = 0.0
    for a in range(count):
        node = nodes[first_node + a]
        for component in range(3):
            side = 3 * a + component
            t[((node * packs + side // 4) * 3 + component) * 4 + side % 4] = 1.0
            for i in range(n):
                for c in range(3):
                    total = 0.0
                    for k in range(products.shape[0]):
                        total += products[k, i, c] * coefficients[k, 3 * (first_node + a) + component]
                    t[((i * packs + side // 4) * 3 + c) * 4 + side % 4] -= total
    delta, fresh = np.zeros(lanes), np.zeros(lanes)
    beta, alpha = np.zeros(lanes), np.zeros(lanes)
    curvature, goal = np.zeros(lanes), np.zeros(lanes)
    for i in range(uint64(n)):  # (D/w + L) r = load
        for v in range(packs):
            to = i * width + uint64(v) * uint64(12)
            a, b, c = _product(flat, indices, r, uint64(v), packs, uint32(indptr[i]), uint32(diagonal[i]))
            a, b, c = (
                fma4(load4(t, to), 1.0, fnma4(a, 1.0, zero4())),
                fma4(load4(t, to + uint64(4)), 1.0, fnma4(b, 1.0, zero4())),
                fma4(load4(t, to + uint64(8)), 1.0, fnma4(c, 1.0, zero4())),
            )
            _store_symmetric_times(inverse, i, a, b, c, r, to)
    for i in range(uint64(n)):
        for v in range(packs):
            to = i * width + uint64(v) * uint64(12)
            _store_symmetric_times(
                scaled, i, load4(r, to), load4(r, to + uint64(4)), load4(r, to + uint64(8)), z, to
            )
            for c in range(3):
                for lane in range(4):
                    at = to + uint64(4 * c + lane)
                    delta[4 * v + lane] += r[at] * z[at]
    for a in range(count):
        node = nodes[first_node + a]
        for component in range(3):  # the square of the load, by the diagonal block alone
            side = 3 * a + component
            at = 0 if component == 0 else (3 if component == 1 else 5)
            goal[side] = rtol * rtol * inverse[node, at]
    iteration = 0
    while iteration < max_iterations:
        busy = False
        for k in range(lanes):
            busy = busy or delta[k] > goal[k]
        if not busy:
            break
        for back in range(uint64(n)):  # p = z + beta p and t = (D/w + L^T)^-1 p, from the last row up
            i = uint64(n - 1) - back
            for v in range(packs):
                to = i * width + uint64(v) * uint64(12)
                for c in range(3):
                    for lane in range(4):
                        at = to + uint64(4 * c + lane)
                        p[at] = z[at] + beta[4 * v + lane] * p[at]
                a, b, c = _product(
                    flat,
                    indices,
                    t,
                    uint64(v),
                    packs,
                    uint32(diagonal[i]) + uint32(1),
                    uint32(indptr[i + uint64(1)]),
                )
                a, b, c = (
                    fma4(load4(p, to), 1.0, fnma4(a, 1.0, zero4())),
                    fma4(load4(p, to + uint64(4)), 1.0, fnma4(b, 1.0, zero4())),
                    fma4(load4(p, to + uint64(8)), 1.0, fnma4(c, 1.0, zero4())),
                )
                _store_symmetric_times(inverse, i, a, b, c, t, to)
        for k in range(lanes):
            curvature[k] = 0.0
        for i in range(uint64(n)):  # q = t + (D/w + L)^-1 (p - K t)
            for v in range(packs):
                to = i * width + uint64(v) * uint64(12)
                a, b, c = _product(flat, indices, q, uint64(v), packs, uint32(indptr[i]), uint32(diagonal[i]))
                _store_symmetric_times(
                    scaled, i, load4(t, to), load4(t, to + uint64(4)), load4(t, to + uint64(8)), z, to
                )
                a, b, c = (
                    fnma4(load4(z, to), 1.0, fnma4(a, 1.0, load4(p, to))),
                    fnma4(load4(z, to + uint64(4)), 1.0, fnma4(b, 1.0, load4(p, to + uint64(4)))),
                    fnma4(load4(z, to + uint64(8)), 1.0, fnma4(c, 1.0, load4(p, to + uint64(8)))),
                )
                _store_symmetric_times(inverse, i, a, b, c, q, to)
                for c in range(3):
                    for lane in range(4):
                        at = to + uint64(4 * c + lane)
                        curvature[4 * v + lane] += p[at] * (t[at] + q[at])
        for k in range(lanes):
            alpha[k] = delta[k] / curvature[k] if curvature[k] > 0.0 else 0.0
            fresh[k] = 0.0
        for i in range(uint64(n)):
            for v in range(packs):
                to = i * width + uint64(v) * uint64(12)
                for c in range(3):
                    for lane in range(4):
                        at = to + uint64(4 * c + lane)
                        r[at] -= alpha[4 * v + lane] * (t[at] + q[at])
                        x[at] += alpha[4 * v + lane] * t[at]
                _store_symmetric_times(
                    scaled, i, load4(r, to), load4(r, to + uint64(4)), load4(r, to + uint64(8)), z, to
                )
                for c in range(3):
                    for lane in range(4):
                        at = to + uint64(4 * c + lane)
                        fresh[4 * v + lane] += r[at] * z[at]
        for k in range(lanes):
            beta[k] = fresh[k] / delta[k] if delta[k] > 0.0 else 0.0
            delta[k] = fresh[k]
        iteration += 1
    return iteration


@kernel
def neighbourhood(indptr, indices, nodes, size, place):
    """Mark the rows around some nodes, ring by ring, until there are `size` of them.

    `place` [n] becomes the index of each of these rows among them, in ascending order, and -1 for all others. Returns
    their number; the last ring is complete.
    """
    place[:] = -1
    queue = np.empty(place.shape[0], np.int64)
    count = 0
    for k in range(nodes.shape[0]):
        if place[nodes[k]] < 0:
            place[nodes[k]] = 0
            queue[count] = nodes[k]
            count += 1
    start = 0
    while start < count and count < size:
        end = count
        for k in range(start, end):
            i = queue[k]
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                if place[j] < 0:
                    place[j] = 0
                    queue[count] = j
                    count += 1
        start = end
    index = 0
    for i in range(place.shape[0]):
        if place[i] == 0:
            place[i] = index
            index += 1
    return count


@kernel
def restrict_matrix(indptr, indices, blocks, place, sub_indptr, sub_indices, sub_blocks, sub_diagonal):
    """Write the rows and columns with a `place` as a matrix of their own; returns the number of its blocks."""
    count = 0
    for i in range(place.shape[0]):
        row = place[i]
        if row < 0:
            continue
        for e in range(indptr[i], indptr[i + 1]):
            column = place[indices[e]]
            if column < 0:
                continue
            if column == row:
                sub_diagonal[row] = count
            sub_indices[count] = column
            for k in range(9):
                sub_blocks[count, k] = blocks[e, k]
            count += 1
        sub_indptr[row + 1] = count
    return count


@kernel_pair
def unit_responses(
    indptr, indices, blocks, diagonal, inverse, scaled, nodes, targets, products, coefficients, rtol, max_iterations,
    out, iterations
):  # fmt: skip
    """Set out[3 i + c, 3 j + d] to component c of row `targets[i]` of A^-1 times a unit load d on row `nodes[j]`.

    `inverse` and `scaled` are those of `ssor_kernels.diagonal_blocks` with one part; they are zero in fixed rows, where
    responses stay zero. From every load, `products` [m, n, 3] times `coefficients` [m, 3 k] are subtracted: the loads
    of the part of the response that is known. Groups of four nodes are independent of each other.
    """
    n = indptr.shape[0] - 1
    flat = blocks.reshape(-1)
    groups = (nodes.shape[0] + NODES_PER_GROUP - 1) // NODES_PER_GROUP
    for g in prange(groups):
        first = g * NODES_PER_GROUP
        count = min(nodes.shape[0] - first, NODES_PER_GROUP)
        packs = uint64((3 * count + LANES - 1) // LANES)
        work = np.empty((6, n * PACKS * 12))
        iterations[g] = _solve_group(
            indptr, indices, flat, diagonal, inverse, scaled, nodes, products, coefficients, first, packs, rtol,
            max_iterations, work[0], work[1], work[2], work[3], work[4], work[5],
        )  # fmt: skip
        x = work[0]
        for i in range(targets.shape[0]):
            for j in range(count):
                for d in range(3):
                    side = 3 * j + d
                    for c in range(3):
                        at = ((targets[i] * packs + uint64(side // 4)) * uint64(3) + uint64(c)) * uint64(4)
                        out[3 * i + c, 3 * (first + j) + d] = x[at + uint64(side % 4)]
