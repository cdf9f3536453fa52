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
def _trace(c, start, degree, axis, upper, result):
    """Fill the coefficients [.., ..] of a cell's polynomial on its lower or upper face across an axis."""
    for j in range(degree + 1):
        for k in range(degree + 1 - j):
            result[j, k] = 0.0
    q = start
    index = np.zeros(3, np.int64)
    for i in range(degree + 1):
        for j in range(degree + 1 - i):
            for k in range(degree + 1 - i - j):
                index[0], index[1], index[2] = i, j, k
                along = index[axis]
                factor = np.sqrt(2.0 * along + 1.0)
                if not upper and along % 2:
                    factor = -factor
                result[index[(axis + 1) % 3], index[(axis + 2) % 3]] += factor * c[q]
                q += 1


@inline
def _spread(g, start, degree, axis, upper, factor, result):
    """Add `factor` times the transpose of `_trace`."""
    q = start
    index = np.zeros(3, np.int64)
    for i in range(degree + 1):
        for j in range(degree + 1 - i):
            for k in range(degree + 1 - i - j):
                index[0], index[1], index[2] = i, j, k
                along = index[axis]
                end = np.sqrt(2.0 * along + 1.0)
                if not upper and along % 2:
                    end = -end
                result[q] += factor * end * g[index[(axis + 1) % 3], index[(axis + 2) % 3]]
                q += 1


@inline
def _narrow(t, first, second, degree, result):
    """Express a polynomial on a big face in the polynomials of a small part of it."""
    for j in range(degree + 1):
        for k in range(degree + 1 - j):
            total = 0.0
            for a in range(j, degree + 1 - k):
                for b in range(k, degree + 1 - a):
                    total += first[j, a] * second[k, b] * t[a, b]
            result[j, k] = total


@inline
def _widen(t, first, second, degree, result):
    """Fill the transpose of `_narrow`."""
    for a in range(degree + 1):
        for b in range(degree + 1 - a):
            total = 0.0
            for j in range(a + 1):
                for k in range(b + 1):
                    total += first[j, a] * second[k, b] * t[j, k]
            result[a, b] = total


@kernel_pair
def jumps(faces, parts, places, starts, degrees, c, result):
    """Fill the coefficients of the jump across each face, small cell minus big cell, in those of the small face.

    Args:
        faces: Small cell, big cell, axis, whether the face is the small cell's upper one; shape [f, 4].
        parts: Which part of the big face the small one is, along the two axes of the face, shape [f, 2].
        places: For each part the matrix from the big face's polynomials to the small one's, [., P + 1, P + 1].
        starts: Where each cell's coefficients begin.
        degrees: Degree of each cell.
        c: Coefficients of polynomials whose mean square in the cell is 1.
        result: Shape [f, P + 1, P + 1].
    """
    for f in prange(faces.shape[0]):
        small, big, axis, upper = faces[f, 0], faces[f, 1], faces[f, 2], faces[f, 3] == 1
        size = places.shape[1]
        own, far, moved = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
        _trace(c, starts[small], int(degrees[small]), axis, upper, own)
        _trace(c, starts[big], int(degrees[big]), axis, not upper, far)
        _narrow(far, places[parts[f, 0]], places[parts[f, 1]], int(degrees[big]), moved)
        for j in range(size):
            for k in range(size):
                result[f, j, k] = own[j, k] - moved[j, k]


@kernel_pair
def pull(faces, parts, places, areas, indptr, indices, starts, degrees, jump, result):
    """Fill the derivative of the jump energy, half the sum of area times squared jump, for each cell's coefficients.

    `indices[indptr[cell]:indptr[cell + 1]]` lists the faces of a cell, as 2 * face, plus 1 if it is the big one.
    """
    for cell in prange(starts.size):
        size = places.shape[1]
        degree = int(degrees[cell])
        moved = np.zeros((size, size))
        count = (degree + 1) * (degree + 2) * (degree + 3) // 6
        for q in range(starts[cell], starts[cell] + count):
            result[q] = 0.0
        for p in range(indptr[cell], indptr[cell + 1]):
            f, big = indices[p] // 2, indices[p] % 2 == 1
            axis, upper = faces[f, 2], faces[f, 3] == 1
            if big:
                _widen(jump[f], places[parts[f, 0]], places[parts[f, 1]], degree, moved)
                _spread(moved, starts[cell], degree, axis, not upper, -areas[f], result)
            else:
                _spread(jump[f], starts[cell], degree, axis, upper, areas[f], result)
