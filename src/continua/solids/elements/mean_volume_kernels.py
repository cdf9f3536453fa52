"""Compiled functions for elements that average the change of volume; see `elements.mean_volume`."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange, uint32

from continua.numerics import kernel, kernel_pair


@kernel_pair
def element_sums(volumes, weights, lam, values, orthogonal, sums):
    """Set the integral of the measure of volume times each pressure function of an element, and its compliance.

    Args:
        volumes: Measure and plastic volume ratio at the points [m, q, 2].
        weights: Quadrature weights [m, q].
        lam: Lame's lambda [m]; elements with 0 have no part in any mean.
        values: Pressure functions f at the points, of all elements [1, q, c] or of each [m, q, c].
        orthogonal: Whether the compliance is the integral of f^2/lambda, and not of f/lambda.
        sums: Result [m, c, 2].
    """
    for e in prange(sums.shape[0]):
        t = uint32(e) if values.shape[0] > 1 else uint32(0)
        for c in range(sums.shape[1]):
            integral = compliance = 0.0
            if lam[e] > 0.0:
                for q in range(weights.shape[1]):
                    f = values[t, q, c]
                    w = weights[e, q] * volumes[e, q, 1] * f
                    integral += w * volumes[e, q, 0]
                    compliance += w * f if orthogonal else w
                compliance /= lam[e]
            sums[e, c, 0] = integral
            sums[e, c, 1] = compliance


@kernel_pair
def element_stress(sums, values, stress):
    """Set the stress at the points [m, q] from the means of each element itself."""
    for e in prange(sums.shape[0]):
        t = uint32(e) if values.shape[0] > 1 else uint32(0)
        for q in range(stress.shape[1]):
            total = 0.0
            for c in range(sums.shape[1]):
                if sums[e, c, 1] > 0.0:
                    total += values[t, q, c] * sums[e, c, 0] / sums[e, c, 1]
            stress[e, q] = total


@kernel_pair
def patch_stress(sums, inc_indptr, inc_codes, stress, compliance):
    """Set stress and compliance of the mean over each patch of elements, [p] each."""
    functions = sums.shape[1]
    for i in prange(stress.shape[0]):
        integral = total = 0.0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e, c = inc_codes[q] // functions, inc_codes[q] % functions
            integral += sums[e, c, 0]
            total += sums[e, c, 1]
        stress[i] = integral / total if total > 0.0 else 0.0
        compliance[i] = total


@kernel_pair
def interpolated_stress(sums, dofs, values, nodal, stress):
    """Set the stress at the points [m, q] from those of the patches [p]."""
    for e in prange(dofs.shape[0]):
        t = uint32(e) if values.shape[0] > 1 else uint32(0)
        for q in range(stress.shape[1]):
            total = 0.0
            if sums[e, 0, 1] > 0.0:
                for c in range(dofs.shape[1]):
                    total += values[t, q, c] * nodal[dofs[e, c]]
            stress[e, q] = total


@kernel_pair
def element_gradients(measure_gradients, gradients, weights, values, lam, result):
    """Set the derivatives of each element's integrals by its nodes' positions, [m, c, k, 3]."""
    for e in prange(result.shape[0]):
        t = uint32(e) if values.shape[0] > 1 else uint32(0)
        for c in range(result.shape[1]):
            for a in range(result.shape[2]):
                for r in range(3):
                    result[e, c, a, r] = 0.0
        if lam[e] > 0.0:
            for q in range(weights.shape[1]):
                for a in range(result.shape[2]):
                    for r in range(3):
                        d = weights[e, q] * (
                            measure_gradients[e, q, 3 * r] * gradients[e, q, a, 0]
                            + measure_gradients[e, q, 3 * r + 1] * gradients[e, q, a, 1]
                            + measure_gradients[e, q, 3 * r + 2] * gradients[e, q, a, 2]
                        )
                        for c in range(result.shape[1]):
                            result[e, c, a, r] += values[t, q, c] * d


@kernel_pair
def scaled_by_compliance(sums, result):
    """Divide the derivatives of each element [m, c, k, 3] by the root of their compliances."""
    for e in prange(result.shape[0]):
        for c in range(result.shape[1]):
            scale = 1.0 / sqrt(sums[e, c, 1]) if sums[e, c, 1] > 0.0 else 0.0
            for a in range(result.shape[2]):
                for r in range(3):
                    result[e, c, a, r] *= scale


@kernel_pair
def patch_gradients(derivatives, compliance, factor, indptr, inc_indptr, inc_codes, slots, result):
    """Set the derivatives of each patch's mean by the positions of its nodes, [patch entries, 3].

    They are scaled by the root of factor / compliance, so that their products are the blocks of the stiffness.
    """
    functions, nodes = derivatives.shape[1], derivatives.shape[2]
    for i in prange(compliance.shape[0]):
        for k in range(indptr[i], indptr[i + 1]):
            for r in range(3):
                result[k, r] = 0.0
        scale = sqrt(factor / compliance[i]) if compliance[i] > 0.0 else 0.0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e, c = inc_codes[q] // functions, inc_codes[q] % functions
            for b in range(nodes):
                k = indptr[i] + slots[q, b]
                for r in range(3):
                    result[k, r] += scale * derivatives[e, c, b, r]


@kernel_pair
def add_patch_means(patches, indptr, derivatives, blocks):
    """Add the products of all patches' derivatives to the matrix; each row has one writer.

    Args:
        patches: See `mean_volume.Patches`.
        indptr: Starts of the matrix's rows.
        derivatives: See `patch_gradients`.
        blocks: The matrix, column by column.
    """
    starts, _, t_indptr, t_patches, t_entries, offsets, places = patches
    for i in prange(indptr.shape[0] - 1):
        row = indptr[i]
        for t in range(t_indptr[i], t_indptr[i + 1]):
            start = starts[t_patches[t]]
            o = t_entries[t]
            b0, b1, b2 = derivatives[o, 0], derivatives[o, 1], derivatives[o, 2]
            for s in range(start, starts[t_patches[t] + 1]):
                k = row + places[offsets[t] + s - start]
                for c in range(3):
                    d = derivatives[s, c]
                    blocks[k, 3 * c] += b0 * d
                    blocks[k, 3 * c + 1] += b1 * d
                    blocks[k, 3 * c + 2] += b2 * d


@kernel
def patch_nodes(inc_indptr, inc_codes, functions, elements, node_count):
    """Return the nodes of the elements of each patch as CSR (indptr, indices), sorted, and transposed.

    The transpose (t_indptr, t_patches, t_entries) has the patches of each node and the indices of the entries. `slots`
    [incidences, k] are the offsets in a patch of the nodes of each of its elements.
    """
    p, k = inc_indptr.shape[0] - 1, elements.shape[1]
    indptr = np.zeros(p + 1, np.int32)
    seen = np.full(node_count, -1, np.int32)
    for i in range(p):
        count = 0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            for b in range(k):
                j = elements[inc_codes[q] // functions, b]
                if seen[j] != i:
                    seen[j] = i
                    count += 1
        indptr[i + 1] = indptr[i] + count
    indices = np.empty(indptr[p], np.int32)
    slots = np.empty((inc_codes.shape[0], k), np.uint16)
    seen[:] = -1
    for i in range(p):
        at = indptr[i]
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            for b in range(k):
                j = elements[inc_codes[q] // functions, b]
                if seen[j] != i:
                    seen[j] = i
                    indices[at] = j
                    at += 1
        indices[indptr[i] : at].sort()
    place = np.zeros(node_count, np.int32)
    t_indptr = np.zeros(node_count + 1, np.int32)
    for i in range(p):
        for s in range(indptr[i], indptr[i + 1]):
            place[indices[s]] = s - indptr[i]
            t_indptr[indices[s] + 1] += 1
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            for b in range(k):
                slots[q, b] = place[elements[inc_codes[q] // functions, b]]
    for i in range(node_count):
        t_indptr[i + 1] += t_indptr[i]
    cursor = t_indptr[:-1].copy()
    t_patches = np.empty(indptr[p], np.int32)
    t_entries = np.empty(indptr[p], np.int32)
    for i in range(p):
        for s in range(indptr[i], indptr[i + 1]):
            j = indices[s]
            t_patches[cursor[j]] = i
            t_entries[cursor[j]] = s
            cursor[j] += 1
    return indptr, indices, t_indptr, t_patches, t_entries, slots


@kernel
def patch_rows(indptr, indices, t_indptr, t_patches):
    """Return the pattern (indptr, indices) of the nodes that share a patch, sorted in each row."""
    n = t_indptr.shape[0] - 1
    starts = np.zeros(n + 1, np.int32)
    seen = np.full(n, -1, np.int32)
    for i in range(n):
        count = 0
        for t in range(t_indptr[i], t_indptr[i + 1]):
            a = t_patches[t]
            for s in range(indptr[a], indptr[a + 1]):
                if seen[indices[s]] != i:
                    seen[indices[s]] = i
                    count += 1
        starts[i + 1] = starts[i] + max(count, 1)
    columns = np.empty(starts[n], np.int32)
    seen[:] = -1
    for i in range(n):
        at = starts[i]
        columns[at] = i
        for t in range(t_indptr[i], t_indptr[i + 1]):
            a = t_patches[t]
            for s in range(indptr[a], indptr[a + 1]):
                if seen[indices[s]] != i:
                    seen[indices[s]] = i
                    columns[at] = indices[s]
                    at += 1
        columns[starts[i] : starts[i + 1]].sort()
    return starts, columns


@kernel
def patch_places(
    indptr, indices, t_indptr, t_patches, ring_indptr, ring_indices, inc_indptr, ring_slots, rows, columns
):
    """Return (offsets, places) of `mean_volume.Patches`, and the slots of the elements in the rows.

    Args:
        indptr, indices, t_indptr, t_patches: See `patch_nodes`.
        ring_indptr, ring_indices, inc_indptr, ring_slots: Of the pattern of nodes that share an element.
        rows, columns: See `patch_rows`.
    """
    n = t_indptr.shape[0] - 1
    offsets = np.zeros(t_patches.shape[0] + 1, np.int64)
    for t in range(t_patches.shape[0]):
        a = t_patches[t]
        offsets[t + 1] = offsets[t] + indptr[a + 1] - indptr[a]
    places = np.empty(offsets[t_patches.shape[0]], np.uint16)
    slots = np.empty_like(ring_slots)
    place = np.zeros(n, np.uint16)
    for i in range(n):
        for s in range(rows[i], rows[i + 1]):
            place[columns[s]] = s - rows[i]
        for t in range(t_indptr[i], t_indptr[i + 1]):
            a = uint32(t_patches[t])
            o = offsets[t] - indptr[a]
            for s in range(indptr[a], indptr[a + 1]):
                places[o + s] = place[indices[s]]
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            for b in range(ring_slots.shape[1]):
                slots[q, b] = place[ring_indices[ring_indptr[i] + ring_slots[q, b]]]
    return offsets, places, slots
