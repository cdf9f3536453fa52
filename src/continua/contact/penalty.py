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
from continua.numerics import kernel

__all__ = ["ContactSet", "apply_contacts", "contact_impulses", "find_contacts"]


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
    """

    nodes: NDArray[np.int32]
    normals: NDArray[np.float64]
    gaps: NDArray[np.float64]
    stiffness: NDArray[np.float64]
    damping: NDArray[np.float64]
    friction: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.nodes)


NO_CONTACTS = ContactSet(np.zeros(0, np.int32), np.zeros((0, 3)), *(np.zeros(0) for _ in range(4)))


def find_contacts(
    shapes: Sequence[Shape],
    nodes: NDArray[np.int32],
    positions: NDArray[np.float64],
    velocities: NDArray[np.float64],
    areas: NDArray[np.float64],
    masses: NDArray[np.float64],
    stiffness: float,
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
        dt: Time step [s].
    """
    parts = []
    for shape in shapes:
        gaps, normals = shape.distances(positions)
        speeds = np.einsum("ij,ij->i", velocities, normals)
        touching = np.flatnonzero((gaps < 0.0) | (gaps + dt * speeds < 0.0))
        if not len(touching):
            continue
        k = (stiffness if shape.stiffness is None else shape.stiffness) * areas[touching]
        c = 2.0 * shape.damping * np.sqrt(k * masses[touching]) * (speeds[touching] < 0.0)
        friction = np.full(len(touching), shape.friction)
        parts.append((nodes[touching], normals[touching], gaps[touching], k, c, friction))
    if not parts:
        return NO_CONTACTS
    return ContactSet(*(np.ascontiguousarray(np.concatenate(column)) for column in zip(*parts, strict=True)))


@kernel
def _drag(k, c, gap, friction, n, v, dt, slip):
    """Return the coefficients (along the normal, across it) of the contact's velocity-dependent impulse."""
    along = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
    press = max(0.0, -k * (gap + dt * along) - c * along)
    across = 0.0
    for i in range(3):
        across += (v[i] - along * n[i]) ** 2
    return dt * (c + dt * k), dt * friction * press / max(np.sqrt(across), slip)


@kernel
def apply_contacts(
    nodes, normals, gaps, stiffness, damping, friction, velocities, dt, slip, diagonal, blocks, rhs
):
    """Add the contacts' impulses to the matrix and the right-hand side of a velocity solve.

    Sliding below the speed `slip` [m/s] is resisted in proportion to it, faster sliding by the full friction.
    """
    for q in range(nodes.shape[0]):
        i = nodes[q]
        n = normals[q]
        normal, tangent = _drag(stiffness[q], damping[q], gaps[q], friction[q], n, velocities[i], dt, slip)
        k = diagonal[i]
        for a in range(3):
            rhs[i, a] -= dt * stiffness[q] * gaps[q] * n[a]
            for b in range(3):
                nn = n[a] * n[b]
                blocks[k, 3 * a + b] += normal * nn + tangent * ((1.0 if a == b else 0.0) - nn)


@kernel
def contact_impulses(
    nodes, normals, gaps, stiffness, damping, friction, velocities, solved, dt, slip, impulse
):
    """Add what the contacts really did to the momentum in this step, given the solved velocities."""
    for q in range(nodes.shape[0]):
        i = nodes[q]
        n = normals[q]
        normal, tangent = _drag(stiffness[q], damping[q], gaps[q], friction[q], n, velocities[i], dt, slip)
        along = n[0] * solved[i, 0] + n[1] * solved[i, 1] + n[2] * solved[i, 2]
        for a in range(3):
            impulse[i, a] -= dt * stiffness[q] * gaps[q] * n[a]
            impulse[i, a] -= normal * along * n[a] + tangent * (solved[i, a] - along * n[a])
