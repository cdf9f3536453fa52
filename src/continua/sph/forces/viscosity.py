"""Viscosity: explicit for thin liquids, implicit for honey."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.numerics import dot, total
from continua.numerics.timers import timed
from continua.sph.forces import viscosity_kernels as kernels
from continua.sph.forces.force import Force
from continua.sph.particles import Particles

__all__ = ["Viscosity", "ViscosityReport", "needs_implicit", "solve_viscosity"]

_EPSILON = 0.01  # of the kernel radius squared, in the denominator of the viscous force
_EXPLICIT_LIMIT = 0.1  # of nu dt / d^2, beyond which an explicit step overshoots
_RTOL = 1e-3  # of the initial residual; the viscous model itself is no more accurate
_MAX_ITERATIONS = 200
_PRESCRIBED_MASS_FACTOR = 300.0  # by which the mass of particles in a nozzle is scaled


class ViscosityReport(NamedTuple):
    """Result of an implicit viscosity solve: iterations and relative residual."""

    iterations: int
    residual: float


def needs_implicit(viscosity: float, density: float, diameter: float, dt: float) -> bool:
    """Return whether a fluid is too viscous [Pa s] for explicit steps of `dt` [s]."""
    return viscosity / density * dt > _EXPLICIT_LIMIT * diameter**2


class Viscosity(Force):
    """Viscous forces of Monaghan (2005), with the viscosity of each particle from `particles.viscosity`.

    Args:
        implicit: Whether to solve for the velocities (Weiler and others 2018) instead of adding accelerations. The
            fluid then sticks to boundaries.
    """

    def __init__(self, implicit: bool) -> None:
        self.implicit = implicit

    def explicit_step(self, particles: Particles) -> None:
        """Add the viscous accelerations if the force is explicit."""
        if self.implicit:
            return
        p = particles
        kernels.add_viscous_accelerations.variant(p.parallel)(
            p.xyzp,
            p.velocities,
            *p.neighbour_arrays,
            p.viscosity,
            p.inverse_density,
            _epsilon(p),
            p.accelerations,
        )

    def implicit_step(self, particles: Particles, dt: float, prescribed: NDArray[np.intp]) -> int:
        """Solve for the velocities after `dt` [s] if the force is implicit."""
        return solve_viscosity(particles, dt, prescribed).iterations if self.implicit else 0

    def boundary_drag(self, particles: Particles, dt: float) -> NDArray[np.float32] | None:
        """Return the momentum that an implicit step transfers to boundaries [kg], shape [n]."""
        if not self.implicit:
            return None
        p = particles
        return np.float32(4.0 * dt * p.volume / (0.5 * p.radius) ** 2) * p.viscosity


def _epsilon(p: Particles) -> np.float32:
    return np.float32(_EPSILON * p.radius**2)


@timed("viscosity")
def solve_viscosity(p: Particles, dt: float, prescribed: NDArray[np.intp] | None = None) -> ViscosityReport:
    """Replace the velocities u* by the u of (rho - dt D) u = rho u*, D the viscous force (Weiler and others 2018).

    The system is symmetric positive definite and solved by matrix-free conjugate gradients, with vectors in single and
    inner products in double precision. Boundaries drag the particles next to them (no slip).

    Args:
        p: The particles.
        dt: The step [s].
        prescribed: Indices of particles with prescribed velocity; they act on the others as if very heavy.
    """
    groups = (p.count + kernels.GROUP - 1) // kernels.GROUP
    parts = np.zeros(groups)
    diameter = 0.5 * p.radius
    wall_factor = np.float32(4.0 / diameter**2)
    inverse_density = p.inverse_density
    if prescribed is not None and len(prescribed):
        inverse_density = inverse_density.copy()
        inverse_density[prescribed] /= np.float32(_PRESCRIBED_MASS_FACTOR)
    mass = np.repeat(np.float32(1.0) / inverse_density, 4)
    u, product = p.velocities, p.velocity_changes

    def apply(vectors: NDArray[np.float32]) -> float:
        kernels.viscosity_matrix_product.variant(p.parallel)(
            p.xyzp, vectors, *p.neighbour_arrays, p.viscosity, inverse_density, _epsilon(p), np.float32(dt),
            p.boundary.density, wall_factor,
            product, parts,
        )  # fmt: skip
        return total(parts)

    rhs = mass * u + np.float32(dt) * wall_factor * np.repeat(p.viscosity, 4) * p.boundary.weighted_velocity
    apply(u)
    residual = rhs - product
    direction = residual.copy()
    first = square = dot(residual, residual)
    iterations = 0
    while square > _RTOL**2 * first and iterations < _MAX_ITERATIONS:
        step = np.float32(square / apply(direction))
        u += step * direction
        residual -= step * product
        last, square = square, dot(residual, residual)
        direction *= np.float32(square / last)
        direction += residual
        iterations += 1
    return ViscosityReport(iterations, float(np.sqrt(square / first)) if first > 0.0 else 0.0)
