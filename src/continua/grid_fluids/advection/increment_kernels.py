"""Compiled sums of velocities and accelerations."""

from __future__ import annotations

from numba import prange

from continua.numerics import kernel_pair

__all__ = ["add_scaled", "extrapolate_in_time", "rate"]


@kernel_pair
def add_scaled(u, a, factor, out):
    """Set out = u + factor a; `out` may be u."""
    n0, n1, n2 = u.shape
    for r in prange(n0 * n1):
        one, two, target = u[r // n1, r % n1], a[r // n1, r % n1], out[r // n1, r % n1]
        for k in range(n2):
            target[k] = one[k] + factor * two[k]


@kernel_pair
def extrapolate_in_time(u, before, ratio):
    """Replace `before` by u + ratio (u - before)."""
    n0, n1, n2 = u.shape
    for r in prange(n0 * n1):
        now, old = u[r // n1, r % n1], before[r // n1, r % n1]
        for k in range(n2):
            old[k] = now[k] + ratio * (now[k] - old[k])


@kernel_pair
def rate(before, after, factor, out):
    """Set out = factor (after - before)."""
    n0, n1, n2 = out.shape
    for r in prange(n0 * n1):
        one, two, target = before[r // n1, r % n1], after[r // n1, r % n1], out[r // n1, r % n1]
        for k in range(n2):
            target[k] = factor * (two[k] - one[k])
