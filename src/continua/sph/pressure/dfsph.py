"""Divergence-free SPH (Bender and Koschier 2015, 2017): constant density and a divergence-free velocity field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from continua.sph.particles import Particles
from continua.sph.pressure import pressure_kernels
from continua.sph.pressure.solver import PressureReport, check_pressure_solver, check_step
from continua.validation import flag

__all__ = ["DFSPH"]

_RELAXATION = np.float32(
    0.35
)  # below 4/3 over the largest eigenvalue: 2.9 on a lattice, 3.6 in strong disorder
_MIN_NEIGHBOURS = 20  # a particle with fewer belongs to a splash: the divergence solve leaves it alone


@dataclass(frozen=True)
class DFSPH:
    """Two pressure solves per step: one makes the velocities divergence-free, one keeps the density constant.

    Both find pressures p >= 0 by a Jacobi iteration with momentum, which starts from the last step's pressures.
    Pressures that are too large are reduced until they fit, so that this warm start cannot explode.

    Attributes:
        density_error: Tolerance of the mean density error, relative to the rest density.
        divergence_error: Tolerance of the mean density error that the divergence causes within a step, also relative.
        divergence: Whether the divergence solve is done.
        warm_start: Whether a solve starts from the last step's pressures.
        max_iterations: Largest number of iterations of each solve.
    """

    warm_start_fields: ClassVar[tuple[str, ...]] = ("pressure", "divergence_pressure")
    name: ClassVar[str] = "dfsph"
    density_error: float = 1e-4
    divergence_error: float = 1e-4
    divergence: bool = True
    warm_start: bool = True
    max_iterations: int = 100

    def __post_init__(self) -> None:
        check_pressure_solver(self, "density_error", "divergence_error")
        flag(self.divergence, "'divergence' of a pressure solver")
        flag(self.warm_start, "'warm_start' of a pressure solver")

    def solve_divergence(self, p: Particles, dt: float) -> PressureReport:
        """Change the velocities so that no density grows; the pressures times time are kept for the next step."""
        p, dt = check_step(p, dt)
        if not self.divergence:
            return PressureReport(0, 0.0)
        p.compute_density_rates(p.velocities, p.source)
        few = p.neighbour_lists.counts < _MIN_NEIGHBOURS
        alpha = np.where(few, np.float32(0.0), p.alpha)
        guess = p.warm_start["divergence_pressure"]
        guess[few] = 0.0
        report = self._solve(p, alpha, guess * np.float32(self.warm_start), self.divergence_error / dt, 1)
        guess[:] = p.xyzp[3::4]
        return PressureReport(report.iterations, report.error * dt)

    def solve_density(self, p: Particles, dt: float) -> PressureReport:
        """Change the velocities so that no density will be above rest after `dt` [s]."""
        p, dt = check_step(p, dt)
        p.compute_density_rates(p.velocities, p.source)
        p.source += p.density_correction(dt) * np.float32(1.0 / dt)
        guess = p.warm_start["pressure"]
        report = self._solve(p, p.alpha, guess * np.float32(self.warm_start * dt), self.density_error / dt, 2)
        np.divide(p.xyzp[3::4], np.float32(dt), out=guess)
        return PressureReport(report.iterations, report.error * dt)

    def pressure(self, p: Particles, dt: float) -> np.ndarray:
        """Return the pressure of the last step [Pa], shape [n]: the sum of both solves."""
        p, dt = check_step(p, dt)
        return p.warm_start["pressure"] + p.warm_start["divergence_pressure"] / np.float32(dt)

    def _solve(
        self, p: Particles, alpha: np.ndarray, guess: np.ndarray, tolerance: float, min_iterations: int
    ) -> PressureReport:
        p.xyzp[3::4] = guess
        if min_iterations < 2 and not guess.any():
            error = (
                float(np.where(alpha > 0.0, np.maximum(p.source, 0.0), 0.0).sum(dtype=np.float64)) / p.count
            )
            if error <= tolerance:  # converged already, which shows without a pass over the neighbours
                p.velocity_changes[:] = 0.0
                return PressureReport(0, error)
        iterations, error = pressure_kernels.accelerated_jacobi.variant(p.parallel)(
            p.xyzp, p.velocity_changes, *p.neighbour_arrays, p.inverse_density, p.boundary.gradient, alpha, p.source,
            p.scratch, _RELAXATION, tolerance, min_iterations, self.max_iterations,
        )  # fmt: skip
        return PressureReport(int(iterations), float(error))
