"""Compiled passes of the pressure solvers that are there for comparison."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd32 import dot3s, load4s, row4s, splat4s, store4s
from continua.sph.pressure.pressure_kernels import rate_at

GROUP = 512  # particles that one task handles; sums over all go by groups


@inline
def _value_and_factor(line, inverse, volume):
    """Return V W and V W'(r)/r at the end of a line."""
    ih = np.float32(inverse)
    scale = np.float32(8.0 / np.pi) * ih * ih * ih * np.float32(volume)
    distance = np.sqrt(dot3s(line, line))
    q = distance * ih
    a, b = max(np.float32(1.0) - q, np.float32(0.0)), max(np.float32(0.5) - q, np.float32(0.0))
    value = np.float32(2.0) * scale * (a * a * a - np.float32(4.0) * b * b * b)
    slope = scale * ih * (np.float32(24.0) * b * b - np.float32(6.0) * a * a)
    return value, slope / max(distance, np.float32(1e-6) / ih)


@inline
def _density_at(i, here, points, begin, end, neighbours, inverse, volume):
    """Return the relative density of particle i if all are at `points`, walls left out, and sums of its gradients."""
    total = np.float32(8.0 / np.pi * inverse**3 * volume)
    squares = np.float32(0.0)
    slope = splat4s(np.float32(0.0))
    for k in range(np.uint64(begin[i]), np.uint64(end[i])):
        line = (here - load4s(points, 4 * np.uint64(neighbours[k]))) * row4s(1, 1, 1, 0)
        value, factor = _value_and_factor(line, inverse, volume)
        total += value
        part = line * factor
        slope = slope + part
        squares += dot3s(part, part)
    return total, slope, squares


@kernel_pair
def relax_linear(
    rows, pushes, begin, end, neighbours, weights, wall, alpha, source, relax, parts
):  # fmt: skip
    """Correct the pressures in `rows` once by the rates that `pushes` leave; sums of positive rates into `parts`."""
    n = source.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        total = 0.0
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            rate = source[i] + rate_at(i, rows, pushes, begin, end, neighbours, weights, wall)
            total += max(rate, np.float32(0.0))
            rows[4 * i + 3] = max(rows[4 * i + 3] + relax * alpha[i] * rate, np.float32(0.0))
        parts[group] = total


@kernel_pair
def relax_predicted(
    rows, points, begin, end, neighbours, inverse, volume, wall, wall_density, gain, parts
):  # fmt: skip
    """Correct the pressures in `rows` once by the densities at predicted `points`; sums of errors into `parts`."""
    n = wall_density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        total = 0.0
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here = load4s(points, 4 * i)
            density, _, _ = _density_at(i, here, points, begin, end, neighbours, inverse, volume)
            moved = here - load4s(rows, 4 * i)
            error = density + wall_density[i] + dot3s(moved, load4s(wall, 4 * i)) - np.float32(1.0)
            total += max(error, np.float32(0.0))
            rows[4 * i + 3] = max(rows[4 * i + 3] + gain * error, np.float32(0.0))
        parts[group] = total


@kernel_pair
def position_multipliers(
    rows, points, begin, end, neighbours, inverse, volume, wall, wall_density, least, multipliers, parts
):  # fmt: skip
    """Write lambda_i = -C_i / sum |grad C_i|^2 of the constraints C = delta - 1 <= 0; sums of errors into `parts`."""
    n = multipliers.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        total = 0.0
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here, edge = load4s(points, 4 * i), load4s(wall, 4 * i)
            density, slope, squares = _density_at(i, here, points, begin, end, neighbours, inverse, volume)
            moved = here - load4s(rows, 4 * i)
            error = max(density + wall_density[i] + dot3s(moved, edge) - np.float32(1.0), np.float32(0.0))
            total += error
            slope = slope + edge
            multipliers[i] = -error / (dot3s(slope, slope) + squares + least)
        parts[group] = total


@kernel_pair
def position_moves(points, begin, end, neighbours, inverse, volume, wall, multipliers, relax, moves):
    """Write the corrections sum_j (lambda_i + lambda_j) grad W_ij of positions, shape [4 n]."""
    n = multipliers.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here = load4s(points, 4 * i)
            total = load4s(wall, 4 * i) * multipliers[i]
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                line = here - load4s(points, 4 * j)
                _, factor = _value_and_factor(line, inverse, volume)
                total = total + line * (factor * (multipliers[i] + multipliers[j]))
            store4s(moves, 4 * i, total * row4s(relax, relax, relax, 0))
