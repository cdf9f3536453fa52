"""Compiled passes that move particles: speeds, velocities, positions."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import kernel_pair
from continua.numerics.simd32 import dot3s, load4s, row4s, store4s

GROUP = 512  # particles that one task handles


@kernel_pair
def fastest(velocities, accelerations, dt):
    """Return the largest speed [m/s] after accelerating for `dt` [s]; NaN if any is."""
    n = velocities.shape[0] // 4
    groups = (n + GROUP - 1) // GROUP
    parts = np.zeros(groups, np.float32)
    for group in prange(groups):
        top = np.float32(0.0)
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            v = load4s(velocities, 4 * i) + load4s(accelerations, 4 * i) * np.float32(dt)
            square = dot3s(v, v)
            if not square <= top:  # true for NaN as well, which then stays
                top = square
        parts[group] = top
    top = np.float32(0.0)
    for group in range(groups):
        if not parts[group] <= top:
            top = parts[group]
            if np.isnan(top):
                break
    return np.sqrt(top)


@kernel_pair
def add_scaled(vectors, others, factor):
    """Add `factor` times other rows to rows, both of shape [4 n]; the last lane stays."""
    n = vectors.shape[0] // 4
    f = np.float32(factor)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            store4s(vectors, 4 * i, load4s(vectors, 4 * i) + load4s(others, 4 * i) * row4s(f, f, f, 0))


@kernel_pair
def push_and_move(rows, velocities, pushes, dt):
    """Add the pushes to the velocities, and move with them for `dt` [s]; the last lane of `rows` stays."""
    n = rows.shape[0] // 4
    t = np.float32(dt)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            v = load4s(velocities, 4 * i) + load4s(pushes, 4 * i) * row4s(1, 1, 1, 0)
            store4s(velocities, 4 * i, v)
            store4s(rows, 4 * i, load4s(rows, 4 * i) + v * row4s(t, t, t, 0))
