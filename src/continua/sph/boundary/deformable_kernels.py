"""Compiled sums over independently moving samples: the surfaces of deformable bodies."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.sph.neighbour_search_kernels import surrounding_runs

GROUP = 256  # points that one task handles


@inline
def value_and_factor(dx, dy, dz, inverse):
    """Return the kernel W [1/m3] and W'(r)/r [1/m5] for an offset; both are 0 beyond the kernel's radius."""
    ih = np.float32(inverse)
    scale = np.float32(8.0 / np.pi) * ih * ih * ih
    distance = np.sqrt(dx * dx + dy * dy + dz * dz)
    q = distance * ih
    a, b = max(np.float32(1.0) - q, np.float32(0.0)), max(np.float32(0.5) - q, np.float32(0.0))
    slope = scale * ih * (np.float32(24.0) * b * b - np.float32(6.0) * a * a)
    value = np.float32(2.0) * scale * (a * a * a - np.float32(4.0) * b * b * b)
    return value, slope / max(distance, np.float32(1e-6) / ih)


@kernel_pair
def add_moving_samples(
    xyzp, inverse, table_x, table_y, table_z, starts, samples, sample_velocities, gradient, density, rate,
    weighted_velocity
):  # fmt: skip
    """Add the contributions of moving samples to each particle.

    Args:
        xyzp: Particles, shape [4 n].
        inverse: One over the kernel's radius [1/m].
        table_x: Morton tables of the samples' grid along x.
        table_y: Along y.
        table_z: Along z.
        starts: First sample of each Morton code.
        samples: Sorted positions [m] and volumes [m3] of samples, shape [4 m].
        sample_velocities: Their velocities [m/s], shape [4 m].
        gradient: Receives the gradient [1/m], shape [4 n].
        density: Receives the part of the relative density, shape [n].
        rate: Receives its rate due to the samples' motion [1/s], shape [n].
        weighted_velocity: Receives velocities times their part of the density, shape [4 n].
    """
    n = density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        begins, ends = np.empty(27, np.int64), np.empty(27, np.int64)
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            x, y, z = xyzp[4 * i], xyzp[4 * i + 1], xyzp[4 * i + 2]
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
                    vx, vy, vz = (
                        sample_velocities[4 * j],
                        sample_velocities[4 * j + 1],
                        sample_velocities[4 * j + 2],
                    )
                    density[i] += value
                    gradient[4 * i] += factor * dx
                    gradient[4 * i + 1] += factor * dy
                    gradient[4 * i + 2] += factor * dz
                    rate[i] -= factor * (dx * vx + dy * vy + dz * vz)
                    weighted_velocity[4 * i] += value * vx
                    weighted_velocity[4 * i + 1] += value * vy
                    weighted_velocity[4 * i + 2] += value * vz


@kernel_pair
def sample_impulses(
    samples, sample_velocities, inverse, table_x, table_y, table_z, starts, xyzp, pressures, volume, masses,
    viscous_coupling, velocities,
    friction, impulses, fluid_density, drag,
):  # fmt: skip
    """Write the impulse on each sample: V p dt V_b grad W, and those of viscosity and friction.

    Args:
        samples: Positions [m] and volumes [m3], shape [4 m].
        sample_velocities: Velocities of the samples [m/s], shape [4 m].
        inverse: One over the kernel's radius [1/m].
        table_x: Morton tables of the particles' grid along x.
        table_y: Along y.
        table_z: Along z.
        starts: First particle of each Morton code.
        xyzp: Sorted particles, shape [4 n].
        pressures: Pressures times time [Pa s], shape [n].
        volume: Of a particle [m3].
        masses: Of the particles [kg], shape [n].
        viscous_coupling: Viscous momentum for each unit of density and speed [kg], shape [n], or empty.
        velocities: The velocities that belong to `viscous_coupling` [m/s], shape [4 n].
        friction: Friction impulse for each unit of density [N s], shape [n, 3], or empty.
        impulses: Receives the impulses [N s], shape [m, 3].
        fluid_density: Receives the density of the fluid at the samples [kg/m3], shape [m].
        drag: Receives the viscous impulse for each m/s of the sample's velocity [kg], shape [m].
    """
    m = impulses.shape[0]
    for group in prange((m + GROUP - 1) // GROUP):
        begins, ends = np.empty(27, np.int64), np.empty(27, np.int64)
        for b in range(np.uint64(group * GROUP), np.uint64(min(m, (group + 1) * GROUP))):
            x, y, z = samples[4 * b], samples[4 * b + 1], samples[4 * b + 2]
            runs, _ = surrounding_runs(x, y, z, inverse, table_x, table_y, table_z, starts, begins, ends)
            jx, jy, jz, total, resistance = 0.0, 0.0, 0.0, 0.0, 0.0
            for r in range(runs):
                for i in range(np.uint64(begins[r]), np.uint64(ends[r])):
                    dx, dy, dz = xyzp[4 * i] - x, xyzp[4 * i + 1] - y, xyzp[4 * i + 2] - z
                    value, factor = value_and_factor(dx, dy, dz, inverse)
                    if value == np.float32(0.0):
                        continue
                    total += masses[i] * value
                    pressure_impulse = volume * pressures[i] * samples[4 * b + 3] * factor
                    jx += pressure_impulse * dx
                    jy += pressure_impulse * dy
                    jz += pressure_impulse * dz
                    if viscous_coupling.shape[0] > 0:
                        viscous = viscous_coupling[i] * samples[4 * b + 3] * value
                        resistance += viscous
                        jx += viscous * (velocities[4 * i] - sample_velocities[4 * b])
                        jy += viscous * (velocities[4 * i + 1] - sample_velocities[4 * b + 1])
                        jz += viscous * (velocities[4 * i + 2] - sample_velocities[4 * b + 2])
                    if friction.shape[0] > 0:
                        part = samples[4 * b + 3] * value
                        jx += part * friction[i, 0]
                        jy += part * friction[i, 1]
                        jz += part * friction[i, 2]
            impulses[b, 0], impulses[b, 1], impulses[b, 2] = jx, jy, jz
            fluid_density[b] = total
            drag[b] = resistance
