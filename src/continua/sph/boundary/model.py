"""Walls as the pressure solvers see them, and the models that a fluid can choose from.

Whatever a wall is made of, it answers one question a step: for every particle near it, how much does the wall add to
its relative density, what is the gradient of that, and how fast does it change by the wall's own motion. Models of
walls (samples, density maps, ...) add their answers into one `WallSums`; solvers know nothing else of walls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.values import isfinite

__all__ = [
    "BOUNDARIES",
    "BoundaryModel",
    "DensityMap",
    "Place",
    "VolumeMap",
    "WallModel",
    "WallParticles",
    "WallSums",
]


@dataclass(frozen=True)
class DensityMap:
    """Walls by density maps (Koschier and Bender 2017): the wall's part of the density is an integral, kept on a grid.

    Attributes:
        extension: How far outside the surface the wall still weighs, in kernel radii; 1 in the paper.
        inset: How far below the surface the wall begins, in kernel radii. None lets fluid at rest end at the surface;
            with 0, as in the paper, it stands off: by half a kernel radius with an extension of 1.
    """

    extension: float = 0.125
    inset: float | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.extension) and 0.05 <= self.extension <= 2.0):
            raise InputError(f"a density map's extension must lie between 0.05 and 2, not {self.extension}")
        _check_inset(self.inset)


@dataclass(frozen=True)
class VolumeMap:
    """Walls by volume maps (Bender and others 2019): the wall's volume near a particle, put at the nearest point.

    Attributes:
        inset: How far below the surface the wall begins, in kernel radii; None lets fluid at rest end at the surface.
    """

    inset: float | None = None

    def __post_init__(self) -> None:
        _check_inset(self.inset)


@dataclass(frozen=True)
class WallParticles:
    """Walls made of particles (Akinci and others 2012)."""


def _check_inset(inset: float | None) -> None:
    if inset is not None and not (isfinite(inset) and -1.0 <= inset <= 1.0):
        raise InputError(f"a map's inset must lie between -1 and 1 kernel radii, not {inset}")


BoundaryModel = DensityMap | VolumeMap | WallParticles
BOUNDARIES: dict[str, type[BoundaryModel]] = {
    "particles": WallParticles,
    "density_map": DensityMap,
    "volume_map": VolumeMap,
}


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


class Place(NamedTuple):
    """Where a wall is and how it moves, measured from the fluid's origin.

    Attributes:
        turn: Rotation from the wall's own axes, shape [3, 3].
        shift: Where the origin of these axes is [m], shape [3].
        motion: Velocity of the wall's points over the step, rows [m/s]: motion[4 r : 4 r + 3] . x + motion[4 r + 3];
            shape [12], or None at rest.
    """

    turn: NDArray[np.float64]
    shift: NDArray[np.float64]
    motion: NDArray[np.float32] | None


class WallModel(Protocol):
    """What a wall is made of, in axes of its own."""

    def add_to(self, walls: WallSums, rows: NDArray[np.float32], place: Place) -> None:
        """Add what particles feel of the wall.

        Args:
            walls: The sums.
            rows: Particles sorted along the curve: positions relative to the fluid's origin [m] and one number more,
                shape [4 n].
            place: Where the wall is.
        """

    def suspects(
        self, walls: WallSums, rows: NDArray[np.float32], place: Place, margin: float
    ) -> NDArray[np.intp]:
        """Return the particles that may be nearer than `margin` [m] to the wall's surface, or behind it.

        `walls` are the sums at the start of the step, `rows` and `place` those at its end.
        """

    def nbytes(self) -> int:
        """Return the memory of the model [bytes]."""
