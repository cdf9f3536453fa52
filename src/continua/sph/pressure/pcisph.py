"""Predictive-corrective incompressible SPH (Solenthaler and Pajarola 2009), for comparison with DFSPH."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from continua.numerics import total
from continua.sph import motion_kernels
from continua.sph.particles import Particles
from continua.sph.pressure import iisph_pcisph_pbf_kernels as kernels
from continua.sph.pressure.solver import DensitySolver, PressureReport, check_step
from continua.sph.smoothing_kernel import cubic_spline_derivative

__all__ = ["PCISPH"]

# 0.5 in the paper. At edges of a lattice it corrects 1.7 times the error, more when dense, and 2 diverges.
_GAIN = 0.35


@dataclass(frozen=True)
class PCISPH(DensitySolver):
    """Predictive-corrective incompressible SPH (Solenthaler and Pajarola 2009).

    Every iteration predicts positions, computes their density, and raises pressures by the error times one factor for
    all particles, that of a full neighbourhood. Pressures start from zero.
    """

    name: ClassVar[str] = "pcisph"
    min_iterations: ClassVar[int] = 3

    def solve_density(self, p: Particles, dt: float) -> PressureReport:
        """Change the velocities so that no density will be above rest after `dt` [s]."""
        p, dt = check_step(p, dt)
        gain = np.float32(_GAIN * _lattice_alpha(p) / dt)
        begin, end, neighbours, _ = p.neighbour_arrays
        boundary_density = p.boundary.density + np.float32(dt) * p.boundary.rate
        p.xyzp[3::4] = 0.0
        parts, iterations = self._group_sums(p), 0
        points = np.empty_like(p.xyzp)
        while True:
            self._update_velocity_changes(p)
            previous = p.xyzp[3::4].copy()
            points[:] = p.xyzp
            motion_kernels.add_scaled.variant(p.parallel)(points, p.velocities, dt)
            motion_kernels.add_scaled.variant(p.parallel)(points, p.velocity_changes, dt)
            kernels.pcisph_update.variant(p.parallel)(
                p.xyzp, points, begin, end, neighbours, 1.0 / p.radius, p.volume, p.boundary.gradient,
                boundary_density, gain, parts,
            )  # fmt: skip
            iterations += 1
            error = total(parts) / p.count
            if self._finished(iterations, error):
                p.xyzp[3::4] = previous
                p.warm_start["pressure"] = previous / np.float32(dt)
                return PressureReport(iterations, error)


def _lattice_alpha(p: Particles) -> float:
    """Return the inverse diagonal of the pressure system in the interior of a cubic lattice [kg/m3 m2]."""
    spacing = p.volume ** (1.0 / 3.0)
    steps = np.arange(-3, 4)
    lattice = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3) * spacing
    slopes = p.volume * cubic_spline_derivative(np.linalg.norm(lattice, axis=1), p.radius)
    return float(p.rest_densities.min() / (slopes**2).sum())
