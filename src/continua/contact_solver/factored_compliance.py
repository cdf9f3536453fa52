"""The compliance of a small body's nodes in contact, from a factored matrix that is kept from step to step.

The matrix A of a step is stored in axes that turn with the matter around each node, where it changes little from step
to step, and factored: A = L L^T. The responses of nodes a and b to unit impulses on each other are X_a^T X_b with the
columns X = L^-1 E. So they are symmetric and positive definite for any choice of nodes, however old the matrix is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.block_cholesky import block_pattern, factor_blocks
from continua.contact_solver.delassus_kernels import turn_blocks, turn_matrix
from continua.contact_solver.factored_compliance_kernels import add_products, fill_pairs, unit_columns
from continua.contact_solver.node_compliance import MAX_TRACE_CHANGE, Deformation
from continua.linalg import BlockPattern
from continua.timestepping.requests import VelocitySystem

__all__ = ["FactoredCompliance"]

MAX_NODES, MAX_WORK = 1000, 1e8
"""Most nodes of a body whose matrix is factored, and most arithmetic operations that this may take."""

MIN_AGE = 20
"""Solves after which the matrix may be factored again because it was inaccurate."""

MAX_COLUMNS = 200
"""Columns that are kept; beyond that, those of nodes that are not in contact are forgotten."""


@dataclass(eq=False)
class _Order:
    """Elimination order and pattern of the factor, of pairs of nodes."""

    pattern: BlockPattern
    place: NDArray[np.int32]
    ptr: NDArray[np.int32]
    row: NDArray[np.int32]

    @classmethod
    def of(cls, pattern: BlockPattern) -> _Order:
        """Return an order for matrices of this pattern; neighbours make a pair."""
        from scipy import sparse
        from scipy.sparse import csgraph

        n = pattern.node_count
        graph = sparse.csr_array(
            (np.ones(len(pattern.indices), np.int8), pattern.indices, pattern.indptr), (n, n)
        )
        pair = np.empty(n, np.int32)
        pair[csgraph.reverse_cuthill_mckee(graph, symmetric_mode=True)] = np.arange(n, dtype=np.int32)
        i = np.repeat(np.arange(n), np.diff(pattern.indptr))
        edges = np.column_stack([pair[i] // 2, pair[pattern.indices] // 2])
        order, ptr, row = block_pattern((n + 1) // 2, edges[edges[:, 0] != edges[:, 1]])
        return cls(pattern, (2 * order[pair // 2] + pair % 2).astype(np.int32), ptr, row)

    @property
    def work(self) -> float:
        """Arithmetic operations of a factorisation."""
        return 216.0 * float((np.diff(self.ptr).astype(np.float64) ** 2).sum())


@dataclass(eq=False)
class _Columns:
    """The factor, and the columns and responses that were found so far; they follow from the matrix alone."""

    order: _Order
    factor: NDArray[np.float64]
    fixed: NDArray[np.uint8]
    nodes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    values: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3, 0)))
    responses: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))

    def include(self, wanted: NDArray[np.integer]) -> int:
        """Find the columns of more nodes; returns how many."""
        new = np.setdiff1d(wanted, self.nodes)
        if not len(new):
            return 0
        if len(self.nodes) + len(new) > MAX_COLUMNS:
            self._keep(np.isin(self.nodes, wanted))
        old = len(self.nodes)
        values = np.zeros((old + len(new), 3, 6 * (len(self.order.ptr) - 1)))
        if old:
            values[:old] = self.values
        unit_columns(
            self.order.ptr, self.order.row, self.factor, self.order.place[new], self.fixed[new], values[old:]
        )
        responses = np.zeros((3 * len(values), 3 * len(values)))
        responses[: 3 * old, : 3 * old] = self.responses
        nodes = np.concatenate([self.nodes, new])
        add_products(values, self.order.place[nodes], old, responses)
        self.nodes, self.values, self.responses = nodes, values, responses
        return len(new)

    def _keep(self, which: NDArray[np.bool_]) -> None:
        rows = np.flatnonzero(np.repeat(which, 3))
        self.nodes, self.values = self.nodes[which], self.values[which]
        self.responses = self.responses[np.ix_(rows, rows)]

    def places(self, nodes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the places of nodes that are included."""
        order = np.argsort(self.nodes)
        return order[np.searchsorted(self.nodes, nodes, sorter=order)]


@dataclass(frozen=True, eq=False)
class FactoredCompliance:
    """Responses of the nodes of a small body to unit impulses on each other. Its matrix never changes.

    Attributes:
        blocks: Blocks of the matrix A [kg], each in the axes of its nodes, shape [b, 9].
        fixed: Which rows are prescribed, shape [n].
        age: Solves since it was made.
        is_inaccurate: Whether the last solve needed many rounds with it.
    """

    blocks: NDArray[np.float64]
    fixed: NDArray[np.uint8]
    age: int = 0
    is_inaccurate: bool = False
    _columns: list[_Columns] = field(default_factory=list)  # one entry, once there is a factor

    @classmethod
    def of(cls, system: VelocitySystem, deformation: Deformation) -> FactoredCompliance | None:
        """Return the compliance of a body in its present state, or None if it is too large for this."""
        pattern = system.matrix.pattern
        if pattern.node_count > MAX_NODES or system.projections is not None:
            return None
        order = _Order.of(pattern)
        return cls._at(system, deformation, order) if order.work <= MAX_WORK else None

    @classmethod
    def _at(cls, system: VelocitySystem, deformation: Deformation, order: _Order) -> FactoredCompliance:
        matrix = system.matrix
        turned = np.empty_like(matrix.blocks)
        rotations = deformation.rotations(np.arange(matrix.pattern.node_count))
        turn_matrix(matrix.pattern.indptr, matrix.pattern.indices, matrix.blocks, rotations, turned)
        made = cls(turned, system.fixed.copy())
        made._factor(order)
        return made

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray]) -> FactoredCompliance:
        """Return a compliance from its `arrays`."""
        age, is_inaccurate = (int(v) for v in arrays["state"])
        return cls(
            np.array(arrays["blocks"], np.float64),
            np.array(arrays["fixed"], np.uint8),
            age,
            bool(is_inaccurate),
        )

    def arrays(self) -> dict[str, NDArray]:
        """Return its arrays by name, for a checkpoint."""
        state = np.array([self.age, int(self.is_inaccurate)], np.int64)
        return {"blocks": self.blocks.copy(), "fixed": self.fixed.copy(), "state": state}

    def _factor(self, order: _Order) -> _Columns:
        factor = np.zeros((len(order.row), 36))
        p = order.pattern
        fill_pairs(p.indptr, p.indices, self.blocks, self.fixed, order.place, order.ptr, order.row, factor)
        factor_blocks(order.ptr, order.row, factor)
        self._columns[:] = [_Columns(order, factor, self.fixed)]
        return self._columns[0]

    def with_nodes(
        self, system: VelocitySystem, wanted: NDArray[np.integer], deformation: Deformation
    ) -> tuple[FactoredCompliance, int]:
        """Return a compliance that includes the nodes `wanted`, and the matrix products that it took.

        It is that of the present state if the body has changed much.
        """
        pattern = system.matrix.pattern
        columns = self._columns[0] if self._columns else None
        if columns is None or columns.order.pattern is not pattern:
            columns = self._factor(_Order.of(pattern))
        out = self
        if self._is_outdated(system):
            out = FactoredCompliance._at(system, deformation, columns.order)
            columns = out._columns[0]
        return out, columns.include(np.asarray(wanted, np.int64))

    def _is_outdated(self, system: VelocitySystem) -> bool:
        if not np.array_equal(self.fixed, system.fixed):
            return True
        diagonal = system.matrix.pattern.diagonal
        before = float(self.blocks[diagonal][:, ::4].sum())
        now = float(system.matrix.blocks[diagonal][:, ::4].sum())
        return (self.is_inaccurate and self.age >= MIN_AGE) or abs(now - before) > MAX_TRACE_CHANGE * before

    def matrix(self, deformation: Deformation, nodes: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the responses of some of its nodes in the world's axes [1/kg], shape [3 m, 3 m]."""
        columns = self._columns[0]
        at = columns.places(nodes)
        rotations = deformation.rotations(nodes)
        out = np.empty((3 * len(at), 3 * len(at)))
        turn_blocks(columns.responses, at, at, rotations, rotations, out)
        return out

    @property
    def was_used(self) -> bool:
        """Whether the last solve used it."""
        return True

    def fits(self, system: VelocitySystem) -> bool:
        """Whether it belongs to a body with a matrix of this size."""
        return len(self.blocks) == len(system.matrix.blocks) and system.projections is None

    def aged(self, inaccurate: bool = False) -> FactoredCompliance:
        """Return the compliance after one more solve, in which it may have been inaccurate."""
        return replace(self, age=self.age + 1, is_inaccurate=inaccurate)
