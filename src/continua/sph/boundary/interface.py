"""The contract between the fluid system and its boundaries, and friction, which all boundaries share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.sph.boundary.model import BoundarySums
from continua.sph.neighbour_search import CellGrid

__all__ = ["PUSH_OUT", "Boundary", "FluidState", "apply_friction"]

PUSH_OUT = 1e-3  # of the diameter: how far outside the surface penetrating particles are placed


@dataclass
class FluidState:
    """State of the fluid in a sub-step, as boundaries need it.

    Attributes:
        xyzp: Particles, shape [4 n].
        velocities: Their velocities after the pressure solves [m/s], shape [4 n]; friction changes them.
        pressures: Pressures times time, the sum of both solves [Pa s], shape [n].
        masses: Of the particles [kg], shape [n].
        volume: Of a particle [m3].
        friction: Coulomb's friction coefficient.
        drag: Friction coefficient per slip speed [s/m].
        grid: The cells by which the particles are sorted.
        viscous_coupling: Momentum that viscosity transfers to boundaries for each unit of drag and speed [kg], shape
            [n], and the velocities that belong to it [4 n]; or None.
    """

    xyzp: NDArray[np.float32]
    velocities: NDArray[np.float32]
    pressures: NDArray[np.float32]
    masses: NDArray[np.float64]
    volume: float
    friction: float
    drag: float
    grid: CellGrid
    viscous_coupling: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None


class Boundary(Protocol):
    """A boundary of the fluid: a collider, a rigid body, or the surface of a soft body.

    Attributes:
        name: Name, for messages.
        slip: Slip length [m].
    """

    name: str
    slip: float

    @property
    def owner(self) -> object:
        """The collider or body whose surface it is."""

    def add_to(
        self, sums: BoundarySums, xyzp: NDArray[np.float32], origin: NDArray, time: float, dt: float
    ) -> None:
        """Add the boundary's contributions to each particle."""

    def needs_forces(self, friction: bool) -> bool:
        """Return whether `apply_fluid_forces` has an effect, given whether there is friction."""

    def apply_fluid_forces(
        self, fluid: FluidState, scratch: BoundarySums, origin: NDArray, time: float, dt: float
    ) -> None:
        """Apply friction to the fluid, and pressure, friction and viscous forces to the body."""

    def resolve_penetration(
        self, fluid: FluidState, sums: BoundarySums, origin: NDArray, time: float, dt: float, diameter: float
    ) -> NDArray[np.float64]:
        """Move penetrating particles back to the surface; return the depth of each [m]."""

    def max_speed(self, corners: NDArray[np.float64], time: float, dt: float) -> float:
        """Return the boundary's largest speed at points [k, 3] around the fluid [m/s]."""

    def signed_distances(self, points: NDArray[np.float64], time: float) -> NDArray[np.float64]:
        """Return signed distances of points [n, 3] to the boundary [m], negative inside."""

    def nbytes(self) -> int:
        """Return the memory of the boundary [bytes]."""


def apply_friction(
    fluid: FluidState, near: NDArray, gradient: NDArray, boundary_velocity: NDArray, normal_impulse: NDArray
) -> NDArray[np.float64]:
    """Reduce the slip of particles along a boundary; return the impulses on the boundary [N s], shape [k, 3].

    Args:
        fluid: The fluid; the velocities change.
        near: Indices of particles at the boundary, shape [k].
        gradient: Gradient of the boundary's part of their density [1/m], shape [k, 3].
        boundary_velocity: Velocities of the boundary there [m/s], shape [k, 3].
        normal_impulse: Magnitude of the pressure impulse [N s], shape [k].
    """
    normal = gradient / np.maximum(np.linalg.norm(gradient, axis=1), 1e-30)[:, None]
    velocities = fluid.velocities.reshape(-1, 4)
    slip = velocities[near, :3].astype(np.float64) - boundary_velocity
    slip -= (slip * normal).sum(axis=1)[:, None] * normal
    speed = np.linalg.norm(slip, axis=1)[:, None]
    masses = fluid.masses[near, None]
    lost = np.minimum((fluid.friction + fluid.drag * speed) * normal_impulse[:, None] / masses, speed)
    before = velocities[near, :3]
    velocities[near, :3] = before - lost * slip / np.maximum(speed, 1e-30)
    return masses * (before.astype(np.float64) - velocities[near, :3])
