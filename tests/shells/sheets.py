"""Meshes of sheets for tests."""

import numpy as np

import continua as ct


def rectangle(size, cells, turn=True):
    """Return a flat sheet in the plane y = 0, with right triangles whose diagonals turn from cell to cell."""
    nx, nz = cells
    x, z = np.meshgrid(np.linspace(0, size[0], nx + 1), np.linspace(0, size[1], nz + 1), indexing="ij")
    points = np.stack([x.ravel(), 0.0 * x.ravel(), z.ravel()], axis=1)
    node = np.arange((nx + 1) * (nz + 1)).reshape(nx + 1, nz + 1)
    a, b, c, d = node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]
    one, two = np.stack([a, c, b, a, d, c], -1), np.stack([a, d, b, b, d, c], -1)
    turned = (np.add.outer(np.arange(nx), np.arange(nz)) % 2 == 1)[..., None] & turn
    return ct.SurfaceMesh(points, np.where(turned, two, one).reshape(-1, 3))


def lattice(size, edge, angle):
    """Return the triangles inside a rectangle [m] of a lattice of equilateral ones, turned by an angle [rad]."""
    n = int(2 * max(size) / edge)
    i, j = np.meshgrid(np.arange(-n, n + 1), np.arange(-n, n + 1), indexing="ij")
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = np.stack([edge * (i + 0.5 * j), edge * np.sqrt(0.75) * j], axis=-1).reshape(-1, 2) @ turn.T
    node = np.arange((2 * n + 1) ** 2).reshape(2 * n + 1, 2 * n + 1)
    a, b, c, d = node[:-1, :-1], node[1:, :-1], node[:-1, 1:], node[1:, 1:]
    triangles = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, c, b), (b, c, d))])
    corners = points[triangles]
    inside = ((corners >= -1e-9) & (corners <= np.array(size) + 1e-9)).all(axis=(1, 2))
    used, numbers = np.unique(triangles[inside], return_inverse=True)
    flat = points[used]
    return ct.SurfaceMesh(
        np.stack([flat[:, 0], 0.0 * flat[:, 0], flat[:, 1]], axis=1), numbers.reshape(-1, 3)
    )
