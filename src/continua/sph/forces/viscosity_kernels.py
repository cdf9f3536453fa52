"""Compiled passes of viscosity."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd32 import dot3s, load4s, row4s, splat4s, store4s

GROUP = 512  # particles that one task handles


@inline
def drag_at(i, rows, velocities, begin, end, neighbours, weights, viscosity, soften):
    """Return the viscous force a volume on particle i [N/m3], along the lines to its neighbours (Monaghan 2005).

    Pairs of fluids of different viscosity take the mean. Linear and angular momentum are kept.
    """
    here, own, mu = load4s(rows, 4 * i), load4s(velocities, 4 * i), viscosity[i]
    total = splat4s(np.float32(0.0))
    for k in range(np.uint64(begin[i]), np.uint64(end[i])):
        j = np.uint64(neighbours[k])
        line = here - load4s(rows, 4 * j)
        along = dot3s(line, own - load4s(velocities, 4 * j)) / (dot3s(line, line) + soften)
        total = total + line * (weights[k] * along * (mu + viscosity[j]))
    return total * np.float32(5.0)


@kernel_pair
def viscous_accelerations(
    rows, velocities, begin, end, neighbours, weights, viscosity, light, soften, gravity, accelerations
):  # fmt: skip
    """Write gravity and viscous accelerations [m/s2], shape [4 n]."""
    n = light.shape[0]
    down = row4s(gravity[0], gravity[1], gravity[2], 0)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            force = drag_at(i, rows, velocities, begin, end, neighbours, weights, viscosity, soften)
            store4s(accelerations, 4 * i, down + force * row4s(light[i], light[i], light[i], 0))


@kernel_pair
def viscous_product(
    rows, vectors, begin, end, neighbours, weights, viscosity, light, soften, dt, wall_density, stick, result, parts
):  # fmt: skip
    """Write (rho - dt D) u for vectors u [4 n], with D the viscous force a volume, walls at rest included.

    `parts` receives the inner products of u with the result, a group each.
    """
    n = light.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        total = 0.0
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            own = load4s(vectors, 4 * i)
            force = drag_at(i, rows, vectors, begin, end, neighbours, weights, viscosity, soften)
            own_factor = np.float32(1.0) / light[i] + dt * stick * viscosity[i] * wall_density[i]
            product = (own * own_factor - force * dt) * row4s(1, 1, 1, 0)
            store4s(result, 4 * i, product)
            total += dot3s(own, product)
        parts[group] = total


@kernel_pair
def smoothed(rows, velocities, begin, end, neighbours, density, volume, inverse, strength, result):
    """Write velocities moved towards their neighbours' (XSPH): u_i = v_i + c sum_j V/delta_j (v_j - v_i) W_ij."""
    n = density.shape[0]
    ih = np.float32(inverse)
    scale = np.float32(16.0 / np.pi) * ih * ih * ih * np.float32(volume)
    one, half, none = np.float32(1.0), np.float32(0.5), np.float32(0.0)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here, own = load4s(rows, 4 * i), load4s(velocities, 4 * i)
            total = splat4s(none)
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                line = here - load4s(rows, 4 * j)
                q = np.sqrt(dot3s(line, line)) * ih
                a, b = max(one - q, none), max(half - q, none)
                value = scale * (a * a * a - np.float32(4.0) * b * b * b)
                # one number for both of a pair, so that momentum is kept
                mean = np.float32(2.0) / (density[i] + density[j])
                total = total + (load4s(velocities, 4 * j) - own) * (value * mean)
            store4s(result, 4 * i, own + total * np.float32(strength))
