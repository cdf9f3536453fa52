"""Linear tetrahedra of the St. Venant-Kirchhoff law: its strain is quadratic, so no decomposition is needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import AssembledSystem
from continua.errors import InputError
from continua.materials import Law, StVenantKirchhoff, tet_kernels
from continua.mesh import TetMesh
from continua.solids.elements import hyperelastic_tet_kernels, stvk_tet_kernels
from continua.solids.elements.hyperelastic_tet import HyperelasticTets

__all__ = ["StVKTets"]


class StVKTets(HyperelasticTets):
    """`HyperelasticTets` of one law, several times faster.

    Forces and energies are the same. The tangent is projected to a positive semidefinite one in a cheaper way, which
    raises it a little more where an element is compressed.
    """

    record_size = stvk_tet_kernels.RECORD

    def __init__(self, mesh: TetMesh) -> None:
        super().__init__(mesh)
        # written, and so backed by memory, only where the law is extrapolated or its stress is evaluated
        self._principals = np.zeros((self.element_count, tet_kernels.RECORD))
        self._positions = self.rest_positions

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the constants of every element, shape [m, k]."""
        if type(law) is not StVenantKirchhoff:
            raise InputError(f"{type(law).__name__} is not the St. Venant-Kirchhoff law")
        super().set_law(law, constants)
        self._root[:] = np.sqrt(self.mesh.volumes * constants[:, 1])
        with np.errstate(all="ignore"):
            self._ratio[:] = np.nan_to_num(constants[:, 0] / constants[:, 1])

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Linearise every element at the given positions."""
        self._positions = coefficients.copy()
        stvk_tet_kernels.fill_records.variant(self.parallel)(
            coefficients,
            self.elements,
            self._rest_inverse,
            self.mesh.volumes,
            self._constants,
            self._root,
            self._ratio,
            self._records,
            self._principals,
            self._inverted,
        )
        self.inverted = int(self._inverted.sum())

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        stvk_tet_kernels.assemble.variant(self.parallel)(
            (self._records, self._principals, self._ratio), self._edge_pattern, system.arrays
        )

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises norm of the Cauchy stress [Pa] at the nodes."""
        law = self._law
        assert law is not None
        law.evaluate_tets.variant(self.parallel)(
            self._positions,
            self.elements,
            self._rest_inverse,
            self.mesh.volumes,
            self._constants,
            self._principals,
            self._inverted,
        )
        result, p = np.empty(self.node_count), self.pattern
        hyperelastic_tet_kernels.node_stress.variant(self.parallel)(
            self._principals, self.mesh.volumes, p.inc_indptr, p.inc_codes, result
        )
        return result

    def energy(self) -> float:
        """Return the elastic energy [J]."""
        return float(stvk_tet_kernels.total_energy(self._records))
