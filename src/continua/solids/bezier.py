"""Quadratic tetrahedra in Bernstein-Bezier form: exact integrals, one rotation an element (Weber 2015)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.mesh import TetMesh
from continua.solids import bezier_kernels, kernels
from continua.solids.elements import System, TetElements, rest_geometry
from continua.solids.laws import Law

__all__ = ["BezierTets"]

PARALLEL_FROM = 200
"""Elements from which a pass over all of them is worth a parallel region."""


class BezierTets(TetElements):
    """Ten-node tetrahedra of a mesh with straight edges.

    Nodes are the mesh's points, then the middles of its edges. The unknowns are Bezier coefficients; at
    corners they are the values themselves, at edges `values` turns them into the values at the middle.
    """

    order = 2

    def __init__(self, mesh: TetMesh) -> None:
        middles = mesh.points[mesh.edges].mean(axis=1)
        elements = np.concatenate([mesh.tets, mesh.node_count + mesh.element_edges], axis=1, dtype=np.int32)
        super().__init__(mesh, elements, np.concatenate([mesh.points, middles]))
        self.parallel = self.element_count >= PARALLEL_FROM
        self._rest_inverse, self._root_volume = rest_geometry(mesh)
        self._records = np.zeros((self.element_count, bezier_kernels.GRADIENTS))
        self._offsets = np.zeros((self.element_count, self.elements.shape[1], 3))
        self._inverted = np.zeros(-(-self.element_count // kernels.CHUNK), np.int64)
        self._lam = np.zeros(self.element_count)
        self._mu = np.zeros(self.element_count)
        self._rotate = True

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Take over a law, and the constants of every element, shape [m, k]; the first are Lame's [Pa]."""
        self._lam[:], self._mu[:] = constants[:, 0], constants[:, 1]
        self._rotate = law.follows_rotation
        self.conservative = not self._rotate  # the change of the one rotation is left out of the force

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute rotations and stresses for the given coefficients."""
        bezier_kernels.element_state.pick(self.parallel)(
            coefficients,
            self.rest_positions,
            self.elements,
            self._rest_inverse,
            self._root_volume,
            self._lam,
            self._mu,
            self.tables.mean,
            self._rotate,
            self._records,
            self._offsets,
            self._inverted,
        )
        self.inverted = int(self._inverted.sum())

    def assemble(self, system: System) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        p = self.pattern
        tables = (self.tables.supports, self.tables.stiffness)
        pattern = (p.indptr, p.indices, p.inc_indptr, p.inc_codes, p.slots, p.corners)
        bezier_kernels.assemble.pick(self.parallel)(
            self._records, self._offsets, *tables, *pattern, *system.arguments
        )

    def values(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at the nodes: corners as they are, a middle is a quarter of both ends and half its own."""
        values = coefficients.copy()
        corners = self.mesh.node_count
        ends = coefficients[self.mesh.edges]
        values[corners:] = 0.25 * (ends[:, 0] + ends[:, 1]) + 0.5 * coefficients[corners:]
        return values

    def point_weights(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Spread the weight of every middle node over its coefficient and the ends of its edge."""
        corners = self.mesh.node_count
        spread: dict[int, float] = {}
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            parts = [(node, weight)]
            if node >= corners:
                a, b = self.mesh.edges[node - corners].tolist()
                parts = [(node, 0.5 * weight), (a, 0.25 * weight), (b, 0.25 * weight)]
            for part, share in parts:
                spread[part] = spread.get(part, 0.0) + share
        return np.array(list(spread), np.int32), np.array(list(spread.values()))

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises stress [Pa] at the nodes, averaged over the elements around by volume."""
        result = np.empty(self.node_count)
        p = self.pattern
        bezier_kernels.node_stress.pick(self.parallel)(
            self._records,
            self._offsets,
            self._root_volume,
            self.tables.slopes,
            p.inc_indptr,
            p.inc_codes,
            result,
        )
        return result

    def energy(self) -> float:
        """Return the elastic energy [J]."""
        energy = np.empty(self.element_count)
        bezier_kernels.element_energy.pick(self.parallel)(
            self._records, self._offsets, self.tables.supports, self.tables.stiffness, energy
        )
        return float(energy.sum())

    def cells(self) -> dict[str, NDArray[np.int32]]:
        """Return the ten-node tetrahedra in VTK's order."""
        return {"tetra10": self.elements}

    def surface_triangles(self) -> NDArray[np.int32]:
        """Return the outer surface, every face split into four at the middles of its edges."""
        faces = self.mesh.boundary_triangles
        n = self.mesh.node_count
        keys = self.mesh.edges[:, 0].astype(np.int64) * n + self.mesh.edges[:, 1]
        order = np.argsort(keys, kind="stable")

        def middle(a: NDArray, b: NDArray) -> NDArray:
            wanted = np.minimum(a, b).astype(np.int64) * n + np.maximum(a, b)
            return n + order[np.searchsorted(keys, wanted, sorter=order)]

        a, b, c = faces.T
        ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        return np.concatenate([np.stack(part, axis=1) for part in parts]).astype(np.int32)
