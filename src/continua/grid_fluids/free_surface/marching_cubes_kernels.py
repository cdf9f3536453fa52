"""Compiled marching cubes, row by row."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair

__all__ = ["count", "write_points", "write_triangles"]


@inline
def _case(values, i, j, k):
    """Return the case of the cube whose first corner is the sample (i, j, k)."""
    case = 0
    for a in range(2):
        for b in range(2):
            for c in range(2):
                if values[i + a, j + b, k + c] < 0.0:
                    case |= 1 << (4 * a + 2 * b + c)
    return case


@inline
def _mark_active(values, i, j, active):
    """Mark the samples k of a row of cubes where the surface passes between k and k + 1; return whether any is."""
    n0, n1, n2 = values.shape
    a, b = values[i, j], values[i, min(j + 1, n1 - 1)]
    c, d = values[min(i + 1, n0 - 1), j], values[min(i + 1, n0 - 1), min(j + 1, n1 - 1)]
    found = 0
    for k in range(n2):
        active[k] = np.uint8(a[k] < 0.0) + np.uint8(b[k] < 0.0) + np.uint8(c[k] < 0.0) + np.uint8(d[k] < 0.0)
    for k in range(n2 - 1):
        active[k] += active[k + 1]
        found |= (active[k] != 0) & (active[k] != 8)
    active[n2 - 1] *= 2
    found |= (active[n2 - 1] != 0) & (active[n2 - 1] != 8)
    return found != 0


@kernel_pair
def count(values, counts, per_row):
    """Count the points on the edges, and the triangles in the cubes, that start in each row of samples."""
    n0, n1, n2 = values.shape
    for plane in prange(n0):
        i = np.int64(plane)
        active = np.empty(n2, np.uint8)
        for j in range(n1):
            points = triangles = 0
            if _mark_active(values, i, j, active):
                for k in range(n2):
                    if active[k] == 0 or active[k] == 8:
                        continue
                    negative = values[i, j, k] < 0.0
                    if i + 1 < n0 and (values[i + 1, j, k] < 0.0) != negative:
                        points += 1
                    if j + 1 < n1 and (values[i, j + 1, k] < 0.0) != negative:
                        points += 1
                    if k + 1 < n2 and (values[i, j, k + 1] < 0.0) != negative:
                        points += 1
                    if i + 1 < n0 and j + 1 < n1 and k + 1 < n2:
                        triangles += counts[_case(values, i, j, k)]
            per_row[0, i * n1 + j + 1] = points
            per_row[1, i * n1 + j + 1] = triangles


@inline
def _crossing(here, there):
    """Return the fraction to the zero, never quite at a sample, where triangles would have no area."""
    return min(max(here / (here - there), 1e-3), 1.0 - 1e-3)


@kernel_pair
def write_points(values, first, ids, points):
    """Write the points in samples, and their indices by axis and sample."""
    n0, n1, n2 = values.shape
    for plane in prange(n0):
        i = np.int64(plane)
        active = np.empty(n2, np.uint8)
        for j in range(n1):
            number = first[i * n1 + j]
            if number == first[i * n1 + j + 1]:
                continue
            _mark_active(values, i, j, active)
            for k in range(n2):
                if active[k] == 0 or active[k] == 8:
                    continue
                here = values[i, j, k]
                negative = here < 0.0
                for axis in range(3):
                    a = i + 1 if axis == 0 else i
                    b = j + 1 if axis == 1 else j
                    c = k + 1 if axis == 2 else k
                    if a < n0 and b < n1 and c < n2 and (values[a, b, c] < 0.0) != negative:
                        points[number, 0], points[number, 1], points[number, 2] = i, j, k
                        points[number, axis] += _crossing(here, values[a, b, c])
                        ids[axis, i, j, k] = number
                        number += 1


@kernel_pair
def write_triangles(values, counts, edges, ends, first, ids, triangles):
    """Write the triangles of each row of cubes."""
    n0, n1, n2 = values.shape
    for plane in prange(n0 - 1):
        i = np.int64(plane)
        active = np.empty(n2, np.uint8)
        for j in range(n1 - 1):
            number = first[i * n1 + j]
            if number == first[i * n1 + j + 1]:
                continue
            _mark_active(values, i, j, active)
            for k in range(n2 - 1):
                if active[k] == 0 or active[k] == 8:
                    continue
                case = _case(values, i, j, k)
                for t in range(counts[case]):
                    for corner in range(3):
                        e = edges[case, 3 * t + corner]
                        triangles[number, corner] = ids[
                            ends[e, 0], i + ends[e, 1], j + ends[e, 2], k + ends[e, 3]
                        ]
                    number += 1
