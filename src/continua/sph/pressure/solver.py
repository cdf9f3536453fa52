"""The contract of pressure solvers, and the common part of those that solve for the density only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.sph.particles import Particles
from continua.sph.pressure import iisph_pcisph_pbf_kernels, pressure_kernels
from continua.validation import isfinite

__all__ = ["DensitySolver", "PressureReport", "PressureSolver"]


class PressureReport(NamedTuple):
    """Result of a pressure solve: iterations, and the remaining mean error relative to the rest density."""

    iterations: int
    error: float


class PressureSolver(Protocol):
    """Keeps a fluid incompressible.

    Both solves write the changes of velocity to `particles.velocity_changes`, and the pressures times time that cause
    them to the last lane of `particles.xyzp`, from which the forces on boundaries and bodies are computed.
    """

    @property
    def warm_start_fields(self) -> tuple[str, ...]:
        """Names of the arrays [n] that are kept from step to step."""

    @property
    def name(self) -> str:
        """Name of the method."""

    @property
    def max_iterations(self) -> int:
        """Largest number of iterations of a solve."""

    def solve_divergence(self, p: Particles, dt: float) -> PressureReport:
        """Make the velocities divergence-free at the start of a step, if the method does so."""

    def solve_density(self, p: Particles, dt: float) -> PressureReport:
        """Keep the density constant over the following step of `dt` [s]."""

    def pressure(self, p: Particles, dt: float) -> NDArray[np.float32]:
        """Return the pressure of the last step [Pa], shape [n]."""


@dataclass(frozen=True)
class DensitySolver:
    """Common part of solvers that keep the density constant and have no divergence solve."""

    warm_start_fields: ClassVar[tuple[str, ...]] = ("pressure",)
    name: ClassVar[str] = ""
    min_iterations: ClassVar[int] = 2
    density_error: float = 1e-4
    max_iterations: int = 1000

    def __post_init__(self) -> None:
        if not (isfinite(self.density_error) and 0.0 < self.density_error < 1.0):
            raise InputError(
                f"the density_error of a pressure solver must lie between 0 and 1, not {self.density_error}"
            )
        if not (isfinite(self.max_iterations) and self.max_iterations >= 2):
            raise InputError(f"a pressure solver needs at least 2 iterations, not {self.max_iterations}")

    def solve_divergence(self, p: Particles, dt: float) -> PressureReport:
        """Do nothing: the method has no divergence solve."""
        return PressureReport(0, 0.0)

    def pressure(self, p: Particles, dt: float) -> NDArray[np.float32]:
        """Return the pressure of the last step [Pa], shape [n]."""
        return p.warm_start["pressure"]

    def _group_sums(self, p: Particles) -> NDArray[np.float64]:
        """Return an array for sums over groups of particles."""
        group = iisph_pcisph_pbf_kernels.GROUP
        return np.zeros((p.count + group - 1) // group)

    def _update_velocity_changes(self, p: Particles) -> None:
        pressure_kernels.pressure_velocity_changes.variant(p.parallel)(
            p.xyzp, *p.neighbour_arrays, p.inverse_density, p.boundary.gradient, p.velocity_changes
        )

    def _finished(self, iterations: int, error: float) -> bool:
        if not isfinite(error) or iterations >= self.max_iterations:
            return True
        return error <= self.density_error and iterations >= self.min_iterations
