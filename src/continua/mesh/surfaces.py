"""Triangle surfaces of simple shapes: closed ones, oriented outward, with the geometry of solid ones; and open ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.checks import compact
from continua.mesh.simplex import disc, icosahedron, subdivide
from continua.mesh.structured import checked_counts, checked_lengths
from continua.mesh.surface_mesh import SurfaceMesh
from continua.validation import choice

__all__ = ["box", "cylinder", "paddle_wheel", "pillow", "sheet", "sphere", "torus", "tube"]


def _grid(table: NDArray) -> NDArray:
    """Return two triangles for each cell of a table of node numbers, turning from rows to columns."""
    a, b, c, d = table[:-1, :-1], table[1:, :-1], table[1:, 1:], table[:-1, 1:]
    return np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)


def box(
    size: ArrayLike = (1.0, 1.0, 1.0), cells: ArrayLike = (1, 1, 1), *, origin: ArrayLike = (0.0, 0.0, 0.0)
) -> SurfaceMesh:
    """Return the surface of a box of `size` [m] from `origin`, two triangles per outer cell face."""
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
    """Return a sphere of `radius` [m] around the origin of 20 cells^2 nearly equal triangles."""
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
    """Return a closed cylinder around the y axis, centred at the origin.

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
    # The disc is counter-clockwise in (x, z), whose normal points downward.
    cells_all = np.concatenate([triangles, triangles[:, ::-1] + along * len(flat), side])
    _, renumbered, kept = compact(np.zeros((layers[-1, 0] + len(flat), 1)), cells_all)
    level, node = np.divmod(kept, len(flat))
    points = np.stack([r * flat[node, 0], h * (level / along - 0.5), r * flat[node, 1]], axis=1)
    return SurfaceMesh(points, renumbered)


def torus(radius: float = 0.5, tube: float = 0.2, cells: ArrayLike = (18, 48)) -> SurfaceMesh:
    """Return a torus around the y axis, centred at the origin.

    Args:
        radius: Major radius: from the centre of the torus to that of the tube [m].
        tube: Minor radius [m], smaller than `radius`.
        cells: Segments around the tube and around the axis, each at least 3.
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
    """Return a wheel with straight paddles around the z axis, centred at the origin.

    Args:
        radius: From the axis to the tips [m].
        width: Length along the axis [m].
        paddles: Number of paddles.
        hub: Radius of the hub [m].
        thickness: Thickness of the paddles [m].
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


def sheet(
    size: ArrayLike = (1.0, 1.0), cells: ArrayLike = (20, 20), *, pattern: str = "staggered"
) -> SurfaceMesh:
    """Return a flat rectangle in the plane y = 0, centred at the origin, whose normal points up.

    Args:
        size: Lengths along x and z [m].
        cells: Number of cells along x and rows along z.
        pattern: "staggered" moves every other row by half a cell, so that triangles are isosceles, equilateral if a row
            is 0.87 as high as a cell is long: bending is then alike in all directions. "crossed" cuts the cells of a
            grid in two, along diagonals that turn from cell to cell.
    """
    choice(pattern, "the pattern of a sheet", ("staggered", "crossed"))
    nx, nz = checked_counts(cells, ("x", "z"), 2)
    lx, lz = checked_lengths(size, "size", 2)
    if pattern == "crossed":
        x, z = np.meshgrid(np.linspace(-0.5, 0.5, nx + 1), np.linspace(-0.5, 0.5, nz + 1), indexing="ij")
        node = np.arange((nx + 1) * (nz + 1)).reshape(nx + 1, nz + 1)
        a, b, c, d = node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]
        one, other = np.stack([a, c, b, a, d, c], axis=-1), np.stack([a, d, b, b, d, c], axis=-1)
        turned = (np.add.outer(np.arange(nx), np.arange(nz)) % 2)[..., None] == 1
        triangles = np.where(turned, other, one).reshape(-1, 3)
        points = np.stack([lx * x.ravel(), np.zeros(x.size), lz * z.ravel()], axis=1)
        return SurfaceMesh(points, triangles)
    even = np.linspace(-0.5, 0.5, nx + 1)
    odd = np.concatenate([[-0.5], -0.5 + (np.arange(nx) + 0.5) / nx, [0.5]])
    rows = [odd if j % 2 else even for j in range(nz + 1)]
    first = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    points = np.concatenate(
        [
            np.column_stack([lx * row, 0.0 * row, np.full(len(row), lz * (j / nz - 0.5))])
            for j, row in enumerate(rows)
        ]
    )
    rings = []
    i = np.arange(nx)
    for j in range(nz):
        low, high = first[j], first[j + 1]
        if j % 2 == 0:  # nx + 1 nodes below, nx + 2 above
            up = np.stack([low + i, high + i + 1, low + i + 1], axis=1)
            down = np.stack(
                [low + np.append(i, nx), high + np.append(i, nx), high + np.append(i, nx) + 1], axis=1
            )
        else:
            up = np.stack(
                [low + np.append(i, nx), high + np.append(i, nx), low + np.append(i, nx) + 1], axis=1
            )
            down = np.stack([low + i + 1, high + i, high + i + 1], axis=1)
        rings += [up, down]
    return SurfaceMesh(points, np.concatenate(rings).astype(np.int32))


def tube(radius: float = 0.5, height: float = 1.0, cells: ArrayLike = (32, 16)) -> SurfaceMesh:
    """Return an open tube around the y axis, centred at the origin, of staggered triangles.

    Args:
        radius: Radius [m].
        height: Length along y [m].
        cells: Segments around the axis, at least 3, and rows along it.
    """
    r, h = checked_lengths([radius, height], "radius and height", 2)
    around, along = checked_counts(cells, ("around the axis", "along the height"), 2)
    if around < 3:
        raise InputError(f"a tube needs at least 3 segments around its axis, not {around}")
    row, i = np.divmod(np.arange((along + 1) * around), around)
    angle = 2.0 * np.pi * (i + 0.5 * (row % 2)) / around
    points = np.stack([r * np.cos(angle), h * (row / along - 0.5), r * np.sin(angle)], axis=1)
    triangles = []
    i = np.arange(around)
    j = (i + 1) % around
    for k in range(along):
        low, high = k * around, (k + 1) * around
        if k % 2 == 0:
            triangles += [np.stack([low + i, high + i, low + j], axis=1)]
            triangles += [np.stack([low + j, high + i, high + j], axis=1)]
        else:
            triangles += [np.stack([low + i, high + j, low + j], axis=1)]
            triangles += [np.stack([low + i, high + i, high + j], axis=1)]
    return SurfaceMesh(points, np.concatenate(triangles).astype(np.int32))


def pillow(size: ArrayLike = (0.5, 0.5), cells: ArrayLike = (12, 12), *, height: float = 0.1) -> SurfaceMesh:
    """Return a closed pillow: two rectangles joined at their rims and arched apart, centred at the origin.

    Args:
        size: Lengths along x and z [m].
        cells: Number of cells along x and z.
        height: Distance of the two in the middle [m].
    """
    (lift,) = checked_lengths([height], "height", 1)
    front = sheet(size, cells, pattern="crossed")
    lx, lz = checked_lengths(size, "size", 2)
    x, z = 2.0 * front.points[:, 0] / lx, 2.0 * front.points[:, 2] / lz
    arch = 0.5 * lift * np.sqrt(np.maximum((1.0 - x**2) * (1.0 - z**2), 0.0))
    rim = (np.abs(x) > 1.0 - 1e-9) | (np.abs(z) > 1.0 - 1e-9)
    arch[rim] = 0.0
    back = np.where(rim, np.arange(front.node_count), front.node_count + np.cumsum(~rim) - 1)
    offset = np.stack([0.0 * arch, arch, 0.0 * arch], axis=1)
    points = np.concatenate([front.points + offset, (front.points - offset)[~rim]])
    triangles = np.concatenate([front.triangles, back[front.triangles[:, ::-1]]]).astype(np.int32)
    corner = np.all(np.isin(triangles, np.flatnonzero(rim)), axis=1)
    return SurfaceMesh(points, _without_doubled(triangles, corner))


def _without_doubled(triangles: NDArray[np.int32], suspect: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return triangles without those `suspect` ones that lie on each other, as in the corner of a pillow."""
    keys = np.sort(triangles, axis=1)
    _, inverse, uses = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return triangles[~(suspect & (uses[inverse.ravel()] > 1))]
