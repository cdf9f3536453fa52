"""The contract of forces on fluid particles other than pressure and gravity."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.sph.particles import Particles

__all__ = ["Force"]


class Force(Protocol):
    """A force on the particles of all fluids of a world; `particles.fluid_index` tells them apart.

    A sub-step calls `explicit_step` of all forces in their order, then chooses its length, adds the accelerations to
    the velocities, and calls `implicit_step` of all forces; the density solve follows. A subclass overrides the stages
    it needs; the others do nothing. `particles.velocity_changes` may be used as scratch in both stages.
    """

    def explicit_step(self, particles: Particles) -> None:
        """Add to `particles.accelerations` [m/s2], shape [4 n], or change `particles.velocities` [m/s], shape [4 n]."""

    def implicit_step(self, particles: Particles, dt: float, prescribed: NDArray[np.intp]) -> int:
        """Replace the velocities by those after an implicit step of `dt` [s]; return the number of iterations.

        `prescribed` are the indices of particles in nozzles, whose velocity is given.
        """
        return 0

    def boundary_drag(self, particles: Particles, dt: float) -> NDArray[np.float32] | None:
        """Return the momentum that the implicit step transfers to boundaries, or None.

        It is given per unit of relative velocity and of the boundary's drag [kg], shape [n].
        """
        return None
