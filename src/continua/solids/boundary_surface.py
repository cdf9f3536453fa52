"""The outer surface of a soft body: its triangles, nodal areas, closest points; and surfaces embedded in the body."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.frames import Skin
from continua.mesh import SurfaceMesh, TetMesh, VolumeMesh
from continua.mesh.locate import Locator
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
        weights = _closest_weights(point, corners)
        distances = np.linalg.norm(np.einsum("kc,kci->ki", weights, corners) - point, axis=1)
        best = int(distances.argmin())
        return best, weights[best]


def embed_surface(skin: SurfaceMesh, mesh: VolumeMesh) -> Skin:
    """Embed a detailed surface in the tetrahedra around it (Georgii 2007); both at rest."""
    if not isinstance(mesh, TetMesh):
        raise InputError("only bodies of tetrahedra carry a skin")
    binding = Locator(mesh).bind_surface(skin)
    nodes = mesh.tets[binding.elements].astype(np.int32)
    return Skin(skin.points.copy(), skin.triangles.astype(np.int32), nodes, binding.weights.copy())


def _closest_weights(point: NDArray[np.float64], corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for every triangle [k, 3, 3] the barycentric weights [k, 3] of its point closest to `point`."""
    a = corners[:, 0]
    u, v, w = corners[:, 1] - a, corners[:, 2] - a, point - a
    uu, uv, vv = (np.einsum("ki,ki->k", p, q) for p, q in ((u, u), (u, v), (v, v)))
    wu, wv = np.einsum("ki,ki->k", w, u), np.einsum("ki,ki->k", w, v)
    det = np.maximum(uu * vv - uv * uv, 1e-300)
    s, t = (vv * wu - uv * wv) / det, (uu * wv - uv * wu) / det
    weights = np.stack([1.0 - s - t, s, t], axis=1)
    outside = np.flatnonzero(weights.min(axis=1) < 0.0)
    best = np.full(len(outside), np.inf)
    for i in range(3):  # outside the prism over a triangle the closest point lies on an edge
        j = (i + 1) % 3
        start, edge = corners[outside, i], corners[outside, j] - corners[outside, i]
        length2 = np.maximum(np.einsum("ki,ki->k", edge, edge), 1e-300)
        r = np.clip(np.einsum("ki,ki->k", point - start, edge) / length2, 0.0, 1.0)
        distance = np.linalg.norm(start + r[:, None] * edge - point, axis=1)
        closer = distance < best
        best[closer] = distance[closer]
        rows = outside[closer]
        weights[rows] = 0.0
        weights[rows, i], weights[rows, j] = 1.0 - r[closer], r[closer]
    return weights
