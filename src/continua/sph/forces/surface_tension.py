"""Surface tension by cohesion and surface area minimisation (Akinci, Akinci and Teschner 2013)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.sph.forces import surface_tension_kernels as kernels
from continua.sph.forces.force import Force
from continua.sph.particles import Particles

__all__ = ["SurfaceTension"]


class SurfaceTension(Force):
    """Surface tension of Akinci, Akinci and Teschner (2013).

    Args:
        coefficients: One per fluid.
    """

    def __init__(self, coefficients: NDArray[np.float64]) -> None:
        self._coefficients = np.asarray(coefficients, np.float32)

    def explicit_step(self, particles: Particles) -> None:
        """Add the accelerations of surface tension."""
        p, normals = particles, particles.velocity_changes
        begin, end, neighbours, weights = p.neighbour_arrays
        kernels.surface_normals.variant(p.parallel)(
            p.xyzp, begin, end, neighbours, weights, p.density, p.radius, normals
        )
        kernels.add_surface_tension.variant(p.parallel)(
            p.xyzp, begin, end, neighbours, p.density, p.fluid_index, self._coefficients, p.inverse_density, normals,
            p.radius, p.volume, p.accelerations,
        )  # fmt: skip
