"""What all elements share: the interface that bodies use, the system that they assemble, tetrahedra of any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.linalg import BlockMatrix, BlockPattern, DofMap
from continua.materials import Law
from continua.mesh import TetMesh, VolumeMesh
from continua.numerics import inverse_batch
from continua.numerics.bernstein import bernstein_tables
from continua.solids import mass_kernels
from continua.solids.elements.rest_shape import RestShape, weighted_mass

__all__ = ["AssembledSystem", "Elements", "TetElements", "rest_geometry"]


def rest_geometry(mesh: TetMesh) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the inverse rest edge matrices, shape [9, m] (row c is the gradient of corner c+1), and sqrt(volume)."""
    corners = mesh.points[mesh.tets]
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    inverse, _ = inverse_batch(edges)
    return np.ascontiguousarray(inverse.reshape(-1, 9).T), np.sqrt(mesh.volumes)


class SystemArrays(NamedTuple):
    """An `AssembledSystem` as the last argument of assembly kernels."""

    mass: NDArray[np.float64]
    c_mass: float
    c_stiffness: float
    dt: float
    velocities: NDArray[np.float64]
    load: NDArray[np.float64]
    blocks: NDArray[np.float64]
    rhs: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AssembledSystem:
    """A linear system of a step: matrix = c_mass M + c_stiffness K and rhs = M v + load - dt f.

    Attributes:
        matrix: Filled by the elements.
        rhs: Filled by the elements, shape [n, 3].
        mass: Scalar mass [kg] of every block.
        c_mass: Factor of the mass matrix M.
        c_stiffness: Factor of the stiffness matrix K.
        dt: Factor of the elastic force f, the time step [s].
        velocities: v [m/s], shape [n, 3].
        load: External impulse [N s], shape [n, 3].
    """

    matrix: BlockMatrix
    rhs: NDArray[np.float64]
    mass: NDArray[np.float64]
    c_mass: float
    c_stiffness: float
    dt: float
    velocities: NDArray[np.float64]
    load: NDArray[np.float64]

    @property
    def arrays(self) -> SystemArrays:
        """The system as assembly kernels take it."""
        return SystemArrays(
            self.mass,
            self.c_mass,
            self.c_stiffness,
            self.dt,
            self.velocities,
            self.load,
            self.matrix.blocks,
            self.rhs,
        )


class Elements(Protocol):
    """The interface of elements of any shape and order.

    `conservative` is true if the elastic force is exactly the gradient of the energy. `rest_positions` are those of the
    nodes, and `rest_coefficients` the coefficients of the same shape.
    """

    order: int
    node_count: int
    element_count: int
    elements: NDArray[np.int32]
    rest_positions: NDArray[np.float64]
    rest_coefficients: NDArray[np.float64]
    dof_map: DofMap
    pattern: BlockPattern
    inverted: int
    conservative: bool

    @property
    def nodal_maps(self) -> tuple[sparse.csr_array, sparse.csr_array] | None:
        """The matrices from coefficients to values at the nodes and back, or None where both are the same."""

    @property
    def mesh(self) -> VolumeMesh:
        """The mesh."""

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every element, shape [m, k]; the first are Lame's [Pa]."""

    def mass(self, density: NDArray[np.float64], lumped: bool) -> NDArray[np.float64]:
        """Return the scalar mass [kg] of every block of the pattern."""

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute rotations and stresses for the given coefficients."""

    def count_inverted(self, coefficients: NDArray[np.float64]) -> None:
        """Set `inverted` for the given coefficients; may overwrite the last update."""

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""

    def values(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at the nodes of the given coefficients."""

    def point_weights(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Express a weighted mean of nodal values by coefficients: return their nodes and weights."""

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises stress [Pa] at the nodes, as of the last update."""

    def energy(self) -> float:
        """Return the elastic energy [J], as of the last update."""

    def cells(self) -> dict[str, NDArray[np.int32]]:
        """Return the volume cells by kind, for output."""

    def surface_triangles(self) -> NDArray[np.int32]:
        """Return the outer surface as triangles over the nodes, outward oriented."""


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
        mass_kernels.gather_mass(*pattern, element_mass, self.tables.mass, p.indptr, lumped, p.diagonal, mass)
        return mass
