"""Compiled passes of surface tension (Akinci, Akinci and Teschner 2013)."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import kernel_pair
from continua.numerics.simd.f32x4 import dot3s, load4s, row4s, splat4s, store4s

GROUP = 512  # particles per task


@kernel_pair
def surface_normals(xyzp, begin, end, neighbours, weights, density, radius, normals):
    """Write n_i = r sum_j (V/delta_j) grad W_ij: large at the surface, pointing inwards; shape [4 n]."""
    n = density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here = load4s(xyzp, 4 * i)
            total = splat4s(np.float32(0.0))
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                total = total + (here - load4s(xyzp, 4 * j)) * (weights[k] / density[j])
            store4s(normals, 4 * i, total * np.float32(radius) * row4s(1, 1, 1, 0))


@kernel_pair
def add_surface_tension(
    xyzp, begin, end, neighbours, density, fluid_index, coefficients, inverse_density, normals, radius,
    volume, accelerations
):  # fmt: skip
    """Add the accelerations of cohesion and surface area minimisation between particles of one fluid."""
    n = density.shape[0]
    r = np.float32(radius)
    scale = np.float32(32.0 / (np.pi * radius**9))
    core = np.float32(radius**6 / 64.0)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            gamma = coefficients[fluid_index[i]]
            if gamma == np.float32(0.0):
                continue
            mass = np.float32(volume) / inverse_density[i]
            here, normal = load4s(xyzp, 4 * i), load4s(normals, 4 * i)
            total = splat4s(np.float32(0.0))
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                if fluid_index[j] != fluid_index[i]:
                    continue
                offset = here - load4s(xyzp, 4 * j)
                distance = np.sqrt(dot3s(offset, offset))
                cube = (r - distance) * distance
                cube = cube * cube * cube
                cohesion = cube if distance + distance > r else np.float32(2.0) * cube - core
                factor = mass * scale * cohesion / max(distance, np.float32(1e-6) * r)
                mean = np.float32(2.0) / (density[i] + density[j])
                total = total + (offset * factor + (normal - load4s(normals, 4 * j))) * mean
            store4s(
                accelerations, 4 * i, load4s(accelerations, 4 * i) - total * row4s(gamma, gamma, gamma, 0)
            )
