"""The compliance of a body's nodes in contact, kept from step to step.

The columns of A^-1 that belong to nodes in contact say how a unit impulse on one node moves the others. They change
little from step to step in axes that turn with the matter around each node, so they are found once, roughly, and kept.
They are the model with which contact impulses are predicted, never the solution itself: a rough or old column costs
iterations, not accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.delassus_kernels import neighbour_moments, turn_blocks
from continua.linalg import BlockMatrix, BlockPattern
from continua.linalg.krylov.unit_responses import unit_responses
from continua.numerics import rotation_batch
from continua.timestepping.requests import VelocitySystem

__all__ = ["Deformation", "NodeCompliance", "diagonal_compliance", "inverse_blocks"]

COLUMN_RTOL = 0.03
"""Tolerance of columns; their diagonal blocks are then exact to some per cent."""

MAX_UNUSED = 200
"""Solves after which a node that is no longer in contact is forgotten."""

MAX_COLUMN_ITERATIONS = 10
"""Most iterations for a column."""

PATCH_ROWS, PATCH_ROWS_PER_NODE = 500, 30
"""Rows around new nodes that take part in finding their columns, and more for each of the nodes. The motion of rows
farther away is missing in the columns, and is learned from the responses of solves."""

MIN_AGE, MAX_RENEWED = 4, 8
"""Solves after which a column may be found again because the model was inaccurate, and how many at once."""

MAX_TRACE_CHANGE = 0.2
"""Relative change of a node's diagonal block after which its column is found again."""


@dataclass(frozen=True, eq=False)
class Deformation:
    """Where the nodes of a body are, and were at rest.

    Attributes:
        rest: Rest positions [m], shape [n, 3].
        positions: Positions [m], shape [n, 3].
        pattern: The neighbours of nodes, as the pattern of a matrix.
    """

    rest: NDArray[np.float64]
    positions: NDArray[np.float64]
    pattern: BlockPattern

    def rotations(self, nodes: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the rotations since rest of the matter around some nodes, shape [k, 3, 3]."""
        moments = np.zeros((len(nodes), 3, 3))
        neighbour_moments(
            self.pattern.indptr,
            self.pattern.indices,
            np.asarray(nodes, np.int64),
            self.rest,
            self.positions,
            moments,
        )
        return rotation_batch(moments)

    def rigid_motions(self, fixed: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return three translations and three rotations about the mean position, zero in fixed rows, [6, n, 3]."""
        x = self.positions - self.positions.mean(axis=0)
        motions = np.zeros((6, len(x), 3))
        for k in range(3):
            axis = np.zeros(3)
            axis[k] = 1.0
            motions[k] = axis
            motions[3 + k] = np.cross(axis, x)
        motions[:, fixed != 0] = 0.0
        return motions


@dataclass(frozen=True, eq=False)
class NodeCompliance:
    """Responses of some nodes of a body to unit impulses on each other. It never changes; updates return a new one.

    Attributes:
        nodes: The nodes, sorted, shape [k].
        local: Their responses [1/kg], each in the axes of its own node, shape [3 k, 3 k].
        trace: Trace of each node's diagonal block of the matrix A [kg] when its column was found, shape [k].
        unused: Solves since each node was in contact, shape [k].
        age: Solves since each column was found, shape [k].
    """

    nodes: NDArray[np.int64]
    local: NDArray[np.float64]
    trace: NDArray[np.float64]
    unused: NDArray[np.int64]
    age: NDArray[np.int64]

    @classmethod
    def empty(cls) -> NodeCompliance:
        """Return the compliance of no nodes."""
        none = np.zeros(0, np.int64)
        return cls(none, np.zeros((0, 0)), np.zeros(0), none, none)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray]) -> NodeCompliance:
        """Return a compliance from its `arrays`."""
        local, trace = (np.array(arrays[name], np.float64) for name in ("local", "trace"))
        nodes, unused, age = (np.array(arrays[name], np.int64) for name in ("nodes", "unused", "age"))
        return cls(nodes, local, trace, unused, age)

    @property
    def was_used(self) -> bool:
        """Whether the last solve used it; see `aged`."""
        return bool((self.unused == 1).any())

    def fits(self, system: VelocitySystem) -> bool:
        """Whether it may belong to the body of this system."""
        return not len(self.nodes) or int(self.nodes[-1]) < len(system.rhs)

    def arrays(self) -> dict[str, NDArray]:
        """Return its arrays by name, for a checkpoint; none if it is empty."""
        return {f.name: getattr(self, f.name).copy() for f in fields(self)} if len(self.nodes) else {}

    def matrix(self, deformation: Deformation, nodes: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the responses of some of its nodes in the world's axes [1/kg], shape [3 m, 3 m]."""
        at = np.searchsorted(self.nodes, nodes)
        rotations = deformation.rotations(nodes)
        out = np.empty((3 * len(at), 3 * len(at)))
        turn_blocks(self.local, at, at, rotations, rotations, out)
        return out

    def with_matrix(
        self, deformation: Deformation, nodes: NDArray[np.integer], matrix: NDArray[np.float64]
    ) -> NodeCompliance:
        """Return a compliance in which the responses of some nodes are those of `matrix`, see `matrix()`."""
        at = np.searchsorted(self.nodes, nodes)
        axes = np.ascontiguousarray(deformation.rotations(nodes).transpose(0, 2, 1))
        turned = np.empty_like(matrix)
        order = np.arange(len(at))
        turn_blocks(matrix, order, order, axes, axes, turned)
        rows = (3 * at[:, None] + np.arange(3)).ravel()
        local = self.local.copy()
        local[np.ix_(rows, rows)] = turned
        return replace(self, local=local)

    def with_nodes(
        self, system: VelocitySystem, wanted: NDArray[np.integer], deformation: Deformation
    ) -> tuple[NodeCompliance, int]:
        """Return a compliance that includes the nodes `wanted`, and the matrix products that it took.

        Columns of nodes whose diagonal block has changed are found again.
        """
        matrix = system.matrix
        diagonal = matrix.blocks[matrix.pattern.diagonal[self.nodes]][:, ::4].sum(axis=1)
        used = np.isin(self.nodes, wanted)
        keep = used | (self.unused < MAX_UNUSED)
        keep &= np.abs(diagonal - self.trace) <= MAX_TRACE_CHANGE * self.trace
        old = self.nodes[keep]
        new = np.setdiff1d(wanted, old).astype(np.int64)
        unused = np.where(used, 0, self.unused)
        if not len(new) and keep.all():
            return replace(self, unused=unused), 0
        nodes = np.concatenate([old, new])
        modes = deformation.rigid_motions(system.fixed) if len(new) else None
        columns, products = unit_responses(
            matrix, system.fixed, system.projections, new, nodes, COLUMN_RTOL, MAX_COLUMN_ITERATIONS, modes,
            PATCH_ROWS + PATCH_ROWS_PER_NODE * len(new),
        )  # fmt: skip
        k, m = 3 * len(old), 3 * len(nodes)
        axes = np.ascontiguousarray(deformation.rotations(nodes).transpose(0, 2, 1))
        turned = np.empty_like(columns)
        turn_blocks(columns, np.arange(len(nodes)), np.arange(len(new)), axes, axes[len(old) :], turned)
        local = np.zeros((m, m))
        at = np.flatnonzero(np.repeat(keep, 3))
        local[:k, :k] = self.local[np.ix_(at, at)]
        local[:k, k:] = turned[:k]
        local[k:, :k] = turned[:k].T
        local[k:, k:] = 0.5 * (turned[k:] + turned[k:].T)
        order = np.argsort(nodes)
        rows = (3 * order[:, None] + np.arange(3)).ravel()
        trace = matrix.blocks[matrix.pattern.diagonal[new]][:, ::4].sum(axis=1)
        found = NodeCompliance(
            nodes[order],
            np.ascontiguousarray(local[np.ix_(rows, rows)]),
            np.concatenate([self.trace[keep], trace])[order],
            np.concatenate([unused[keep], np.zeros(len(new), np.int64)])[order],
            np.concatenate([self.age[keep], np.zeros(len(new), np.int64)])[order],
        )
        return found, products

    def aged(self, inaccurate: bool = False) -> NodeCompliance:
        """Return the compliance after one more solve; if it was `inaccurate`, the oldest columns are found again."""
        trace = self.trace
        if inaccurate:
            used = np.flatnonzero((self.unused == 0) & (self.age >= MIN_AGE))
            oldest = used[np.argsort(-self.age[used], kind="stable")[:MAX_RENEWED]]
            trace = trace.copy()
            trace[oldest] = 0.0
        return replace(self, trace=trace, unused=self.unused + 1, age=self.age + 1)


def inverse_blocks(matrix: BlockMatrix, fixed: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the inverse of each block of a matrix that couples no nodes, shape [n, 3, 3]; zero in fixed rows."""
    blocks = matrix.blocks[matrix.pattern.diagonal].reshape(-1, 3, 3)
    out = np.zeros_like(blocks)
    free = fixed != 1
    out[free] = np.linalg.inv(blocks[free])
    return out


def diagonal_compliance(inverse: NDArray[np.float64], nodes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the compliance [3 k, 3 k] of nodes that are not coupled, from the inverses of all blocks."""
    count = len(nodes)
    out = np.zeros((count, 3, count, 3))
    out[np.arange(count), :, np.arange(count), :] = inverse[nodes]
    return out.reshape(3 * count, 3 * count)
