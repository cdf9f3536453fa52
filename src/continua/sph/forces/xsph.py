"""XSPH: artificial viscosity that blends velocities with those of the neighbours."""

from __future__ import annotations

from continua.sph.forces import viscosity_kernels as kernels
from continua.sph.forces.force import Force
from continua.sph.particles import Particles

__all__ = ["XSPH"]


class XSPH(Force):
    """XSPH artificial viscosity (Schechter and Bridson 2012).

    Args:
        coefficient: From 0 to 1, how much velocities are blended in a sub-step.
    """

    def __init__(self, coefficient: float) -> None:
        self.coefficient = coefficient

    def explicit_step(self, particles: Particles) -> None:
        """Blend all velocities with those of their neighbours."""
        p = particles
        begin, end, neighbours, _ = p.neighbour_arrays
        kernels.xsph.variant(p.parallel)(
            p.xyzp, p.velocities, begin, end, neighbours, p.density, p.volume, 1.0 / p.radius, self.coefficient,
            p.velocity_changes,
        )  # fmt: skip
        p.velocities, p.velocity_changes = p.velocity_changes, p.velocities
