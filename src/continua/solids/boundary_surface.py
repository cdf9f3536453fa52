"""The outer surface of a soft body: its triangles, nodal areas, closest points; and surfaces embedded in the body."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.frames import EmbeddedSurface
from continua.mesh import SurfaceMesh, TetMesh, VolumeMesh
from continua.mesh.locate import Locator
from continua.numerics.closest_points import closest_point_triangles
from continua.solids.elements.base import Elements

__all__ = ["BoundarySurface", "embed_surface"]


class BoundarySurface:
    """The outer surface over a body's nodes.

    Attributes:
        triangles: Outward oriented, shape [k, 3].
        nodes: The nodes on the surface, sorted, shape [s].
        areas: Rest area of each of those nodes [m2], shape [s].
    """

    def __init__(self, elements: Elements) -> None:
        self.triangles = elements.surface_triangles()
        rest = elements.rest_positions
        a, b, c = (rest[self.triangles[:, i]] for i in range(3))
        area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2.0
        shares = np.bincount(
            self.triangles.ravel(), weights=np.repeat(area / 3.0, 3), minlength=elements.node_count
        )
        self.nodes = np.unique(self.triangles).astype(np.int32)
        self.areas = shares[self.nodes]

    def closest_point(
        self, point: NDArray[np.float64], positions: NDArray[np.float64]
    ) -> tuple[int, NDArray[np.float64]]:
        """Return the triangle closest to `point` [m] and the barycentric weights of its closest point."""
        corners = positions[self.triangles]
        weights = np.empty((len(corners), 3))
        closest_point_triangles(np.ascontiguousarray(point, np.float64), corners, weights)
        distances = np.linalg.norm(np.einsum("kc,kci->ki", weights, corners) - point, axis=1)
        best = int(distances.argmin())
        return best, weights[best]


def embed_surface(skin: SurfaceMesh, mesh: VolumeMesh) -> EmbeddedSurface:
    """Embed a detailed surface in the tetrahedra around it (Georgii 2007); both at rest."""
    if not isinstance(mesh, TetMesh):
        raise InputError("only bodies of tetrahedra carry a skin")
    binding = Locator(mesh).bind_surface(skin)
    nodes = mesh.tets[binding.elements].astype(np.int32)
    return EmbeddedSurface(skin.points.copy(), skin.triangles.astype(np.int32), nodes, binding.weights.copy())
