"""What the fluid system asks of a pressure solver."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.sph.particles import Particles

__all__ = ["PressureSolver", "SolveFacts"]


class SolveFacts(NamedTuple):
    """How a pressure solve went: iterations, and the mean error that stays, relative to the rest density."""

    iterations: int
    error: float


class PressureSolver(Protocol):
    """Keeps a fluid incompressible.

    Both methods leave the changes of velocity in `particles.pushes`, and the pressures times time that made them in the
    last lane of `particles.rows`, from which walls and bodies learn what they have to bear.

    Attributes:
        carries: Names of the arrays [n] that it carries from step to step.
    """

    @property
    def carries(self) -> tuple[str, ...]:
        """Names of the arrays [n] that it carries from step to step."""

    @property
    def name(self) -> str:
        """Name of the method."""

    @property
    def max_iterations(self) -> int:
        """Most iterations of a solve."""

    def free_of_divergence(self, p: Particles, dt: float) -> SolveFacts:
        """Find the pushes that make the velocities free of divergence at the start of a step, if the method does so."""

    def keep_density(self, p: Particles, dt: float) -> SolveFacts:
        """Find the pushes that keep the density over the step of `dt` [s] that follows."""

    def pressure(self, p: Particles, dt: float) -> NDArray[np.float32]:
        """Return the pressure of the last step [Pa], shape [n]."""
