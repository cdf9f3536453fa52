"""Surface tension in N/m as a continuum surface force that keeps momentum and angular momentum."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from continua.numerics.timers import timed
from continua.sph.forces import surface_tension_kernels as kernels
from continua.sph.forces.force import Force
from continua.sph.particles import Particles
from continua.sph.pressure.pressure_kernels import pressure_velocity_changes

__all__ = ["SurfaceTension"]

_SURFACE = 0.12  # over the diameter: smoothed gradients of the colour below it are not at a surface
_DEPTH = 0.8  # in diameters: mean depth at which curvature is measured and the force acts
_HIGHEST, _LOWEST = 1.0, -0.15  # over the diameter: bounds of the curvature
_WALL_LAYER = 0.1  # the wall's part of the density from which the force acts along the wall only
_ANGLE_LAYER = 0.004  # the same from which a normal has the contact angle
_WALL_COHESION = np.float32(0.5)  # of a wall, with which it neither attracts nor repels fluid at rest density
_FEWEST, _ENOUGH = (
    4,
    12,
)  # neighbours with which a particle begins to have, and has, all of its surface tension
_STABLE = 0.5  # of the period of the shortest capillary wave over 2 pi


class SurfaceTension(Force):
    """Surface tension as a continuum surface force (Brackbill, Kothe and Zemach 1992; Morris 2000).

    The curvature is the divergence of smoothed normals along the surface. What the forces on each connected part of the
    fluid lack in balance, a small rest of the order of the resolution, is removed, so that momentum and angular
    momentum are conserved. A uniform cohesion, which the pressure balances exactly, keeps concave surfaces together.

    Args:
        tensions: Surface tension of each fluid against air [N/m].
    """

    def __init__(self, tensions: NDArray[np.float64]) -> None:
        self._tensions = np.asarray(tensions, np.float64)

    def max_step(self, particles: Particles) -> float:
        """Return the longest stable step [s], that of the shortest capillary wave."""
        ratio = float((self._tensions / particles.rest_densities).max())
        return _STABLE * sqrt(particles.volume / (2.0 * pi * ratio)) if ratio > 0.0 else np.inf

    def cohesion(self, particles: Particles) -> NDArray[np.float32]:
        """Return the cohesion [Pa], shape [n]: the pressure solver's pressures exceed the fluid's by it."""
        p = particles
        constants = (-_LOWEST * self._tensions / np.cbrt(p.volume)).astype(np.float32)
        return constants[p.fluid_index] * _share(p)

    @timed("surface tension")
    def explicit_step(self, particles: Particles) -> None:
        """Add the accelerations of surface tension."""
        p = particles
        diameter = float(np.cbrt(p.volume))
        begin, end, neighbours, gradients = p.neighbour_arrays
        inverse, depth = np.float32(1.0 / p.radius), np.float32(_DEPTH * diameter)
        color, scratch, delta, normals = (np.zeros(4 * p.count, np.float32) for _ in range(4))
        weights, raw, curvature = (np.zeros(p.count, np.float32) for _ in range(3))
        kernels.color_gradients.variant(p.parallel)(
            p.xyzp, begin, end, neighbours, gradients, p.boundary.density, p.boundary.gradient, color
        )
        density = p.density - p.boundary.density
        for source, target in ((color, scratch), (scratch, delta), (delta, normals)):
            kernels.smooth_vectors.variant(p.parallel)(
                p.xyzp, begin, end, neighbours, density, inverse, np.float32(p.volume), source, target
            )
        cosine = p.contact_cosine if len(p.contact_cosine) == p.count else np.zeros(p.count, np.float32)
        kernels.unit_normals.variant(p.parallel)(
            normals, p.boundary.density, p.boundary.gradient, np.sqrt(1.0 - cosine**2), cosine,
            np.float32(_SURFACE / diameter), np.float32(_ANGLE_LAYER), weights,
        )  # fmt: skip
        kernels.curvatures.variant(p.parallel)(
            p.xyzp, begin, end, neighbours, gradients, normals, weights,
            np.float32(_LOWEST / diameter), np.float32(_HIGHEST / diameter), raw,
        )  # fmt: skip
        kernels.smooth_curvatures.variant(p.parallel)(
            p.xyzp, begin, end, neighbours, inverse, weights, raw, depth, curvature
        )
        share, forces = _share(p), scratch
        kernels.surface_forces.variant(p.parallel)(
            p.xyzp, begin, end, neighbours, gradients, normals, weights, curvature, delta,
            self._tensions.astype(np.float32)[p.fluid_index], share,
            p.boundary.density, p.boundary.gradient, np.float32(_WALL_LAYER), depth, forces,
        )  # fmt: skip
        self._add_balanced(p, forces)
        p.xyzp[3::4] = -self.cohesion(p)
        pressure_velocity_changes.variant(p.parallel)(
            p.xyzp,
            begin,
            end,
            neighbours,
            gradients,
            p.inverse_density,
            _WALL_COHESION * p.boundary.gradient,
            scratch,
        )
        p.xyzp[3::4] = 0.0
        p.accelerations += scratch

    def _add_balanced(self, p: Particles, forces: NDArray[np.float32]) -> None:
        """Add the accelerations of forces whose sum and moment are removed from each part that touches no wall."""
        begin, end, neighbours, _ = p.neighbour_arrays
        part = np.zeros(p.count, np.int64)
        kernels.connected_parts(begin, end, neighbours, part)
        first = np.flatnonzero(part == np.arange(p.count))
        row = np.zeros(p.count, np.int64)
        row[first] = np.arange(len(first))
        sums = np.zeros((len(first), 17))
        kernels.part_sums(p.xyzp, forces, p.boundary.density, part, row, sums)
        linear, angular = np.zeros((len(first), 3)), np.zeros((len(first), 3))
        for r in np.flatnonzero((sums[:, 0] > 0.0) & (sums[:, 16] == 0.0)):
            linear[r], angular[r] = _rigid_part(sums[r])
        kernels.add_balanced_forces(
            p.xyzp, forces, part, row, linear, angular, p.inverse_density, p.accelerations
        )


def _share(p: Particles) -> NDArray[np.float32]:
    """Return for each particle how much of the surface tension it has: none in a spray."""
    counts = p.neighbour_lists.counts / (1.0 - np.minimum(p.boundary.density, 0.6))  # as if walls were fluid
    return np.clip((counts - _FEWEST) / (_ENOUGH - _FEWEST), 0.0, 1.0).astype(np.float32)


def _rigid_part(sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a and w for which the forces `area (a + w x x)` have the sum and the moment of a part.

    `sums` are those of `part_sums`.
    """
    area, force, moment = sums[0], sums[4:7], sums[7:10]
    center = sums[1:4] / area
    xx, yy, zz, xy, yz, zx = sums[10:16]
    second = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]) - area * np.outer(center, center)
    inertia = np.trace(second) * np.eye(3) - second
    w = np.linalg.pinv(inertia, rcond=1e-6) @ (moment - np.cross(center, force))
    return force / area - np.cross(w, center), w
