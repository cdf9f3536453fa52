"""Volume, centre of mass and inertia of solids: exact integrals over a polyhedron (Mirtich 1996, by tetrahedra)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh import SurfaceMesh

__all__ = ["Moments", "moments", "principal"]


class Moments(NamedTuple):
    """Mass properties of a solid of density 1.

    Attributes:
        volume: Volume [m3].
        center: Centre of mass [m], shape [3].
        inertia: Inertia about the centre for density 1 [m5], shape [3, 3].
    """

    volume: float
    center: NDArray[np.float64]
    inertia: NDArray[np.float64]


def moments(mesh: SurfaceMesh) -> Moments:
    """Return volume, centre and inertia of the inside of a closed surface, to round-off.

    Every triangle forms a tetrahedron with the centre of the bounds; the signed integrals of 1, x and x x^T over these
    sum up to those of the inside.
    """
    if mesh.is_flat:
        raise InputError("the surface is flat: a rigid body of it has no mass; use a thin Box instead")
    if not mesh.is_closed:
        raise InputError(
            f"a rigid body needs a closed surface, but {len(mesh.open_edges)} edges of this one belong to one "
            "triangle only; close its holes first"
        )
    if not mesh.is_oriented:
        raise InputError(
            "a rigid body needs a surface whose triangles all face outwards, and here neighbours face opposite sides; "
            "turn them alike first"
        )
    origin = mesh.bounds.mean(axis=0)
    a, b, c = (mesh.points[mesh.triangles[:, i]] - origin for i in range(3))
    six = np.einsum("ij,ij->i", a, np.cross(b, c))
    volume = float(six.sum()) / 6.0
    size = float(np.ptp(mesh.points, axis=0).max())
    if not volume > 1e-12 * size**3:
        raise InputError(
            f"a rigid body needs a surface that holds a volume, and this one holds {volume:.3g} m³; "
            "turn its triangles outwards if it is inside out"
        )
    total = a + b + c
    center = (six @ total) / (24.0 * volume)
    second = sum(np.einsum("k,ki,kj->ij", six, p, p) for p in (a, b, c, total)) / 120.0
    second = second - volume * np.outer(center, center)
    return Moments(volume, origin + center, np.trace(second) * np.eye(3) - second)


def principal(inertia: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the principal moments [3] and the rotation [3, 3] whose columns are their axes.

    A matrix that is diagonal already keeps its axes.
    """
    off = np.abs(inertia - np.diag(np.diag(inertia))).max()
    if off <= 1e-12 * np.trace(inertia):
        return np.diag(inertia).copy(), np.eye(3)
    values, axes = np.linalg.eigh(inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return values, axes
