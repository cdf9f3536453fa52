"""Surface tension by cohesion and minimal area (Akinci, Akinci and Teschner 2013)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.sph.forces import surface_tension_kernels as kernels
from continua.sph.particles import Particles

__all__ = ["add_tension"]


def add_tension(p: Particles, tension: NDArray[np.float64]) -> None:
    """Add surface tension to the accelerations.

    Args:
        p: The particles.
        tension: Coefficient of each fluid.
    """
    begin, end, neighbours, weights = p.links
    kernels.surface_normals.pick(p.parallel)(
        p.rows, begin, end, neighbours, weights, p.density, p.radius, p.pushes
    )
    kernels.add_tension.pick(p.parallel)(
        p.rows, begin, end, neighbours, p.density, p.fluid, tension.astype(np.float32), p.light, p.pushes, p.radius,
        p.volume, p.accelerations,
    )  # fmt: skip
