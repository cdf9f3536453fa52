"""Compiled sums over samples that move each on its own: the skins of soft bodies."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.sph.neighbour_search_kernels import surrounding_runs

GROUP = 256  # points that one task handles


@inline
def value_and_factor(dx, dy, dz, inverse):
    """Return the kernel W [1/m3], and W'(r)/r [1/m5], at the end of a line; 0 beyond its radius."""
    ih = np.float32(inverse)
    scale = np.float32(8.0 / np.pi) * ih * ih * ih
    distance = np.sqrt(dx * dx + dy * dy + dz * dz)
    q = distance * ih
    a, b = max(np.float32(1.0) - q, np.float32(0.0)), max(np.float32(0.5) - q, np.float32(0.0))
    slope = scale * ih * (np.float32(24.0) * b * b - np.float32(6.0) * a * a)
    value = np.float32(2.0) * scale * (a * a * a - np.float32(4.0) * b * b * b)
    return value, slope / max(distance, np.float32(1e-6) / ih)


@kernel_pair
def add_skin(
    rows, inverse, table_x, table_y, table_z, starts, samples, speeds, gradient, density, rate, drift
):  # fmt: skip
    """Add what particles feel of moving samples.

    Args:
        rows: Particles, shape [4 n].
        inverse: One over the kernel's radius [1/m].
        table_x: Curve tables of the samples' grid; likewise `table_y` and `table_z`.
        table_y: Along y.
        table_z: Along z.
        starts: First sample at each place of the curve.
        samples: Sorted positions [m] and volumes [m3] of samples, shape [4 m].
        speeds: Their velocities [m/s], shape [4 m].
        gradient: Receives the gradient [1/m], shape [4 n].
        density: Receives the part of the relative density, shape [n].
        rate: Receives its rate by the samples' motion [1/s], shape [n].
        drift: Receives velocities times parts of the density, shape [4 n].
    """
    n = density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        begins, ends = np.empty(27, np.int64), np.empty(27, np.int64)
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            x, y, z = rows[4 * i], rows[4 * i + 1], rows[4 * i + 2]
            runs, total = surrounding_runs(x, y, z, inverse, table_x, table_y, table_z, starts, begins, ends)
            if total == 0:
                continue
            for r in range(runs):
                for j in range(np.uint64(begins[r]), np.uint64(ends[r])):
                    dx, dy, dz = x - samples[4 * j], y - samples[4 * j + 1], z - samples[4 * j + 2]
                    value, factor = value_and_factor(dx, dy, dz, inverse)
                    if value == np.float32(0.0):
                        continue
                    value *= samples[4 * j + 3]
                    factor *= samples[4 * j + 3]
                    vx, vy, vz = speeds[4 * j], speeds[4 * j + 1], speeds[4 * j + 2]
                    density[i] += value
                    gradient[4 * i] += factor * dx
                    gradient[4 * i + 1] += factor * dy
                    gradient[4 * i + 2] += factor * dz
                    rate[i] -= factor * (dx * vx + dy * vy + dz * vz)
                    drift[4 * i] += value * vx
                    drift[4 * i + 1] += value * vy
                    drift[4 * i + 2] += value * vz


@kernel_pair
def skin_impulses(
    samples, speeds, inverse, table_x, table_y, table_z, starts, rows, pressures, volume, masses, sticky, velocities,
    rubs, impulses, wet,
):  # fmt: skip
    """Write what particles give each sample: V p dt V_b grad W, and what viscosity drags and friction rubs.

    Args:
        samples: Positions [m] and volumes [m3], shape [4 m].
        speeds: Velocities of the samples [m/s], shape [4 m].
        inverse: One over the kernel's radius [1/m].
        table_x: Curve tables of the particles' grid; likewise `table_y` and `table_z`.
        table_y: Along y.
        table_z: Along z.
        starts: First particle at each place of the curve.
        rows: Sorted particles, shape [4 n].
        pressures: Pressures times time [Pa s], shape [n].
        volume: Of a particle [m3].
        masses: Of the particles [kg], shape [n].
        sticky: Momentum for each unit of density and speed [kg], shape [n], or nothing.
        velocities: The velocities that belong to `sticky` [m/s], shape [4 n].
        rubs: Impulse of friction for each unit of density [N s], shape [n, 3], or nothing.
        impulses: Receives the impulses [N s], shape [m, 3].
        wet: Receives the density of the fluid at the samples [kg/m3], shape [m].
    """
    m = impulses.shape[0]
    for group in prange((m + GROUP - 1) // GROUP):
        begins, ends = np.empty(27, np.int64), np.empty(27, np.int64)
        for b in range(np.uint64(group * GROUP), np.uint64(min(m, (group + 1) * GROUP))):
            x, y, z = samples[4 * b], samples[4 * b + 1], samples[4 * b + 2]
            runs, _ = surrounding_runs(x, y, z, inverse, table_x, table_y, table_z, starts, begins, ends)
            jx, jy, jz, around = 0.0, 0.0, 0.0, 0.0
            for r in range(runs):
                for i in range(np.uint64(begins[r]), np.uint64(ends[r])):
                    dx, dy, dz = rows[4 * i] - x, rows[4 * i + 1] - y, rows[4 * i + 2] - z
                    value, factor = value_and_factor(dx, dy, dz, inverse)
                    if value == np.float32(0.0):
                        continue
                    around += masses[i] * value
                    push = volume * pressures[i] * samples[4 * b + 3] * factor
                    jx += push * dx
                    jy += push * dy
                    jz += push * dz
                    if sticky.shape[0] > 0:
                        drag = sticky[i] * samples[4 * b + 3] * value
                        jx += drag * (velocities[4 * i] - speeds[4 * b])
                        jy += drag * (velocities[4 * i + 1] - speeds[4 * b + 1])
                        jz += drag * (velocities[4 * i + 2] - speeds[4 * b + 2])
                    if rubs.shape[0] > 0:
                        part = samples[4 * b + 3] * value
                        jx += part * rubs[i, 0]
                        jy += part * rubs[i, 1]
                        jz += part * rubs[i, 2]
            impulses[b, 0], impulses[b, 1], impulses[b, 2] = jx, jy, jz
            wet[b] = around
