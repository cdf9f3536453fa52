"""Walls as the pressure solvers see them.

Whatever a wall is made of, it answers one question a step: for every particle near it, how much does the wall add to
its relative density, what is the gradient of that, and how fast does it change by the wall's own motion. Models of
walls (samples, density maps, ...) add their answers into one `WallSums`; solvers know nothing else of walls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.contact import Shape

__all__ = ["Boundary", "WallSums", "motion_of"]


@dataclass
class WallSums:
    """What particles feel of all walls together.

    Attributes:
        density: Part of the relative density, shape [n].
        gradient: Its gradient [1/m] in rows of four, the last 0, shape [4 n].
        rate: Its rate while the particle rests and the walls move [1/s], shape [n].
        drift: Velocity of the walls [m/s] times their part of the density, rows of four, shape [4 n]; what viscous
            fluids are dragged with.
    """

    density: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    gradient: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    rate: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    drift: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))

    def clear(self, count: int) -> None:
        """Set all sums of `count` particles to zero."""
        if len(self.density) != count:
            self.density, self.rate = np.zeros(count, np.float32), np.zeros(count, np.float32)
            self.gradient, self.drift = np.zeros(4 * count, np.float32), np.zeros(4 * count, np.float32)
        else:
            for array in (self.density, self.gradient, self.rate, self.drift):
                array[:] = 0.0

    def carry(
        self, before: NDArray[np.float32], rows: NDArray[np.float32], motion: NDArray[np.float32]
    ) -> None:
        """Add the drift of a moving wall, which has raised the density from `before` on."""
        near = np.flatnonzero(self.density > before)
        matrix = motion.reshape(3, 4)
        velocity = rows.reshape(-1, 4)[near, :3] @ matrix[:, :3].T + matrix[:, 3]
        self.drift.reshape(-1, 4)[near, :3] += (self.density - before)[near, None] * velocity


class Boundary(Protocol):
    """A model of the walls that one shape makes."""

    shape: Shape

    def add_to(self, walls: WallSums, rows: NDArray[np.float32], time: float, dt: float) -> None:
        """Add what particles feel of this shape.

        Args:
            walls: The sums.
            rows: Particles sorted along the curve: positions relative to the fluid's origin [m] and one number more,
                shape [4 n].
            time: At the start of the step [s].
            dt: The step over which the shape's motion is taken [s].
        """


def motion_of(
    shape: Shape, origin: NDArray[np.float64], time: float, dt: float
) -> NDArray[np.float32] | None:
    """Return the mean velocity of a shape's points over the next `dt` [s], or None if it rests.

    The result M, shape [12], gives the velocity of the point that is at x, measured from `origin`, by rows
    M[4 r : 4 r + 3] . x + M[4 r + 3].
    """
    now, then = shape.pose(time), shape.pose(time + dt)
    if now is None or then is None or dt <= 0.0:
        return None
    turn = then.turn @ now.turn.T
    shift = turn @ (origin - now.shift) + then.shift - origin
    matrix = np.column_stack([turn - np.eye(3), shift]) / dt
    return matrix.astype(np.float32).ravel() if np.any(matrix) else None
