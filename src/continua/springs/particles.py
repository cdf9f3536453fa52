"""What bodies of springs and position-based bodies share: masses, faces and the drag of the air on lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.contact_body import ContactSurface
from continua.deformable.boundary_conditions.boundary_faces import BoundaryFaces
from continua.environment import Wind
from continua.errors import InputError
from continua.springs.network import SpringNetwork
from continua.validation import array, number, numbers

if TYPE_CHECKING:
    from continua.deformable.deformable_body import DeformableBody

__all__ = ["air_drag", "node_masses", "open_surface", "sheet_faces", "without_wind"]

DRAG_COEFFICIENT = 1.2
"""Drag coefficient of a cylinder across the wind."""


def node_masses(network: SpringNetwork, mass: Any, body: str) -> NDArray[np.float64]:
    """Return the mass of each node [kg]: shares of the mass of the body, or as given, shape [n]."""
    given = numbers(mass)
    if given is None or given.ndim == 0:
        return number(mass, "the mass of a body", above=0.0, unit="kg") * network.node_shares
    masses = array(mass, "the mass of a body, one number or one for each node,", (network.node_count,))
    if not (masses > 0.0).all():
        raise InputError(
            f"node {int(np.argmin(masses))} of body '{body}' has the mass {masses.min():g}; masses must be above 0, "
            "and a pin holds a node"
        )
    return masses.copy()


def sheet_faces(network: SpringNetwork) -> BoundaryFaces:
    """Return the triangles of a network as faces that pressure, traction and wind act on."""
    third = 1.0 / 3.0
    slopes = np.array([[[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]]])
    behind = np.arange(len(network.triangles), dtype=np.int32)
    return BoundaryFaces.from_shapes(
        network.triangles, behind, np.full((1, 3), third), slopes, np.array([0.5]), network.points
    )


def air_drag(
    springs: NDArray[np.int32],
    x: NDArray[np.float64],
    v: NDArray[np.float64],
    radius: float,
    wind: Wind,
    time: float,
    force: NDArray[np.float64],
) -> None:
    """Add the drag of the air on springs as cylinders across it to `force` [n, 3]: rho C_d r l |u| u.

    u is the part of the wind relative to a spring that is normal to it, and l its length.
    """
    i, j = springs.T
    along = x[j] - x[i]
    length = np.linalg.norm(along, axis=1)
    unit = along / np.maximum(length, 1e-300)[:, None]
    u = np.asarray(wind.at(time)) - 0.5 * (v[i] + v[j])
    u -= np.einsum("mi,mi->m", u, unit)[:, None] * unit
    speed = np.linalg.norm(u, axis=1)
    half = (0.5 * wind.density * DRAG_COEFFICIENT * radius * length * speed)[:, None] * u
    for axis in range(3):
        for ends in (i, j):
            force[:, axis] += np.bincount(ends, weights=half[:, axis], minlength=len(x))


@contextmanager
def without_wind(body: DeformableBody) -> Iterator[Wind | None]:
    """Take the wind away from a body of lines, which have no faces, for the time in which loads are collected.

    Returns the wind, or None if there is none.
    """
    around = body._environment
    if around.wind is None:
        yield None
        return
    body._environment = replace(around, wind=None)
    try:
        yield around.wind
    finally:
        body._environment = around


def open_surface(network: SpringNetwork, radius: float, whole: bool = True) -> ContactSurface:
    """Return the surface with which ropes, nets and sheets touch others; nodes alone if the network may tear.

    Args:
        network: The network.
        radius: Radius of ropes, half of the thickness of sheets [m].
        whole: Whether the network stays whole.
    """
    none = np.zeros((0, 3), np.int32)
    triangles = network.triangles if whole else none
    edges = vertices = None
    if not len(triangles):
        edges = network.springs if whole else np.zeros((0, 2), np.int32)
        vertices = np.arange(network.node_count, dtype=np.int32)
    return ContactSurface(
        network.points, triangles, two_sided=True, thickness=2.0 * radius, edges=edges, vertices=vertices
    )
