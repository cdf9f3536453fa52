"""Compiled functions for elements that average the change of volume; see `elements.mean_volume`."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange, uint32

from continua.numerics import kernel, kernel_pair


@kernel_pair
def element_sums(volumes, weights, lam, sums):
    """Set the integral of the measure of volume over each element, and its compliance, that of 1/lambda; [m, 2].

    Args:
        volumes: Measure and plastic volume ratio at the points [m, q, 2].
        weights: Quadrature weights [m, q].
        lam: Lame's lambda [m]; elements with 0 have no part in any mean.
        sums: Result.
    """
    for e in prange(sums.shape[0]):
        integral = volume = 0.0
        if lam[e] > 0.0:
            for q in range(weights.shape[1]):
                w = weights[e, q] * volumes[e, q, 1]
                integral += w * volumes[e, q, 0]
                volume += w
            volume /= lam[e]
        sums[e, 0] = integral
        sums[e, 1] = volume


@kernel_pair
def element_stress(sums, constants):
    """Set the last constant of each element to the stress of its own mean."""
    last = constants.shape[1] - 1
    for e in prange(sums.shape[0]):
        constants[e, last] = sums[e, 0] / sums[e, 1] if sums[e, 1] > 0.0 else 0.0


@kernel_pair
def node_stress(sums, inc_indptr, inc_codes, corners, stress, compliance):
    """Set stress and compliance of the mean over the elements around each node, [n] each."""
    for i in prange(stress.shape[0]):
        integral = total = 0.0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[q] // corners
            integral += sums[e, 0]
            total += sums[e, 1]
        stress[i] = integral / total if total > 0.0 else 0.0
        compliance[i] = total / corners


@kernel_pair
def mean_of_corners(sums, elements, stress, constants):
    """Set the last constant of each element to the mean of its nodes' stresses [n]."""
    last, k = constants.shape[1] - 1, elements.shape[1]
    for e in prange(elements.shape[0]):
        total = 0.0
        if sums[e, 1] > 0.0:
            for a in range(k):
                total += stress[elements[e, a]]
        constants[e, last] = total / k


@kernel_pair
def element_gradients(measure_gradients, gradients, weights, sums, result):
    """Set the derivatives of each element's integral of the measure by its nodes' positions, [m, k, 3]."""
    for e in prange(result.shape[0]):
        for a in range(result.shape[1]):
            for r in range(3):
                result[e, a, r] = 0.0
        if sums[e, 1] > 0.0:
            for q in range(weights.shape[1]):
                w = weights[e, q]
                for a in range(result.shape[1]):
                    for r in range(3):
                        result[e, a, r] += w * (
                            measure_gradients[e, q, 3 * r] * gradients[e, q, a, 0]
                            + measure_gradients[e, q, 3 * r + 1] * gradients[e, q, a, 1]
                            + measure_gradients[e, q, 3 * r + 2] * gradients[e, q, a, 2]
                        )


@kernel_pair
def scaled_by_compliance(sums, result):
    """Divide the derivatives of each element [m, k, 3] by the root of its compliance."""
    for e in prange(result.shape[0]):
        scale = 1.0 / sqrt(sums[e, 1]) if sums[e, 1] > 0.0 else 0.0
        for a in range(result.shape[1]):
            for r in range(3):
                result[e, a, r] *= scale


@kernel_pair
def node_gradients(derivatives, compliance, factor, indptr, inc_indptr, inc_codes, slots, corners, result):
    """Set the derivatives of each node's mean by the positions of the nodes around it, [ring blocks, 3].

    They are scaled by the root of factor / compliance, so that their products are the blocks of the stiffness.
    """
    for i in prange(compliance.shape[0]):
        for k in range(indptr[i], indptr[i + 1]):
            for r in range(3):
                result[k, r] = 0.0
        scale = sqrt(factor / compliance[i]) / corners if compliance[i] > 0.0 else 0.0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[q] // corners
            for b in range(corners):
                k = indptr[i] + slots[q, b]
                for r in range(3):
                    result[k, r] += scale * derivatives[e, b, r]


@kernel_pair
def add_node_means(ring_indptr, ring_indices, ring_mirror, offsets, places, indptr, derivatives, blocks):
    """Add the products of all nodes' derivatives to the matrix; each row has one writer.

    Args:
        ring_indptr, ring_indices: Pattern of the nodes that share an element.
        ring_mirror: Entry (j, i) of every entry (i, j) of that pattern.
        offsets: Start in `places` of every entry of that pattern.
        places: For entry (i, a): the offset in row i of the matrix of every node around a.
        indptr: Starts of the matrix's rows.
        derivatives: See `node_gradients`.
        blocks: The matrix, column by column.
    """
    for i in prange(indptr.shape[0] - 1):
        row = indptr[i]
        for t in range(ring_indptr[i], ring_indptr[i + 1]):
            a = ring_indices[t]
            o = ring_mirror[t]
            b0, b1, b2 = derivatives[o, 0], derivatives[o, 1], derivatives[o, 2]
            start = ring_indptr[a]
            for s in range(start, ring_indptr[a + 1]):
                k = row + places[offsets[t] + s - start]
                for c in range(3):
                    d = derivatives[s, c]
                    blocks[k, 3 * c] += b0 * d
                    blocks[k, 3 * c + 1] += b1 * d
                    blocks[k, 3 * c + 2] += b2 * d


@kernel
def two_rings(indptr, indices):
    """Return the pattern (indptr, indices) of the nodes that share a neighbour, sorted in each row."""
    n = indptr.shape[0] - 1
    starts = np.zeros(n + 1, np.int32)
    seen = np.full(n, -1, np.int32)
    for i in range(n):
        count = 0
        for t in range(indptr[i], indptr[i + 1]):
            a = indices[t]
            for s in range(indptr[a], indptr[a + 1]):
                if seen[indices[s]] != i:
                    seen[indices[s]] = i
                    count += 1
        starts[i + 1] = starts[i] + count
    columns = np.empty(starts[n], np.int32)
    seen[:] = -1
    for i in range(n):
        at = starts[i]
        for t in range(indptr[i], indptr[i + 1]):
            a = indices[t]
            for s in range(indptr[a], indptr[a + 1]):
                if seen[indices[s]] != i:
                    seen[indices[s]] = i
                    columns[at] = indices[s]
                    at += 1
        columns[starts[i] : at].sort()
    return starts, columns


@kernel
def two_ring_places(ring_indptr, ring_indices, inc_indptr, ring_slots, indptr, indices):
    """Return (offsets, places, mirror) of `add_node_means`, and the slots of the elements in the wide rows."""
    n = indptr.shape[0] - 1
    offsets = np.zeros(ring_indices.shape[0] + 1, np.int64)
    mirror = np.empty(ring_indices.shape[0], np.int32)
    for t in range(ring_indices.shape[0]):
        a = ring_indices[t]
        offsets[t + 1] = offsets[t] + ring_indptr[a + 1] - ring_indptr[a]
    places = np.empty(offsets[ring_indices.shape[0]], np.uint16)
    slots = np.empty_like(ring_slots)
    place = np.zeros(n, np.uint16)
    for i in range(n):
        for s in range(indptr[i], indptr[i + 1]):
            place[indices[s]] = s - indptr[i]
        for t in range(ring_indptr[i], ring_indptr[i + 1]):
            a = uint32(ring_indices[t])
            o = offsets[t] - ring_indptr[a]
            for s in range(ring_indptr[a], ring_indptr[a + 1]):
                places[o + s] = place[ring_indices[s]]
                if ring_indices[s] == i:
                    mirror[t] = s
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            for b in range(ring_slots.shape[1]):
                slots[q, b] = place[ring_indices[ring_indptr[i] + ring_slots[q, b]]]
    return offsets, places, mirror, slots
