"""Compiled passes of viscosity and XSPH."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd.f32x4 import dot3s, load4s, row4s, splat4s, store4s

GROUP = 512  # particles per task


@inline
def pair_weight(square, inverse_square):
    """Return the weight (1 - s)(27 - 20 s) of a pair for its squared distance, s that in kernel radii.

    On a cubic lattice with the kernel's radius of two spacings it makes the sum of k x x x x/r^2 isotropic.
    """
    s = square * inverse_square
    return max(np.float32(1.0) - s, np.float32(0.0)) * (np.float32(27.0) - np.float32(20.0) * s)


@kernel_pair
def scale_viscosity(
    xyzp, begin, end, neighbours, inverse_square, wall_moment, viscosity, lattice_moment, factor, scaled
):
    """Write factor mu_i/(M_i + M) [Pa s/m2], M_i = sum_j k r^2 the moment of the weights, M a lattice's; shape [n]."""
    n = viscosity.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here, total = load4s(xyzp, 4 * i), wall_moment[i]
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                offset = here - load4s(xyzp, 4 * np.uint64(neighbours[k]))
                square = dot3s(offset, offset)
                total += pair_weight(square, inverse_square) * square
            scaled[i] = factor * viscosity[i] / (total + lattice_moment)


@inline
def viscous_force_at(i, xyzp, velocities, begin, end, neighbours, scaled, inverse_square):
    """Return the viscous force per volume on particle i [N/m3], along the lines to its neighbours.

    Pairs of fluids use the mean of their viscosities. Linear and angular momentum are conserved.
    """
    here, own, mu = load4s(xyzp, 4 * i), load4s(velocities, 4 * i), scaled[i]
    tiny = np.float32(1e-12) / inverse_square
    total = splat4s(np.float32(0.0))
    for k in range(np.uint64(begin[i]), np.uint64(end[i])):
        j = np.uint64(neighbours[k])
        offset = here - load4s(xyzp, 4 * j)
        square = dot3s(offset, offset)
        approach = dot3s(offset, own - load4s(velocities, 4 * j)) / max(square, tiny)
        total = total - offset * (pair_weight(square, inverse_square) * approach * (mu + scaled[j]))
    return total * np.float32(0.5)


@kernel_pair
def add_viscous_accelerations(
    xyzp, velocities, begin, end, neighbours, scaled, inverse_square, inverse_density, wall, drag,
    drag_velocity, accelerations
):  # fmt: skip
    """Add viscous accelerations [m/s2], shape [4 n]; walls exert `wall` (drag_velocity - drag v) per volume."""
    n = inverse_density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            force = viscous_force_at(i, xyzp, velocities, begin, end, neighbours, scaled, inverse_square)
            force = force + (load4s(drag_velocity, 4 * i) - load4s(velocities, 4 * i) * drag[i]) * wall[i]
            factor = row4s(inverse_density[i], inverse_density[i], inverse_density[i], 0)
            store4s(accelerations, 4 * i, load4s(accelerations, 4 * i) + force * factor)


@kernel_pair
def viscosity_matrix_product(
    xyzp, vectors, begin, end, neighbours, scaled, inverse_square, inverse_density, dt, wall, drag, result, parts
):  # fmt: skip
    """Write (rho - dt D) u for vectors u [4 n], with D the viscous force per volume, walls at rest included.

    `parts` receives the inner products of u with the result, one per group.
    """
    n = inverse_density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        total = 0.0
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            own = load4s(vectors, 4 * i)
            force = viscous_force_at(i, xyzp, vectors, begin, end, neighbours, scaled, inverse_square)
            diagonal = np.float32(1.0) / inverse_density[i] + dt * wall[i] * drag[i]
            product = (own * diagonal - force * dt) * row4s(1, 1, 1, 0)
            store4s(result, 4 * i, product)
            total += dot3s(own, product)
        parts[group] = total


@kernel_pair
def xsph(xyzp, velocities, begin, end, neighbours, density, volume, inverse, strength, result):
    """Write velocities blended with those of the neighbours (XSPH): u_i = v_i + c sum_j V/delta_j (v_j - v_i) W_ij."""
    n = density.shape[0]
    ih = np.float32(inverse)
    scale = np.float32(16.0 / np.pi) * ih * ih * ih * np.float32(volume)
    one, half, none = np.float32(1.0), np.float32(0.5), np.float32(0.0)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here, own = load4s(xyzp, 4 * i), load4s(velocities, 4 * i)
            total = splat4s(none)
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                offset = here - load4s(xyzp, 4 * j)
                q = np.sqrt(dot3s(offset, offset)) * ih
                a, b = max(one - q, none), max(half - q, none)
                value = scale * (a * a * a - np.float32(4.0) * b * b * b)
                # symmetric in i and j, so that momentum is conserved
                mean = np.float32(2.0) / (density[i] + density[j])
                total = total + (load4s(velocities, 4 * j) - own) * (value * mean)
            store4s(result, 4 * i, own + total * np.float32(strength))
