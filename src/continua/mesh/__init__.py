"""Meshes: tetrahedra, hexahedra and triangle surfaces; how to make, read, refine, check and bind them."""

from continua.mesh.checks import compact
from continua.mesh.files import read, write
from continua.mesh.lattice import box, bridge
from continua.mesh.surface_mesh import SurfaceMesh
from continua.mesh.tet_mesh import TetMesh
from continua.mesh.volume_mesh import Csr

__all__ = ["Csr", "SurfaceMesh", "TetMesh", "box", "bridge", "compact", "read", "write"]
