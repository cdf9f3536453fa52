"""Elements of an incompressible body at rest: node volumes kept by pressures, in an augmented Lagrangian.

The equilibrium of an incompressible body minimises the elastic energy E - f.x under V_k(x) = V0_k for the volume of
every node (see `deformable.incompressible`). The energy of these elements is

    E(x) - sum over k of p_k (V_k - V0_k) + sum over k of kappa_k / (2 V0_k) (V_k - V0_k)^2,

whose minimum for the right pressures p is the equilibrium (Hestenes 1969, Powell 1969). It is that of elements that
average the measure J - 1 of volume around each node (`mean_volume`), with lambda = kappa, plus a linear term: their
tangent, which couples all nodes of a patch, has both the penalty and what pressures do to the stiffness.
"""

from __future__ import annotations

from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import Elements
from continua.errors import InputError
from continua.materials import Law
from continua.mesh import HexMesh, TetMesh, TriMesh
from continua.mesh.volume_mesh import VolumeMesh
from continua.numerics.kernel import KernelPair
from continua.solids.elements import mean_volume_kernels as kernels
from continua.solids.elements.mean_volume import PatchMeans, PressureSpace
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureElements, QuadratureTets
from continua.solids.multigrid_geometry import attach_multigrid_geometry

__all__ = ["volume_pressure_elements"]

_PENALTY = 50.0
"""Modulus kappa of the penalty over the shear modulus at first."""


class _NodeVolumes(PatchMeans):
    """Means of J - 1 around each node, with given pressures [Pa] that act beside those of the penalty."""

    pressure: NDArray[np.float64]

    def set_stress(self, parallel: bool) -> None:
        """Set `stress`, s at the points, from `volumes`."""
        self._sum(parallel)
        kernels.patch_stress.variant(parallel)(self._sums, *self._incidences, self._stress, self._compliance)
        self.volume_changes = self._stress * self._compliance
        self._stress -= self.pressure
        kernels.interpolated_stress.variant(parallel)(
            self._sums, self._dofs, self.space.values, self._stress, self.stress
        )

    def total_pressure(self) -> NDArray[np.float64]:
        """Return the given pressures and those of the penalty together [Pa], as of the last update."""
        return -self._stress


class VolumePressures(QuadratureElements):
    """Elements with node pressures; see the module. The methods of `deformable.incompressible.KeepsVolumes`."""

    patch_means: ClassVar[type[PatchMeans]] = _NodeVolumes

    @property
    def _node_volumes(self) -> _NodeVolumes:
        return cast(_NodeVolumes, self.means)

    @property
    def _mean_volume_kernels(self) -> tuple[KernelPair, KernelPair]:
        return self._law.volume_ratio_kernels

    @property
    def pressure(self) -> NDArray[np.float64]:
        """The given node pressures p [Pa], positive in compression, shape [n]; change them in place."""
        return self._node_volumes.pressure

    @property
    def volume_changes(self) -> NDArray[np.float64]:
        """V - V0 of the nodes [m3], shape [n], as of the last update."""
        return self._node_volumes.volume_changes

    def total_pressure(self) -> NDArray[np.float64]:
        """Return the pressures with those of the penalty [Pa], shape [n], as of the last update."""
        return self._node_volumes.total_pressure()

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the deviatoric law (see `element_materials.deviatoric`) and the constants of every element [m, k]."""
        penalised = constants.copy()
        penalised[:, 0] = _PENALTY * constants[:, 1]
        super().set_law(law, penalised)

    def stiffen(self, factor: float) -> None:
        """Multiply the penalty by a factor."""
        penalised = self._constants.copy()
        penalised[:, 0] *= factor
        super().set_law(self._law, penalised)

    def energy(self) -> float:
        """Return the energy [J] of the module."""
        return super().energy() - 0.5 * float(np.vdot(self.pressure, self.volume_changes))


class _Tets(VolumePressures, QuadratureTets):
    def _pressures(self, points: NDArray[np.float64], curved_points: bool) -> PressureSpace:
        return _shares(self.elements, 1)


class _Nodal(VolumePressures, NodalElements):
    def _pressures(self, weights: NDArray[np.float64]) -> PressureSpace:
        return _shares(self.elements, weights.shape[1])


def _shares(elements: NDArray[np.int32], points: int) -> PressureSpace:
    """Return equal shares of the nodes of elements [m, k] in the volume at each of its points."""
    nodes = elements.shape[1]
    # not a stable pair, but solvers need fewer iterations with pressures as unknowns all the same
    return PressureSpace(np.full((1, points, nodes), 1.0 / nodes), elements, stable=True)


def volume_pressure_elements(mesh: VolumeMesh) -> VolumePressures:
    """Return elements of order 1 that keep the volumes of the nodes of a mesh, with pressures of zero."""
    made: _Tets | _Nodal
    if isinstance(mesh, TetMesh):
        made = _Tets(mesh, 1, mean_volume=True)
    elif isinstance(mesh, HexMesh | TriMesh):
        made = _Nodal(mesh, 1, mean_volume=True)
    else:
        raise InputError(f"{mesh.NAME} cannot be incompressible")
    cast(_NodeVolumes, made.means).pressure = np.zeros(made.node_count)
    attach_multigrid_geometry(cast(Elements, made))
    return made
