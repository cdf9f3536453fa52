"""The interface of the elements of a deformable body, and the system that they assemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.deformable.damping import Damper
from continua.linalg import BlockMatrix, BlockPattern, DofMap
from continua.materials import Law
from continua.mesh import VolumeMesh

__all__ = ["AssembledSystem", "DiscreteGradient", "Elements"]


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


class DiscreteGradient(Protocol):
    """Forces of a step whose work is the change of the elastic energy; see `EnergyMomentum`."""

    @property
    def inverted(self) -> int:
        """Number of inverted elements at the end of the step."""

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every element, shape [m, k]."""

    def begin(self, x: NDArray[np.float64]) -> None:
        """Set the coefficients [n, 3] before the step."""

    def assemble(self, x: NDArray[np.float64], system: AssembledSystem) -> None:
        """Fill the system with the forces of the step to coefficients x [n, 3], and the tangent of the mean stress."""


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

    def damper(self) -> Damper:
        """Return a new damper of deformation for these elements."""

    def discrete_gradient(self) -> DiscreteGradient:
        """Return a new discrete gradient of the elastic energy, for `EnergyMomentum`."""

    @property
    def has_pressure_unknowns(self) -> bool:
        """Whether the matrix has pressures that adjacent elements share, besides displacements."""
