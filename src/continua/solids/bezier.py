"""Quadratic and cubic tetrahedra in Bernstein-Bezier form: exact integrals, one rotation an element (Weber 2015)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.mesh import TetMesh
from continua.numerics.polar import LANES
from continua.solids import bezier_kernels
from continua.solids.bezier_geometry import BezierGeometry
from continua.solids.elements import System, TetElements, rest_geometry
from continua.solids.laws import Corotated, Law
from continua.solids.scatter import Scatter

__all__ = ["BezierTets"]

PARALLEL_FROM = 3000
"""Elements from which a pass over all of them is worth a parallel region."""


class BezierTets(BezierGeometry, TetElements):
    """Tetrahedra of order 2 or 3 under the linear or the corotated law. The unknowns are Bezier coefficients."""

    def __init__(self, mesh: TetMesh, order: int = 2) -> None:
        BezierGeometry.__init__(self, mesh, order)
        TetElements.__init__(self, mesh, self.elements, self.rest_positions)
        self.parallel = self.element_count >= PARALLEL_FROM
        self._rest_inverse, self._root_volume = rest_geometry(mesh)
        self._scatter = Scatter.make(self.elements, self.rest_positions, self.pattern)
        self._inner = (self.tables.parts, self.tables.inner_mass)
        self._records = np.zeros((self.element_count, bezier_kernels.GRADIENTS))
        self._offsets = np.zeros((self.element_count, self.elements.shape[1], 3))
        self._inverted = np.zeros(-(-self.element_count // LANES), np.int64)
        self._lam = np.zeros(self.element_count)
        self._mu = np.zeros(self.element_count)
        self._rotate = True
        self._rotation_table = self.tables.mean

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Take over a law, and the constants of every element, shape [m, k]; the first are Lame's [Pa]."""
        self._lam[:], self._mu[:] = constants[:, 0], constants[:, 1]
        self._rotate = law.follows_rotation
        from_corners = isinstance(law, Corotated) and law.rotation == "corner"
        self._rotation_table = np.eye(4, self.elements.shape[1]) if from_corners else self.tables.mean
        self.conservative = not self._rotate  # the change of the one rotation is left out of the force

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute rotations and stresses for the given coefficients."""
        bezier_kernels.element_state.pick(self.parallel)(
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

    def assemble(self, system: System) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        p = self.pattern
        bezier_kernels.assemble.pick(self.parallel)(
            self._records,
            self._offsets,
            *self.tables.block_terms,
            *self._inner,
            self.elements,
            p.indptr,
            p.indices,
            *self._scatter.arguments,
            *system.arguments,
        )

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises stress [Pa] at the nodes, averaged over the elements around by volume."""
        result = np.empty(self.node_count)
        p = self.pattern
        bezier_kernels.node_stress.pick(self.parallel)(
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
        bezier_kernels.element_energy.pick(self.parallel)(self._records, self._offsets, *self._inner, energy)
        return float(energy.sum())
