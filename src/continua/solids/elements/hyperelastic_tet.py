"""Linear tetrahedra of an isotropic hyperelastic law, robust through inversion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import AssembledSystem
from continua.errors import InputError
from continua.materials import Hyperelastic, Law, tet_kernels
from continua.mesh import TetMesh
from continua.solids.elements import hyperelastic_tet_kernels
from continua.solids.elements.linear_tet import LinearTets

__all__ = ["HyperelasticTets"]

PARALLEL_FROM = 500
"""Elements from which a pass over all of them is worth a parallel region."""


class HyperelasticTets(LinearTets):
    """The tetrahedra of `LinearTets` under a law of principal stretches."""

    record_size = tet_kernels.RECORD

    def __init__(self, mesh: TetMesh) -> None:
        super().__init__(mesh)
        self.parallel = self.element_count >= PARALLEL_FROM
        self._inverted = np.zeros(-(-self.element_count // tet_kernels.CHUNK), np.int64)
        self._law: Hyperelastic | None = None

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every element, shape [m, k]."""
        if not isinstance(law, Hyperelastic):
            raise InputError(f"{type(law).__name__} is not a law of principal stretches")
        self._law = law
        self._constants = np.array(constants)

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Linearise every element at the given positions."""
        law = self._law
        assert law is not None
        law.evaluate_tets.variant(self.parallel)(
            coefficients,
            self.elements,
            self._rest_inverse,
            self.mesh.volumes,
            self._constants,
            self._records,
            self._inverted,
        )
        self.inverted = int(self._inverted.sum())

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        hyperelastic_tet_kernels.assemble.variant(self.parallel)(
            (self._records,), self._edge_pattern, system.arrays
        )

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises norm of the Cauchy stress [Pa] at the nodes."""
        result = np.empty(self.node_count)
        p = self.pattern
        hyperelastic_tet_kernels.node_stress.variant(self.parallel)(
            self._records, self.mesh.volumes, p.inc_indptr, p.inc_codes, result
        )
        return result

    def energy(self) -> float:
        """Return the elastic energy [J]."""
        return float(hyperelastic_tet_kernels.total_energy(self._records))
