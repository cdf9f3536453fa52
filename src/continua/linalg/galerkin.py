"""The product P^T A P in place: analysed once, then only values flow (Georgii 2007, stream-accelerated product).

P has one number for each pair of a fine and a coarse node, so that every block of the coarse matrix is a sum of fine
blocks with constant factors. The list of (fine block, factor) of every coarse block is worked out once. It is ordered
by the coarse block: each has one writer, so the product runs in parallel with the same bits for any number of threads.
A is symmetric: only the upper half is summed, and mirrored.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.numerics import kernel, kernel_pair
from continua.numerics.simd.f64x4 import fma4, lane4, load4, zero4

_ROWS = 16  # coarse rows a chunk


@kernel
def coarse_pattern(indptr, indices, p_indptr, p_indices, r_indptr, r_indices, coarse_count):
    """Return (indptr, indices, count): the pattern of P^T A P, and how many terms its upper half has in all."""
    c_indptr = np.zeros(coarse_count + 1, np.int32)
    seen = np.full(coarse_count, -1, np.int32)
    terms = 0
    for row in range(coarse_count):
        found = 0
        for a in range(r_indptr[row], r_indptr[row + 1]):
            i = r_indices[a]
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                for b in range(p_indptr[j], p_indptr[j + 1]):
                    column = p_indices[b]
                    if column >= row:
                        terms += 1
                    if seen[column] != row:
                        seen[column] = row
                        found += 1
        c_indptr[row + 1] = c_indptr[row] + found
    c_indices = np.empty(c_indptr[coarse_count], np.int32)
    seen[:] = -1
    for row in range(coarse_count):
        at = c_indptr[row]
        for a in range(r_indptr[row], r_indptr[row + 1]):
            i = r_indices[a]
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                for b in range(p_indptr[j], p_indptr[j + 1]):
                    column = p_indices[b]
                    if seen[column] != row:
                        seen[column] = row
                        c_indices[at] = column
                        at += 1
        c_indices[c_indptr[row] : at].sort()
    return c_indptr, c_indices, terms


@kernel
def stream(
    indptr, indices, p_indptr, p_indices, p_values, r_indptr, r_indices, r_values, c_indptr, c_indices, terms
):
    """Return (starts, sources, factors, mirror) of the upper half of P^T A P.

    Coarse block k is the sum over t in starts[k]:starts[k+1] of factors[t] times fine block sources[t]; blocks below
    the diagonal have no terms. `mirror[k]` is the block opposite to k.
    """
    rows = c_indptr.shape[0] - 1
    starts = np.zeros(c_indices.shape[0] + 1, np.int64)
    sources = np.empty(terms, np.int32)
    factors = np.empty(terms, np.float64)
    mirror = np.empty(c_indices.shape[0], np.int32)
    place = np.empty(rows, np.int64)
    for row in range(rows):
        for k in range(c_indptr[row], c_indptr[row + 1]):
            column = c_indices[k]
            place[column] = k
            first = c_indptr[column]
            last = c_indptr[column + 1]
            while first < last:  # the row is sorted
                middle = (first + last) // 2
                if c_indices[middle] < row:
                    first = middle + 1
                else:
                    last = middle
            mirror[k] = first
        for once in range(2):  # count, then fill
            for a in range(r_indptr[row], r_indptr[row + 1]):
                i = r_indices[a]
                for k in range(indptr[i], indptr[i + 1]):
                    j = indices[k]
                    for b in range(p_indptr[j], p_indptr[j + 1]):
                        column = p_indices[b]
                        if column >= row:
                            c = place[column]
                            if once == 0:
                                starts[c + 1] += 1
                            else:
                                t = starts[c + 1]
                                sources[t] = k
                                factors[t] = r_values[a] * p_values[b]
                                starts[c + 1] = t + 1
            if once == 0:  # starts[c + 1] becomes the place of the next term of c
                total = starts[c_indptr[row]]
                for c in range(c_indptr[row], c_indptr[row + 1]):
                    count = starts[c + 1]
                    starts[c + 1] = total
                    total += count
    return starts, sources, factors, mirror


@kernel_pair
def masked_factors(sources, factors, rows, indices, fixed, masked):
    """Set `masked` to the factors, with zero where a fine block couples a fixed node (`fixed` is 1)."""
    for t in prange(sources.shape[0]):
        k = sources[t]
        free = fixed[rows[k]] != 1 and fixed[indices[k]] != 1
        masked[t] = factors[t] if free else 0.0


@kernel_pair
def product(blocks, starts, sources, factors, mirror, c_indptr, c_indices, coarse):
    """Set the blocks of the coarse matrix to P^T A P."""
    rows = c_indptr.shape[0] - 1
    flat = blocks.reshape(-1)
    for chunk in prange((rows + _ROWS - 1) // _ROWS):
        for row in range(chunk * _ROWS, min(rows, (chunk + 1) * _ROWS)):
            for k in range(c_indptr[row], c_indptr[row + 1]):
                if c_indices[k] < row:
                    continue
                a = zero4()
                b = zero4()
                c = zero4()
                for t in range(uint64(starts[k]), uint64(starts[k + 1])):
                    w = factors[t]
                    at = uint64(9) * uint64(uint32(sources[t]))
                    a = fma4(load4(flat, at), w, a)
                    b = fma4(load4(flat, at + uint64(3)), w, b)
                    c = fma4(load4(flat, at + uint64(6)), w, c)
                a0, a1, a2 = lane4(a, 0), lane4(a, 1), lane4(a, 2)
                b0, b1, b2 = lane4(b, 0), lane4(b, 1), lane4(b, 2)
                c0, c1, c2 = lane4(c, 0), lane4(c, 1), lane4(c, 2)
                m = uint32(mirror[k])
                coarse[m, 0], coarse[m, 1], coarse[m, 2] = a0, b0, c0
                coarse[m, 3], coarse[m, 4], coarse[m, 5] = a1, b1, c1
                coarse[m, 6], coarse[m, 7], coarse[m, 8] = a2, b2, c2
                q = uint32(k)
                coarse[q, 0], coarse[q, 1], coarse[q, 2] = a0, a1, a2
                coarse[q, 3], coarse[q, 4], coarse[q, 5] = b0, b1, b2
                coarse[q, 6], coarse[q, 7], coarse[q, 8] = c0, c1, c2
