"""A detailed surface embedded in a coarse tetrahedral mesh."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh import kernels
from continua.mesh.checks import read_only
from continua.mesh.locate import EmbeddingWeights, Locator, is_much, weight_matrix
from continua.mesh.surface_mesh import SurfaceMesh
from continua.mesh.tet_mesh import TetMesh
from continua.pickling import KeepsReadOnlyArrays
from continua.validation import array, instance_of, rows3

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["Embedding"]

# Below this cosine between a face and the mean normal of its corners, the face's own normal is used.
_STEEP = 0.1


class Embedding(KeepsReadOnlyArrays):
    """Embeds a detailed surface in a tetrahedral mesh; both in the rest shape.

    Each node of the surface is interpolated in one tet: the one that contains it or, outside, the one around the
    closest boundary triangle with the least extrapolation. Boundary triangles with a similar normal are preferred,
    and so are pieces of the mesh that contain nodes of the same part of the surface, so that neighbouring
    fingers stay apart.

    Args:
        surface: The detailed surface.
        mesh: The mesh that is simulated.

    Attributes:
        surface: The detailed surface.
        mesh: The mesh in which it is embedded.
        binding: Element and weights of each node, and the closest boundary triangle.
    """

    def __init__(self, surface: SurfaceMesh, mesh: TetMesh) -> None:
        self.surface = instance_of(surface, SurfaceMesh, "the surface of an embedding")
        self.mesh = instance_of(mesh, TetMesh, "the mesh of an embedding")
        self.binding: EmbeddingWeights = Locator(mesh).bind_surface(surface)
        self._nodes = read_only(mesh.tets[self.binding.elements])
        self._weights = read_only(self.binding.weights)

    @property
    def inside_count(self) -> int:
        """Number of surface nodes inside the mesh."""
        return int(self.binding.inside.sum())

    @property
    def max_extrapolation(self) -> float:
        """The largest -b_i of any node: 0 if all are inside, large if some are far outside."""
        return float(max(0.0, -self._weights.min()))

    @cached_property
    def weights(self) -> sparse.csr_array:
        """The sparse matrix W with surface positions = W x, shape [surface nodes, mesh nodes]."""
        return weight_matrix(self.mesh, self.binding)

    def positions(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the surface's node positions [m] for mesh node positions x [m], shape [n, 3].

        For higher orders x may have more rows after the corner nodes; the surface follows the corners.
        """
        nodes = self._checked(x)
        result = np.empty((self.surface.node_count, 3))
        kernels.interpolate.variant(is_much(len(result)))(self._nodes, self._weights, nodes, result)
        return result

    def forces(self, surface_forces: ArrayLike) -> NDArray[np.float64]:
        """Return the mesh's node forces W^T f [N] for forces f [N] on the surface's nodes, [n, 3].

        Total force and total moment (in the rest shape) are preserved.
        """
        forces = array(surface_forces, "forces on the surface", (self.surface.node_count, 3), finite=False)
        return self.weights.T @ forces

    def normals(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return unit normals of the surface's nodes for mesh node positions x [m], shape [n, 3].

        They come from the coarse boundary's normals, tilted for each surface node as in the rest shape (after
        Georgii, fast normals on a deformed surface): cheap, smooth, exact for rigid motion and uniform scaling,
        and close to the true normals under moderate bending.
        """
        nodes = self._checked(x)
        mix, tilt, own, area = self._normal_weights
        triangles = self.mesh.boundary_triangles
        facial = np.empty((len(triangles), 3))
        nodal = np.empty((self.mesh.node_count, 3))
        kernels.area_vectors.variant(is_much(len(triangles)))(triangles, nodes, facial)
        kernels.gather_rows.variant(is_much(len(nodal)))(*self._node_triangles, facial, nodal)
        result = np.empty((self.surface.node_count, 3))
        kernels.interpolate_normals.variant(is_much(len(result)))(
            self.binding.faces, triangles, mix, tilt, own, area, nodal, facial, nodes, result
        )
        return result

    @cached_property
    def _node_triangles(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        return kernels.invert_table(self.mesh.boundary_triangles, self.mesh.node_count)

    @cached_property
    def _normal_weights(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Split each rest normal n into w0 N, along the mixed corner normals N, and a rest d in the face's
        plane.

        w0 = (n_f . n) / (n_f . N) makes d = n - w0 N parallel to the face. (The fraction is often printed
        upside down, and then it does not.) d is written as weights of the corner positions that sum to 0.
        """
        triangles, points = self.mesh.boundary_triangles, self.mesh.points
        faces, along = self.binding.faces, self.binding.face_weights
        a, b, c = (points[triangles[:, i]] for i in range(3))
        facial = 0.5 * np.cross(b - a, c - a)
        area = np.linalg.norm(facial, axis=1)
        nodal = np.empty_like(points)
        kernels.gather_rows.variant(False)(*self._node_triangles, facial, nodal)
        normal = self.surface.normals
        mixed = np.einsum("qc,qcd->qd", along, nodal[triangles[faces]])
        unit = facial[faces] / area[faces, None]
        across = np.einsum("qd,qd->q", unit, mixed)
        steep = across < _STEEP * np.linalg.norm(mixed, axis=1)
        wanted = np.einsum("qd,qd->q", unit, normal)
        factor = np.where(steep, 0.0, wanted / np.where(steep, 1.0, across))
        own = np.where(steep, wanted / area[faces], 0.0)
        rest = normal - factor[:, None] * mixed - own[:, None] * facial[faces]
        tilt = _plane_weights(rest, (b - a)[faces], (c - a)[faces])
        return factor[:, None] * along, tilt, own, area

    def _checked(self, x: ArrayLike) -> NDArray[np.float64]:
        nodes = rows3(x, "positions")
        if len(nodes) < self.mesh.node_count:
            raise InputError(f"there must be positions of all {self.mesh.node_count} nodes, not {len(nodes)}")
        return np.ascontiguousarray(nodes)

    def __repr__(self) -> str:
        return (
            f"<Embedding: {self.surface.node_count} surface nodes in {self.mesh.element_count} tets, "
            f"{self.surface.node_count - self.inside_count} outside>"
        )


def _plane_weights(d: NDArray, u: NDArray, v: NDArray) -> NDArray[np.float64]:
    """Write d, in the plane of u and v, as weights of the corners 0, u, v that sum to 0; shape [q, 3]."""
    uu, uv, vv = (np.einsum("qd,qd->q", s, t) for s, t in ((u, u), (u, v), (v, v)))
    du, dv = np.einsum("qd,qd->q", d, u), np.einsum("qd,qd->q", d, v)
    determinant = uu * vv - uv * uv
    first, second = (vv * du - uv * dv) / determinant, (uu * dv - uv * du) / determinant
    return np.stack([-first - second, first, second], axis=1)
