"""Position based fluids (Macklin and Mueller 2013), for comparison with DFSPH."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from continua.numerics import total
from continua.sph import motion_kernels
from continua.sph.particles import Particles
from continua.sph.pressure import iisph_pcisph_pbf_kernels as kernels
from continua.sph.pressure.solver import DensitySolver, PressureReport, check_step

__all__ = ["PBF"]

_RELAXATION = 0.5  # of the position corrections


@dataclass(frozen=True)
class PBF(DensitySolver):
    """Position based fluids (Macklin and Mueller 2013): positions are moved until no density is above rest."""

    name: ClassVar[str] = "pbf"

    def solve_density(self, p: Particles, dt: float) -> PressureReport:
        """Change the velocities so that they lead to the corrected positions after `dt` [s]."""
        p, dt = check_step(p, dt)
        begin, end, neighbours, _ = p.neighbour_arrays
        boundary_density = p.boundary.density + np.float32(dt) * p.boundary.rate
        p.xyzp[3::4] = 0.0
        points, parts, iterations = p.xyzp.copy(), self._group_sums(p), 0
        multipliers = np.zeros(p.count, np.float32)
        motion_kernels.add_scaled.variant(p.parallel)(points, p.velocities, dt)
        start = points.copy()
        regularisation = np.float32(1e-6 / p.radius**2)
        while True:
            kernels.pbf_multipliers.variant(p.parallel)(
                p.xyzp, points, begin, end, neighbours, 1.0 / p.radius, p.volume, p.boundary.gradient,
                boundary_density, regularisation, p.scratch, parts,
            )  # fmt: skip
            iterations += 1
            error = total(parts) / p.count
            if self._finished(iterations, error):
                break
            kernels.pbf_corrections.variant(p.parallel)(
                points, begin, end, neighbours, 1.0 / p.radius, p.volume, p.boundary.gradient, p.scratch,
                np.float32(_RELAXATION), p.velocity_changes,
            )  # fmt: skip
            points += p.velocity_changes
            multipliers += p.scratch
        np.subtract(points, start, out=p.velocity_changes)
        p.velocity_changes *= np.float32(1.0 / dt)
        # pressures times time with the same effect
        p.xyzp[3::4] = np.float32(-_RELAXATION / dt) * multipliers / p.inverse_density
        return PressureReport(iterations, error)
