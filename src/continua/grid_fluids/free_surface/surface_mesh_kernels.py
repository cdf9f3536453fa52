"""Compiled construction of the fine level set that a liquid's surface mesh is made from."""

from __future__ import annotations

from math import floor

import numpy as np
from numba import prange

from continua.grid_fluids.advection.advection_kernels import value_at
from continua.numerics import kernel, kernel_pair

__all__ = [
    "cap_boundary",
    "clip_to_solid",
    "interpolate_at_points",
    "refine",
    "splat_particles",
    "union_bumps",
]


@kernel_pair
def refine(phi, low0, weight0, low1, weight1, low2, weight2, out):
    """Interpolate the level set at finer samples from three samples along each axis, from `low` on, with weights.

    `out` has two more samples on every side, which `cap_boundary` sets.
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
def clip_to_solid(out, detail, corners, spacing):
    """Remove what is more than a fifth of a cell inside obstacles."""
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
def splat_particles(rows, phase, phi, above, detail, radius, out):
    """Add to `out` a bump (1 - (d/radius)^2)^3 around every particle higher than `above` cells above the surface."""
    n0, n1, n2 = out.shape
    flat = n0 == 1
    width = int(radius * detail) + 1
    for p in range(len(rows)):
        if phase[p] == 0:
            continue
        x, y, z = rows[p, 0], rows[p, 1], rows[p, 2]
        if value_at(phi, x - 0.5, y - 0.5, z - 0.5) <= above:
            continue
        ci, cj, ck = floor(x * detail), floor(y * detail), floor(z * detail)
        for i in range(0 if flat else max(ci - width, 0), 1 if flat else min(ci + width + 1, n0)):
            dx = 0.0 if flat else (i + 0.5) / detail - x
            for j in range(max(cj - width, 0), min(cj + width + 1, n1)):
                dy = (j + 0.5) / detail - y
                for k in range(max(ck - width, 0), min(ck + width + 1, n2)):
                    dz = (k + 0.5) / detail - z
                    q = 1.0 - (dx * dx + dy * dy + dz * dz) / (radius * radius)
                    if q > 0.0:
                        out[i, j, k] += q * q * q


@kernel
def union_bumps(values, bumps, level, slope):
    """Union of the level set, which has two more samples on every side, and the set where the bumps exceed `level`.

    `slope` is the slope of the bumps there, per cell.
    """
    n0, n1, n2 = bumps.shape
    for r in range(n0 * n1):
        i, j = r // n1, r % n1
        row, bump = values[i + 2, j + 2], bumps[i, j]
        for k in range(n2):
            row[k + 2] = min(row[k + 2], (level - bump[k]) / slope)


@kernel_pair
def cap_boundary(out):
    """Set the outer samples: the surface extends beyond the sides of the box by one sample and is closed there."""
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
def interpolate_at_points(q, offset0, offset1, offset2, points, out):
    """Interpolate a grid quantity at points in cells."""
    for p in range(len(points)):
        out[p] = value_at(q, points[p, 0] - offset0, points[p, 1] - offset1, points[p, 2] - offset2)
