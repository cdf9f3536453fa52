"""Closed triangle surfaces of simple shapes, outward oriented, at the same places as the solid ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.checks import compact
from continua.mesh.lattice import checked_counts, checked_lengths
from continua.mesh.simplex import disc, icosahedron, subdivide
from continua.mesh.surface_mesh import SurfaceMesh

__all__ = ["box", "cylinder", "sphere", "torus"]


def _grid(table: NDArray) -> NDArray:
    """Return two triangles for each cell of a table of node numbers, turning from rows to columns."""
    a, b, c, d = table[:-1, :-1], table[1:, :-1], table[1:, 1:], table[:-1, 1:]
    return np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)


def box(
    size: ArrayLike = (1.0, 1.0, 1.0), cells: ArrayLike = (1, 1, 1), *, origin: ArrayLike = (0.0, 0.0, 0.0)
) -> SurfaceMesh:
    """Make the surface of a box of `size` [m] from `origin`, two triangles for each outer cell side."""
    lengths = checked_lengths(size, "size")
    counts = checked_counts(cells, ("x", "y", "z"))
    numbers = np.arange(np.prod(np.add(counts, 1))).reshape(np.add(counts, 1))
    sides = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        plane = np.transpose(numbers, (axis, u, v))
        sides += [_grid(plane[-1]), _grid(plane[0])[:, ::-1]]
    _, triangles, kept = compact(numbers.reshape(-1, 1), np.concatenate(sides))
    steps = np.stack(np.unravel_index(kept, np.add(counts, 1)), axis=1)
    points = np.asarray(origin, dtype=np.float64) + lengths * steps / np.array(counts)
    return SurfaceMesh(points, triangles)


def sphere(radius: float = 0.5, cells: int = 8) -> SurfaceMesh:
    """Make a sphere of `radius` [m] around the origin from 20 cells^2 nearly equal triangles."""
    (r,) = checked_lengths([radius], "radius", 1)
    (n,) = checked_counts([cells], ("edge of the icosahedron",))
    checked_counts([20, n, n], ("faces", "edge", "edge"))
    corners, faces = icosahedron()
    corner, weights, triangles = subdivide(faces, n)
    points = np.einsum("pc,pcd->pd", weights.astype(float), corners[corner])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    a, b, c = (points[triangles[:, i]] for i in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a) < 0.0
    return SurfaceMesh(r * points, np.where(inward[:, None], triangles[:, ::-1], triangles))


def cylinder(radius: float = 0.5, height: float = 1.0, cells: ArrayLike = (4, 8)) -> SurfaceMesh:
    """Make a cylinder around the y axis with both ends, its middle in the origin.

    Args:
        radius: Radius [m].
        height: Length along y [m].
        cells: Rings across an end's radius and layers along the height.
    """
    r, h = checked_lengths([radius, height], "radius and height", 2)
    across, along = checked_counts(cells, ("across the radius", "along the height"))
    checked_counts([12, across, across + along], ("triangles", "radius", "rings and layers"))
    flat, triangles, rim = disc(across)
    layers = np.arange(along + 1)[:, None] * len(flat)
    ring = np.append(rim, rim[0])
    side = _grid(layers + ring)
    # The disc turns left in (x, z), which is downward about y.
    cells_all = np.concatenate([triangles, triangles[:, ::-1] + along * len(flat), side])
    _, renumbered, kept = compact(np.zeros((layers[-1, 0] + len(flat), 1)), cells_all)
    level, node = np.divmod(kept, len(flat))
    points = np.stack([r * flat[node, 0], h * (level / along - 0.5), r * flat[node, 1]], axis=1)
    return SurfaceMesh(points, renumbered)


def torus(radius: float = 0.5, tube: float = 0.2, cells: ArrayLike = (18, 48)) -> SurfaceMesh:
    """Make a ring around the y axis, its centre in the origin.

    Args:
        radius: From the centre of the ring to the middle of the tube [m].
        tube: Radius of the tube [m], smaller than `radius`.
        cells: Segments around the tube and around the ring, each at least 3.
    """
    big, small = checked_lengths([radius, tube], "radius and tube", 2)
    if small >= big:
        raise InputError(f"the tube's radius ({small:g} m) must be smaller than the ring's ({big:g} m)")
    p, q = checked_counts(cells, ("around the tube", "around the ring"))
    if min(p, q) < 3:
        raise InputError(f"a torus needs at least 3 segments around the tube and the ring, not {min(p, q)}")
    turn = 2.0 * np.pi * np.arange(q)[:, None] / q
    roll = 2.0 * np.pi * np.arange(p) / p
    out = big + small * np.cos(roll)
    up = np.broadcast_to(small * np.sin(roll), (q, p))
    points = np.stack([out * np.cos(turn), up, out * np.sin(turn)], axis=-1).reshape(-1, 3)
    numbers = np.pad(np.arange(p * q).reshape(q, p), ((0, 1), (0, 1)), mode="wrap")
    return SurfaceMesh(points, _grid(numbers)[:, ::-1])
