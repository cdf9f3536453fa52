"""Compiled passes over velocities and positions."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import kernel_pair
from continua.numerics.simd.f32x4 import dot3s, load4s, row4s, store4s

GROUP = 512  # particles per task


@kernel_pair
def max_speed(velocities, accelerations, dt):
    """Return the largest speed [m/s] after accelerating for `dt` [s]; NaN if any is."""
    n = velocities.shape[0] // 4
    groups = (n + GROUP - 1) // GROUP
    parts = np.zeros(groups, np.float32)
    for group in prange(groups):
        largest = np.float32(0.0)
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            v = load4s(velocities, 4 * i) + load4s(accelerations, 4 * i) * np.float32(dt)
            square = dot3s(v, v)
            if not square <= largest:  # true for NaN as well, which then stays
                largest = square
        parts[group] = largest
    largest = np.float32(0.0)
    for group in range(groups):
        if not parts[group] <= largest:
            largest = parts[group]
            if np.isnan(largest):
                break
    return np.sqrt(largest)


@kernel_pair
def add_scaled(vectors, others, factor):
    """Add `factor` times `others` to `vectors`, both of shape [4 n]; the last lane is unchanged."""
    n = vectors.shape[0] // 4
    f = np.float32(factor)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            store4s(vectors, 4 * i, load4s(vectors, 4 * i) + load4s(others, 4 * i) * row4s(f, f, f, 0))


@kernel_pair
def advance_particles(xyzp, velocities, velocity_changes, dt):
    """Add the velocity changes, then move with the new velocities for `dt` [s]; pressures are unchanged."""
    n = xyzp.shape[0] // 4
    t = np.float32(dt)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            v = load4s(velocities, 4 * i) + load4s(velocity_changes, 4 * i) * row4s(1, 1, 1, 0)
            store4s(velocities, 4 * i, v)
            store4s(xyzp, 4 * i, load4s(xyzp, 4 * i) + v * row4s(t, t, t, 0))
