"""The stretching of triangles in their plane."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.materials import Law, StVenantKirchhoff
from continua.materials.fabric import Fabric
from continua.materials.point_kernels import CHUNK as POINT_CHUNK
from continua.materials.point_kernels import POINT
from continua.shells import assembly_kernels, membrane_kernels
from continua.shells.sheet_mesh import SheetMesh
from continua.validation import array

__all__ = ["Membrane", "rest_axes"]

PARALLEL_FROM = 2000
"""Triangles from which a pass over all of them is worth a parallel region."""

PLANE_STRESS = 2.0

ReferenceNormals = Callable[[NDArray[np.float64]], ArrayLike]


def rest_axes(mesh: SheetMesh, warp: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two orthonormal axes in the plane of every triangle at rest, [m, 3] each: along the warp, and across it.

    Args:
        mesh: The sheet.
        warp: Direction of the warp, shape [3] or [m, 3]; its part in the plane counts.
    """
    a, b, c = (mesh.points[mesh.cells[:, i]] for i in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    along = np.broadcast_to(warp, normal.shape)
    first = along - np.einsum("mi,mi->m", along, normal)[:, None] * normal
    length = np.linalg.norm(first, axis=1)
    across = length < 1e-6 * np.linalg.norm(along, axis=1)
    first[across] = (b - a)[across]
    first /= np.linalg.norm(first, axis=1)[:, None]
    return first, np.cross(normal, first)


class Membrane:
    """The in-plane elasticity of the triangles of a sheet, under plane stress.

    Laws that are linear in Green's strain have kernels of their own. Others are evaluated in the plane of each triangle
    as in a plane body, where a triangle never inverts unless it faces away from a reference normal.

    Args:
        mesh: The sheet.
        warp: Direction of the warp, shape [3] or [m, 3].
        reference: Returns the normals that triangles should have at points [m, 3], or None.

    Attributes:
        rest_inverse: Inverse of the rest edges in two axes of each triangle, row by row [1/m], shape [4, m].
        records: See `membrane_kernels`, shape [m, 34].
        volumes: Rest volume of each triangle [m3], shape [m].
        inverted: Number of triangles that face away from the reference normal.
    """

    def __init__(
        self, mesh: SheetMesh, warp: NDArray[np.float64], reference: ReferenceNormals | None = None
    ) -> None:
        self.cells, self.volumes = mesh.cells, np.ascontiguousarray(mesh.volumes)
        self._reference = reference
        self.inverted = 0
        count = len(self.cells)
        self.parallel = count >= PARALLEL_FROM
        axes = rest_axes(mesh, warp) if mesh.flat is None else np.tile(np.eye(3)[:2, None], (1, count, 1))
        a, b, c = (mesh.corners[:, i] for i in range(3))
        D = np.empty((count, 2, 2))
        for column, edge in enumerate((b - a, c - a)):
            for row, axis in enumerate(axes):
                D[:, row, column] = np.einsum("mi,mi->m", edge, axis)
        self._rest_edges = D
        self.rest_inverse = np.ascontiguousarray(np.linalg.inv(D).reshape(-1, 4).T)
        self.records = np.zeros((count, membrane_kernels.RECORD))
        self._law: Law | None = None  # evaluated in the plane; None for a law linear in Green's strain
        self._constants = np.zeros((count, 7))
        self._partial = np.zeros(max(1, count // 1024))

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every triangle, shape [m, k]; the first are Lame's [Pa]."""
        if isinstance(law, Fabric):
            self._law, self._constants = None, np.ascontiguousarray(constants[:, 2:9])
        elif isinstance(law, StVenantKirchhoff) and self._reference is None:
            self._law, self._constants = None, _green_constants(constants)
        else:
            self._law, self._constants = law, np.ascontiguousarray(constants)
            self._make_plane_arrays()

    def _make_plane_arrays(self) -> None:
        m = len(self.cells)
        self._frames, self._columns = np.zeros((m, 9)), np.zeros((3 * m, 3))
        self._plane_cells = np.arange(3 * m, dtype=np.int32).reshape(m, 3)
        self._gradients = np.tile(np.eye(3), (m, 1, 1, 1))
        self._points = np.zeros((m, 1, POINT))
        self._point_inverted = np.zeros(-(-m // POINT_CHUNK), np.int64)

    def update(self, x: NDArray[np.float64]) -> None:
        """Evaluate the law for positions x."""
        if self._law is None:
            membrane_kernels.green_records.variant(self.parallel)(
                x, self.cells, self.rest_inverse, self.volumes, self._constants, self.records
            )
            return
        membrane_kernels.reduce_to_plane.variant(self.parallel)(
            x, self.cells, self.rest_inverse, self._flipped(x), self._frames, self._columns
        )
        self._law.evaluate_points.variant(self.parallel)(
            self._columns,
            self._plane_cells,
            self._gradients,
            PLANE_STRESS,
            self._constants,
            None,
            True,
            self._points,
            self._point_inverted,
        )
        membrane_kernels.records_from_plane.variant(self.parallel)(
            self._points[:, 0], self._frames, self.rest_inverse, self.volumes, self.records
        )

    def _flipped(self, x: NDArray[np.float64]) -> NDArray[np.bool_] | None:
        """Return which triangles face away from the reference normal at their centres, shape [m]."""
        if self._reference is None:
            return None
        a, b, c = (x[self.cells[:, i]] for i in range(3))
        given = array(self._reference((a + b + c) / 3.0), "the reference normals of cloth", (len(a), 3))
        flipped = np.einsum("mi,mi->m", np.cross(b - a, c - a), given) < 0.0
        self.inverted = int(flipped.sum())
        return np.asarray(flipped, np.bool_)

    def energy(self) -> float:
        """Return the energy [J], as of the last update."""
        assembly_kernels.sum_energies.variant(self.parallel)(self.records, 33, self._partial)
        return float(self._partial.sum())

    def deformation(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the deformation gradients at positions x, shape [m, 3, 2]."""
        a, b, c = (x[self.cells[:, i]] for i in range(3))
        edges = np.stack([b - a, c - a], axis=2)
        return edges @ self.rest_inverse.T.reshape(-1, 2, 2)

    def stress(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the Cauchy stress [Pa] of every triangle at the positions x of the last update, shape [m, 3, 3]."""
        forces = self.records[:, 27:33].reshape(-1, 2, 3).swapaxes(1, 2)
        P = forces @ self._rest_edges.swapaxes(1, 2) / self.volumes[:, None, None]
        F = self.deformation(x)
        G = np.einsum("mia,mib->mab", F, F)
        J = np.sqrt(np.maximum(np.linalg.det(G), 0.0))
        stress: NDArray[np.float64] = P @ F.swapaxes(1, 2) / np.maximum(J, 0.1)[:, None, None]
        return stress


def _green_constants(constants: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the constants of `green_records` of isotropic triangles in plane stress, from Lame's [m, k]."""
    lam, mu = constants[:, 0], constants[:, 1]
    total = lam + 2.0 * mu
    plane = np.where(total > 0.0, 2.0 * lam * mu / np.where(total > 0.0, total, 1.0), 0.0)
    result = np.zeros((len(constants), 7))
    result[:, 0] = result[:, 2] = plane + 2.0 * mu
    result[:, 1], result[:, 3] = plane, mu
    result[:, 4:6] = np.inf
    return result
