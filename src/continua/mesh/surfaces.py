"""Closed triangle surfaces of simple shapes, outward oriented, at the same places as the solid ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.checks import compact
from continua.mesh.simplex import disc, icosahedron, subdivide
from continua.mesh.structured import checked_counts, checked_lengths
from continua.mesh.surface_mesh import SurfaceMesh

__all__ = ["box", "cylinder", "paddle_wheel", "sphere", "torus"]


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


def paddle_wheel(
    radius: float = 0.5, width: float = 0.4, paddles: int = 8, hub: float = 0.15, thickness: float = 0.05
) -> SurfaceMesh:
    """Make a wheel with straight paddles that turns about the z axis, its middle in the origin.

    Args:
        radius: From the axis to the tips [m].
        width: Length along the axis [m].
        paddles: Number of paddles.
        hub: Radius of the middle part [m].
        thickness: Of the paddles [m].
    """
    outer, length, inner, thick = checked_lengths([radius, width, hub, thickness], "lengths", 4)
    (count,) = checked_counts([paddles], ("wheel",))
    half = 0.5 * thick
    gap = 2.0 * np.pi / count
    if count < 3 or inner >= outer or half >= inner * np.sin(0.5 * gap):
        raise InputError(
            "a paddle wheel needs at least 3 paddles, thinner than the gaps at its hub, and longer than it"
        )
    foot = np.arcsin(half / inner)
    ring = []
    for angle in gap * np.arange(count):
        along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        tip = np.sqrt(outer**2 - half**2)
        start = inner * np.cos(foot)
        ring += [start * along - half * across, tip * along - half * across]
        ring += [tip * along + half * across, start * along + half * across]
    around = len(ring)
    flat = np.array(ring)
    z = 0.5 * length
    points = np.concatenate(
        [np.column_stack([flat, np.full(around, end)]) for end in (-z, z)] + [[[0.0, 0.0, -z], [0.0, 0.0, z]]]
    )
    i = np.arange(around)
    j = (i + 1) % around
    sides = [np.stack([i, j, j + around], axis=1), np.stack([i, j + around, i + around], axis=1)]
    caps = [
        np.stack([j, i, np.full(around, 2 * around)], axis=1),
        np.stack([i + around, j + around, np.full(around, 2 * around + 1)], axis=1),
    ]
    return SurfaceMesh(points, np.concatenate([*sides, *caps]).astype(np.int32))
