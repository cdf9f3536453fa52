"""Compiled jumps of a field across the faces between its cells, and what they pull at."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.sdf.kernels import find_cell


@kernel_pair
def neighbours(table, centers, halves, result):
    """Fill the leaf beyond the middle of each face of each leaf, or -1 at the box; order -x, +x, -y, +y, -z, +z."""
    for cell in prange(centers.shape[0]):
        step = 1.001 * halves[cell]
        for side in range(6):
            axis = side // 2
            place = centers[cell, axis] + (step if side % 2 else -step)
            fraction = (place - table.frame[axis]) * table.frame[3]
            if fraction < 0.0 or fraction >= table.grid[axis]:
                result[cell, side] = -1
                continue
            x = place if axis == 0 else centers[cell, 0]
            y = place if axis == 1 else centers[cell, 1]
            z = place if axis == 2 else centers[cell, 2]
            result[cell, side] = find_cell(table, x, y, z)[0]


@inline
def _turned(axis, i, j, k):
    """Return the exponent along an axis and those along the two axes of its face."""
    if axis == 0:
        return i, j, k
    if axis == 1:
        return j, k, i
    return k, i, j


@inline
def _trace(c, start, degree, axis, ends, result):
    """Fill the coefficients [.., ..] of a cell's polynomial on a face across an axis; `ends` are the values there."""
    for j in range(degree + 1):
        for k in range(degree + 1 - j):
            result[j, k] = 0.0
    q = start
    for i in range(degree + 1):
        for j in range(degree + 1 - i):
            for k in range(degree + 1 - i - j):
                along, u, v = _turned(axis, i, j, k)
                result[u, v] += ends[along] * c[q]
                q += 1


@inline
def _spread(g, start, degree, axis, ends, factor, result):
    """Add `factor` times the transpose of `_trace`."""
    q = start
    for i in range(degree + 1):
        for j in range(degree + 1 - i):
            for k in range(degree + 1 - i - j):
                along, u, v = _turned(axis, i, j, k)
                result[q] += factor * ends[along] * g[u, v]
                q += 1


@inline
def _narrow(t, first, second, degree, half, result):
    """Express a polynomial on a big face in the polynomials of a small part of it, one axis after the other."""
    for j in range(degree + 1):
        for b in range(degree + 1 - j):
            total = 0.0
            for a in range(j, degree + 1 - b):
                total += first[j, a] * t[a, b]
            half[j, b] = total
    for j in range(degree + 1):
        for k in range(degree + 1 - j):
            total = 0.0
            for b in range(k, degree + 1 - j):
                total += second[k, b] * half[j, b]
            result[j, k] = total


@inline
def _widen(t, first, second, degree, half, result):
    """Fill the transpose of `_narrow`."""
    for j in range(degree + 1):
        for b in range(degree + 1 - j):
            total = 0.0
            for k in range(b + 1):
                total += second[k, b] * t[j, k]
            half[j, b] = total
    for a in range(degree + 1):
        for b in range(degree + 1 - a):
            total = 0.0
            for j in range(a + 1):
                total += first[j, a] * half[j, b]
            result[a, b] = total


@kernel_pair
def jumps(faces, parts, places, ends, starts, degrees, c, result):
    """Fill the coefficients of the jump across each face, small cell minus big cell, in those of the small face.

    Args:
        faces: Small cell, big cell, axis, whether the face is the small cell's upper one; shape [f, 4].
        parts: Which part of the big face the small one is, along the two axes of the face, shape [f, 2].
        places: For each part the matrix from the big face's polynomials to the small one's, [., P + 1, P + 1].
        ends: Values of the polynomials at the lower and the upper end of a cell, shape [2, P + 1].
        starts: Where each cell's coefficients begin.
        degrees: Degree of each cell.
        c: Coefficients of polynomials whose mean square in the cell is 1.
        result: Shape [f, P + 1, P + 1].
    """
    for f in prange(faces.shape[0]):
        small, big, axis, upper = faces[f, 0], faces[f, 1], faces[f, 2], faces[f, 3] == 1
        size = places.shape[1]
        far, half, moved = np.empty((size, size)), np.empty((size, size)), np.empty((size, size))
        degree, other = int(degrees[small]), int(degrees[big])
        own = result[f]
        for j in range(size):
            for k in range(size):
                own[j, k] = 0.0
        _trace(c, starts[small], degree, axis, ends[1 if upper else 0], own)
        _trace(c, starts[big], other, axis, ends[0 if upper else 1], far)
        if parts[f, 0] > 0 or parts[f, 1] > 0:  # part 0 is the whole face
            _narrow(far, places[parts[f, 0]], places[parts[f, 1]], other, half, moved)
            far = moved
        for j in range(other + 1):
            for k in range(other + 1 - j):
                own[j, k] -= far[j, k]


@kernel_pair
def gradient(faces, parts, places, ends, areas, indptr, indices, starts, degrees, jump, result):
    """Fill the derivative of the jump energy, half the sum of area times squared jump, for each cell's coefficients.

    `indices[indptr[cell]:indptr[cell + 1]]` lists the faces of a cell, as 2 * face, plus 1 if it is the big one.
    """
    for cell in prange(starts.size):
        size = places.shape[1]
        degree = int(degrees[cell])
        half, moved = np.empty((size, size)), np.empty((size, size))
        count = (degree + 1) * (degree + 2) * (degree + 3) // 6
        for q in range(starts[cell], starts[cell] + count):
            result[q] = 0.0
        for p in range(indptr[cell], indptr[cell + 1]):
            f, big = indices[p] // 2, indices[p] % 2 == 1
            axis, upper = faces[f, 2], faces[f, 3] == 1
            if not big:
                _spread(jump[f], starts[cell], degree, axis, ends[1 if upper else 0], areas[f], result)
            elif parts[f, 0] > 0 or parts[f, 1] > 0:
                _widen(jump[f], places[parts[f, 0]], places[parts[f, 1]], degree, half, moved)
                _spread(moved, starts[cell], degree, axis, ends[0 if upper else 1], -areas[f], result)
            else:
                _spread(jump[f], starts[cell], degree, axis, ends[0 if upper else 1], -areas[f], result)
