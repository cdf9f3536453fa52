"""What boundaries contribute to particles, and the contract of boundary models.

Whatever its method, a boundary answers one question per step: for every particle near it, its part of the relative
density, the gradient of that part, and the rate at which it changes due to the boundary's own motion. All models
(particles, density maps, ...) add their contributions to one `BoundarySums`; pressure solvers know nothing else of
boundaries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.sph.boundary import wall_drag_kernels
from continua.sph.boundary.wall_drag import WallProfile

__all__ = ["BoundaryModel", "BoundaryPose", "BoundarySums"]

_PARALLEL_FROM = 8192


@dataclass
class BoundarySums:
    """Contributions of all boundaries to each particle.

    Attributes:
        density: Part of the relative density, shape [n].
        gradient: Its gradient [1/m], four values per particle, the last 0, shape [4 n].
        rate: Its rate for a particle at rest while the boundaries move [1/s], shape [n].
        weighted_velocity: Velocity of the boundaries [m/s] times their part of the density, four values per particle,
            shape [4 n].
        drag: Viscous drag of the boundaries on the relative velocity, in units of the viscosity over the second
            moment of the viscous weights on a lattice, shape [n].
        drag_velocity: Drag times the boundaries' velocity at the particle [m/s], shape [4 n].
        moment: The boundaries' part of the second moment of the viscous weights [m2], less where they slip, shape [n].
        virial: Distance from the boundaries times the gradient of their density, shape [n].
    """

    density: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    gradient: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    rate: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    weighted_velocity: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    drag: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    drag_velocity: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    moment: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))

    virial: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))

    def clear(self, count: int) -> None:
        """Set all sums of `count` particles to zero."""
        if len(self.density) != count:
            self.density, self.rate = np.zeros(count, np.float32), np.zeros(count, np.float32)
            self.gradient = np.zeros(4 * count, np.float32)
            self.weighted_velocity = np.zeros(4 * count, np.float32)
            self.drag, self.moment = np.zeros(count, np.float32), np.zeros(count, np.float32)
            self.drag_velocity, self.virial = np.zeros(4 * count, np.float32), np.zeros(count, np.float32)
        else:
            for array in (
                self.density,
                self.gradient,
                self.rate,
                self.weighted_velocity,
                self.drag,
                self.drag_velocity,
                self.moment,
                self.virial,
            ):
                array[:] = 0.0

    def copy_parts(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return copies of density and weighted velocity, for `add_drag` after a boundary was added."""
        return self.density.copy(), self.weighted_velocity.copy()

    def add_drag(
        self,
        previous: tuple[NDArray[np.float32], NDArray[np.float32]],
        profile: WallProfile,
        slip: float,
    ) -> None:
        """Add the viscous drag of a boundary.

        Args:
            previous: The sums before the boundary was added, from `copy_parts`.
            profile: What the boundary's density tells of the distance.
            slip: Slip length [m].
        """
        density, velocity = previous
        wall_drag_kernels.add_wall_drag.variant(len(density) >= _PARALLEL_FROM)(
            self.density, density, self.weighted_velocity, velocity, profile.table, profile.densest, profile.diameter,
            slip, self.drag, self.drag_velocity, self.moment, self.virial,
        )  # fmt: skip

    def add_velocity(
        self, previous: NDArray[np.float32], xyzp: NDArray[np.float32], motion: NDArray[np.float32]
    ) -> None:
        """Add the weighted velocity of a boundary whose contribution raised the density above `previous`."""
        near = np.flatnonzero(self.density > previous)
        matrix = motion.reshape(3, 4)
        velocity = xyzp.reshape(-1, 4)[near, :3] @ matrix[:, :3].T + matrix[:, 3]
        self.weighted_velocity.reshape(-1, 4)[near, :3] += (self.density - previous)[near, None] * velocity


class BoundaryPose(NamedTuple):
    """Pose and velocity of a boundary, relative to the fluid's origin.

    Attributes:
        rotation: From the boundary's local axes, shape [3, 3].
        translation: Position of the local origin [m], shape [3].
        motion: Velocity of the boundary's points over the step, component r [m/s] being
            motion[4 r : 4 r + 3] . x + motion[4 r + 3]; shape [12], or None at rest.
    """

    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]
    motion: NDArray[np.float32] | None


class BoundaryModel(Protocol):
    """Representation of a rigid boundary in its local axes: samples or a map.

    Attributes:
        profile: What its density tells of the distance of a flat wall.
    """

    profile: WallProfile

    def add_to(self, sums: BoundarySums, xyzp: NDArray[np.float32], pose: BoundaryPose) -> None:
        """Add the boundary's contributions.

        Args:
            sums: The sums.
            xyzp: Particles sorted along the curve: positions relative to the fluid's origin [m] and pressures, shape
                [4 n].
            pose: Pose and velocity of the boundary.
        """

    def penetration_candidates(
        self, sums: BoundarySums, xyzp: NDArray[np.float32], pose: BoundaryPose, margin: float
    ) -> NDArray[np.intp]:
        """Return the particles that may be closer than `margin` [m] to the boundary's surface, or behind it.

        `sums` are those at the start of the step, `xyzp` and `pose` those at its end.
        """

    def nbytes(self) -> int:
        """Return the memory of the model [bytes]."""
