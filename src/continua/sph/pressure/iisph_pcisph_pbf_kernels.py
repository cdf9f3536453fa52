"""Compiled passes of IISPH, PCISPH and position based fluids."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd.f32x4 import dot3s, load4s, row4s, splat4s, store4s
from continua.sph.density_kernels import rate_at

GROUP = 512  # particles per task; sums over all particles go by groups


@inline
def _kernel_value_and_factor(offset, inverse, volume):
    """Return V W and V W'(r)/r for an offset."""
    ih = np.float32(inverse)
    scale = np.float32(8.0 / np.pi) * ih * ih * ih * np.float32(volume)
    distance = np.sqrt(dot3s(offset, offset))
    q = distance * ih
    a, b = max(np.float32(1.0) - q, np.float32(0.0)), max(np.float32(0.5) - q, np.float32(0.0))
    value = np.float32(2.0) * scale * (a * a * a - np.float32(4.0) * b * b * b)
    slope = scale * ih * (np.float32(24.0) * b * b - np.float32(6.0) * a * a)
    return value, slope / max(distance, np.float32(1e-6) / ih)


@inline
def _density_at(i, here, points, begin, end, neighbours, inverse, volume):
    """Return the relative density of particle i with all at `points`, without boundaries, and sums of its gradients."""
    total = np.float32(8.0 / np.pi * inverse**3 * volume)
    squares = np.float32(0.0)
    slope = splat4s(np.float32(0.0))
    for k in range(np.uint64(begin[i]), np.uint64(end[i])):
        offset = (here - load4s(points, 4 * np.uint64(neighbours[k]))) * row4s(1, 1, 1, 0)
        value, factor = _kernel_value_and_factor(offset, inverse, volume)
        total += value
        part = offset * factor
        slope = slope + part
        squares += dot3s(part, part)
    return total, slope, squares


@kernel_pair
def iisph_update(
    xyzp, velocity_changes, begin, end, neighbours, weights, boundary_gradient, alpha, source, relaxation, parts
):  # fmt: skip
    """Correct the pressures in `xyzp` once by the remaining rates; write sums of positive rates to `parts`."""
    n = source.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        total = 0.0
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            rate = source[i] + rate_at(
                i, xyzp, velocity_changes, begin, end, neighbours, weights, boundary_gradient
            )
            total += max(rate, np.float32(0.0))
            xyzp[4 * i + 3] = max(xyzp[4 * i + 3] + relaxation * alpha[i] * rate, np.float32(0.0))
        parts[group] = total


@kernel_pair
def pcisph_update(
    xyzp, points, begin, end, neighbours, inverse, volume, boundary_gradient, boundary_density, gain, parts
):  # fmt: skip
    """Correct the pressures in `xyzp` once by the densities at predicted `points`; write sums of errors to `parts`."""
    n = boundary_density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        total = 0.0
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here = load4s(points, 4 * i)
            density, _, _ = _density_at(i, here, points, begin, end, neighbours, inverse, volume)
            displacement = here - load4s(xyzp, 4 * i)
            error = (
                density
                + boundary_density[i]
                + dot3s(displacement, load4s(boundary_gradient, 4 * i))
                - np.float32(1.0)
            )
            total += max(error, np.float32(0.0))
            xyzp[4 * i + 3] = max(xyzp[4 * i + 3] + gain * error, np.float32(0.0))
        parts[group] = total


@kernel_pair
def pbf_multipliers(
    xyzp, points, begin, end, neighbours, inverse, volume, boundary_gradient, boundary_density,
    regularisation, multipliers, parts
):  # fmt: skip
    """Write lambda_i = -C_i / sum |grad C_i|^2 for the constraints C = delta - 1 <= 0; sums of errors go to `parts`."""
    n = multipliers.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        total = 0.0
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here, boundary_slope = load4s(points, 4 * i), load4s(boundary_gradient, 4 * i)
            density, slope, squares = _density_at(i, here, points, begin, end, neighbours, inverse, volume)
            displacement = here - load4s(xyzp, 4 * i)
            error = max(
                density + boundary_density[i] + dot3s(displacement, boundary_slope) - np.float32(1.0),
                np.float32(0.0),
            )
            total += error
            slope = slope + boundary_slope
            multipliers[i] = -error / (dot3s(slope, slope) + squares + regularisation)
        parts[group] = total


@kernel_pair
def pbf_corrections(
    points, begin, end, neighbours, inverse, volume, boundary_gradient, multipliers, relaxation, corrections
):
    """Write the position corrections sum_j (lambda_i + lambda_j) grad W_ij, shape [4 n]."""
    n = multipliers.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here = load4s(points, 4 * i)
            total = load4s(boundary_gradient, 4 * i) * multipliers[i]
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                offset = here - load4s(points, 4 * j)
                _, factor = _kernel_value_and_factor(offset, inverse, volume)
                total = total + offset * (factor * (multipliers[i] + multipliers[j]))
            store4s(corrections, 4 * i, total * row4s(relaxation, relaxation, relaxation, 0))
