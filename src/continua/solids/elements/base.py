"""What tetrahedra of any order share: the mesh, the matrix pattern, mass."""

from __future__ import annotations

from typing import cast

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.deformable import mass_kernels
from continua.deformable.damping import Damper
from continua.deformable.elements import DiscreteGradient, Elements
from continua.linalg import BlockPattern, DofMap
from continua.mesh import TetMesh
from continua.numerics import inverse_batch
from continua.numerics.bernstein import bernstein_tables
from continua.solids.elements.rest_shape import RestShape, weighted_mass

__all__ = ["TetElements", "rest_geometry"]


def rest_geometry(mesh: TetMesh) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the inverse rest edge matrices, shape [9, m] (row c is the gradient of corner c+1), and sqrt(volume)."""
    corners = mesh.points[mesh.tets]
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    inverse, _ = inverse_batch(edges)
    return np.ascontiguousarray(inverse.reshape(-1, 9).T), np.sqrt(mesh.volumes)


class TetElements:
    """Base of tetrahedra of any order: the mesh, the matrix pattern, and mass."""

    order: int
    conservative = True
    rest_coefficients: NDArray[np.float64]
    rest_shape: RestShape | None = None

    def __init__(
        self, mesh: TetMesh, elements: NDArray[np.int32], rest_positions: NDArray[np.float64]
    ) -> None:
        self.mesh = mesh
        self.elements = np.ascontiguousarray(elements)
        self.rest_positions = np.ascontiguousarray(rest_positions)
        if self.rest_shape is None:
            self.rest_coefficients = self.rest_positions
        self.node_count = len(rest_positions)
        self.element_count = mesh.element_count
        self.dof_map = DofMap.from_nodes(self.elements, self.node_count)
        self.pattern = BlockPattern.from_dof_map(self.dof_map)
        self.tables = bernstein_tables(self.order)
        self.inverted = 0

    @property
    def nodal_maps(self) -> tuple[sparse.csr_array, sparse.csr_array] | None:
        """None: the coefficients are the values at the nodes."""
        return None

    @property
    def has_pressure_unknowns(self) -> bool:
        """False: the unknowns are displacements."""
        return False

    def damper(self) -> Damper:
        """Return a new damper of deformation for these elements."""
        from continua.solids.damper import TangentDamper  # it is made of elements itself

        return TangentDamper(cast(Elements, self))

    def discrete_gradient(self) -> DiscreteGradient:
        """Return a new discrete gradient of the elastic energy, for `EnergyMomentum`."""
        from continua.solids.discrete_gradient import MeanStressGradient  # it is made of elements itself

        return MeanStressGradient(cast(Elements, self))

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute what depends on the given coefficients."""
        raise TypeError(f"{type(self).__name__} has no update")

    def count_inverted(self, coefficients: NDArray[np.float64]) -> None:
        """Set `inverted` for the given coefficients."""
        self.update(coefficients)

    def mass(self, density: NDArray[np.float64], lumped: bool) -> NDArray[np.float64]:
        """Return the scalar mass [kg] of every block: consistent, or its row sums on the diagonal.

        `density` is one number or one per element [kg/m3].
        """
        p = self.pattern
        mass = np.zeros(p.block_count)
        element_mass = density * self.mesh.volumes
        pattern = (p.inc_indptr, p.inc_codes, p.slots, p.corners)
        shape = self.rest_shape
        if shape is not None:
            tables = element_mass[:, None, None] * self.tables.mass
            own = np.broadcast_to(density, self.element_count)[shape.curved]
            tables[shape.curved] = own[:, None, None] * weighted_mass(self.order, shape.densities)
            mass_kernels.gather_tables(*pattern, tables, p.indptr, lumped, p.diagonal, mass)
            return mass
        if self.mesh.subdomains is not None and self.order == 1:
            touched, moments = self.mesh.subdomains.moments(self.mesh)
            if len(touched):
                tables = element_mass[:, None, None] * self.tables.mass
                own = np.broadcast_to(density, self.element_count)[touched]
                tables[touched] = own[:, None, None] * moments
                mass_kernels.gather_tables(*pattern, tables, p.indptr, lumped, p.diagonal, mass)
                return mass
        mass_kernels.gather_mass(*pattern, element_mass, self.tables.mass, p.indptr, lumped, p.diagonal, mass)
        return mass
