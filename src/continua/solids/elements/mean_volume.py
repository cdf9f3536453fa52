"""Means of the change of volume, so that nearly incompressible elements do not lock.

A nearly incompressible element has few motions that keep the volume at each of its points, and so it is too stiff: it
locks. Elements of this kind keep it on average only. The energy of a law is psi = psi0 + lambda/2 g^2, with g its
measure of volume (`materials.volume_measures`), lambda a part of Lame's, and psi0 the law with the rest of it. The body
has the energy

    sum over points of w psi0 + sum over a of S_a^2 / (2 c_a),    S_a = int f_a g,

with one term for each function f_a of a space of pressures. This is a mixed formulation (Simo, Taylor and Pister 1985)
with the stress s = sum_a f_a S_a / c_a, whose pressures are eliminated as their mass matrix, int f_a f_b / lambda, is
diagonal or is replaced by a diagonal. The spaces are

- hexahedra and quads of order 1: a constant in each element (mean dilatation);
- hexahedra and quads of order 2: a linear function in each element, orthogonal to each other (Q2-P1, Boffi and
  Gastaldi 2002), c_a = int f_a^2 / lambda;
- tetrahedra and triangles of order 1: one function per node with an equal share of the elements around it (average
  nodal pressure, Bonet and Burton 1998), c_a = int f_a / lambda;
- tetrahedra and triangles of order 2, tetrahedra of order 3: continuous functions of one order less, as of Taylor and
  Hood (1973), c_a = int f_a / lambda (the lumped mass matrix, of positive Bernstein polynomials).

A lumped mass matrix costs higher orders of convergence where the body is compressible: an error of h^2 mu/lambda. So
there psi0 keeps all of lambda up to r mu, and (r mu)^2/lambda of a larger one, with r of `RESOLVED`; so averages set in
continuously. A negative lambda stays in psi0.

The force is the gradient of the energy, and the tangent its Hessian: that at points for constant s, plus
dS_a dS_a^T / c_a, which couples all nodes that f_a reaches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.deformable.elements import AssembledSystem
from continua.linalg import BlockPattern, block_kernels
from continua.linalg import pressure_term_kernels as kernels_of_terms
from continua.linalg.pressure_term import PressurePattern, PressureTerm
from continua.solids.elements import mean_volume_kernels as kernels

__all__ = ["ElementMeans", "PatchMeans", "PressureSpace", "linear_pressures"]

RESOLVED = 9.0
"""Lame's lambda over mu up to which elements of order 2 and 3 with shared pressures do not average (0.45)."""


class PressureSpace(NamedTuple):
    """The functions of the pressure.

    Attributes:
        values: At the quadrature points, of all elements [1, q, c] or of each [m, q, c].
        dofs: Function of the body that each function of an element belongs to [m, c]; None for constants in each
            element.
        orthogonal: Whether the functions are orthogonal in each element, and no element shares any.
        stable: Whether displacements and pressures are a stable pair, so that solvers can take pressures as unknowns.
        resolved: Largest lambda over mu of which nothing is averaged, r. Of a larger lambda, (r mu)^2/lambda is not.
    """

    values: NDArray[np.float64]
    dofs: NDArray[np.int32] | None
    orthogonal: bool = False
    stable: bool = False
    resolved: float = 0.0


def linear_pressures(points: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return linear functions of the position, orthogonal in each element, at points [m, q, d]: shape [m, q, d + 1]."""
    share = weights / weights.sum(axis=1, keepdims=True)
    centred = points - np.einsum("mq,mqd->md", share, points)[:, None]
    basis = np.concatenate([np.ones((*weights.shape, 1)), centred], axis=2)
    products = np.einsum("mq,mqa,mqb->mab", share, basis, basis)
    return np.ascontiguousarray(
        np.swapaxes(np.linalg.solve(np.linalg.cholesky(products), np.swapaxes(basis, 1, 2)), 1, 2)
    )


class ElementMeans:
    """Pressures that belong to one element each."""

    def __init__(
        self, elements: NDArray[np.int32], space: PressureSpace, weights: NDArray[np.float64]
    ) -> None:
        self.space = space
        self._weights = weights
        functions = space.values.shape[2]
        self._sums = np.zeros((len(elements), functions, 2))
        self._lam = np.zeros(0)
        self.stress = np.zeros(weights.shape)
        self.volumes = np.zeros((*weights.shape, 2))
        self.measure_gradients = np.zeros((*weights.shape, 9))
        self.derivatives = np.zeros((len(elements), functions, elements.shape[1], 3))

    def split(self, constants: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the constants of psi0 [m, c], and the averaged lambda [m]; the first constants are Lame's."""
        own, lam = constants.copy(), constants[:, 0]
        bound = self.space.resolved * constants[:, 1]
        own[:, 0] = np.where(lam > bound, bound * bound / np.maximum(lam, bound + 1e-300), lam)
        return own, lam - own[:, 0]

    def set_constants(self, own: NDArray[np.float64], lam: NDArray[np.float64]) -> None:
        """Set the constants of psi0, of which the first are Lame's [m, c], and the averaged lambda [m]."""
        self._lam = lam

    @property
    def element_derivatives(self) -> NDArray[np.float64] | None:
        """What the tangent of a single element contains the products of, shape [m, c, k, 3]; None if nothing."""
        return self.derivatives

    def set_stress(self, parallel: bool) -> None:
        """Set `stress`, s at the points, from `volumes`."""
        self._sum(parallel)
        kernels.element_stress.variant(parallel)(self._sums, self.space.values, self.stress)

    def _sum(self, parallel: bool) -> None:
        kernels.element_sums.variant(parallel)(
            self.volumes, self._weights, self._lam, self.space.values, self.space.orthogonal, self._sums
        )

    def set_derivatives(self, gradients: NDArray[np.float64], parallel: bool) -> None:
        """Set what the tangent needs, from `measure_gradients`."""
        kernels.element_gradients.variant(parallel)(
            self.measure_gradients, gradients, self._weights, self.space.values, self._lam, self.derivatives
        )
        kernels.scaled_by_compliance.variant(parallel)(self._sums, self.derivatives)

    def add(self, system: AssembledSystem, parallel: bool) -> None:
        """Add what couples several elements to the matrix: nothing."""


class Patches(NamedTuple):
    """The nodes of the elements of each patch, and where their products are in the matrix.

    Attributes:
        indptr, indices: Nodes of each patch, sorted.
        t_indptr, t_patches, t_entries: Patches of each node, and the entry of the node in the patch.
        offsets: Start in `places` of every entry of the transpose.
        places: For node i and its patch a: the offset in row i of the matrix of every node of a.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    t_indptr: NDArray[np.int32]
    t_patches: NDArray[np.int32]
    t_entries: NDArray[np.int32]
    offsets: NDArray[np.int64]
    places: NDArray[np.uint16]


class PatchMeans(ElementMeans):
    """Pressures that several elements share.

    Attributes:
        pattern: The pattern of the matrix: nodes couple that have a pressure in common.
    """

    def __init__(
        self,
        elements: NDArray[np.int32],
        space: PressureSpace,
        weights: NDArray[np.float64],
        ring: BlockPattern,
    ) -> None:
        super().__init__(elements, space, weights)
        assert space.dofs is not None
        self._dofs = np.ascontiguousarray(space.dofs, np.int32)
        count = int(self._dofs.max(initial=-1)) + 1
        self._incidences = block_kernels.incidences(self._dofs, count)
        indptr, indices, t_indptr, t_patches, t_entries, self._slots = kernels.patch_nodes(
            *self._incidences, self._dofs.shape[1], elements, ring.node_count
        )
        nodes = (indptr, indices, t_indptr, t_patches)
        rows, columns = kernels.patch_rows(*nodes)
        offsets, places, slots = kernels.patch_places(
            *nodes, ring.indptr, ring.indices, ring.inc_indptr, ring.slots, rows, columns
        )
        self._patches = Patches(*nodes, t_entries, offsets, places)
        diagonal = block_kernels.diagonal_slots(rows, columns)
        self.pattern = replace(ring, indptr=rows, indices=columns, diagonal=diagonal, slots=slots)
        self._slots_of_own = (
            kernels_of_terms.slots_within(ring.indptr, ring.indices, rows, columns) if space.stable else None
        )
        self._own = ring
        self._term: PressurePattern | None = None
        self._stress, self._compliance = np.zeros(count), np.zeros(count)
        self._patch_derivatives = np.zeros((len(self._patches.indices), 3))

    def set_constants(self, own: NDArray[np.float64], lam: NDArray[np.float64]) -> None:
        """Set the constants of psi0, of which the first are Lame's [m, c], and the averaged lambda [m]."""
        super().set_constants(own, lam)
        if self._slots_of_own is None:
            return
        values, w = self.space.values, self._weights
        shape = (*w.shape, values.shape[2])
        f = np.broadcast_to(values, shape)
        stiffness = 2.0 * own[:, 1] + np.maximum(own[:, 0], 0.0)
        share = w * ((lam > 0.0) / np.maximum(stiffness, 1e-300))[:, None]
        products = np.einsum("mq,mqa,mqb->mab", share, f, f)
        count, functions = len(self._compliance), shape[2]
        places = np.repeat(self._dofs, functions, axis=1).ravel(), np.tile(self._dofs, (1, functions)).ravel()
        mass = sparse.csr_array((products.ravel(), places), shape=(count, count))
        p = self._patches
        self._term = PressurePattern(
            p.indptr,
            p.indices,
            p.t_indptr,
            p.t_patches,
            p.t_entries,
            p.offsets,
            p.places,
            self._own,
            self._slots_of_own,
            mass,
            _mass_bounds(w, values),
        )

    @property
    def element_derivatives(self) -> NDArray[np.float64] | None:
        """None: a product belongs to a patch."""
        return None

    def set_stress(self, parallel: bool) -> None:
        """Set `stress`, s at the points, from `volumes`."""
        self._sum(parallel)
        kernels.patch_stress.variant(parallel)(self._sums, *self._incidences, self._stress, self._compliance)
        kernels.interpolated_stress.variant(parallel)(
            self._sums, self._dofs, self.space.values, self._stress, self.stress
        )

    def set_derivatives(self, gradients: NDArray[np.float64], parallel: bool) -> None:
        """Set what the tangent needs, from `measure_gradients`."""
        kernels.element_gradients.variant(parallel)(
            self.measure_gradients, gradients, self._weights, self.space.values, self._lam, self.derivatives
        )

    def add(self, system: AssembledSystem, parallel: bool) -> None:
        """Add the products of the derivatives of each patch's mean to the matrix."""
        kernels.patch_gradients.variant(parallel)(
            self.derivatives,
            self._compliance,
            system.c_stiffness,
            self._patches.indptr,
            *self._incidences,
            self._slots,
            self._patch_derivatives,
        )
        kernels.add_patch_means.variant(parallel)(
            self._patches, self.pattern.indptr, self._patch_derivatives, system.matrix.blocks
        )
        if self._term is not None:
            system.matrix.pressure_term = PressureTerm(self._term, self._patch_derivatives, self._compliance)


def _mass_bounds(weights: NDArray[np.float64], functions: NDArray[np.float64]) -> tuple[float, float]:
    """Return bounds of the eigenvalues of a mass matrix over its diagonal: those of the elements (Wathen 1987).

    Args:
        weights: Of the quadrature points [m, q].
        functions: At the points, of all elements [1, q, c] or of each [m, q, c].
    """
    shares = weights / weights.sum(axis=1, keepdims=True)
    if len(functions) == 1 and np.allclose(shares, shares[0], rtol=1e-9, atol=0.0):
        shares = shares[:1]  # straight elements: all alike
    values = np.broadcast_to(functions, (len(shares), *functions.shape[1:]))
    mass = np.einsum("mq,mqa,mqb->mab", shares, values, values)
    root = 1.0 / np.sqrt(np.einsum("maa->ma", mass))
    eigenvalues = np.linalg.eigvalsh(root[:, :, None] * mass * root[:, None])
    return float(eigenvalues.min()), float(eigenvalues.max())
