"""The detailed surface of the distance benchmarks."""

from __future__ import annotations

import os

import numpy as np

import continua as ct


def detailed_surface() -> ct.SurfaceMesh:
    """Return the mesh that `CONTINUA_SURFACE` names, closed, or a bumpy ball of 72,000 triangles; of extent 2."""
    if path := os.environ.get("CONTINUA_SURFACE"):
        mesh = ct.mesh.read(path)
        if not isinstance(mesh, ct.SurfaceMesh):
            mesh = mesh.surface
        mesh = ct.mesh.close_holes(mesh)
    else:
        ball = ct.mesh.surfaces.sphere(1.0, 60)
        x, y, z = ball.points.T
        bumps = (
            0.15 * np.sin(5 * x + 1) * np.sin(4 * y)
            + 0.1 * np.cos(7 * z + x)
            + 0.01 * np.sin(40 * x) * np.sin(35 * y)
        )
        mesh = ct.SurfaceMesh(ball.points * (0.8 + bumps)[:, None], ball.triangles)
    return mesh.transformed(scale=2.0 / float((mesh.bounds[1] - mesh.bounds[0]).max()))
