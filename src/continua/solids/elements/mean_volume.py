"""Means of the change of volume, so that nearly incompressible elements do not lock.

A nearly incompressible element of low order has few motions that keep the volume at each of its points, and so it is
far too stiff: it locks. Elements of this kind keep it on average only. The energy of a law is
psi = psi0 + lambda/2 g^2, with g its measure of volume (`materials.volume_measures`), lambda Lame's, and psi0 the law
without it. The body has the energy

    sum over points of w psi0 + sum over patches a of S_a^2 / (2 c_a),    S_a = int_a g,    c_a = int_a 1/lambda,

which is a mixed formulation with the stress s_a = S_a / c_a constant in each patch (Simo, Taylor and Pister 1985). The
patch of a hexahedron or quad is the element itself (mean dilatation). Those of tetrahedra and triangles belong to
nodes: each has an equal share of the elements around it (average nodal pressure, Bonet and Burton 1998), and the stress
of an element is the mean of its nodes'. psi0, with a bulk modulus of about 2/3 mu, is integrated at all points, so that
no pattern is without stiffness. A negative lambda stays in psi0.

The force is the gradient of the energy, and the tangent its Hessian: that at points for constant s, plus
dS_a dS_a^T / c_a, which couples all nodes of a patch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.linalg import BlockPattern, block_kernels
from continua.solids.elements import mean_volume_kernels as kernels
from continua.solids.elements.base import AssembledSystem

__all__ = ["ElementMeans", "NodeMeans", "split_constants"]


def split_constants(constants: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the constants of psi0 with the stress s as the last one [m, c + 1], and the averaged lambda [m]."""
    split = np.concatenate([constants, np.zeros((len(constants), 1))], axis=1)
    split[:, 0] = np.minimum(constants[:, 0], 0.0)
    return split, constants[:, 0] - split[:, 0]


class ElementMeans:
    """Patches that are the elements themselves."""

    def __init__(self, elements: NDArray[np.int32], points: int) -> None:
        self._elements = elements
        self._sums = np.zeros((len(elements), 2))
        self.volumes = np.zeros((len(elements), points, 2))
        self.measure_gradients = np.zeros((len(elements), points, 9))
        self.derivatives = np.zeros((*elements.shape, 3))

    @property
    def element_derivatives(self) -> NDArray[np.float64] | None:
        """What the tangent of a single element contains the products of, shape [m, k, 3]; None if nothing."""
        return self.derivatives

    def set_stress(
        self,
        weights: NDArray[np.float64],
        lam: NDArray[np.float64],
        constants: NDArray[np.float64],
        parallel: bool,
    ) -> None:
        """Set the last constant of every element to its stress s, from `volumes` at the points."""
        kernels.element_sums.variant(parallel)(self.volumes, weights, lam, self._sums)
        kernels.element_stress.variant(parallel)(self._sums, constants)

    def set_derivatives(
        self, gradients: NDArray[np.float64], weights: NDArray[np.float64], parallel: bool
    ) -> None:
        """Set what the tangent needs, from `measure_gradients`."""
        kernels.element_gradients.variant(parallel)(
            self.measure_gradients, gradients, weights, self._sums, self.derivatives
        )
        kernels.scaled_by_compliance.variant(parallel)(self._sums, self.derivatives)

    def add(self, system: AssembledSystem, parallel: bool) -> None:
        """Add what couples several elements to the matrix: nothing."""


class _Rings(NamedTuple):
    """The nodes around each node, and where their products are in the matrix; see `kernels.add_node_means`."""

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    mirror: NDArray[np.int32]
    offsets: NDArray[np.int64]
    places: NDArray[np.uint16]


class NodeMeans(ElementMeans):
    """Patches that are the elements around each node, each with an equal share of an element.

    Attributes:
        pattern: The pattern of the matrix: nodes couple that have a common neighbour.
    """

    def __init__(self, elements: NDArray[np.int32], ring: BlockPattern) -> None:
        super().__init__(elements, 1)
        self._incidences = ring.inc_indptr, ring.inc_codes
        indptr, indices = kernels.two_rings(ring.indptr, ring.indices)
        offsets, places, mirror, slots = kernels.two_ring_places(
            ring.indptr, ring.indices, ring.inc_indptr, ring.slots, indptr, indices
        )
        self._ring_slots = ring.slots
        self._rings = _Rings(ring.indptr, ring.indices, mirror, offsets, places)
        n = ring.node_count
        diagonal = block_kernels.diagonal_slots(indptr, indices)
        self.pattern = replace(ring, indptr=indptr, indices=indices, diagonal=diagonal, slots=slots)
        self._stress, self._compliance = np.zeros(n), np.zeros(n)
        self._node_derivatives = np.zeros((ring.block_count, 3))

    @property
    def element_derivatives(self) -> NDArray[np.float64] | None:
        """None: a product belongs to a node."""
        return None

    def set_stress(
        self,
        weights: NDArray[np.float64],
        lam: NDArray[np.float64],
        constants: NDArray[np.float64],
        parallel: bool,
    ) -> None:
        """Set the last constant of every element to its stress s, from `volumes` at the points."""
        kernels.element_sums.variant(parallel)(self.volumes, weights, lam, self._sums)
        corners = self._elements.shape[1]
        kernels.node_stress.variant(parallel)(
            self._sums, *self._incidences, corners, self._stress, self._compliance
        )
        kernels.mean_of_corners.variant(parallel)(self._sums, self._elements, self._stress, constants)

    def set_derivatives(
        self, gradients: NDArray[np.float64], weights: NDArray[np.float64], parallel: bool
    ) -> None:
        """Set what the tangent needs, from `measure_gradients`."""
        kernels.element_gradients.variant(parallel)(
            self.measure_gradients, gradients, weights, self._sums, self.derivatives
        )

    def add(self, system: AssembledSystem, parallel: bool) -> None:
        """Add the products of the derivatives of each node's mean to the matrix."""
        kernels.node_gradients.variant(parallel)(
            self.derivatives,
            self._compliance,
            system.c_stiffness,
            self._rings.indptr,
            *self._incidences,
            self._ring_slots,
            self._elements.shape[1],
            self._node_derivatives,
        )
        kernels.add_node_means.variant(parallel)(
            *self._rings, self.pattern.indptr, self._node_derivatives, system.matrix.blocks
        )
