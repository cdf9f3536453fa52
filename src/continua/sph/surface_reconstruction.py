"""Surface reconstruction: the surface of a fluid as triangles, by pysplashsurf."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError, MissingExtraError
from continua.mesh import SurfaceMesh

__all__ = ["reconstruct_surface", "require_pysplashsurf"]


def require_pysplashsurf() -> None:
    """Raise MissingExtraError if pysplashsurf is not installed."""
    if find_spec("pysplashsurf") is None:
        raise MissingExtraError("the surface of a fluid", "fluid")


def reconstruct_surface(
    positions: ArrayLike,
    particle_radius: float,
    *,
    cube: float = 1.0,
    smoothing: int = 15,
) -> SurfaceMesh:
    """Return the surface around particles (marching cubes over their density, smoothed).

    Args:
        positions: Positions of particles [m], shape [n, 3].
        particle_radius: Their radius [m].
        cube: Width of the cubes in particle radii; smaller is finer and slower.
        smoothing: Iterations of smoothing that preserves the volume of thin sheets; 0 for none.

    Raises:
        MissingExtraError: pysplashsurf is not installed.
    """
    points = np.ascontiguousarray(positions, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise InputError("a surface needs positions of particles of shape [n, 3], at least one")
    require_pysplashsurf()
    import pysplashsurf

    mesh: Any
    mesh, _ = pysplashsurf.reconstruction_pipeline(
        points,
        particle_radius=particle_radius,
        rest_density=1000.0,
        smoothing_length=2.0,
        cube_size=cube,
        iso_surface_threshold=0.6,
        mesh_smoothing_weights=smoothing > 0,
        mesh_smoothing_iters=smoothing,
        check_mesh_closed=False,
        check_mesh_manifold=False,
        check_mesh_orientation=False,
        check_mesh_debug=False,
        subdomain_grid=True,
    )
    mesh = getattr(mesh, "mesh", mesh)  # with smoothing the mesh comes with point data
    vertices: NDArray[np.float64] = np.asarray(mesh.vertices, dtype=np.float64)
    triangles: NDArray[np.int32] = np.asarray(mesh.triangles, dtype=np.int32)
    return SurfaceMesh(vertices, triangles)
