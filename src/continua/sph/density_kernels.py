"""Compiled passes over densities: the densities themselves, their rates, and the diagonal of the pressure system.

All fluids of a world have particles of one volume V, so that densities are handled relative to the rest density:
delta_i = V sum_j W_ij is 1 in a fluid at rest density, whatever its mass. The gradient of the kernel at a neighbour is
`weights[k] * (x_i - x_j)`, with V W'(r)/r stored in the neighbour lists by `densities`. Boundaries enter as sums per
particle: their part of delta, its gradient, and its rate due to their own motion.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd.f32x4 import dot3s, load4s, splat4s, sum3s

GROUP = 512  # particles per task


@inline
def kernel_sums(begin, end, inverse, volume, weights):
    """Replace squared distances by gradient factors; return the sums of V W and of (V |grad W|)^2 over a list."""
    ih, v = np.float32(inverse), np.float32(volume)
    scale = np.float32(8.0 / np.pi) * ih * ih * ih * v
    slope = scale * ih
    minimum = np.float32(1e-6) / ih
    total, squares = np.float32(0.0), np.float32(0.0)
    one, half, none = np.float32(1.0), np.float32(0.5), np.float32(0.0)
    for k in range(np.uint64(begin), np.uint64(end)):
        square = weights[k]
        distance = np.sqrt(square)
        q = distance * ih
        a, b = max(one - q, none), max(half - q, none)
        total += a * a * a - np.float32(4.0) * b * b * b
        factor = slope * (np.float32(24.0) * b * b - np.float32(6.0) * a * a) / max(distance, minimum)
        weights[k] = factor
        squares += factor * factor * square
    return np.float32(2.0) * scale * total, squares


@kernel_pair
def densities(
    xyzp, begin, end, neighbours, weights, inverse, volume, inverse_density, mixed, boundary_gradient,
    boundary_density, minimum, density, alpha
):  # fmt: skip
    """Compute relative densities, and the inverse diagonal alpha of the pressure system.

    Args:
        xyzp: Positions and pressures, shape [4 n].
        begin: Start of each neighbour list.
        end: End of each neighbour list.
        neighbours: Indices of neighbours.
        weights: Squared distances [m2]; receives V W'(r)/r.
        inverse: One over the kernel's radius [1/m].
        volume: Volume of a particle [m3].
        inverse_density: One over the rest density of each particle [m3/kg].
        mixed: Whether there are several rest densities.
        boundary_gradient: Gradient of the boundaries' part of the density [1/m], shape [4 n].
        boundary_density: The boundaries' part of the relative density, shape [n].
        minimum: Smallest denominator of alpha, relative to the inverse rest density [1/m2]; alpha is 0 below it.
        density: Receives relative densities, shape [n].
        alpha: Receives the inverse diagonal of the pressure system [kg/m3 m2], shape [n].
    """
    n = density.shape[0]
    own = np.float32(8.0 / np.pi * inverse**3 * volume)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            total, squares = kernel_sums(begin[i], end[i], inverse, volume, weights)
            here, slope = load4s(xyzp, 4 * i), load4s(boundary_gradient, 4 * i)
            if mixed:
                squares = np.float32(0.0)
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                part = (here - load4s(xyzp, 4 * j)) * weights[k]
                slope = slope + part
                if mixed:
                    squares += dot3s(part, part) * inverse_density[j]
            if not mixed:
                squares *= inverse_density[i]
            density[i] = own + total + boundary_density[i]
            denominator = dot3s(slope, slope) * inverse_density[i] + squares
            alpha[i] = (
                np.float32(1.0) / denominator
                if denominator > minimum * inverse_density[i]
                else np.float32(0.0)
            )


@inline
def rate_at(i, xyzp, vectors, begin, end, neighbours, weights, boundary_gradient):
    """Return the rate of the relative density of particle i if all move with `vectors` and boundaries are at rest."""
    here, own = load4s(xyzp, 4 * i), load4s(vectors, 4 * i)
    total = splat4s(np.float32(0.0))
    for k in range(np.uint64(begin[i]), np.uint64(end[i])):
        j = np.uint64(neighbours[k])
        total = total + (here - load4s(xyzp, 4 * j)) * (own - load4s(vectors, 4 * j)) * weights[k]
    return sum3s(total) + dot3s(own, load4s(boundary_gradient, 4 * i))


@kernel_pair
def density_rates(xyzp, velocities, begin, end, neighbours, weights, boundary_gradient, boundary_rate, rates):
    """Compute the rate of each particle's relative density [1/s] for velocities [4 n]."""
    n = rates.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            rates[i] = (
                rate_at(i, xyzp, velocities, begin, end, neighbours, weights, boundary_gradient)
                + boundary_rate[i]
            )
