"""Compiled parts of fitting: samples of many cells at once, and the errors of all their trial refinements."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.sdf.bvh_kernels import STACK
from continua.sdf.kernels import closest_from, signed_on_triangle


@kernel_pair
def sample_cells(tree, centers, halves, places, values):
    """Fill the signed distances of a grid of samples in each cell, walking so that neighbours follow each other.

    Args:
        tree: A `TriangleBvh`.
        centers: Middle of each cell [m], shape [n, 3].
        halves: Half the size of each cell [m], shape [n].
        places: Where the samples lie along each axis, from -1 to 1, shape [s].
        values: Receives the distances [m], shape [n, s, s, s].
    """
    s = places.size
    for cell in prange(centers.shape[0]):
        stack = np.empty((2, STACK))
        hint = 0
        half = halves[cell]
        for i in range(s):
            x = centers[cell, 0] + half * places[i]
            for b in range(s):
                j = s - 1 - b if i % 2 else b
                y = centers[cell, 1] + half * places[j]
                for c in range(s):
                    k = s - 1 - c if b % 2 else c
                    z = centers[cell, 2] + half * places[k]
                    hint, _ = closest_from(tree, x, y, z, hint, stack)
                    values[cell, i, j, k] = signed_on_triangle(tree, hint, x, y, z)[0]


@inline
def _project(values, first, count, matrix, degree, middle, last, result):
    """Project a block of samples on the products of discretely orthonormal polynomials up to a total degree.

    Args:
        values: Samples, shape [s, s, s]; the block starts at `first` [3] and has `count` samples along each axis.
        first: See `values`.
        count: See `values`.
        matrix: Values of the polynomials times the weights, shape [>= degree + 1, count].
        degree: Largest total degree.
        middle: Scratch [count, count, degree + 1].
        last: Scratch [count, degree + 1, degree + 1].
        result: Receives the coefficients [degree + 1, degree + 1, degree + 1], those of i + j + k <= degree.
    """
    for i in range(count):
        for j in range(count):
            for k in range(degree + 1):
                total = 0.0
                for s in range(count):
                    total += matrix[k, s] * values[first[0] + i, first[1] + j, first[2] + s]
                middle[i, j, k] = total
    for i in range(count):
        for j in range(degree + 1):
            for k in range(degree + 1 - j):
                total = 0.0
                for s in range(count):
                    total += matrix[j, s] * middle[i, s, k]
                last[i, j, k] = total
    for i in range(degree + 1):
        for j in range(degree + 1 - i):
            for k in range(degree + 1 - i - j):
                total = 0.0
                for s in range(count):
                    total += matrix[i, s] * last[s, j, k]
                result[i, j, k] = total


@inline
def _moments(values, first, count, weights, near, square):
    """Return the mean factor exp(-near |value|) of a block of samples; `square[0]` receives their mean square."""
    total, factor = 0.0, 0.0
    for i in range(first[0], first[0] + count):
        for j in range(first[1], first[1] + count):
            for k in range(first[2], first[2] + count):
                weight = weights[i - first[0]] * weights[j - first[1]] * weights[k - first[2]]
                total += weight * values[i, j, k] ** 2
                if near > 0.0:
                    factor += weight * np.exp(-near * abs(values[i, j, k]))
    square[0] = total
    return factor if near > 0.0 else 1.0


@inline
def _errors(coefficients, degree, square, samples, factor, errors):
    """Fill `factor` times the mean squared errors to expect away from the samples, for each degree up to `degree`.

    What the coefficients leave of the mean square of n samples is too small by n - m, the more so the more
    coefficients m there are; a new sample differs by n + m.
    """
    left = square
    m = 0
    for p in range(degree + 1):
        for i in range(p + 1):
            for j in range(p + 1 - i):
                left -= coefficients[i, j, p - i - j] ** 2
                m += 1
        errors[p] = factor * max(left, 0.0) * (samples + m) / (samples - m)


@kernel_pair
def analyse(
    values, near, matrix, weights, half_matrix, half_weights, coefficients, errors, child_errors
):  # fmt: skip
    """Fit all cells and all their would-be children in all degrees from the same samples.

    Args:
        values: Samples, shape [n, s, s, s]; each half of an axis has the places of a Gauss rule.
        near: Errors count exp(-near |value|), by the mean of the samples' factors; 0 for all alike.
        matrix: Weighted values of polynomials that are orthonormal on the samples of a whole axis, [P + 1, s].
        weights: Weights of the samples along an axis; they sum to 1, shape [s].
        half_matrix: The same for half of an axis, [Q + 1, s / 2].
        half_weights: Likewise, shape [s / 2].
        coefficients: Receives the coefficients [n, P + 1, P + 1, P + 1], used for i + j + k <= P.
        errors: Receives weighted mean squared errors for degrees 0 to P, shape [n, P + 1].
        child_errors: Receives those of the children, shape [n, 8, Q + 1].
    """
    n, s = values.shape[0], values.shape[1]
    big, small = matrix.shape[0] - 1, half_matrix.shape[0] - 1
    half = s // 2
    for cell in prange(n):
        middle, last = np.empty((s, s, big + 1)), np.empty((s, big + 1, big + 1))
        child = np.empty((small + 1, small + 1, small + 1))
        first = np.zeros(3, np.int64)
        _project(values[cell], first, s, matrix, big, middle, last, coefficients[cell])
        factor = _moments(values[cell], first, s, weights, near, middle[0, 0])
        _errors(coefficients[cell], big, middle[0, 0, 0], s**3, factor, errors[cell])
        for octant in range(8):
            first[0], first[1], first[2] = (
                half * (octant >> 2),
                half * ((octant >> 1) & 1),
                half * (octant & 1),
            )
            _project(values[cell], first, half, half_matrix, small, middle, last, child)
            factor = _moments(values[cell], first, half, half_weights, near, middle[0, 0])
            _errors(child, small, middle[0, 0, 0], half**3, factor, child_errors[cell, octant])


@kernel_pair
def change_basis(matrix, starts, degrees, coefficients, result):
    """Apply an upper triangular matrix along each axis to the coefficients of each cell.

    Args:
        matrix: Shape [>= P + 1, >= P + 1]: column k holds the old polynomial k in terms of the new ones.
        starts: Where each cell's coefficients begin, shape [n].
        degrees: Degree of each cell, shape [n].
        coefficients: All coefficients, in lexicographic order for each cell.
        result: Receives the new ones, same shape.
    """
    for cell in prange(starts.size):
        p = int(degrees[cell])
        cube = np.zeros((p + 1, p + 1, p + 1))
        other = np.zeros((p + 1, p + 1, p + 1))
        q = starts[cell]
        for i in range(p + 1):
            for j in range(p + 1 - i):
                for k in range(p + 1 - i - j):
                    cube[i, j, k] = coefficients[q]
                    q += 1
        for _ in range(3):  # each round changes the first axis and turns the axes
            for i in range(p + 1):
                for j in range(p + 1):
                    for k in range(p + 1):
                        total = 0.0
                        for a in range(i, p + 1):
                            total += matrix[i, a] * cube[a, j, k]
                        other[j, k, i] = total
            cube, other = other, cube
        q = starts[cell]
        for i in range(p + 1):
            for j in range(p + 1 - i):
                for k in range(p + 1 - i - j):
                    result[q] = cube[i, j, k]
                    q += 1
