"""Compiled marching cubes, row by row, and the fine level set that a liquid's surface is drawn from."""

from __future__ import annotations

from math import floor

import numpy as np
from numba import prange

from continua.grid_fluids.advection.advection_kernels import value_at
from continua.numerics import inline, kernel, kernel_pair

__all__ = [
    "add_drops", "at_points", "close", "count", "cut_off", "refine", "unite", "write_points", "write_triangles",
]  # fmt: skip


@inline
def _case(values, i, j, k):
    """Return the case of the cube from the sample (i, j, k) on."""
    case = 0
    for a in range(2):
        for b in range(2):
            for c in range(2):
                if values[i + a, j + b, k + c] < 0.0:
                    case |= 1 << (4 * a + 2 * b + c)
    return case


@inline
def _mark(values, i, j, busy):
    """Mark the samples k of a row of cubes where the surface passes between k and k + 1; tell whether there is any."""
    n0, n1, n2 = values.shape
    a, b = values[i, j], values[i, min(j + 1, n1 - 1)]
    c, d = values[min(i + 1, n0 - 1), j], values[min(i + 1, n0 - 1), min(j + 1, n1 - 1)]
    found = 0
    for k in range(n2):
        busy[k] = np.uint8(a[k] < 0.0) + np.uint8(b[k] < 0.0) + np.uint8(c[k] < 0.0) + np.uint8(d[k] < 0.0)
    for k in range(n2 - 1):
        busy[k] += busy[k + 1]
        found |= (busy[k] != 0) & (busy[k] != 8)
    busy[n2 - 1] *= 2
    found |= (busy[n2 - 1] != 0) & (busy[n2 - 1] != 8)
    return found != 0


@kernel_pair
def count(values, counts, per_row):
    """Count the points on the edges, and the triangles in the cubes, that begin in each row of samples."""
    n0, n1, n2 = values.shape
    for plane in prange(n0):
        i = np.int64(plane)
        busy = np.empty(n2, np.uint8)
        for j in range(n1):
            points = triangles = 0
            if _mark(values, i, j, busy):
                for k in range(n2):
                    if busy[k] == 0 or busy[k] == 8:
                        continue
                    inside = values[i, j, k] < 0.0
                    if i + 1 < n0 and (values[i + 1, j, k] < 0.0) != inside:
                        points += 1
                    if j + 1 < n1 and (values[i, j + 1, k] < 0.0) != inside:
                        points += 1
                    if k + 1 < n2 and (values[i, j, k + 1] < 0.0) != inside:
                        points += 1
                    if i + 1 < n0 and j + 1 < n1 and k + 1 < n2:
                        triangles += counts[_case(values, i, j, k)]
            per_row[0, i * n1 + j + 1] = points
            per_row[1, i * n1 + j + 1] = triangles


@inline
def _along(here, there):
    """Return the part of the way to the zero; never quite at a sample, where triangles would have no area."""
    return min(max(here / (here - there), 1e-3), 1.0 - 1e-3)


@kernel_pair
def write_points(values, first, ids, points):
    """Write the points in samples, and their numbers for each axis and sample."""
    n0, n1, n2 = values.shape
    for plane in prange(n0):
        i = np.int64(plane)
        busy = np.empty(n2, np.uint8)
        for j in range(n1):
            number = first[i * n1 + j]
            if number == first[i * n1 + j + 1]:
                continue
            _mark(values, i, j, busy)
            for k in range(n2):
                if busy[k] == 0 or busy[k] == 8:
                    continue
                here = values[i, j, k]
                inside = here < 0.0
                for axis in range(3):
                    a = i + 1 if axis == 0 else i
                    b = j + 1 if axis == 1 else j
                    c = k + 1 if axis == 2 else k
                    if a < n0 and b < n1 and c < n2 and (values[a, b, c] < 0.0) != inside:
                        points[number, 0], points[number, 1], points[number, 2] = i, j, k
                        points[number, axis] += _along(here, values[a, b, c])
                        ids[axis, i, j, k] = number
                        number += 1


@kernel_pair
def write_triangles(values, counts, edges, ends, first, ids, triangles):
    """Write the triangles of each row of cubes."""
    n0, n1, n2 = values.shape
    for plane in prange(n0 - 1):
        i = np.int64(plane)
        busy = np.empty(n2, np.uint8)
        for j in range(n1 - 1):
            number = first[i * n1 + j]
            if number == first[i * n1 + j + 1]:
                continue
            _mark(values, i, j, busy)
            for k in range(n2 - 1):
                if busy[k] == 0 or busy[k] == 8:
                    continue
                case = _case(values, i, j, k)
                for t in range(counts[case]):
                    for corner in range(3):
                        e = edges[case, 3 * t + corner]
                        triangles[number, corner] = ids[
                            ends[e, 0], i + ends[e, 1], j + ends[e, 2], k + ends[e, 3]
                        ]
                    number += 1


@kernel_pair
def refine(phi, low0, weight0, low1, weight1, low2, weight2, out):
    """Blend the level set at finer samples: three samples along each axis from `low` on, with their weights.

    `out` has two more samples on every side, which `close` sets.
    """
    n0, n1, n2 = phi.shape
    m0, m1, m2 = len(low0), len(low1), len(low2)
    for plane in prange(m0):
        i = np.int64(plane)
        flat = np.empty((n1, n2), phi.dtype)
        row = np.empty(n2, phi.dtype)
        a, b, c = phi[low0[i]], phi[min(low0[i] + 1, n0 - 1)], phi[min(low0[i] + 2, n0 - 1)]
        for j in range(n1):
            for k in range(n2):
                flat[j, k] = weight0[i, 0] * a[j, k] + weight0[i, 1] * b[j, k] + weight0[i, 2] * c[j, k]
        for j in range(m1):
            one, two, three = flat[low1[j]], flat[min(low1[j] + 1, n1 - 1)], flat[min(low1[j] + 2, n1 - 1)]
            for k in range(n2):
                row[k] = weight1[j, 0] * one[k] + weight1[j, 1] * two[k] + weight1[j, 2] * three[k]
            target = out[i + 2, j + 2]
            for k in range(m2):
                at = low2[k]
                value = weight2[k, 0] * row[at] + weight2[k, 1] * row[min(at + 1, n2 - 1)]
                target[k + 2] = value + weight2[k, 2] * row[min(at + 2, n2 - 1)]


@kernel_pair
def cut_off(out, detail, corners, spacing):
    """Take away what is more than a fifth of a cell inside of obstacles."""
    n0, n1, n2 = out.shape
    flat = corners.shape[0] == 1
    for r in prange((n0 - 4) * (n1 - 4)):
        i, j = r // (n1 - 4), r % (n1 - 4)
        x, y = 0.0 if flat else (i + 0.5) / detail, (j + 0.5) / detail
        for k in range(n2 - 4):
            z = (k + 0.5) / detail
            if corners[int(x), int(y), int(z)] < 3.0 * spacing:
                value = -value_at(corners, x, y, z) / spacing - 0.2
                out[i + 2, j + 2, k + 2] = max(out[i + 2, j + 2, k + 2], value)


@kernel
def add_drops(rows, aside, phi, above, detail, reach, out):
    """Add to `out` a bump (1 - (d/reach)^2)^3 around every particle farther than `above` over the surface, in cells."""
    n0, n1, n2 = out.shape
    flat = n0 == 1
    wide = int(reach * detail) + 1
    for p in range(len(rows)):
        if aside[p] == 0:
            continue
        x, y, z = rows[p, 0], rows[p, 1], rows[p, 2]
        if value_at(phi, x - 0.5, y - 0.5, z - 0.5) <= above:
            continue
        ci, cj, ck = floor(x * detail), floor(y * detail), floor(z * detail)
        for i in range(0 if flat else max(ci - wide, 0), 1 if flat else min(ci + wide + 1, n0)):
            dx = 0.0 if flat else (i + 0.5) / detail - x
            for j in range(max(cj - wide, 0), min(cj + wide + 1, n1)):
                dy = (j + 0.5) / detail - y
                for k in range(max(ck - wide, 0), min(ck + wide + 1, n2)):
                    dz = (k + 0.5) / detail - z
                    q = 1.0 - (dx * dx + dy * dy + dz * dz) / (reach * reach)
                    if q > 0.0:
                        out[i, j, k] += q * q * q


@kernel
def unite(values, bumps, level, slope):
    """Join the level set, with two samples more on every side, with the places where bumps add up to `level`.

    `slope` is that of the bumps there, per cell.
    """
    n0, n1, n2 = bumps.shape
    for r in range(n0 * n1):
        i, j = r // n1, r % n1
        row, bump = values[i + 2, j + 2], bumps[i, j]
        for k in range(n2):
            row[k + 2] = min(row[k + 2], (level - bump[k]) / slope)


@kernel_pair
def close(out):
    """Set the outer samples: the surface goes on over the sides of the box by a sample, and is closed behind that."""
    n0, n1, n2 = out.shape
    for r in prange(n0 * n1):
        i, j = np.int64(r) // n1, np.int64(r) % n1
        a, b = min(max(i, 2), n0 - 3), min(max(j, 2), n1 - 3)
        last = i == 0 or j == 0 or i == n0 - 1 or j == n1 - 1
        inner = a == i and b == j
        for k in range(n2):
            if inner and 2 <= k <= n2 - 3:
                continue
            value = out[a, b, min(max(k, 2), n2 - 3)]
            out[i, j, k] = abs(value) + 1e-9 if last or k == 0 or k == n2 - 1 else value


@kernel
def at_points(q, offset0, offset1, offset2, points, out):
    """Interpolate a quantity of the grid at points in cells."""
    for p in range(len(points)):
        out[p] = value_at(q, points[p, 0] - offset0, points[p, 1] - offset1, points[p, 2] - offset2)
