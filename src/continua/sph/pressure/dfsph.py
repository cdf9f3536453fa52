"""Divergence-free SPH (Bender and Koschier 2015, 2017): constant density and a velocity field without divergence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from continua.errors import InputError
from continua.sph.particles import Particles
from continua.sph.pressure import pressure_kernels
from continua.sph.pressure.solver import SolveFacts
from continua.values import isfinite

__all__ = ["DFSPH"]

_RELAX = np.float32(0.35)  # below 4/3 over the largest eigenvalue: 2.9 on a lattice, 3.6 in wild disorder
_FEW = 20  # a particle with fewer neighbours is part of a splash: its divergence is left alone


@dataclass(frozen=True)
class DFSPH:
    """Two pressure solves a step: one makes the velocities free of divergence, one keeps the density.

    Both find pressures p >= 0 by Jacobi's iteration with momentum on the running total, which starts from the last
    step's pressures. A total that is too large is taken back until it fits, so that this warm start cannot explode.

    Attributes:
        density_error: Mean density error that may stay, relative to the rest density.
        divergence_error: Mean density error that the divergence may cause within the step, relative as well.
        divergence: Whether the divergence solve is done.
        warm: Whether a solve starts from the last step's pressures.
        max_iterations: Most iterations of each solve.
    """

    carries: ClassVar[tuple[str, ...]] = ("pressure", "divergence_pressure")
    name: ClassVar[str] = "dfsph"
    density_error: float = 1e-4
    divergence_error: float = 1e-4
    divergence: bool = True
    warm: bool = True
    max_iterations: int = 100

    def __post_init__(self) -> None:
        for key in ("density_error", "divergence_error"):
            value = getattr(self, key)
            if not (isfinite(value) and 0.0 < value < 1.0):
                raise InputError(f"the {key} of a pressure solver must lie between 0 and 1, not {value}")
        if not (isfinite(self.max_iterations) and self.max_iterations >= 2):
            raise InputError(f"a pressure solver needs at least 2 iterations, not {self.max_iterations}")

    def free_of_divergence(self, p: Particles, dt: float) -> SolveFacts:
        """Change the velocities so that no density grows; the pressures times time are carried on."""
        if not self.divergence:
            return SolveFacts(0, 0.0)
        p.rates(p.velocities, p.source)
        few = p.lists.counts < _FEW
        alpha = np.where(few, np.float32(0.0), p.alpha)
        guess = p.carried["divergence_pressure"]
        guess[few] = 0.0
        facts = self._solve(p, alpha, guess * np.float32(self.warm), self.divergence_error / dt, 1)
        guess[:] = p.rows[3::4]
        return SolveFacts(facts.iterations, facts.error * dt)

    def keep_density(self, p: Particles, dt: float) -> SolveFacts:
        """Change the velocities so that no density will be above rest after `dt` [s]."""
        p.rates(p.velocities, p.source)
        p.source += p.excess(dt) * np.float32(1.0 / dt)
        guess = p.carried["pressure"]
        facts = self._solve(p, p.alpha, guess * np.float32(self.warm * dt), self.density_error / dt, 2)
        np.divide(p.rows[3::4], np.float32(dt), out=guess)
        return SolveFacts(facts.iterations, facts.error * dt)

    def pressure(self, p: Particles, dt: float) -> np.ndarray:
        """Return the pressure of the last step [Pa], shape [n]: the sum of both solves."""
        return p.carried["pressure"] + p.carried["divergence_pressure"] / np.float32(dt)

    def _solve(
        self, p: Particles, alpha: np.ndarray, guess: np.ndarray, tolerance: float, fewest: int
    ) -> SolveFacts:
        p.rows[3::4] = guess
        if fewest < 2 and not guess.any():
            error = (
                float(np.where(alpha > 0.0, np.maximum(p.source, 0.0), 0.0).sum(dtype=np.float64)) / p.count
            )
            if error <= tolerance:  # nothing to do, and no pass over the neighbours needed to see it
                p.pushes[:] = 0.0
                return SolveFacts(0, error)
        done, error = pressure_kernels.solve.pick(p.parallel)(
            p.rows, p.pushes, *p.links, p.light, p.walls.gradient, alpha, p.source,
            p.scratch, _RELAX, tolerance, fewest, self.max_iterations,
        )  # fmt: skip
        return SolveFacts(int(done), float(error))
