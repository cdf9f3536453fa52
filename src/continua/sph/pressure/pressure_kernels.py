"""Compiled passes of the pressure solvers; see `density_kernels` for how densities are handled."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd.f32x4 import dot3s, last4s, load4s, row4s, store4s
from continua.sph.density_kernels import rate_at

GROUP = 512  # particles per task; sums over all particles go by groups, so that their order is fixed
_INITIAL_MOMENTUM = 3.0  # as after some iterations: the guess is close, and its error decays slowly


@inline
def velocity_change_at(i, xyzp, begin, end, neighbours, weights, inverse_density, boundary_gradient):
    """Return the change of velocity of particle i due to the pressures (times time) in the last lane of `xyzp`."""
    here = load4s(xyzp, 4 * i)
    own = last4s(here)
    total = load4s(boundary_gradient, 4 * i) * own
    for k in range(np.uint64(begin[i]), np.uint64(end[i])):
        j = np.uint64(neighbours[k])
        other = load4s(xyzp, 4 * j)
        total = total + (here - other) * ((own + last4s(other)) * weights[k])
    return total * (-inverse_density[i])


@kernel_pair
def pressure_velocity_changes(
    xyzp, begin, end, neighbours, weights, inverse_density, boundary_gradient, velocity_changes
):
    """Write the changes of velocity [m/s] due to the pressures (times time) in the last lane of `xyzp`."""
    n = xyzp.shape[0] // 4
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            store4s(
                velocity_changes,
                4 * i,
                velocity_change_at(
                    i, xyzp, begin, end, neighbours, weights, inverse_density, boundary_gradient
                )
                * row4s(1, 1, 1, 0),
            )


@kernel_pair
def virial_pressures(
    xyzp, begin, end, neighbours, inverse, volume, unknowns, wall_virial, local, result
):  # fmt: skip
    """Write the mean normal stress of the pressure forces on a particle [Pa] to `local`, its average to `result`.

    `unknowns` are the unknowns of the pressure solver [Pa], `wall_virial` that of `BoundarySums`; all of shape [n].
    """
    n = unknowns.shape[0]
    ih = np.float32(inverse)
    scale = np.float32(8.0 / np.pi) * ih * ih * ih * np.float32(volume)
    one, half, none = np.float32(1.0), np.float32(0.5), np.float32(0.0)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here, own = load4s(xyzp, 4 * i), unknowns[i]
            total = none
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                offset = here - load4s(xyzp, 4 * j)
                q = np.sqrt(dot3s(offset, offset)) * ih
                a, b = max(one - q, none), max(half - q, none)
                total += (own + unknowns[j]) * q * (np.float32(6.0) * a * a - np.float32(24.0) * b * b)
            local[i] = scale * total / np.float32(6.0) + own * wall_virial[i] / np.float32(3.0)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here = load4s(xyzp, 4 * i)
            total, weight = local[i], one
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                offset = here - load4s(xyzp, 4 * j)
                q = np.sqrt(dot3s(offset, offset)) * ih
                a, b = max(one - q, none), max(half - q, none)
                value = np.float32(2.0) * (a * a * a - np.float32(4.0) * b * b * b)
                total += value * local[j]
                weight += value
            result[i] = total / weight


@inline
def _ordered_sum(parts):
    """Add from first to last, through memory, which the compiler may not re-associate."""
    for k in range(1, parts.shape[0]):
        parts[k] += parts[k - 1]
    return parts[-1]


@kernel_pair
def accelerated_jacobi(
    xyzp, velocity_changes, begin, end, neighbours, weights, inverse_density, boundary_gradient, alpha,
    source, previous, relaxation, tolerance, min_iterations, max_iterations
):  # fmt: skip
    """Solve the complementarity problem p >= 0, source + rate(p) <= 0, and source + rate(p) = 0 where p > 0.

    Projected Jacobi iteration on the pressures with Nesterov's momentum, which restarts when it leads uphill
    (O'Donoghue and Candes 2015). Where there is pressure the error counts negative rates too, so that a guess that is
    too strong is not taken for a solution.

    Args:
        xyzp: Positions, and in the last lane the pressures times time [Pa s]: the guess, then the solution; [4 n].
        velocity_changes: Receives the changes of velocity that belong to the solution [m/s], shape [4 n].
        begin: Start of each neighbour list.
        end: End of each neighbour list.
        neighbours: Indices of neighbours.
        weights: Gradient factors.
        inverse_density: One over the rest densities.
        boundary_gradient: Gradient of the boundaries' part of the density.
        alpha: Inverse diagonal; 0 for a particle without pressure.
        source: Rate of the relative density that the pressures have to cancel [1/s].
        previous: Scratch, shape [n].
        relaxation: Factor of each correction; below 4/3 over the largest eigenvalue of alpha A, about 3.5.
        tolerance: Mean error to reach [1/s].
        min_iterations: Smallest number of iterations.
        max_iterations: Largest number of iterations.

    Returns:
        Iterations, and the remaining mean error [1/s].
    """
    n = source.shape[0]
    groups = (n + GROUP - 1) // GROUP
    parts, restarts = np.zeros(groups), np.zeros(groups)
    iterations, error, momentum = 0, 0.0, _INITIAL_MOMENTUM
    none = np.float32(0.0)
    for group in prange(groups):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            previous[i] = xyzp[4 * i + 3]
    while True:
        for group in prange(groups):
            for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
                velocity_change = velocity_change_at(
                    i, xyzp, begin, end, neighbours, weights, inverse_density, boundary_gradient
                )
                store4s(velocity_changes, 4 * i, velocity_change * row4s(1, 1, 1, 0))
        for group in prange(groups):
            group_error, restart = 0.0, 0.0
            for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
                if alpha[i] > none:
                    rate = source[i] + rate_at(
                        i, xyzp, velocity_changes, begin, end, neighbours, weights, boundary_gradient
                    )
                    guess = xyzp[4 * i + 3]
                    pressure = max(guess + relaxation * alpha[i] * rate, none)
                    restart += (guess - pressure) * (pressure - previous[i]) / alpha[i]
                    group_error += abs(rate) if guess > none else max(rate, none)
                    velocity_changes[4 * i + 3] = pressure  # the last lane is not read by `rate_at`
            parts[group], restarts[group] = group_error, restart
        error = _ordered_sum(parts) / n
        iterations += 1
        if (
            (error <= tolerance and iterations >= min_iterations)
            or iterations >= max_iterations
            or not np.isfinite(error)
        ):
            return iterations, error
        if _ordered_sum(restarts) > 0.0:
            momentum = 1.0
        next_momentum = 0.5 * (
            1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)
        )  # Nesterov's sequence 1, 1.62, 2.19, ...
        extrapolation = np.float32((momentum - 1.0) / next_momentum)
        momentum = next_momentum
        for group in prange(groups):
            for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
                pressure = velocity_changes[4 * i + 3]
                xyzp[4 * i + 3] = max(pressure + extrapolation * (pressure - previous[i]), none)
                previous[i] = pressure
