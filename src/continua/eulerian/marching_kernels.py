"""Compiled marching cubes, row by row, and the fine level set that a liquid's surface is drawn from."""

from __future__ import annotations

from math import floor

from numba import prange

from continua.eulerian.advection_kernels import value_at
from continua.numerics import inline, kernel, kernel_pair

__all__ = [
    "add_drops",
    "at_points",
    "count",
    "pad",
    "refine",
    "smooth",
    "unite",
    "write_points",
    "write_triangles",
]


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


@kernel_pair
def count(values, counts, per_row):
    """Count the points on the edges, and the triangles in the cubes, that begin in each row of samples."""
    n0, n1, n2 = values.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        points = triangles = 0
        for k in range(n2):
            inside = values[i, j, k] < 0.0
            if i + 1 < n0 and (values[i + 1, j, k] < 0.0) != inside:
                points += 1
            if j + 1 < n1 and (values[i, j + 1, k] < 0.0) != inside:
                points += 1
            if k + 1 < n2 and (values[i, j, k + 1] < 0.0) != inside:
                points += 1
            if i + 1 < n0 and j + 1 < n1 and k + 1 < n2:
                triangles += counts[_case(values, i, j, k)]
        per_row[0, r + 1] = points
        per_row[1, r + 1] = triangles


@inline
def _along(here, there):
    """Return the part of the way to the zero; never quite at a sample, where triangles would have no area."""
    return min(max(here / (here - there), 1e-3), 1.0 - 1e-3)


@kernel_pair
def write_points(values, first, ids, points):
    """Write the points in samples, and their numbers for each axis and sample."""
    n0, n1, n2 = values.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        number = first[r]
        for k in range(n2):
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
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        if i + 1 >= n0 or j + 1 >= n1:
            continue
        number = first[r]
        for k in range(n2 - 1):
            case = _case(values, i, j, k)
            for t in range(counts[case]):
                for corner in range(3):
                    e = edges[case, 3 * t + corner]
                    triangles[number, corner] = ids[
                        ends[e, 0], i + ends[e, 1], j + ends[e, 2], k + ends[e, 3]
                    ]
                number += 1


@kernel_pair
def refine(phi, detail, corners, spacing, out):
    """Interpolate the level set at `detail` samples a cell along each axis; what is inside of obstacles is cut off."""
    n0, n1, n2 = out.shape
    solid = corners.size > 0
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        x = 0.5 if phi.shape[0] == 1 else (i + 0.5) / detail
        y = (j + 0.5) / detail
        for k in range(n2):
            z = (k + 0.5) / detail
            value = value_at(phi, x - 0.5, y - 0.5, z - 0.5)
            if solid:
                value = max(value, -value_at(corners, x, y, z) / spacing - 0.2)
            out[i, j, k] = value


@kernel_pair
def smooth(values, axis, out):
    """Weigh a sample and its neighbours along `axis` by 1/4, 1/2, 1/4."""
    n0, n1, n2 = values.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            a, b, c = i, j, k
            d, e, f = i, j, k
            if axis == 0:
                a, d = max(i - 1, 0), min(i + 1, n0 - 1)
            elif axis == 1:
                b, e = max(j - 1, 0), min(j + 1, n1 - 1)
            else:
                c, f = max(k - 1, 0), min(k + 1, n2 - 1)
            out[i, j, k] = 0.5 * values[i, j, k] + 0.25 * (values[a, b, c] + values[d, e, f])


@kernel
def add_drops(rows, phi, above, detail, reach, out):
    """Add to `out` a bump (1 - (d/reach)^2)^3 around every particle farther than `above` over the surface, in cells."""
    n0, n1, n2 = out.shape
    flat = n0 == 1
    wide = int(reach * detail) + 1
    for p in range(len(rows)):
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
    """Join the level set with the places where bumps add up to `level`; `slope` is theirs there, per cell."""
    n0, n1, n2 = values.shape
    for r in range(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            values[i, j, k] = min(values[i, j, k], (level - bumps[i, j, k]) / slope)


@kernel_pair
def pad(values, out):
    """Copy into the middle of `out`, and put around it samples that close the surface at the sides of the box."""
    n0, n1, n2 = values.shape
    for r in prange((n0 + 2) * (n1 + 2)):
        i, j = r // (n1 + 2), r % (n1 + 2)
        for k in range(n2 + 2):
            a = min(max(i - 1, 0), n0 - 1)
            b = min(max(j - 1, 0), n1 - 1)
            c = min(max(k - 1, 0), n2 - 1)
            value = values[a, b, c]
            out[i, j, k] = value if (a == i - 1 and b == j - 1 and c == k - 1) else abs(value) + 1e-9


@kernel
def at_points(q, offset0, offset1, offset2, points, out):
    """Interpolate a quantity of the grid at points in cells."""
    for p in range(len(points)):
        out[p] = value_at(q, points[p, 0] - offset0, points[p, 1] - offset1, points[p, 2] - offset2)
