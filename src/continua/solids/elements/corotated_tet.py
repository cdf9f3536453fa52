"""Quadratic and cubic tetrahedra of the corotated law, with the rotation of every quadrature point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import AssembledSystem
from continua.materials import Law
from continua.mesh import TetMesh
from continua.numerics.bernstein import bernstein_slopes, bernstein_values
from continua.numerics.polar import LANES
from continua.numerics.quadrature import tet_rule
from continua.solids.elements import corotated_tet_kernels as kernels
from continua.solids.elements.base import TetElements, rest_geometry
from continua.solids.elements.bernstein_geometry import BernsteinGeometry
from continua.solids.elements.colored_assembly import ColoredAssembly

__all__ = ["CorotatedTets"]

PARALLEL_FROM = 1500
"""Elements from which a pass over all of them is worth a parallel region."""


class CorotatedTets(BernsteinGeometry, TetElements):
    """Tetrahedra of order 2 or 3 under the corotated law. The unknowns are Bernstein coefficients.

    The force is the gradient of the energy, and the stiffness its Hessian, made positive semidefinite at every point.
    """

    def __init__(self, mesh: TetMesh, order: int = 2) -> None:
        BernsteinGeometry.__init__(self, mesh, order)
        TetElements.__init__(self, mesh, self.elements, self.rest_positions)
        self.parallel = self.element_count >= PARALLEL_FROM
        self._rest_inverse, self._root_volume = rest_geometry(mesh)
        self._assembly = ColoredAssembly.make(self.elements, self.rest_positions, self.pattern)
        points, self._weights = tet_rule(order)
        self._slopes = np.ascontiguousarray(bernstein_slopes(order, points))
        inner = bernstein_values(order - 1, points)
        moments = bernstein_values(2 * (order - 1), points) * self._weights[:, None]
        moments = np.pad(moments, ((0, -len(points) % kernels.AT_ONCE), (0, 0)))
        self._moments = np.ascontiguousarray(moments.T)
        self._forces = np.ascontiguousarray(order * (inner * self._weights[:, None]).T)
        at_nodes = bernstein_values(order - 1, self.tables.indices / order)
        self._to_nodes = np.ascontiguousarray(at_nodes @ np.linalg.pinv(inner))
        self._records = np.zeros((self.element_count, len(points), kernels.POINT))
        self._inverted = np.zeros(-(-self.element_count // LANES), np.int64)
        self._lam = np.zeros(self.element_count)
        self._mu = np.zeros(self.element_count)

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the constants of every element, shape [m, k]; the first are Lame's [Pa]."""
        self._lam[:], self._mu[:] = constants[:, 0], constants[:, 1]

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute rotations, stresses and tangents for the given coefficients."""
        kernels.point_records.variant(self.parallel)(
            coefficients,
            self.elements,
            self._rest_inverse,
            self._lam,
            self._mu,
            self._slopes,
            self._records,
            self._inverted,
        )
        self.inverted = int(self._inverted.sum())

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        p = self.pattern
        kernels.assemble.variant(self.parallel)(
            self._records,
            self._rest_inverse,
            self._root_volume,
            (self._lam, self._mu),
            (self._moments, self._forces, self.tables.parts),
            self.tables.moment_terms,
            self.elements,
            p.indptr,
            p.indices,
            self._assembly,
            system.arrays,
        )

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises stress [Pa] at the nodes, averaged over the adjacent elements by volume.

        In each element the stress is the polynomial of degree p - 1 that fits its values at the points best.
        """
        result = np.empty(self.node_count)
        p = self.pattern
        kernels.node_stress.variant(self.parallel)(
            self._records, self.mesh.volumes, self._to_nodes, p.inc_indptr, p.inc_codes, result
        )
        return result

    def energy(self) -> float:
        """Return the elastic energy [J]."""
        return float(
            np.einsum("m,q,mq->", self.mesh.volumes, self._weights, self._records[..., kernels.ENERGY])
        )
