"""Point location: the element that contains a point, or a suitable one nearby."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh import locate_kernels as kernels
from continua.mesh.box_tree import BoxTree, box_tree
from continua.mesh.checks import as_points
from continua.mesh.surface_mesh import SurfaceMesh
from continua.mesh.tet_mesh import TetMesh
from continua.validation import instance_of

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["EmbeddingWeights", "Locator", "components", "interpolation", "is_much"]

# Tolerance of barycentric coordinates for a point on a face.
_INSIDE = 1e-9


def is_much(count: int) -> bool:
    """Return whether a parallel loop pays off for this many rows."""
    return count > 4096


@dataclass(frozen=True, slots=True)
class EmbeddingWeights:
    """The element of each point, for interpolation.

    Attributes:
        elements: Element of each point, shape [q].
        weights: Barycentric coordinates in it, shape [q, 4]; rows sum to 1, negative values extrapolate.
        inside: Whether the point lies in the mesh, shape [q].
        faces: The boundary triangle closest to each point, shape [q].
        face_weights: Barycentric coordinates of the nearest point on it, shape [q, 3].
        distances: Distance to that point [m], shape [q].
    """

    elements: NDArray[np.int32]
    weights: NDArray[np.float64]
    inside: NDArray[np.bool_]
    faces: NDArray[np.int32]
    face_weights: NDArray[np.float64]
    distances: NDArray[np.float64]


def components(edges: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    """Number the connected parts of a graph and return each node's part, shape [count]."""
    from scipy import sparse
    from scipy.sparse import csgraph

    graph = sparse.coo_array((np.ones(len(edges), dtype=np.int8), (edges[:, 0], edges[:, 1])), (count, count))
    return csgraph.connected_components(graph, directed=False)[1].astype(np.int32)


class Locator:
    """Search structure of one tetrahedral mesh in its rest shape."""

    def __init__(self, mesh: TetMesh) -> None:
        self.mesh = mesh
        diagonal = float(np.linalg.norm(mesh.bounds[1] - mesh.bounds[0]))
        self.diagonal = diagonal
        self._tets: BoxTree = box_tree(mesh.points[mesh.tets], margin=_INSIDE * diagonal)
        self._triangles: BoxTree = box_tree(mesh.points[mesh.boundary_triangles])
        a, b, c = (mesh.points[mesh.boundary_triangles[:, i]] for i in range(3))
        normals = np.cross(b - a, c - a)
        self._normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        self.pieces = components(mesh.edges, mesh.node_count)

    def inside(self, points: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the element that contains each point, or -1, and its barycentric coordinates."""
        element = np.empty(len(points), dtype=np.int32)
        weights = np.zeros((len(points), 4))
        kernels.locate.variant(is_much(len(points)))(
            self.mesh.points, self.mesh.tets, *self._tets, points, _INSIDE, element, weights
        )
        return element, weights

    def nearest(
        self,
        points: NDArray[np.float64],
        directions: NDArray[np.float64],
        groups: NDArray[np.int32],
        allowed: NDArray[np.bool_],
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Return the nearest boundary triangle, barycentric coordinates of the nearest point, and the
        distance.

        Only triangles of pieces that are `allowed` [groups, pieces] for the point's group are considered, and of
        those the ones that face the point's direction if there are any.
        """
        mesh = self.mesh
        nearest = np.empty(len(points), dtype=np.int32)
        weights = np.zeros((len(points), 3))
        distances = np.empty(len(points))
        pieces = self.pieces[mesh.boundary_triangles[:, 0]]
        wanted = directions
        for _ in range(3):
            # No triangle faces the direction of some point: search again without directions, then without pieces.
            kernels.nearest_triangles.variant(is_much(len(points)))(
                mesh.points, mesh.boundary_triangles, *self._triangles, self._normals, pieces,
                points, wanted, groups, allowed, nearest, weights, distances,
            )  # fmt: skip
            lost = nearest < 0
            if not lost.any():
                break
            if (wanted[lost] == 0.0).all():
                allowed = np.ones_like(allowed)
            wanted = np.where(lost[:, None], 0.0, wanted)
        return nearest, weights, distances

    def bind(
        self,
        points: NDArray[np.float64],
        directions: NDArray[np.float64] | None = None,
        groups: NDArray[np.int32] | None = None,
    ) -> EmbeddingWeights:
        """Choose an element for each point.

        Args:
            points: Positions [m], shape [q, 3].
            directions: Outward normals of the points, to distinguish neighbouring fingers; or None.
            groups: Number of the connected part to which each point belongs. Points outside the mesh use
                the pieces of the mesh that contain points of their part; or None.
        """
        element, weights = self.inside(points)
        inside = element >= 0
        directions = np.zeros_like(points) if directions is None else directions
        groups = np.zeros(len(points), dtype=np.int32) if groups is None else groups
        allowed = np.zeros((int(groups.max()) + 1, int(self.pieces.max()) + 1), dtype=bool)
        allowed[groups[inside], self.pieces[self.mesh.tets[element[inside], 0]]] = True
        allowed[~allowed.any(axis=1)] = True
        faces, face_weights, distances = self.nearest(points, directions, groups, allowed)
        kernels.best_outside.variant(is_much(len(points)))(
            self.mesh.points, self.mesh.tets, *self.mesh.node_tets, self.mesh.boundary_triangles,
            points, faces, element, weights,
        )  # fmt: skip
        return EmbeddingWeights(element, weights, inside, faces, face_weights, distances)

    def bind_surface(self, surface: SurfaceMesh) -> EmbeddingWeights:
        """Choose an element for each node of a surface; reject a surface that is far away from the mesh."""
        groups = components(surface.edges, surface.node_count)
        binding = self.bind(surface.points, surface.normals, groups)
        far = np.where(binding.inside, 0.0, binding.distances)
        if far.max() > self.diagonal:
            raise InputError(
                f"node {int(far.argmax())} of the surface lies {far.max():.3g} m outside the mesh, which "
                f"itself is only {self.diagonal:.3g} m across; move or scale the surface to the mesh"
            )
        return binding


def weight_matrix(mesh: TetMesh, binding: EmbeddingWeights) -> sparse.csr_array:
    """Return the sparse matrix of embedding weights, shape [points, nodes of the mesh]."""
    from scipy import sparse

    count = len(binding.elements)
    nodes = mesh.tets[binding.elements]
    return sparse.csr_array(
        (binding.weights.ravel(), nodes.ravel(), 4 * np.arange(count + 1)), shape=(count, mesh.node_count)
    )


def interpolation(points: ArrayLike, mesh: TetMesh) -> sparse.csr_array:
    """Return the matrix that interpolates values at a mesh's nodes to any points, shape [points, nodes].

    A point in the mesh takes the barycentric coordinates of its tet. One outside takes those of a tet around
    the nearest boundary triangle, the one with the smallest max(0, -b_i), and extrapolates. Rows sum to 1
    and linear fields are reproduced exactly.
    """
    instance_of(mesh, TetMesh, "the mesh")
    return weight_matrix(mesh, Locator(mesh).bind(as_points(points)))
