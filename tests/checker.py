"""Surfaces with a checkerboard on them, made by hand."""

from __future__ import annotations

import numpy as np

import continua as ct

RED, BLUE, GREEN = (230, 60, 40), (40, 90, 220), (20, 200, 60)


def checker(cells=8, size=8):
    """Return a checkerboard of red and blue cells, `size` pixels each; the upper left cell is green."""
    row, column = np.mgrid[: cells * size, : cells * size] // size
    pixels = np.where(((row + column) % 2 == 0)[:, :, None], RED, BLUE).astype(np.uint8)
    pixels[:size, :size] = GREEN
    return ct.Texture(pixels)


def cell_color(u, v, cells=8):
    """Return the colour of the checkerboard at texture coordinates."""
    column, row = int(np.floor(u * cells)) % cells, int(np.floor((1.0 - v) * cells)) % cells
    return GREEN if (row, column) == (0, 0) else RED if (row + column) % 2 == 0 else BLUE


def textured_box(size=(1.0, 1.0, 1.0), texture=None, cells=1):
    """Return a box whose sides each show the whole image, with seams along all its edges."""
    mesh = ct.mesh.box(size=size, cells=(cells, cells, cells)).surface
    corners = mesh.points[mesh.triangles] / np.array(size)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    axis = np.abs(normal).argmax(axis=1)
    across = np.where((axis == 0)[:, None], corners[:, :, 2], corners[:, :, 0])
    upwards = np.where((axis == 1)[:, None], corners[:, :, 2], corners[:, :, 1])
    uv = np.stack([across, upwards], axis=2)
    return ct.SurfaceMesh(
        mesh.points, mesh.triangles, uv=uv, texture=checker() if texture is None else texture
    )


def corner_set(points, triangles, uv):
    """Return positions and texture coordinates of all corners, in an order that does not depend on numbering."""
    flat = np.concatenate([np.asarray(points, float)[triangles], np.asarray(uv, float)], axis=2)
    keys = np.round(flat, 5) + 0.0
    turned = [np.roll(t, -min(range(3), key=lambda i: tuple(k[i])), axis=0) for t, k in zip(flat, keys)]
    return np.array(sorted(np.reshape(turned, (-1, 15)).tolist(), key=lambda row: np.round(row, 5).tolist()))
