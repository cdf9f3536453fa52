"""Quadratic and cubic tetrahedra in Bernstein-Bezier form: exact integrals, one rotation per element (Weber 2015)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import AssembledSystem
from continua.materials import Corotated, Law
from continua.mesh import TetMesh
from continua.numerics.polar import LANES
from continua.solids.elements import bernstein_kernels
from continua.solids.elements.base import TetElements, rest_geometry
from continua.solids.elements.bernstein_geometry import BernsteinGeometry
from continua.solids.elements.colored_assembly import ColoredAssembly

__all__ = ["BernsteinTets"]

PARALLEL_FROM = 3000
"""Elements from which a pass over all of them is worth a parallel region."""


class BernsteinTets(BernsteinGeometry, TetElements):
    """Tetrahedra of order 2 or 3 under the linear or the corotated law. The unknowns are Bernstein coefficients."""

    def __init__(self, mesh: TetMesh, order: int = 2) -> None:
        BernsteinGeometry.__init__(self, mesh, order)
        TetElements.__init__(self, mesh, self.elements, self.rest_positions)
        self.parallel = self.element_count >= PARALLEL_FROM
        self._rest_inverse, self._root_volume = rest_geometry(mesh)
        self._assembly = ColoredAssembly.make(self.elements, self.rest_positions, self.pattern)
        self._inner = (self.tables.parts, self.tables.inner_mass)
        self._records = np.zeros((self.element_count, bernstein_kernels.GRADIENTS))
        self._offsets = np.zeros((self.element_count, self.elements.shape[1], 3))
        self._inverted = np.zeros(-(-self.element_count // LANES), np.int64)
        self._lam = np.zeros(self.element_count)
        self._mu = np.zeros(self.element_count)
        self._rotate = True
        self._rotation_table = self.tables.mean

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every element, shape [m, k]; the first are Lame's [Pa]."""
        self._lam[:], self._mu[:] = constants[:, 0], constants[:, 1]
        self._rotate = law.is_rotation_invariant
        from_corners = isinstance(law, Corotated) and law.rotation == "corner"
        self._rotation_table = np.eye(4, self.elements.shape[1]) if from_corners else self.tables.mean
        self.conservative = not self._rotate  # the derivative of the rotation is left out of the force

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute rotations and stresses for the given coefficients."""
        bernstein_kernels.element_state.variant(self.parallel)(
            coefficients,
            self.rest_positions,
            self.elements,
            self._rest_inverse,
            self._root_volume,
            self._lam,
            self._mu,
            self._rotation_table,
            self._rotate,
            self._records,
            self._offsets,
            self._inverted,
        )
        self.inverted = int(self._inverted.sum())

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        p = self.pattern
        bernstein_kernels.assemble.variant(self.parallel)(
            self._records,
            self._offsets,
            self.tables.block_terms,
            self._inner,
            self.elements,
            p.indptr,
            p.indices,
            self._assembly,
            system.arrays,
        )

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises stress [Pa] at the nodes, averaged over the adjacent elements by volume."""
        result = np.empty(self.node_count)
        p = self.pattern
        bernstein_kernels.node_stress.variant(self.parallel)(
            self._records,
            self._offsets,
            self._root_volume,
            self.tables.slopes,
            p.inc_indptr,
            p.inc_codes,
            result,
        )
        return result

    def energy(self) -> float:
        """Return the elastic energy [J]."""
        energy = np.empty(self.element_count)
        bernstein_kernels.element_energy.variant(self.parallel)(
            self._records, self._offsets, *self._inner, energy
        )
        return float(energy.sum())
