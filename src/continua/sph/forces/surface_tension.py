"""Surface tension by cohesion and surface area minimisation (Akinci, Akinci and Teschner 2013)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.sph.forces import surface_tension_kernels as kernels
from continua.sph.particles import Particles

__all__ = ["add_surface_tension"]


def add_surface_tension(p: Particles, coefficients: NDArray[np.float64]) -> None:
    """Add surface tension to the accelerations.

    Args:
        p: The particles.
        coefficients: One per fluid.
    """
    begin, end, neighbours, weights = p.neighbour_arrays
    kernels.surface_normals.pick(p.parallel)(
        p.xyzp, begin, end, neighbours, weights, p.density, p.radius, p.velocity_changes
    )
    kernels.add_surface_tension.pick(p.parallel)(
        p.xyzp, begin, end, neighbours, p.density, p.fluid_index, coefficients.astype(np.float32),
        p.inverse_density, p.velocity_changes, p.radius,
        p.volume, p.accelerations,
    )  # fmt: skip
