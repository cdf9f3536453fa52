"""Linear tetrahedra as the solver sees them: rest geometry, constants, and the passes over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.linalg import BlockMatrix, BlockPattern
from continua.mesh import TetMesh, VolumeMesh
from continua.numerics import inverse_batch
from continua.numerics.bernstein import bernstein_tables
from continua.solids import kernels, linear_kernels, mass_kernels
from continua.solids.laws import Law

__all__ = ["Elements", "LinearTets", "System", "TetElements", "rest_geometry"]

PARALLEL_FROM = 4000
"""Elements from which a pass over all of them is worth a parallel region."""


def rest_geometry(mesh: TetMesh) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the inverse rest edge matrices, shape [9, m] (row c is the gradient of corner c+1), and sqrt(volume)."""
    corners = mesh.points[mesh.tets]
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    inverse, _ = inverse_batch(edges)
    return np.ascontiguousarray(inverse.reshape(-1, 9).T), np.sqrt(mesh.volumes)


@dataclass(frozen=True, eq=False)
class System:
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
    def arguments(self) -> tuple:
        """The last arguments of every assembly kernel."""
        factors = (self.c_mass, self.c_stiffness, self.dt)
        return (self.mass, *factors, self.velocities, self.load, self.matrix.blocks, self.rhs)


class Elements(Protocol):
    """What a soft body needs of its elements, whatever their order.

    `conservative` tells whether the elastic force is exactly the gradient of the energy.
    """

    order: int
    node_count: int
    element_count: int
    elements: NDArray[np.int32]
    rest_positions: NDArray[np.float64]
    pattern: BlockPattern
    inverted: int
    conservative: bool

    @property
    def mesh(self) -> VolumeMesh:
        """The mesh."""

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Take over a law, and the constants of every element, shape [m, k]; the first are Lame's [Pa]."""

    def mass(self, density: NDArray[np.float64], lumped: bool) -> NDArray[np.float64]:
        """Return the scalar mass [kg] of every block of the pattern."""

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute rotations and stresses for the given coefficients."""

    def count_inverted(self, coefficients: NDArray[np.float64]) -> None:
        """Set `inverted` for the given coefficients; records of the last update may change or not."""

    def assemble(self, system: System) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""

    def values(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn coefficients into values at the nodes."""

    def point_weights(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Turn a weighted mean of values at nodes into one of coefficients."""

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises stress [Pa] at the nodes, as of the last update."""

    def energy(self) -> float:
        """Return the elastic energy [J], as of the last update."""

    def cells(self) -> dict[str, NDArray[np.int32]]:
        """Return the volume cells by kind, for output."""

    def surface_triangles(self) -> NDArray[np.int32]:
        """Return the outer surface as triangles over the nodes, outward oriented."""


class TetElements:
    """What tetrahedra of every order share: the mesh, the coupling of nodes, and mass."""

    order: int
    conservative = True

    def __init__(
        self, mesh: TetMesh, elements: NDArray[np.int32], rest_positions: NDArray[np.float64]
    ) -> None:
        self.mesh = mesh
        self.elements = np.ascontiguousarray(elements)
        self.rest_positions = np.ascontiguousarray(rest_positions)
        self.node_count = len(rest_positions)
        self.element_count = mesh.element_count
        self.pattern = BlockPattern.from_elements(self.elements, self.node_count)
        self.tables = bernstein_tables(self.order)
        self.inverted = 0

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute what depends on the given coefficients."""
        raise TypeError(f"{type(self).__name__} has no update")

    def count_inverted(self, coefficients: NDArray[np.float64]) -> None:
        """Set `inverted` for the given coefficients."""
        self.update(coefficients)

    def mass(self, density: NDArray[np.float64], lumped: bool) -> NDArray[np.float64]:
        """Return the scalar mass [kg] of every block: consistent, or its row sums on the diagonal.

        `density` is one number or one for every element [kg/m3].
        """
        p = self.pattern
        mass = np.zeros(p.block_count)
        element_mass = density * self.mesh.volumes
        pattern = (p.inc_indptr, p.inc_codes, p.slots, p.corners)
        mass_kernels.gather_mass(*pattern, element_mass, self.tables.mass, p.indptr, lumped, p.diagonal, mass)
        return mass


class LinearTets(TetElements):
    """Linear tetrahedra of a mesh; the coefficients are the node positions themselves."""

    order = 1
    record_size = kernels.RECORD

    def __init__(self, mesh: TetMesh) -> None:
        super().__init__(mesh, mesh.tets, mesh.points)
        self.parallel = self.element_count >= PARALLEL_FROM
        self._rest_inverse, _ = rest_geometry(mesh)
        p = self.pattern
        lists = kernels.edge_lists(p.indptr, p.indices, p.diagonal, p.inc_indptr, p.inc_codes, p.slots)
        self._edge_pattern = (p.indptr, p.indices, p.diagonal, p.inc_indptr, p.inc_codes, *lists)
        tasks = -(-self.element_count // (kernels.LANES * kernels.TASK))
        self._inverted = np.zeros(tasks, np.int64)
        self._records = np.zeros((self.element_count, self.record_size))
        self._root = np.zeros(self.element_count)
        self._ratio = np.zeros(self.element_count)
        self._mixed: NDArray[np.float64] | None = None
        self._rotate = True

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Take over a law, and the constants of every element, shape [m, k]; the first are Lame's [Pa]."""
        lam, mu = constants[:, 0], constants[:, 1]
        self._root[:] = np.sqrt(self.mesh.volumes * mu)
        strong = mu > 0.0
        # without strength the ratio has no meaning, and any number does
        self._ratio[:] = (lam[strong] / mu[strong])[0] if strong.any() else 0.0
        self._ratio[strong] = lam[strong] / mu[strong]
        self._mixed = None if (self._ratio == self._ratio[0]).all() else self._ratio
        self._rotate = law.follows_rotation

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute rotations and stresses for the given positions."""
        kernels.element_records.pick(self.parallel)(
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
        counts = np.zeros(linear_kernels.chunk_count(self.element_count), np.int64)
        linear_kernels.count_inverted.pick(self.parallel)(coefficients, self.elements, counts)
        self.inverted = int(counts.sum())

    def assemble(self, system: System) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        kernels.assemble.pick(self.parallel)(
            self._records, *self._edge_pattern, self._ratio[0], self._mixed, *system.arguments
        )

    def values(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients: for linear elements they are the values at the nodes."""
        return coefficients

    def point_weights(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return what was given: for linear elements values and coefficients are the same."""
        return nodes, weights

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises stress [Pa] at the nodes, averaged over the elements around by volume."""
        result = np.empty(self.node_count)
        p = self.pattern
        kernels.node_stress.pick(self.parallel)(
            self._records, self._root, self.mesh.volumes, p.inc_indptr, p.inc_codes, result
        )
        return result

    def energy(self) -> float:
        """Return the elastic energy [J]."""
        return float(kernels.elastic_energy(self._records, self._ratio))

    def cells(self) -> dict[str, NDArray[np.int32]]:
        """Return the tetrahedra."""
        return {"tetra": self.elements}

    def surface_triangles(self) -> NDArray[np.int32]:
        """Return the outer surface."""
        return self.mesh.boundary_triangles
