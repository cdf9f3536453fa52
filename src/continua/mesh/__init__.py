"""Meshes: tetrahedra, hexahedra and triangle surfaces; how to make, read, refine, check and bind them."""

from continua.mesh import surfaces
from continua.mesh.animation import MeshAnimation
from continua.mesh.checks import compact
from continua.mesh.embedding import Embedding
from continua.mesh.files import read, write
from continua.mesh.hex_mesh import HexMesh
from continua.mesh.holes import close_holes, holes
from continua.mesh.implicit import fill
from continua.mesh.locate import interpolation
from continua.mesh.metaball import RoundCone, blob
from continua.mesh.outline_mesh import polygon
from continua.mesh.parametric import parametric
from continua.mesh.plane_mesh import PlaneMesh, QuadMesh, TriMesh, rectangle
from continua.mesh.quality import HexQuality, Quality
from continua.mesh.refinement import Refinement, refine, refine_tets
from continua.mesh.round_solids import bowl, cylinder, sphere, torus
from continua.mesh.splitting import connected_pieces, faces_between, split_faces
from continua.mesh.structured import box, bridge, hex_box
from continua.mesh.surface_mesh import SurfaceMesh
from continua.mesh.tet_mesh import TetMesh
from continua.mesh.tetrahedralization import tetrahedralize
from continua.mesh.topology import Topology, TopologyChange
from continua.mesh.volume_mesh import Csr, VolumeMesh

__all__ = [
    "Csr",
    "Embedding",
    "HexMesh",
    "HexQuality",
    "MeshAnimation",
    "PlaneMesh",
    "QuadMesh",
    "Quality",
    "Refinement",
    "RoundCone",
    "SurfaceMesh",
    "TetMesh",
    "Topology",
    "TopologyChange",
    "TriMesh",
    "VolumeMesh",
    "blob",
    "bowl",
    "box",
    "bridge",
    "close_holes",
    "compact",
    "connected_pieces",
    "cylinder",
    "faces_between",
    "fill",
    "hex_box",
    "holes",
    "interpolation",
    "parametric",
    "polygon",
    "read",
    "rectangle",
    "refine",
    "refine_tets",
    "sphere",
    "split_faces",
    "surfaces",
    "tetrahedralize",
    "torus",
    "write",
]
