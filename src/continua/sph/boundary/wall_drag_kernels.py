"""Compiled passes of the viscous drag of walls."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import kernel_pair

GROUP = 512  # particles per task


@kernel_pair
def add_wall_drag(
    density, previous_density, velocity, previous_velocity, table, densest, diameter, slip, drag, drag_velocity, moment,
    virial
):  # fmt: skip
    """Add the drag of one boundary to each particle, from what the boundary has added to the other sums.

    Args:
        density: The boundaries' part of the relative density, shape [n].
        previous_density: The same without this boundary.
        velocity: Velocity of the boundaries, continued rigidly to the particle [m/s], times their part of the density,
            shape [4 n].
        previous_velocity: The same without this boundary.
        table: Distance and integrals by density, see `WallProfile`, shape [4 entries].
        densest: Density of the last entry.
        diameter: Of a particle [m].
        slip: Slip length [m].
        drag: Receives the drag on the relative velocity, see `BoundarySums`, shape [n].
        drag_velocity: Receives the drag times the velocity [m/s], shape [4 n].
        moment: Receives the wall's part of the second moment of the viscous weights [m2], shape [n].
        virial: Receives the distance times the gradient of the density, shape [n].
    """
    n = density.shape[0]
    entries = table.shape[0] // 4
    scale = np.float32(entries - 1) / np.float32(densest)
    d, one = np.float32(diameter), np.float32(1.0)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            part = density[i] - previous_density[i]
            if part <= np.float32(0.0):
                continue
            at = min(part * scale, np.float32(entries - 1) - np.float32(1e-3))
            k = np.int64(at)
            t = at - np.float32(k)
            distance = d * ((one - t) * table[4 * k] + t * table[4 * k + 4])
            force = (one - t) * table[4 * k + 1] + t * table[4 * k + 5]
            weight = d * force / (distance + np.float32(slip))
            drag[i] += weight
            part_moment = (one - t) * table[4 * k + 2] + t * table[4 * k + 6]
            moment[i] += d * d * part_moment * distance / (distance + np.float32(slip))
            virial[i] += (one - t) * table[4 * k + 3] + t * table[4 * k + 7]
            share = weight / part
            for c in range(3):
                drag_velocity[4 * i + c] += share * (velocity[4 * i + c] - previous_velocity[4 * i + c])
