"""Implicit incompressible SPH (Ihmsen and others 2014), for comparison with DFSPH."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from continua.numerics import total
from continua.sph.particles import Particles
from continua.sph.pressure import iisph_pcisph_pbf_kernels as kernels
from continua.sph.pressure.solver import DensitySolver, PressureReport, check_step

__all__ = ["IISPH"]


@dataclass(frozen=True)
class IISPH(DensitySolver):
    """Implicit incompressible SPH (Ihmsen and others 2014): relaxed Jacobi on the pressure equation.

    Its diagonal a_ii and its matrix product are those of DFSPH's density solve, which the paper writes with
    displacements d_ii, d_ij. It starts from half of the last pressures, relaxes by 0.5, and has no divergence solve.
    """

    name: ClassVar[str] = "iisph"

    def solve_density(self, p: Particles, dt: float) -> PressureReport:
        """Change the velocities so that no density will be above rest after `dt` [s]."""
        p, dt = check_step(p, dt)
        p.compute_density_rates(p.velocities, p.source)
        p.source += p.density_correction(dt) * np.float32(1.0 / dt)
        p.xyzp[3::4] = np.float32(0.5 * dt) * p.warm_start["pressure"]
        parts, iterations = self._group_sums(p), 0
        while True:
            self._update_velocity_changes(p)
            previous = p.xyzp[3::4].copy()
            kernels.iisph_update.variant(p.parallel)(
                p.xyzp, p.velocity_changes, *p.neighbour_arrays, p.boundary.gradient, p.alpha, p.source,
                np.float32(0.5), parts,
            )  # fmt: skip
            iterations += 1
            error = total(parts) / p.count * dt
            if self._finished(iterations, error):
                p.xyzp[3::4] = previous
                p.warm_start["pressure"] = previous / np.float32(dt)
                return PressureReport(iterations, error)
