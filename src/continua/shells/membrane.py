"""The stretching of triangles in their plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.materials import Law
from continua.shells import assembly_kernels, membrane_kernels
from continua.shells.sheet_mesh import SheetMesh

__all__ = ["Membrane", "rest_axes"]

PARALLEL_FROM = 2000
"""Triangles from which a pass over all of them is worth a parallel region."""


def rest_axes(mesh: SheetMesh) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two orthonormal axes in the plane of every triangle at rest, [m, 3] each; the first is along edge 01."""
    a, b, c = (mesh.points[mesh.cells[:, i]] for i in range(3))
    normal = np.cross(b - a, c - a)
    first = (b - a) / np.linalg.norm(b - a, axis=1)[:, None]
    second = np.cross(normal, first)
    return first, second / np.linalg.norm(second, axis=1)[:, None]


class Membrane:
    """The in-plane elasticity of the triangles of a sheet.

    Attributes:
        rest_inverse: Inverse of the rest edges in two axes of each triangle, row by row [1/m], shape [4, m].
        records: See `membrane_kernels`, shape [m, 34].
        volumes: Rest volume of each triangle [m3], shape [m].
    """

    def __init__(self, mesh: SheetMesh) -> None:
        self.cells, self.volumes = mesh.cells, np.ascontiguousarray(mesh.volumes)
        self.parallel = len(self.cells) >= PARALLEL_FROM
        axes = rest_axes(mesh)
        a, b, c = (mesh.points[mesh.cells[:, i]] for i in range(3))
        D = np.empty((len(self.cells), 2, 2))
        for column, edge in enumerate((b - a, c - a)):
            for row, axis in enumerate(axes):
                D[:, row, column] = np.einsum("mi,mi->m", edge, axis)
        self._rest_edges = D
        self.rest_inverse = np.ascontiguousarray(np.linalg.inv(D).reshape(-1, 4).T)
        self.records = np.zeros((len(self.cells), membrane_kernels.RECORD))
        self._constants = np.zeros((len(self.cells), 2))
        self._x = np.zeros((0, 3))
        self._partial = np.zeros(max(1, len(self.cells) // 1024))

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every triangle, shape [m, k]; the first are Lame's [Pa]."""
        self._constants = np.ascontiguousarray(constants)

    def update(self, x: NDArray[np.float64]) -> None:
        """Evaluate the law for positions x."""
        self._x = x
        membrane_kernels.stvk_records.variant(self.parallel)(
            x, self.cells, self.rest_inverse, self.volumes, self._constants, self.records
        )

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
