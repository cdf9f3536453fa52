"""Older pressure solvers, for comparison with DFSPH: IISPH, PCISPH and position based fluids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.numerics import total
from continua.sph import motion_kernels
from continua.sph.particles import Particles
from continua.sph.pressure import iisph_pcisph_pbf_kernels as kernels
from continua.sph.pressure import pressure_kernels
from continua.sph.pressure.solver import SolveFacts
from continua.sph.smoothing_kernel import spline_slope
from continua.values import isfinite

__all__ = ["IISPH", "PBF", "PCISPH"]

_PCISPH_GAIN = (
    0.35  # 0.5 in the paper: at edges of a lattice 1.7 of the error, more when dense, and 2 explodes
)
_PBF_RELAX = 0.5  # part of each correction of positions that is made


@dataclass(frozen=True)
class _DensityOnly:
    """What solvers share that keep the density and do nothing about the divergence."""

    carries: ClassVar[tuple[str, ...]] = ("pressure",)
    name: ClassVar[str] = ""
    fewest: ClassVar[int] = 2
    density_error: float = 1e-4
    max_iterations: int = 1000

    def __post_init__(self) -> None:
        if not (isfinite(self.density_error) and 0.0 < self.density_error < 1.0):
            raise InputError(
                f"the density_error of a pressure solver must lie between 0 and 1, not {self.density_error}"
            )
        if not (isfinite(self.max_iterations) and self.max_iterations >= 2):
            raise InputError(f"a pressure solver needs at least 2 iterations, not {self.max_iterations}")

    def free_of_divergence(self, p: Particles, dt: float) -> SolveFacts:
        """Do nothing: the method has no divergence solve."""
        return SolveFacts(0, 0.0)

    def pressure(self, p: Particles, dt: float) -> NDArray[np.float32]:
        """Return the pressure of the last step [Pa], shape [n]."""
        return p.carried["pressure"]

    def _groups(self, p: Particles) -> NDArray[np.float64]:
        return np.zeros((p.count + kernels.GROUP - 1) // kernels.GROUP)

    def _push(self, p: Particles) -> None:
        pressure_kernels.pressure_pushes.pick(p.parallel)(
            p.rows, *p.links, p.light, p.walls.gradient, p.pushes
        )

    def _done(self, iterations: int, error: float) -> bool:
        if not isfinite(error) or iterations >= self.max_iterations:
            return True
        return error <= self.density_error and iterations >= self.fewest


@dataclass(frozen=True)
class IISPH(_DensityOnly):
    """Implicit incompressible SPH (Ihmsen and others 2014): relaxed Jacobi on the pressure equation.

    Its diagonal a_ii and its matrix product are those of DFSPH's density solve, written with displacements d_ii, d_ij
    in the paper; it starts from half of the last pressures, relaxes by 0.5, and leaves the divergence alone.
    """

    name: ClassVar[str] = "iisph"

    def keep_density(self, p: Particles, dt: float) -> SolveFacts:
        """Change the velocities so that no density will be above rest after `dt` [s]."""
        p.rates(p.velocities, p.source)
        p.source += p.excess(dt) * np.float32(1.0 / dt)
        p.rows[3::4] = np.float32(0.5 * dt) * p.carried["pressure"]
        parts, done = self._groups(p), 0
        while True:
            self._push(p)
            last = p.rows[3::4].copy()
            kernels.relax_linear.pick(p.parallel)(
                p.rows, p.pushes, *p.links, p.walls.gradient, p.alpha, p.source, np.float32(0.5), parts
            )
            done += 1
            error = total(parts) / p.count * dt
            if self._done(done, error):
                p.rows[3::4] = last
                p.carried["pressure"] = last / np.float32(dt)
                return SolveFacts(done, error)


@dataclass(frozen=True)
class PCISPH(_DensityOnly):
    """Predictive-corrective incompressible SPH (Solenthaler and Pajarola 2009).

    Every iteration predicts positions, measures their density, and raises pressures by the error times one number for
    all particles, made from a full neighbourhood. Pressures start from zero.
    """

    name: ClassVar[str] = "pcisph"
    fewest: ClassVar[int] = 3

    def keep_density(self, p: Particles, dt: float) -> SolveFacts:
        """Change the velocities so that no density will be above rest after `dt` [s]."""
        gain = np.float32(_PCISPH_GAIN * _full_alpha(p) / dt)
        begin, end, neighbours, _ = p.links
        wall_density = p.walls.density + np.float32(dt) * p.walls.rate
        p.rows[3::4] = 0.0
        parts, done = self._groups(p), 0
        points = np.empty_like(p.rows)
        while True:
            self._push(p)
            last = p.rows[3::4].copy()
            points[:] = p.rows
            motion_kernels.add_scaled.pick(p.parallel)(points, p.velocities, dt)
            motion_kernels.add_scaled.pick(p.parallel)(points, p.pushes, dt)
            kernels.relax_predicted.pick(p.parallel)(
                p.rows, points, begin, end, neighbours, 1.0 / p.radius, p.volume, p.walls.gradient, wall_density,
                gain, parts,
            )  # fmt: skip
            done += 1
            error = total(parts) / p.count
            if self._done(done, error):
                p.rows[3::4] = last
                p.carried["pressure"] = last / np.float32(dt)
                return SolveFacts(done, error)


@dataclass(frozen=True)
class PBF(_DensityOnly):
    """Position based fluids (Macklin and Mueller 2013): positions are moved until no density is above rest."""

    name: ClassVar[str] = "pbf"

    def keep_density(self, p: Particles, dt: float) -> SolveFacts:
        """Change the velocities so that they lead to the corrected positions after `dt` [s]."""
        begin, end, neighbours, _ = p.links
        wall_density = p.walls.density + np.float32(dt) * p.walls.rate
        p.rows[3::4] = 0.0
        points, parts, done = p.rows.copy(), self._groups(p), 0
        multipliers = np.zeros(p.count, np.float32)
        motion_kernels.add_scaled.pick(p.parallel)(points, p.velocities, dt)
        start = points.copy()
        least = np.float32(1e-6 / p.radius**2)
        while True:
            kernels.position_multipliers.pick(p.parallel)(
                p.rows, points, begin, end, neighbours, 1.0 / p.radius, p.volume, p.walls.gradient, wall_density,
                least, p.scratch, parts,
            )  # fmt: skip
            done += 1
            error = total(parts) / p.count
            if self._done(done, error):
                break
            kernels.position_moves.pick(p.parallel)(
                points, begin, end, neighbours, 1.0 / p.radius, p.volume, p.walls.gradient, p.scratch,
                np.float32(_PBF_RELAX), p.pushes,
            )  # fmt: skip
            points += p.pushes
            multipliers += p.scratch
        np.subtract(points, start, out=p.pushes)
        p.pushes *= np.float32(1.0 / dt)
        p.rows[3::4] = (
            np.float32(-_PBF_RELAX / dt) * multipliers / p.light
        )  # pressures times time that do the same
        return SolveFacts(done, error)


def _full_alpha(p: Particles) -> float:
    """Return the inverse diagonal of the pressure system in the middle of a cubic lattice [kg/m3 m2]."""
    spacing = p.volume ** (1.0 / 3.0)
    steps = np.arange(-3, 4)
    lattice = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3) * spacing
    slopes = p.volume * spline_slope(np.linalg.norm(lattice, axis=1), p.radius)
    return float(p.rest_densities.min() / (slopes**2).sum())
