"""Compiled impulses between pairs that would pass through each other."""

from __future__ import annotations

import numpy as np

from continua.numerics import kernel

__all__ = ["apply_impulses"]

_CONVERGED = 1e-6  # change of a pair's distance in a sweep, relative to the distance to keep


@kernel
def apply_impulses(nodes, weights, normals, gaps, given, wanted, inverse_mass, sweeps, u):
    """Change displacements by impulses along normals until pairs keep their distance, pair after pair.

    Args:
        nodes: Up to four nodes of each pair, -1 is none, shape [c, 4].
        weights: Their weights, shape [c, 4].
        normals: Unit normals, shape [c, 3].
        gaps: Distances at the start [m], shape [c].
        given: Displacement that is added to those of the nodes [m], shape [c, 3].
        wanted: Distances to keep [m], shape [c].
        inverse_mass: One over the masses, zero where a node is held [1/kg], shape [n].
        sweeps: Largest number of sweeps.
        u: Displacements, changed [m], shape [n, 3].
    """
    impulse = np.zeros(len(gaps))
    for _ in range(sweeps):
        largest = 0.0
        for c in range(len(gaps)):
            response, move = 0.0, 0.0
            for i in range(3):
                move += normals[c, i] * given[c, i]
            for k in range(4):
                v = nodes[c, k]
                if v >= 0:
                    response += weights[c, k] ** 2 * inverse_mass[v]
                    for i in range(3):
                        move += weights[c, k] * normals[c, i] * u[v, i]
            if response == 0.0:
                continue
            before = impulse[c]
            impulse[c] = max(0.0, before + (wanted[c] - gaps[c] - move) / response)
            change = impulse[c] - before
            largest = max(largest, abs(change) * response / max(wanted[c], 1e-300))
            for k in range(4):
                v = nodes[c, k]
                if v >= 0:
                    for i in range(3):
                        u[v, i] += change * weights[c, k] * inverse_mass[v] * normals[c, i]
        if largest <= _CONVERGED:
            break
