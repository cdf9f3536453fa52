"""Finding nodes that touch a shape, and the implicit penalty forces that push them out.

A node with signed distance g to a shape of normal n feels k (-g) along n, with k its share of the contact
stiffness, a damping force while it comes in, and Coulomb friction against its sliding. All three enter the
implicit step through the node's own diagonal block, so stiff contact needs no small time step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.contact.shapes import Shape

__all__ = ["NO_CONTACTS", "ContactSet", "find_contacts"]


@dataclass(frozen=True, eq=False)
class ContactSet:
    """Nodes of one body that touch something in this step.

    Attributes:
        nodes: Node indices [c].
        normals: Unit normals away from the obstacle [c, 3].
        gaps: Signed distances [m], negative inside [c].
        stiffness: Contact stiffness of each node [N/m].
        damping: Damping of each node [N s/m].
        friction: Coulomb's coefficient [c].
        surface: Velocity of the obstacle where it is touched [m/s], shape [c, 3].
    """

    nodes: NDArray[np.int32]
    normals: NDArray[np.float64]
    gaps: NDArray[np.float64]
    stiffness: NDArray[np.float64]
    damping: NDArray[np.float64]
    friction: NDArray[np.float64]
    surface: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.nodes)


NO_CONTACTS = ContactSet(
    np.zeros(0, np.int32),
    np.zeros((0, 3)),
    np.zeros(0),
    np.zeros(0),
    np.zeros(0),
    np.zeros(0),
    np.zeros((0, 3)),
)


def find_contacts(
    shapes: Sequence[Shape],
    nodes: NDArray[np.int32],
    positions: NDArray[np.float64],
    velocities: NDArray[np.float64],
    areas: NDArray[np.float64],
    masses: NDArray[np.float64],
    stiffness: float,
    time: float,
    dt: float,
) -> ContactSet:
    """Return the surface nodes that are inside a shape or will be after `dt` if nothing stops them.

    Args:
        shapes: Obstacles.
        nodes: Surface nodes of the body [s].
        positions: Positions of those nodes [m], shape [s, 3].
        velocities: Velocities of those nodes [m/s], shape [s, 3].
        areas: Surface area that each node stands for [m2], shape [s].
        masses: Mass of each node [kg], shape [s].
        stiffness: Contact stiffness of the body [Pa/m], for shapes that give none.
        time: Time at the start of the step [s], when the obstacles are where they are met.
        dt: Time step [s].
    """
    parts = []
    for shape in shapes:
        gaps, normals, surface = shape.meet(positions, time, dt)
        speeds = np.einsum("ij,ij->i", velocities - surface, normals)
        touching = np.flatnonzero((gaps < 0.0) | (gaps + dt * speeds < 0.0))
        if not len(touching):
            continue
        k = (stiffness if shape.stiffness is None else shape.stiffness) * areas[touching]
        c = 2.0 * shape.damping * np.sqrt(k * masses[touching]) * (speeds[touching] < 0.0)
        friction = np.full(len(touching), shape.friction)
        parts.append((nodes[touching], normals[touching], gaps[touching], k, c, friction, surface[touching]))
    if not parts:
        return NO_CONTACTS
    return ContactSet(*(np.ascontiguousarray(np.concatenate(column)) for column in zip(*parts, strict=True)))
