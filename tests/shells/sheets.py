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
