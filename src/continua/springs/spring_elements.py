"""The springs of a body as elements: forces, energy and tangent, for the integrators of deformable bodies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.deformable import spring_kernels as kernels
from continua.deformable.damping import Damper
from continua.deformable.elements import AssembledSystem, DiscreteGradient
from continua.errors import InputError
from continua.linalg import BlockMatrix, BlockPattern, DofMap, Geometry
from continua.linalg.block_kernels import diagonal_slots
from continua.springs.bending import hinge_springs, rope_springs
from continua.springs.network import SpringNetwork

__all__ = ["SpringDamper", "SpringElements"]

PARALLEL_FROM = 20_000
"""Springs from which a pass over all of them is worth a parallel region; forces are then computed node by node."""


class SpringElements:
    """Springs between two nodes, springs that resist bending, and volumes of tetrahedra.

    Attributes:
        k: Stiffness of each spring [N/m].
        length: Its rest length [m].
        c: Its damping [kg/s].
        bend_k: Stiffness of the springs that resist bending [J], see `bending`.
        volume_k: Stiffness of the volume of each tetrahedron [Pa/m3].
        parallel: Whether passes over the springs are parallel; depends on their number only.
    """

    order = 1
    inverted = 0
    conservative = True
    has_pressure_unknowns = False
    nodal_maps: tuple[sparse.csr_array, sparse.csr_array] | None = None

    def __init__(self, network: SpringNetwork, node_mass: NDArray[np.float64]) -> None:
        self.network = network
        self.rest_positions = self.rest_coefficients = network.points
        self.node_count, self.element_count = network.node_count, network.element_count
        self.elements = network.springs
        self.node_mass = node_mass
        edge = network.points[self.elements[:, 1]] - network.points[self.elements[:, 0]]
        self.rest_lengths = np.linalg.norm(edge, axis=1)
        self.length = self.rest_lengths.copy()
        m = self.element_count
        self.k, self.c = np.zeros(m), np.zeros(m)
        bends, hinges = rope_springs(network), hinge_springs(network)
        self._bend_nodes = np.concatenate([bends.nodes, hinges.nodes])
        self._bend_weights = np.concatenate([bends.weights, hinges.weights])
        self._bend_length = np.concatenate([bends.length, hinges.length])
        self._bend_unit = np.concatenate([bends.stiffness, hinges.stiffness])
        self._tets = network.tets
        self._rest_volume = network.tet_volumes
        self.bend_k = np.zeros(len(self._bend_nodes))
        self.volume_k = np.zeros(len(self._tets))
        self.parallel = m + len(self.bend_k) + len(self._tets) >= PARALLEL_FROM
        self._make_pattern()
        total = m + len(self.bend_k)
        self._g, self._S, self._energy = np.zeros((total, 3)), np.zeros((total, 6)), np.zeros(total)
        t = len(self._tets)
        self._pressure, self._gradients = np.zeros(t), np.zeros((t, 4, 3))
        self._volume_energy = np.zeros(t)
        self._zero = np.zeros((self.node_count, 3))

    def _make_pattern(self) -> None:
        """Set the pattern, and the lists from which its rows and blocks are gathered."""
        n, edges, bends, tets = self.node_count, self.elements.astype(np.int64), self._bend_nodes, self._tets
        m = len(edges)
        # of springs: record, row, column and product of weights of every block that they add to
        parts: list[tuple[NDArray, NDArray, NDArray, NDArray]] = []
        for nodes, weights, first in (
            (edges, np.broadcast_to([-1.0, 1.0], edges.shape), 0),
            (bends.astype(np.int64), self._bend_weights, m),
        ):
            record = first + np.arange(len(nodes))
            for a in range(nodes.shape[1]):
                for b in range(nodes.shape[1]):
                    used = (weights[:, a] != 0.0) & (weights[:, b] != 0.0)
                    parts.append(
                        (record[used], nodes[used, a], nodes[used, b], weights[used, a] * weights[used, b])
                    )
        record, row, column, product = (np.concatenate(column) for column in zip(*parts, strict=True))
        code = np.arange(16 * len(tets), dtype=np.int64)
        own, pair = np.divmod(code, 16)
        tet_keys = tets[own, pair // 4].astype(np.int64) * n + tets[own, pair % 4]
        keys = row * n + column
        each = np.arange(n, dtype=np.int64)
        every = np.unique(np.concatenate([keys, tet_keys, each * (n + 1)]))
        indptr = np.searchsorted(every, np.arange(n + 1, dtype=np.int64) * n).astype(np.int32)
        indices = (every % n).astype(np.int32)
        pattern = BlockPattern.without_elements(indptr, indices, diagonal_slots(indptr, indices))
        self.pattern = replace(pattern, geometry=Geometry(self.rest_positions))
        self._springs_of, order = _lists(np.searchsorted(every, keys), len(every))
        self._spring_codes, self._products = record[order].astype(np.int32), product[order]
        self._tets_of, order = _lists(np.searchsorted(every, tet_keys), len(every))
        self._tet_codes = code[order].astype(np.int32)
        # nodes: records and weights
        ends = np.concatenate([edges.ravel(), bends.astype(np.int64).ravel()])
        records = np.concatenate([np.repeat(np.arange(m), 2), m + np.repeat(np.arange(len(bends)), 4)])
        weights = np.concatenate([np.tile([-1.0, 1.0], m), self._bend_weights.ravel()])
        used = weights != 0.0
        ends, records, weights = ends[used], records[used], weights[used]
        self._records_of, order = _lists(ends, n)
        self._records, self._weights = records[order].astype(np.int32), weights[order]
        bend = self._bend_weights.ravel() != 0.0
        at = self._bend_nodes.ravel()[bend].astype(np.int64)
        records = m + np.repeat(np.arange(len(bends)), 4)[bend]
        self._bends_of, order = _lists(at, n)
        self._bend_records, self._bend_factors = (
            records[order].astype(np.int32),
            self._bend_weights.ravel()[bend][order],
        )
        code = np.arange(tets.size, dtype=np.int64)
        self._corners_of, order = _lists(tets.ravel().astype(np.int64), n)
        self._corner_codes = code[order].astype(np.int32)
        ends, other = edges.ravel(), edges[:, ::-1].ravel()
        self._edges_of, order = _lists(ends, n)
        self._neighbours = other[order].astype(np.int32)
        self._edge_numbers = (order // 2).astype(np.int32)
        offsets = np.concatenate([np.arange(m + 1) * 2, 2 * m + 4 * (1 + np.arange(len(tets)))])
        dofs = np.concatenate([self.elements.ravel(), tets.ravel()]).astype(np.int32)
        self.dof_map = DofMap(offsets.astype(np.int64), dofs, n)

    # --- constants ----------------------------------------------------------------------------------------

    def set_law(self, law: Any, constants: NDArray[np.float64]) -> None:
        """Set stiffness, damping and rest length of every spring, [m, 3]; bending and volume are of the law."""
        self.k[:], self.c[:], self.length[:] = constants.T
        self.bend_k[:] = law.bending * self._bend_unit
        self.volume_k[:] = law.volume_stiffness / np.maximum(np.abs(self._rest_volume), 1e-300)

    def mass(self, density: NDArray[np.float64], lumped: bool) -> NDArray[np.float64]:
        """Return the scalar mass [kg] of every block: that of the nodes on the diagonal."""
        mass = np.zeros(self.pattern.block_count)
        mass[self.pattern.diagonal] = self.node_mass
        return mass

    @property
    def mesh(self) -> Any:
        """The network."""
        return self.network

    # --- forces -------------------------------------------------------------------------------------------

    def add_forces(
        self, x: NDArray[np.float64], v: NDArray[np.float64], out: NDArray[np.float64], damped: bool
    ) -> None:
        """Add the forces [N] at positions x and velocities v to `out` [n, 3]; `damped` includes damping along springs.

        Few springs are computed one after the other, many node by node, each at both of its ends: results agree to
        rounding.
        """
        if self.parallel:
            kernels.edge_forces_by_node.parallel(
                x, v, self._edges_of, self._neighbours, self._edge_numbers, self.k, self.length, self.c, damped, out
            )  # fmt: skip
        else:
            kernels.edge_forces(x, v, self.elements, self.k, self.length, self.c, damped, out)
        if self._bends_act:
            self._update_bends(x)
            kernels.add_gathered.variant(self.parallel)(
                self._bends_of, self._bend_records, self._bend_factors, self._g, -1.0, out
            )
        if self._volumes_act:
            self._update_volumes(x)
            kernels.add_volume_forces.variant(self.parallel)(
                self._corners_of, self._corner_codes, self._pressure, self._gradients, -1.0, out
            )

    @property
    def _bends_act(self) -> bool:
        return len(self.bend_k) > 0 and bool(self.bend_k.any())

    @property
    def _volumes_act(self) -> bool:
        return len(self.volume_k) > 0 and bool(self.volume_k.any())

    def _update_bends(self, x: NDArray[np.float64]) -> None:
        m = self.element_count
        kernels.weighted_records.variant(self.parallel)(
            x, self._bend_nodes, self._bend_weights, self.bend_k, self._bend_length,
            self._energy[m:], self._g[m:], self._S[m:],
        )  # fmt: skip

    def _update_volumes(self, x: NDArray[np.float64]) -> None:
        kernels.volume_records.variant(self.parallel)(
            x, self._tets, self.volume_k, self._rest_volume, self._volume_energy, self._pressure, self._gradients
        )  # fmt: skip

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Recompute forces and tangents at the given positions."""
        m = self.element_count
        kernels.edge_records.variant(self.parallel)(
            coefficients, self.elements, self.k, self.length, self._energy[:m], self._g[:m], self._S[:m]
        )
        self._update_bends(coefficients)
        self._update_volumes(coefficients)

    def count_inverted(self, coefficients: NDArray[np.float64]) -> None:
        """Do nothing: springs are not inverted."""

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        diagonal = np.ascontiguousarray(system.mass[self.pattern.diagonal])
        self.fill_blocks(
            system.matrix, self._S, self.volume_k, system.mass, system.c_mass, system.c_stiffness
        )
        variant = self.parallel
        kernels.assemble_momentum.variant(variant)(diagonal, system.velocities, system.load, system.rhs)
        kernels.add_gathered.variant(variant)(
            self._records_of, self._records, self._weights, self._g, -system.dt, system.rhs
        )
        kernels.add_volume_forces.variant(variant)(
            self._corners_of, self._corner_codes, self._pressure, self._gradients, -system.dt, system.rhs
        )

    def fill_blocks(
        self,
        matrix: BlockMatrix,
        S: NDArray[np.float64],
        volume_k: NDArray[np.float64],
        mass: NDArray[np.float64],
        c_mass: float,
        c_stiffness: float,
    ) -> None:
        """Fill a matrix from the tangents S of all springs and the gradients of the volumes."""
        kernels.assemble_blocks.variant(self.parallel)(
            self._springs_of, self._spring_codes, self._products, S,
            self._tets_of, self._tet_codes, volume_k, self._gradients,
            mass, c_mass, c_stiffness, matrix.blocks,
        )  # fmt: skip

    # --- results ------------------------------------------------------------------------------------------

    def energy(self) -> float:
        """Return the elastic energy [J], as of the last update."""
        return float(self._energy.sum() + self._volume_energy.sum())

    def tension(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the elastic tension of every spring [N], shape [m]; negative where it is compressed."""
        edge = x[self.elements[:, 1]] - x[self.elements[:, 0]]
        return np.asarray(self.k * (np.linalg.norm(edge, axis=1) - self.length))

    def values(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients: they are the values at the nodes."""
        return coefficients

    def point_weights(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the arguments: values and coefficients are the same."""
        return nodes, weights

    def von_mises(self) -> NDArray[np.float64]:
        """Return zeros: springs have a tension, see `tension`, and no stress."""
        return np.zeros(self.node_count)

    def cells(self) -> dict[str, NDArray[np.int32]]:
        """Return the springs as lines."""
        return {"line": self.elements}

    def surface_triangles(self) -> NDArray[np.int32]:
        """Return the surface of the network."""
        return self.network.triangles

    def damper(self) -> Damper:
        """Return a new damper along the springs."""
        return SpringDamper(self)

    def discrete_gradient(self) -> DiscreteGradient:
        """Refuse: the energy-momentum method is for elements with a stress."""
        raise InputError(
            "springs have no energy-momentum integrator; take ImplicitEuler, Newmark or an explicit one"
        )


class SpringDamper:
    """The matrix of damping along the springs: c n n^T, linear in the velocities and without effect on rotations.

    Attributes:
        time: Largest ratio of damping to stiffness of a spring [s], which bounds the damping by the stiffness.
    """

    def __init__(self, elements: SpringElements) -> None:
        self._elements = elements
        self._by_stiffness = False
        self._matrix = BlockMatrix(elements.pattern)
        self._S = np.zeros_like(elements._S)
        self._none = np.zeros(elements.pattern.block_count)
        self._no_volume = np.zeros_like(elements.volume_k)
        self.time = 0.0

    def set_constants(self, constants: NDArray[np.float64], time: float) -> None:
        """Damp by the damping of the springs, see `SpringElements.set_law` for the constants."""
        self._by_stiffness = False
        k, c = constants[:, 0], constants[:, 1]
        stiff = k > 0.0
        self.time = float((c[stiff] / k[stiff]).max(initial=0.0))

    def set_law(self, law: Any, constants: NDArray[np.float64]) -> None:
        """Damp by the stiffness along the springs."""
        self._by_stiffness = True

    def at(self, coefficients: NDArray[np.float64]) -> BlockMatrix:
        """Return the damping matrix [kg/s] at the given positions; it is valid until the next call."""
        e = self._elements
        c = e.k if self._by_stiffness else e.c
        kernels.damping_records.variant(e.parallel)(coefficients, e.elements, c, self._S)
        e.fill_blocks(self._matrix, self._S, self._no_volume, self._none, 0.0, 1.0)
        return self._matrix


def _lists(owner: NDArray[np.int64], count: int) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Return the start of the list of each owner [count + 1] and the order of the members."""
    order = np.argsort(owner, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))])
    return indptr.astype(np.int32), order
