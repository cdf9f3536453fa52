"""Compiled passes of the pressure solvers.

All fluids of a world have particles of one volume V, so that densities are handled relative to the rest density:
delta_i = V sum_j W_ij is 1 in a fluid at rest density, whatever its mass. The gradient of the kernel at a neighbour is
`weights[k] * (x_i - x_j)`, with V W'(r)/r stored in the neighbour lists by `densities`. Walls come in as a sum for each
particle: their part of delta, its gradient, and its rate by the walls' own motion.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd32 import dot3s, last4s, load4s, row4s, splat4s, store4s, sum3s

GROUP = 512  # particles that one task handles; sums over all go by groups, so that their order is fixed
_PACE = 3.0  # momentum begins as after some iterations: the guess is near, and what is wrong with it wears off slowly


@inline
def kernel_sums(begin, end, inverse, volume, weights):
    """Turn squares of distances into gradient factors; return the sums of V W and of (V |grad W|)^2 over a list."""
    ih, v = np.float32(inverse), np.float32(volume)
    scale = np.float32(8.0 / np.pi) * ih * ih * ih * v
    slope = scale * ih
    least = np.float32(1e-6) / ih
    total, squares = np.float32(0.0), np.float32(0.0)
    one, half, none = np.float32(1.0), np.float32(0.5), np.float32(0.0)
    for k in range(np.uint64(begin), np.uint64(end)):
        square = weights[k]
        distance = np.sqrt(square)
        q = distance * ih
        a, b = max(one - q, none), max(half - q, none)
        total += a * a * a - np.float32(4.0) * b * b * b
        factor = slope * (np.float32(24.0) * b * b - np.float32(6.0) * a * a) / max(distance, least)
        weights[k] = factor
        squares += factor * factor * square
    return np.float32(2.0) * scale * total, squares


@kernel_pair
def densities(
    rows, begin, end, neighbours, weights, inverse, volume, light, mixed, wall, wall_density, least, density, alpha
):  # fmt: skip
    """Measure relative densities, and how strongly a particle's own pressure lowers its density rate.

    Args:
        rows: Positions and pressures, shape [4 n].
        begin: Where lists begin.
        end: Where lists end.
        neighbours: Neighbour numbers.
        weights: Squares of distances [m2]; receives V W'(r)/r.
        inverse: One over the kernel's radius [1/m].
        volume: Volume of a particle [m3].
        light: One over the rest density of each particle [m3/kg].
        mixed: Whether there are several rest densities.
        wall: Gradient of the walls' part of the density [1/m], shape [4 n].
        wall_density: The walls' part of the relative density, shape [n].
        least: What the denominator of alpha must exceed, relative to the inverse rest density [1/m2].
        density: Receives relative densities, shape [n].
        alpha: Receives the inverse diagonal of the pressure system [kg/m3 m2], shape [n].
    """
    n = density.shape[0]
    own = np.float32(8.0 / np.pi * inverse**3 * volume)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            total, squares = kernel_sums(begin[i], end[i], inverse, volume, weights)
            here, slope = load4s(rows, 4 * i), load4s(wall, 4 * i)
            if mixed:
                squares = np.float32(0.0)
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                part = (here - load4s(rows, 4 * j)) * weights[k]
                slope = slope + part
                if mixed:
                    squares += dot3s(part, part) * light[j]
            if not mixed:
                squares *= light[i]
            density[i] = own + total + wall_density[i]
            denominator = dot3s(slope, slope) * light[i] + squares
            alpha[i] = np.float32(1.0) / denominator if denominator > least * light[i] else np.float32(0.0)


@inline
def rate_at(i, rows, vectors, begin, end, neighbours, weights, wall):
    """Return the rate of the relative density of particle i if all move with `vectors`, walls at rest."""
    here, own = load4s(rows, 4 * i), load4s(vectors, 4 * i)
    total = splat4s(np.float32(0.0))
    for k in range(np.uint64(begin[i]), np.uint64(end[i])):
        j = np.uint64(neighbours[k])
        total = total + (here - load4s(rows, 4 * j)) * (own - load4s(vectors, 4 * j)) * weights[k]
    return sum3s(total) + dot3s(own, load4s(wall, 4 * i))


@inline
def push_at(i, rows, begin, end, neighbours, weights, light, wall):
    """Return the change of velocity of particle i by the pressures (times time) in the last lane of `rows`."""
    here = load4s(rows, 4 * i)
    own = last4s(here)
    total = load4s(wall, 4 * i) * own
    for k in range(np.uint64(begin[i]), np.uint64(end[i])):
        j = np.uint64(neighbours[k])
        other = load4s(rows, 4 * j)
        total = total + (here - other) * ((own + last4s(other)) * weights[k])
    return total * (-light[i])


@kernel_pair
def density_rates(rows, velocities, begin, end, neighbours, weights, wall, wall_rate, rates):
    """Measure the rate of each particle's relative density [1/s] under the velocities [4 n]."""
    n = rates.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            rates[i] = rate_at(i, rows, velocities, begin, end, neighbours, weights, wall) + wall_rate[i]


@kernel_pair
def pressure_pushes(rows, begin, end, neighbours, weights, light, wall, pushes):
    """Write the changes of velocity [m/s] by the pressures (times time) in the last lane of `rows`."""
    n = rows.shape[0] // 4
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            store4s(
                pushes,
                4 * i,
                push_at(i, rows, begin, end, neighbours, weights, light, wall) * row4s(1, 1, 1, 0),
            )


@inline
def _in_order(parts):
    """Add from first to last, through memory, which the compiler may not re-associate."""
    for k in range(1, parts.shape[0]):
        parts[k] += parts[k - 1]
    return parts[-1]


@kernel_pair
def solve(
    rows, pushes, begin, end, neighbours, weights, light, wall, alpha, source, last, relax, tolerance, fewest, most
):  # fmt: skip
    """Find pressures that let no density grow: p >= 0, source + rate(push(p)) <= 0, and where p > 0 exactly 0.

    Jacobi's iteration on the running pressures, each kept at 0 or above, with Nesterov's momentum, which starts
    from nothing when it leads uphill (O'Donoghue and Candes 2015). The error counts a rate below 0 as well where
    there is pressure, so that a guess that is too strong is not taken for a solution.

    Args:
        rows: Positions, and in the last lane the pressures times time [Pa s]: the guess, then the solution; [4 n].
        pushes: Receives the changes of velocity that belong to the solution [m/s], shape [4 n].
        begin: Where lists begin.
        end: Where lists end.
        neighbours: Neighbour numbers.
        weights: Gradient factors.
        light: One over the rest densities.
        wall: Gradient of the walls' part of the density.
        alpha: Inverse diagonal; 0 for a particle without pressure.
        source: Rate of the relative density that the pressures shall take away [1/s].
        last: Scratch, shape [n].
        relax: Part of each correction that is made; below 4/3 over the largest eigenvalue of alpha A, about 3.5.
        tolerance: Mean error that may stay [1/s].
        fewest: Least iterations.
        most: Most iterations.

    Returns:
        Iterations, and the mean error that stays [1/s].
    """
    n = source.shape[0]
    groups = (n + GROUP - 1) // GROUP
    parts, turns = np.zeros(groups), np.zeros(groups)
    done, error, pace = 0, 0.0, _PACE
    none = np.float32(0.0)
    for group in prange(groups):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            last[i] = rows[4 * i + 3]
    while True:
        for group in prange(groups):
            for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
                push = push_at(i, rows, begin, end, neighbours, weights, light, wall)
                store4s(pushes, 4 * i, push * row4s(1, 1, 1, 0))
        for group in prange(groups):
            total, turn = 0.0, 0.0
            for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
                if alpha[i] > none:
                    rate = source[i] + rate_at(i, rows, pushes, begin, end, neighbours, weights, wall)
                    guess = rows[4 * i + 3]
                    pressure = max(guess + relax * alpha[i] * rate, none)
                    turn += (guess - pressure) * (pressure - last[i]) / alpha[i]
                    total += abs(rate) if guess > none else max(rate, none)
                    pushes[4 * i + 3] = pressure  # the last lane is not read by `rate_at`
            parts[group], turns[group] = total, turn
        error = _in_order(parts) / n
        done += 1
        if (error <= tolerance and done >= fewest) or done >= most or not np.isfinite(error):
            return done, error
        if _in_order(turns) > 0.0:
            pace = 1.0
        coming = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))  # Nesterov's sequence 1, 1.62, 2.19, ...
        ahead = np.float32((pace - 1.0) / coming)
        pace = coming
        for group in prange(groups):
            for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
                pressure = pushes[4 * i + 3]
                rows[4 * i + 3] = max(pressure + ahead * (pressure - last[i]), none)
                last[i] = pressure
