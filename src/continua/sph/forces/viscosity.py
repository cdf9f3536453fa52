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

_LATTICE_MOMENT = 375.0  # of the pair weights, on a cubic lattice, in diameters squared
_LATTICE_FACTOR = 60.0  # makes the force exact on a cubic lattice
_DISORDER = 1.015  # disordered particles resist a shear by 3 % less than a lattice; this takes the middle
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
    """Viscous forces along the lines between particles (Monaghan 2005), with the viscosity from `particles.viscosity`.

    Args:
        implicit: Whether to solve for the velocities (Weiler and others 2018) instead of adding accelerations.
    """

    def __init__(self, implicit: bool) -> None:
        self.implicit = implicit
        self._scaled = self._velocities = np.zeros(0, np.float32)

    def explicit_step(self, particles: Particles) -> None:
        """Add the viscous accelerations if the force is explicit."""
        self._scaled = scale_viscosity(particles)
        if self.implicit:
            return
        p = particles
        begin, end, neighbours, _ = p.neighbour_arrays
        kernels.add_viscous_accelerations.variant(p.parallel)(
            p.xyzp, p.velocities, begin, end, neighbours, self._scaled, _inverse_square(p), p.inverse_density,
            _wall_viscosity(p), p.boundary.drag, p.boundary.drag_velocity, p.accelerations,
        )  # fmt: skip
        self._velocities = p.velocities.copy()

    def implicit_step(self, particles: Particles, dt: float, prescribed: NDArray[np.intp]) -> int:
        """Solve for the velocities after `dt` [s] if the force is implicit."""
        if not self.implicit:
            return 0
        report = solve_viscosity(particles, dt, prescribed, self._scaled)
        self._velocities = particles.velocities.copy()
        return report.iterations

    def boundary_drag(self, particles: Particles, dt: float) -> NDArray[np.float32] | None:
        """Return the momentum that a step transfers to boundaries [kg], shape [n]."""
        return np.float32(dt * particles.volume) * _wall_viscosity(particles)

    def drag_velocities(self) -> NDArray[np.float32]:
        """Return the velocities that belong to `boundary_drag` [m/s], shape [4 n]."""
        return self._velocities


def _inverse_square(p: Particles) -> np.float32:
    return np.float32(1.0 / p.radius**2)


def _wall_viscosity(p: Particles) -> NDArray[np.float32]:
    """Return the viscosity over the second moment of pair weights on a lattice [Pa s/m2], shape [n]."""
    return (
        np.float32(0.5 * _DISORDER * _LATTICE_FACTOR / (_LATTICE_MOMENT * (0.5 * p.radius) ** 2))
        * p.viscosity
    )


def scale_viscosity(p: Particles) -> NDArray[np.float32]:
    """Return the viscosity of each particle over the second moment of its pair weights [Pa s/m2], shape [n].

    Where neighbours are missing, half of their moment is made up for: on the outermost layer of a lattice, whose
    neighbours along the surface are all there, shear along the surface is then resisted as inside.
    """
    scaled = np.empty(p.count, np.float32)
    begin, end, neighbours, _ = p.neighbour_arrays
    lattice = np.float32(_LATTICE_MOMENT * (0.5 * p.radius) ** 2)
    kernels.scale_viscosity.variant(p.parallel)(
        p.xyzp, begin, end, neighbours, _inverse_square(p), p.boundary.moment, p.viscosity, lattice,
        np.float32(_DISORDER * _LATTICE_FACTOR), scaled,
    )  # fmt: skip
    return scaled


@timed("viscosity")
def solve_viscosity(
    p: Particles,
    dt: float,
    prescribed: NDArray[np.intp] | None = None,
    scaled: NDArray[np.float32] | None = None,
) -> ViscosityReport:
    """Replace the velocities u* by the u of (rho - dt D) u = rho u*, D the viscous force (Weiler and others 2018).

    The system is symmetric positive definite and solved by matrix-free conjugate gradients, with vectors in single and
    inner products in double precision. Boundaries drag the particles next to them.

    Args:
        p: The particles.
        dt: The step [s].
        prescribed: Indices of particles with prescribed velocity; they act on the others as if very heavy.
        scaled: From `scale_viscosity`, if it is known.
    """
    scaled = scale_viscosity(p) if scaled is None else scaled
    wall = _wall_viscosity(p)
    groups = (p.count + kernels.GROUP - 1) // kernels.GROUP
    parts = np.zeros(groups)
    begin, end, neighbours, _ = p.neighbour_arrays
    inverse_density = p.inverse_density
    if prescribed is not None and len(prescribed):
        inverse_density = inverse_density.copy()
        inverse_density[prescribed] /= np.float32(_PRESCRIBED_MASS_FACTOR)
    mass = np.repeat(np.float32(1.0) / inverse_density, 4)
    u, product = p.velocities, p.velocity_changes

    def apply(vectors: NDArray[np.float32]) -> float:
        kernels.viscosity_matrix_product.variant(p.parallel)(
            p.xyzp, vectors, begin, end, neighbours, scaled, _inverse_square(p), inverse_density, np.float32(dt),
            wall, p.boundary.drag, product, parts,
        )  # fmt: skip
        return total(parts)

    rhs = mass * u + np.float32(dt) * np.repeat(wall, 4) * p.boundary.drag_velocity
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
