"""Mesh files, through meshio."""

from __future__ import annotations

from pathlib import Path

import meshio
import numpy as np

from continua.errors import InputError
from continua.mesh.checks import compact
from continua.mesh.surface_mesh import SurfaceMesh
from continua.mesh.tet_mesh import TetMesh

__all__ = ["read", "write"]


def read(path: str | Path) -> TetMesh | SurfaceMesh:
    """Read a tetrahedral or triangle mesh."""
    path = Path(path)
    if not path.is_file():
        raise InputError("there is no such file", where=str(path))
    mesh = meshio.read(path)
    cells = mesh.cells_dict
    for kind in ("tetra", "triangle"):
        if kind in cells:
            points, table, _ = compact(mesh.points, np.asarray(cells[kind]))
            return TetMesh(points, table) if kind == "tetra" else SurfaceMesh(points, table)
    raise InputError("the file holds neither tetrahedra nor triangles", where=str(path))


def write(mesh: TetMesh | SurfaceMesh, path: str | Path) -> None:
    """Write a mesh in the format that the file's name says."""
    cells = ("triangle", mesh.triangles) if isinstance(mesh, SurfaceMesh) else ("tetra", mesh.tets)
    meshio.write(path, meshio.Mesh(mesh.points, [cells]))
