"""The contract of pressure solvers, and the common part of those that solve for the density only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.sph.particles import Particles
from continua.sph.pressure import iisph_pcisph_pbf_kernels, pressure_kernels
from continua.validation import instance_of, number, whole_number

__all__ = ["DensitySolver", "PressureReport", "PressureSolver", "check_pressure_solver", "check_step"]


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


def check_pressure_solver(solver: Any, *errors: str) -> None:
    """Raise InputError unless the options of a pressure solver are valid; `errors` names its tolerances."""
    for key in errors:
        number(getattr(solver, key), f"the {key} of a pressure solver", above=0.0, below=1.0)
    most = whole_number(
        solver.max_iterations, "the max_iterations of a pressure solver", low=2, high=2**31 - 1
    )
    object.__setattr__(solver, "max_iterations", most)


def check_step(p: Particles, dt: float) -> tuple[Particles, float]:
    """Return the particles and the time step [s] of a solve."""
    return instance_of(p, Particles, "the particles of a solve"), number(dt, "dt", above=0.0, unit="s")


@dataclass(frozen=True)
class DensitySolver:
    """Common part of solvers that keep the density constant and have no divergence solve."""

    warm_start_fields: ClassVar[tuple[str, ...]] = ("pressure",)
    name: ClassVar[str] = ""
    min_iterations: ClassVar[int] = 2
    density_error: float = 1e-4
    max_iterations: int = 1000

    def __post_init__(self) -> None:
        check_pressure_solver(self, "density_error")

    def solve_divergence(self, p: Particles, dt: float) -> PressureReport:
        """Do nothing: the method has no divergence solve."""
        return PressureReport(0, 0.0)

    def pressure(self, p: Particles, dt: float) -> NDArray[np.float32]:
        """Return the pressure of the last step [Pa], shape [n]."""
        return check_step(p, dt)[0].warm_start["pressure"]

    def _group_sums(self, p: Particles) -> NDArray[np.float64]:
        """Return an array for sums over groups of particles."""
        group = iisph_pcisph_pbf_kernels.GROUP
        return np.zeros((p.count + group - 1) // group)

    def _update_velocity_changes(self, p: Particles) -> None:
        pressure_kernels.pressure_velocity_changes.variant(p.parallel)(
            p.xyzp, *p.neighbour_arrays, p.inverse_density, p.boundary.gradient, p.velocity_changes
        )

    def _finished(self, iterations: int, error: float) -> bool:
        if not np.isfinite(error) or iterations >= self.max_iterations:
            return True
        return error <= self.density_error and iterations >= self.min_iterations
