"""Round bodies in tetrahedra: sphere, cylinder and torus."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.curved_boundary import (
    ConicalRim,
    CylinderSide,
    ProjectedBoundary,
    Sphere,
    Surface,
    Torus,
)
from continua.mesh.simplex import disc, extrude, icosahedron, subdivide
from continua.mesh.structured import checked_counts, checked_lengths
from continua.mesh.tet_mesh import TetMesh, tet_volumes
from continua.validation import number

__all__ = ["bowl", "cylinder", "sphere", "torus"]


def _upright(points: NDArray[np.float64], tets: NDArray[np.int32]) -> TetMesh:
    """Orient the tets of a generator whose pattern ignores orientation."""
    wrong = tet_volumes(points, tets) < 0.0
    tets[wrong] = tets[wrong][:, [0, 3, 2, 1]]
    return TetMesh._trusted(points, tets)


def sphere(radius: float = 0.5, cells: int = 4) -> TetMesh:
    """Return a ball around the origin of 20 cells^3 tets.

    An icosahedron is subdivided evenly from its centre and each shell projected to a sphere.

    Args:
        radius: Radius [m].
        cells: Layers from the centre to the surface.
    """
    (r,) = checked_lengths([radius], "radius", 1)
    (n,) = checked_counts([cells], ("radius",))
    checked_counts([20, n, n, n], ("faces", "radius", "radius", "radius"))
    corners, faces = icosahedron()
    fan = np.concatenate([np.zeros((len(faces), 1), dtype=int), faces + 1], axis=1)
    corner, weights, tets = subdivide(fan, n)
    points, _ = extrude(np.concatenate([np.zeros((1, 3)), corners]), corner, weights, n)
    return _curved(_upright(r * points, tets), Sphere(r))


def _curved(mesh: TetMesh, *surfaces: Surface) -> TetMesh:
    """Return the mesh with its boundary on surfaces, which select their faces."""
    mesh.curved_boundary = ProjectedBoundary(*((surface, None) for surface in surfaces))
    return mesh


def _swept(triangles: NDArray[np.int32], width: int, layers: int, closed: bool) -> NDArray[np.int32]:
    """Sweep triangles through layers of `width` nodes and split each prism into three tets.

    With the corners of every triangle in ascending order, each side's diagonal runs from the smaller corner
    below to the larger above, so that the mesh is conforming.
    """
    a, b, c = np.sort(triangles, axis=1).T
    below = np.arange(layers)[:, None] * width
    above = (np.arange(1, layers + 1) % layers if closed else np.arange(1, layers + 1))[:, None] * width
    prisms = [
        (below + a, below + b, below + c, above + c),
        (below + a, below + b, above + b, above + c),
        (below + a, above + a, above + b, above + c),
    ]
    tets = np.stack([np.stack(corners, axis=-1) for corners in prisms], axis=2)
    return tets.reshape(-1, 4).astype(np.int32)


def cylinder(radius: float = 0.5, height: float = 1.0, cells: ArrayLike = (4, 8)) -> TetMesh:
    """Return a cylinder around the y axis, centred at the origin, of 18 a^2 b tets.

    Args:
        radius: Radius [m].
        height: Length along y [m].
        cells: Rings across the radius (a) and layers along the height (b).
    """
    r, h = checked_lengths([radius, height], "radius and height", 2)
    across, along = checked_counts(cells, ("across the radius", "along the height"))
    checked_counts([18, across, across, along], ("tets", "radius", "radius", "height"))
    flat, triangles, _ = disc(across)
    heights = h * (np.arange(along + 1) / along - 0.5)
    points = np.empty((along + 1, len(flat), 3))
    points[:, :, 0] = r * flat[:, 0]
    points[:, :, 1] = heights[:, None]
    points[:, :, 2] = r * flat[:, 1]
    mesh = _upright(points.reshape(-1, 3), _swept(triangles, len(flat), along, closed=False))
    return _curved(mesh, CylinderSide(r))


def bowl(
    radius: float = 0.5, thickness: float = 0.05, opening: float = 90.0, cells: ArrayLike = (8, 1)
) -> TetMesh:
    """Return a bowl, the lower part of a spherical shell around the origin; 18 a^2 b tets.

    Args:
        radius: Outer radius [m].
        thickness: Of the wall [m], smaller than `radius`.
        opening: Angle from the lowest point to the rim, at the origin [deg], up to 170.
        cells: Rings from the lowest point to the rim (a) and layers across the wall (b).
    """
    big, wall = checked_lengths([radius, thickness], "radius and thickness", 2)
    if wall >= big:
        raise InputError(f"the bowl's wall ({wall:g} m) must be thinner than its radius ({big:g} m)")
    opening = number(opening, "the opening of a bowl", above=0.0, high=170.0, unit="degrees")
    flat = cylinder(1.0, 1.0, cells)
    x, y, z = flat.points.T
    rho = np.hypot(x, z)
    angle, out = np.radians(opening) * rho, big - wall * (y + 0.5)
    across = out * np.where(rho > 0.0, np.sin(angle) / np.maximum(rho, 1e-300), 0.0)
    points = np.stack([across * x, -out * np.cos(angle), across * z], axis=1)
    rim = ConicalRim(float(np.radians(opening)))
    return _curved(TetMesh(points, flat.tets), rim, Sphere(big), Sphere(big - wall))


def torus(radius: float = 0.5, tube: float = 0.2, cells: ArrayLike = (3, 24)) -> TetMesh:
    """Return a torus around the y axis, centred at the origin, of 18 a^2 b tets.

    Args:
        radius: Major radius: from the centre of the torus to that of the tube [m].
        tube: Minor radius [m], smaller than `radius`.
        cells: Rings across the tube's radius (a) and segments around the axis (b, at least 3).
    """
    big, small = checked_lengths([radius, tube], "radius and tube", 2)
    if small >= big:
        raise InputError(f"the tube's radius ({small:g} m) must be smaller than the ring's ({big:g} m)")
    across, around = checked_counts(cells, ("across the tube", "around the ring"))
    if around < 3:
        raise InputError(f"a torus needs at least 3 segments around the ring, not {around}")
    checked_counts([18, across, across, around], ("tets", "tube", "tube", "ring"))
    flat, triangles, _ = disc(across)
    turn = 2.0 * np.pi * np.arange(around)[:, None] / around
    out = big + small * flat[:, 0]
    up = np.broadcast_to(small * flat[:, 1], (around, len(flat)))
    points = np.stack([out * np.cos(turn), up, out * np.sin(turn)], axis=-1)
    mesh = _upright(points.reshape(-1, 3), _swept(triangles, len(flat), around, closed=True))
    return _curved(mesh, Torus(big, small))
