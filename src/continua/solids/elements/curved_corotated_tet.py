"""Quadratic and cubic tetrahedra of the corotated law in bodies with a curved boundary (isoparametric)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import AssembledSystem
from continua.materials import Law
from continua.mesh import TetMesh
from continua.numerics.bernstein import bernstein_slopes, bernstein_values
from continua.numerics.polar import LANES
from continua.numerics.quadrature import tet_rule
from continua.solids.elements import corotated_tet_kernels as straight_kernels
from continua.solids.elements import curved_corotated_kernels as kernels
from continua.solids.elements.base import TetElements, rest_geometry
from continua.solids.elements.bernstein_geometry import BernsteinGeometry
from continua.solids.elements.colored_assembly import ColoredAssembly
from continua.solids.elements.rest_shape import curved_rule, rest_gradients

__all__ = ["CurvedCorotatedTets"]

PARALLEL_FROM = 1500
"""Elements from which a pass over all of them is worth a parallel region."""


class CurvedCorotatedTets(BernsteinGeometry, TetElements):
    """As `CorotatedTets`, with curved elements. The unknowns are Bernstein coefficients.

    Straight elements have their constant gradients and the rule of `tet_rule`; curved ones have gradients at every
    point and `curved_rule`.
    """

    def __init__(self, mesh: TetMesh, order: int = 2) -> None:
        BernsteinGeometry.__init__(self, mesh, order)
        TetElements.__init__(self, mesh, self.elements, self.rest_positions)
        self.parallel = self.element_count >= PARALLEL_FROM
        shape = self.rest_shape
        curved = np.zeros(0, np.intp) if shape is None else shape.curved
        inside = np.ones(self.element_count, bool)
        inside[curved] = False
        self._groups = (np.flatnonzero(inside), curved)
        self._place = np.empty(self.element_count, np.int64)
        self._place[inside] = np.arange(len(self._groups[0]))
        self._place[curved] = -1 - np.arange(len(curved))
        self._nodes = tuple(np.ascontiguousarray(self.elements[own]) for own in self._groups)
        self._assembly = ColoredAssembly.make(self.elements, self.rest_positions, self.pattern)

        inverse, root = rest_geometry(mesh)
        self._straight = (np.ascontiguousarray(inverse[:, inside]), np.ascontiguousarray(root[inside]))
        points, weights = curved_rule(order)
        gradients, densities = rest_gradients(self.rest_coefficients[self.elements[curved]], order, points)
        self._gradients = np.ascontiguousarray(gradients.reshape(len(curved), len(points), 9))
        self._roots = np.sqrt(densities)
        self._rules = (tet_rule(order), (points, weights))
        self._volumes = mesh.volumes.copy()
        self._volumes[curved] = np.einsum("mq,q->m", densities, weights)

        self._slopes, self._to_nodes, self._records, self._inverted, tables = [], [], [], [], []
        at_nodes = bernstein_values(order - 1, self.tables.indices / order)
        for (where, share), own in zip(self._rules, self._groups, strict=True):
            inner = bernstein_values(order - 1, where)
            moments = bernstein_values(2 * (order - 1), where) * share[:, None]
            moments = np.pad(moments, ((0, -len(where) % straight_kernels.AT_ONCE), (0, 0)))
            tables += [
                np.ascontiguousarray(moments.T),
                np.ascontiguousarray(order * (inner * share[:, None]).T),
            ]
            self._slopes.append(np.ascontiguousarray(bernstein_slopes(order, where)))
            self._to_nodes.append(at_nodes @ np.linalg.pinv(inner))
            self._records.append(np.zeros((len(own), len(where), straight_kernels.POINT)))
            self._inverted.append(np.zeros(-(-len(own) // LANES), np.int64))
        self._weights = (*tables, self.tables.parts)
        self._lam = np.zeros(self.element_count)
        self._mu = np.zeros(self.element_count)
        self._constants: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the constants of every element, shape [m, k]; the first are Lame's [Pa]."""
        self._lam[:], self._mu[:] = constants[:, 0], constants[:, 1]
        self._constants = [(self._lam[own], self._mu[own]) for own in self._groups]

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute rotations, stresses and tangents for the given coefficients."""
        for group, kernel in enumerate((straight_kernels.point_records, kernels.point_records)):
            kernel.variant(self.parallel)(
                coefficients,
                self._nodes[group],
                self._gradients if group else self._straight[0],
                *self._constants[group],
                self._slopes[group],
                self._records[group],
                self._inverted[group],
            )
        self.inverted = int(sum(counts.sum() for counts in self._inverted))

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        p = self.pattern
        kernels.assemble.variant(self.parallel)(
            (self._records[0], *self._straight),
            (self._records[1], self._gradients, self._roots),
            self._place,
            (self._lam, self._mu),
            self._weights,
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
        nodes = self.elements.ravel()
        stress = np.empty((self.element_count, self.elements.shape[1], 9))
        for own, to_nodes, records in zip(self._groups, self._to_nodes, self._records, strict=True):
            R, P = (records[..., i : i + 9].reshape(*records.shape[:2], 3, 3) for i in (0, 15))
            at_points = np.einsum("mqia,mqja->mqij", P, R)
            stress[own] = np.einsum("kq,mqij->mkij", to_nodes, at_points).reshape(len(own), len(to_nodes), 9)
        total = np.bincount(nodes, np.repeat(self._volumes, self.elements.shape[1]), self.node_count)
        stress *= self._volumes[:, None, None]
        mean = np.stack(
            [np.bincount(nodes, column, self.node_count) / total for column in stress.reshape(-1, 9).T],
            axis=1,
        ).reshape(-1, 3, 3)
        mean -= np.einsum("nii,jk->njk", mean, np.eye(3)) / 3.0
        return np.asarray(np.sqrt(1.5 * np.einsum("nij,nij->n", mean, mean)))

    def energy(self) -> float:
        """Return the elastic energy [J]."""
        straight, curved = (records[..., straight_kernels.ENERGY] for records in self._records)
        density = self._roots**2
        return float(
            np.einsum("m,q,mq->", self._volumes[self._groups[0]], self._rules[0][1], straight)
            + np.einsum("mq,q,mq->", density, self._rules[1][1], curved)
        )
