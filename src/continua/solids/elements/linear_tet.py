"""Linear tetrahedra of the linear and the corotated law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.deformable import constant_stiffness_kernels
from continua.deformable.elements import AssembledSystem
from continua.materials import Corotated, Law
from continua.mesh import TetMesh
from continua.solids.elements import corotated_kernels
from continua.solids.elements.base import TetElements, rest_geometry
from continua.solids.elements.edge_assembly import EdgePattern

__all__ = ["LinearTets"]

PARALLEL_FROM = 4000
"""Elements from which a pass over all of them is worth a parallel region."""


class LinearTets(TetElements):
    """Linear tetrahedra of a mesh; the coefficients are the node positions themselves.

    The stiffness is the Hessian of the energy, made positive semidefinite in every element, except for corotated laws
    with a rotation other than "exact", which leave out its derivative.
    """

    order = 1
    record_size = corotated_kernels.RECORD

    def __init__(self, mesh: TetMesh) -> None:
        super().__init__(mesh, mesh.tets, mesh.points)
        self.parallel = self.element_count >= PARALLEL_FROM
        self._rest_inverse, _ = rest_geometry(mesh)
        self._edge_pattern = EdgePattern.of(self.pattern)
        tasks = -(-self.element_count // (corotated_kernels.LANES * corotated_kernels.TASK))
        self._inverted = np.zeros(tasks, np.int64)
        self._records = np.zeros((self.element_count, self.record_size))
        self._root = np.zeros(self.element_count)
        self._ratio = np.zeros(self.element_count)
        self._mixed: NDArray[np.float64] | None = None
        self._rotate = True

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every element, shape [m, k]; the first are Lame's [Pa]."""
        lam, mu = constants[:, 0], constants[:, 1]
        self._root[:] = np.sqrt(self.mesh.volumes * mu)
        strong = mu > 0.0
        # where mu = 0 the ratio is undefined, and any value will do
        self._ratio[:] = (lam[strong] / mu[strong])[0] if strong.any() else 0.0
        self._ratio[strong] = lam[strong] / mu[strong]
        self._mixed = None if (self._ratio == self._ratio[0]).all() else self._ratio
        self._rotate = law.is_rotation_invariant
        exact = isinstance(law, Corotated) and law.rotation == "exact"
        size = corotated_kernels.RECORD if exact else corotated_kernels.FROZEN_RECORD
        if self._records.shape[1] != size:
            self._records = np.zeros((self.element_count, size))

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute rotations and stresses for the given positions."""
        corotated_kernels.element_records.variant(self.parallel)(
            coefficients,
            self.elements,
            self._rest_inverse,
            self._root,
            self._ratio,
            self._rotate,
            self._records,
            self._inverted,
        )
        self.inverted = int(self._inverted.sum())

    def count_inverted(self, coefficients: NDArray[np.float64]) -> None:
        """Set `inverted` for the given positions."""
        counts = np.zeros(constant_stiffness_kernels.chunk_count(self.element_count), np.int64)
        constant_stiffness_kernels.count_inverted.variant(self.parallel)(coefficients, self.elements, counts)
        self.inverted = int(counts.sum())

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        corotated_kernels.assemble.variant(self.parallel)(
            self._records, self._edge_pattern, self._ratio[0], self._mixed, system.arrays
        )

    def values(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients: for linear elements they are the values at the nodes."""
        return coefficients

    def point_weights(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the arguments: for linear elements values and coefficients are the same."""
        return nodes, weights

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises stress [Pa] at the nodes, averaged over the adjacent elements by volume."""
        result = np.empty(self.node_count)
        p = self.pattern
        corotated_kernels.node_stress.variant(self.parallel)(
            self._records, self._root, self.mesh.volumes, p.inc_indptr, p.inc_codes, result
        )
        return result

    def energy(self) -> float:
        """Return the elastic energy [J]."""
        return float(corotated_kernels.elastic_energy(self._records, self._ratio))

    def cells(self) -> dict[str, NDArray[np.int32]]:
        """Return the tetrahedra."""
        return {"tetra": self.elements}

    def surface_triangles(self) -> NDArray[np.int32]:
        """Return the outer surface."""
        return self.mesh.boundary_triangles
