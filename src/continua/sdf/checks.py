"""Checks of surfaces and queries. Each failure is one sentence."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh import SurfaceMesh, holes
from continua.mesh.checks import some
from continua.validation import LARGEST, instance_of, rows3

__all__ = ["as_queries", "check_surface", "hole_text"]


def as_queries(points: ArrayLike) -> NDArray[np.float64]:
    """Return points as a float64 table [n, 3], all finite."""
    queries = np.ascontiguousarray(rows3(points, "points"))
    bad = np.flatnonzero(~(np.abs(queries) <= LARGEST).all(axis=1))
    if bad.size:
        raise InputError(f"points must be finite numbers, but rows {some(bad)} are not")
    if not queries.flags.writeable:
        queries = queries.copy()  # compiled code has one variant for each kind of array
    return queries


def check_surface(mesh: SurfaceMesh, closed: bool = True) -> SurfaceMesh:
    """Return the surface if it has an inside, or raise; with `closed=False` it only needs some area."""
    instance_of(mesh, SurfaceMesh, "the surface of a distance")
    if not mesh.area > 0.0:
        raise InputError("all triangles of the surface have zero area, so it has no sides")
    if not closed:
        return mesh
    if mesh.is_flat:
        raise InputError("the surface is flat and has no inside; use a Plane or a thin Box instead")
    if len(mesh.open_edges):
        raise InputError(f"{hole_text(mesh)}; close it with mesh.close_holes(...), or use sign='winding'")
    if not mesh.is_oriented:
        raise InputError(
            "neighbouring triangles of the surface face opposite sides; orient them consistently, or repair the surface"
        )
    if mesh.volume < 0.0:
        raise InputError(
            f"the surface is inside out (its volume is {mesh.volume:.4g} m³); "
            "reverse its triangles: SurfaceMesh(mesh.points, mesh.triangles[:, ::-1])"
        )
    return mesh


def hole_text(mesh: SurfaceMesh) -> str:
    """Return a description of the holes of a surface."""
    try:
        loops = holes(mesh)
    except InputError:
        return f"the surface is open: {len(mesh.open_edges)} edges belong to one triangle only"
    middle = ", ".join(f"{value:.4g}" for value in mesh.points[loops[0]].mean(axis=0))
    if len(loops) == 1:
        return f"the surface has a hole with {len(loops[0])} edges around ({middle})"
    return f"the surface has {len(loops)} holes, the largest with {len(loops[0])} edges around ({middle})"
