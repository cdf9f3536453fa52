"""The elements of cloth: triangles that stretch and hinges that bend, assembled to one matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.deformable.damping import Damper
from continua.deformable.elements import AssembledSystem, DiscreteGradient
from continua.errors import InputError
from continua.materials import Law
from continua.materials.fabric import Fabric
from continua.shells import assembly_kernels
from continua.shells.bending import Bending, HingeBending, QuadraticBending, flexural_stiffness
from continua.shells.cloth_pattern import make_pattern
from continua.shells.membrane import Membrane, ReferenceNormals
from continua.shells.sheet_mesh import SheetMesh

__all__ = ["ClothElements"]

X_AXIS = np.array([1.0, 0.0, 0.0])


class ClothElements:
    """Triangles of a sheet with in-plane elasticity, and bending; the interface is `deformable.Elements`.

    The two parts are independent: `membrane` leaves records of the triangles, `bending` of the hinges or a constant
    stiffness, and one kernel assembles them. `inverted` counts triangles that face away from reference normals.
    """

    order = 1
    conservative = True

    def __init__(
        self,
        mesh: SheetMesh,
        bending: Bending,
        warp: NDArray[np.float64] = X_AXIS,
        reference: ReferenceNormals | None = None,
    ) -> None:
        self._mesh = mesh
        self.elements = mesh.cells
        self.rest_positions = mesh.points
        self.rest_coefficients = mesh.points
        self.node_count, self.element_count = mesh.node_count, mesh.element_count
        self.dof_map, self.pattern, self._lists = make_pattern(mesh.cells, mesh.hinges, mesh.points)
        self.membrane = Membrane(mesh, warp, reference)
        self.inverted = 0
        self.bending: HingeBending | QuadraticBending
        if bending.model == "quadratic":
            self.bending = QuadraticBending(mesh, self.pattern)
        else:
            self.bending = HingeBending(mesh, bending)
        self._stiffness = bending.stiffness
        self._x = mesh.points

    @property
    def nodal_maps(self) -> tuple[sparse.csr_array, sparse.csr_array] | None:
        """None: the coefficients are the values at the nodes."""
        return None

    @property
    def has_pressure_unknowns(self) -> bool:
        """False: the unknowns are displacements."""
        return False

    @property
    def mesh(self) -> SheetMesh:
        """The mesh."""
        return self._mesh

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every triangle, shape [m, k]; the first are Lame's [Pa]."""
        self.membrane.set_law(law, constants)
        if self._stiffness is None and isinstance(law, Fabric):
            self.bending.set_stiffness(np.full(self.element_count, law.bending))
        elif self._stiffness is None:
            self.bending.set_stiffness(flexural_stiffness(constants, self._mesh.thickness))
        else:
            self.bending.set_stiffness(np.full(self.element_count, self._stiffness))

    def mass(self, density: NDArray[np.float64], lumped: bool) -> NDArray[np.float64]:
        """Return the scalar mass [kg] of every block: consistent, or its row sums on the diagonal."""
        p = self.pattern
        element = np.broadcast_to(density, self.element_count) * self._mesh.volumes
        e, a = np.divmod(p.inc_codes, 3)
        rows = np.repeat(np.arange(self.node_count), np.diff(p.inc_indptr))
        if lumped:
            mass = np.zeros(p.block_count)
            mass[p.diagonal] = np.bincount(rows, element[e] / 3.0, minlength=self.node_count)
            return mass
        shares = np.where(np.arange(3) == a[:, None], 2.0, 1.0) * element[e][:, None] / 12.0
        blocks = p.indptr[rows][:, None] + p.slots
        consistent = np.bincount(blocks.ravel(), shares.ravel(), minlength=p.block_count)
        return np.asarray(consistent, np.float64)

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute stresses and moments for the given positions."""
        self._x = coefficients
        self.membrane.update(coefficients)
        self.bending.update(coefficients)
        self.inverted = self.membrane.inverted

    def count_inverted(self, coefficients: NDArray[np.float64]) -> None:
        """Triangles in space invert only where they face away from reference normals, which `update` counts."""

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        assembly_kernels.assemble.variant(self.pattern.parallel)(
            self.membrane.records,
            self.bending.records,
            self.bending.linear,
            self.bending.linear_force,
            self._lists,
            system.arrays,
        )

    def values(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients: they are the values at the nodes."""
        return coefficients

    def point_weights(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the arguments: values and coefficients are the same."""
        return nodes, weights

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises stress [Pa] at the nodes, averaged over the adjacent triangles by volume."""
        s = self.membrane.stress(self._x)
        volumes = self._mesh.volumes
        total = np.einsum("mab,mab->m", s, s)
        trace = np.einsum("maa->m", s)
        norm = np.sqrt(np.maximum(1.5 * (total - trace**2 / 3.0), 0.0))
        return self.nodal_mean(norm, volumes)

    def nodal_mean(self, values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted mean at the nodes [n] of values of the triangles [m]."""
        nodes = self.elements.ravel()
        share = np.bincount(nodes, np.repeat(weights, 3), minlength=self.node_count)
        total = np.bincount(nodes, np.repeat(weights * values, 3), minlength=self.node_count)
        return np.divide(total, share, out=np.zeros(self.node_count), where=share > 0.0)

    def energy(self) -> float:
        """Return the elastic energy [J], as of the last update."""
        return self.membrane.energy() + self.bending.energy()

    def cells(self) -> dict[str, NDArray[np.int32]]:
        """Return the triangles."""
        return {"triangle": self.elements}

    def surface_triangles(self) -> NDArray[np.int32]:
        """Return the sheet."""
        return self.elements

    def damper(self) -> Damper:
        """Cloth has Rayleigh damping only."""
        raise InputError("cloth has no RotatedDamping; give its damping as (alpha [1/s], beta [s])")

    def discrete_gradient(self) -> DiscreteGradient:
        """Cloth has no discrete gradient."""
        raise InputError("EnergyMomentum is not for cloth; use ImplicitEuler or Newmark")
