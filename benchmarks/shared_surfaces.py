"""Surfaces that several benchmarks share."""

from __future__ import annotations

import os

import numpy as np

import continua as ct


def detailed_surface(divisions: int = 60) -> ct.SurfaceMesh:
    """Return the closed surface of the file $CONTINUA_SURFACE, or a bumpy ball of 20 divisions^2 triangles."""
    if path := os.environ.get("CONTINUA_SURFACE"):
        mesh = ct.mesh.read(path)
        if not isinstance(mesh, ct.SurfaceMesh):
            mesh = mesh.surface
        mesh = ct.mesh.close_holes(mesh)
    else:
        ball = ct.mesh.surfaces.sphere(1.0, divisions)
        x, y, z = ball.points.T
        bumps = (
            0.15 * np.sin(5 * x + 1) * np.sin(4 * y)
            + 0.1 * np.cos(7 * z + x)
            + 0.01 * np.sin(40 * x) * np.sin(35 * y)
        )
        mesh = ct.SurfaceMesh(ball.points * (0.8 + bumps)[:, None], ball.triangles)
    return mesh.transformed(scale=2.0 / float((mesh.bounds[1] - mesh.bounds[0]).max()))


def limbs() -> ct.SurfaceMesh:
    """Return a smooth body with a head and two ears, 0.5 m long."""
    parts = [
        ct.mesh.RoundCone((0, 0.15, 0), (0.15, 0.16, 0), 0.13),
        ct.mesh.RoundCone((0.25, 0.3, 0), (0.28, 0.3, 0), 0.09),
        ct.mesh.RoundCone((0.22, 0.36, 0.04), (0.15, 0.55, 0.06), 0.035),
        ct.mesh.RoundCone((0.22, 0.36, -0.04), (0.15, 0.55, -0.06), 0.035),
    ]
    return ct.mesh.blob(parts, 0.02, 0.03).surface


def bunny(divisions: int | None = None) -> ct.SurfaceMesh:
    """Return the closed surface in the file $CONTINUA_BUNNY with extent 1, or a stand-in for it.

    Args:
        divisions: Makes the stand-in a ball of 20 divisions^2 triangles; `limbs` by default.
    """
    if path := os.environ.get("CONTINUA_BUNNY"):
        mesh = ct.mesh.read(path)
        if not isinstance(mesh, ct.SurfaceMesh):
            raise ct.InputError(f"CONTINUA_BUNNY must name a triangle surface, which {path} is not")
        mesh = ct.mesh.close_holes(mesh)
    else:
        mesh = limbs() if divisions is None else ct.mesh.surfaces.sphere(1.0, divisions)
    return mesh.transformed(scale=1.0 / float(np.ptp(mesh.points, axis=0).max()))
