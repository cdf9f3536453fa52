"""Viscosity: explicit for thin liquids, an implicit solve for honey, and XSPH as artificial smoothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.numerics import dot, total
from continua.numerics.stages import timed
from continua.sph.forces import viscosity_kernels as kernels
from continua.sph.particles import Particles

__all__ = ["ViscousFacts", "accelerate", "needs_implicit", "smooth", "solve_viscosity", "stickiness"]

_SOFTEN = 0.01  # of the kernel radius squared, in the denominator of the viscous force
_EXPLICIT_LIMIT = 0.1  # of nu dt / d^2; beyond, an explicit step overshoots
_RTOL = 1e-3  # of the residual that the velocities before have: viscosity itself is that exact
_MOST = 200
_HELD = 300.0  # how much heavier than they are particles in a nozzle seem to be


class ViscousFacts(NamedTuple):
    """How an implicit viscosity solve went: iterations and relative residual."""

    iterations: int
    residual: float


def needs_implicit(viscosity: float, density: float, diameter: float, dt: float) -> bool:
    """Return whether a fluid is too viscous [Pa s] for explicit steps of `dt` [s]."""
    return viscosity / density * dt > _EXPLICIT_LIMIT * diameter**2


def _soften(p: Particles) -> np.float32:
    return np.float32(_SOFTEN * p.radius**2)


def accelerate(p: Particles, gravity: NDArray[np.float64], viscous: bool) -> None:
    """Set the accelerations to gravity, and if `viscous` to gravity and viscosity."""
    if viscous:
        kernels.viscous_accelerations.pick(p.parallel)(
            p.rows, p.velocities, *p.links, p.viscosity, p.light, _soften(p), gravity.astype(np.float32),
            p.accelerations,
        )  # fmt: skip
    else:
        p.accelerations.reshape(-1, 4)[:, :3] = gravity


def smooth(p: Particles, strength: float) -> None:
    """Move all velocities towards those around them (XSPH, Schechter and Bridson 2012)."""
    begin, end, neighbours, _ = p.links
    kernels.smoothed.pick(p.parallel)(
        p.rows, p.velocities, begin, end, neighbours, p.density, p.volume, 1.0 / p.radius, strength, p.pushes
    )
    p.velocities, p.pushes = p.pushes, p.velocities


def stickiness(p: Particles, dt: float) -> NDArray[np.float32]:
    """Return what an implicit step of `dt` [s] gives walls of momentum for each unit of density and speed [kg], [n]."""
    return np.float32(4.0 * dt * p.volume / (0.5 * p.radius) ** 2) * p.viscosity


@timed("viscosity")
def solve_viscosity(p: Particles, dt: float, held: NDArray[np.intp] | None = None) -> ViscousFacts:
    """Replace the velocities u* by the u of (rho - dt D) u = rho u*, D the viscous force (Weiler and others 2018).

    The system is symmetric and positive definite; conjugate gradients without a matrix, vectors in single
    precision and inner products in double. A wall drags the layer of particles at it as if the fluid stuck to it.

    Args:
        p: The particles.
        dt: The step [s].
        held: Numbers of particles whose velocity is given: to the others they are as heavy as can be.
    """
    groups = (p.count + kernels.GROUP - 1) // kernels.GROUP
    parts = np.zeros(groups)
    diameter = 0.5 * p.radius
    stick = np.float32(4.0 / diameter**2)
    light = p.light
    if held is not None and len(held):
        light = light.copy()
        light[held] /= np.float32(_HELD)
    mass = np.repeat(np.float32(1.0) / light, 4)
    u, product = p.velocities, p.pushes

    def apply(vectors: NDArray[np.float32]) -> float:
        kernels.viscous_product.pick(p.parallel)(
            p.rows, vectors, *p.links, p.viscosity, light, _soften(p), np.float32(dt), p.walls.density, stick,
            product, parts,
        )  # fmt: skip
        return total(parts)

    rhs = mass * u + dt * stick * np.repeat(p.viscosity, 4) * p.walls.drift
    apply(u)
    residual = rhs - product
    direction = residual.copy()
    first = square = dot(residual, residual)
    done = 0
    while square > _RTOL**2 * first and done < _MOST:
        step = np.float32(square / apply(direction))
        u += step * direction
        residual -= step * product
        last, square = square, dot(residual, residual)
        direction *= np.float32(square / last)
        direction += residual
        done += 1
    return ViscousFacts(done, float(np.sqrt(square / first)) if first > 0.0 else 0.0)
