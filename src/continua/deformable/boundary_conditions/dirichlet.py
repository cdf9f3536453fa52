"""Dirichlet conditions of a step: pins, driven nodes and locked directions, combined per node.

Each node has a projector S onto the directions in which it is free: 1 for a free node, 0 for one that is pinned or
driven, 1 - n n^T for one that is locked along n. The solver filters with S (Baraff and Witkin 1998) and leaves the
matrix unchanged. A second lock m on the same node removes the free part of its direction, S m; the value prescribed
along it follows from both locks.

Constraints prescribe values at nodes, and the unknowns of order 2 and 3 are Bernstein coefficients. The coefficient of
a node on an edge or face follows from the values at the nodes of that edge or face. Where all of these are prescribed,
in every direction in which the node is, its coefficient is prescribed. Otherwise its value takes the place of the
coefficient as the unknown (`BasisChange`), and that is prescribed. See docs/theory/loads.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.deformable.boundary_conditions.constraints import Constraint
from continua.deformable.elements import Elements
from continua.errors import InputError
from continua.linalg import BlockMatrix
from continua.linalg.basis_change import BasisChange

__all__ = ["DirichletSet", "check_no_conflict"]

_TOLERANCE = 1e-6  # of a unit direction, and of the body's size
_UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])  # upper triangle of a symmetric matrix


@dataclass(frozen=True, eq=False)
class _Lock:
    """A locked direction, in the order of combination, and the nodes it still constrains."""

    constraint: Constraint
    nodes: NDArray[np.int32]  # nodes that were free along some part of the direction
    free_direction: NDArray[np.float64]  # unit vectors along that part [k, 3]
    length: NDArray[np.float64]  # its length [k]
    redundant: NDArray[np.int32]  # nodes that were fixed along the direction already


class DirichletSet:
    """The Dirichlet conditions of a body in one step.

    Attributes:
        fixed: 0 for free nodes, 1 for fixed ones, 2 for nodes fixed in some directions, shape [n].
        projections: For the last kind the projector onto the free directions (00, 01, 02, 11, 12, 22), shape [n, 6];
            None when there is no such node.
        prescribed: Unknowns of the fixed components, velocities [m/s] or displacements [m], shape [n, 3].
        basis: The change of unknowns from coefficients, or None where the unknowns are the coefficients. `fixed`,
            `projections` and `prescribed` are about the unknowns.
        any: Whether anything is fixed, apart from a plane body in its plane.
        plane: The lock that keeps a plane body in its plane, or None.

    Args:
        elements: The body's elements.
        size: Size of the body [m].
        plane: The lock that keeps a plane body in its plane, or None.
    """

    def __init__(self, elements: Elements, size: float, plane: Constraint | None = None) -> None:
        node_count = elements.node_count
        self.plane = plane
        self.basis: BasisChange | None = None
        self.fixed = np.zeros(node_count, np.uint8)
        self.projections: NDArray[np.float64] | None = None
        self.prescribed = np.zeros((node_count, 3))
        self.any = False
        self._size = size
        self._maps = elements.nodal_maps
        # prescribed values at the nodes; the same array as `prescribed` where the coefficients are these values
        self._values = self.prescribed if self._maps is None else np.zeros((node_count, 3))
        self._held: NDArray[np.int32] = np.zeros(0, np.int32)  # nodes with fixed components
        self._held_values = self._held_unknowns = sparse.csr_array((0, node_count))
        self._active: tuple[Constraint, ...] = ()
        self._locks: list[_Lock] = []
        self._partly: NDArray[np.int32] = np.zeros(0, np.int32)
        self._whole: NDArray[np.int32] = np.zeros(0, np.int32)
        self._free = np.zeros((0, 3, 3))  # the projectors of the nodes in _partly

    def update(
        self,
        constraints: Sequence[Constraint],
        now: float,
        then: float,
        rest: NDArray[np.float64],
        x: NDArray[np.float64],
        dt: float,
        body: str,
    ) -> None:
        """Prescribe values that take the fixed components from `x` to their targets at time `then` in `dt` [s].

        Args:
            constraints: All constraints of the body; those that ended before `now` [s] do not act.
            now: Time at the start of the step [s].
            then: Time at its end [s].
            rest: Rest positions [n, 3].
            x: Coefficients at the start [n, 3].
            dt: Duration of the step [s]; with 1 the prescribed values are displacements.
            body: Name of the body, for messages.
        """
        self.combine(constraints, now)
        at = x
        if self._maps is not None:
            at = np.zeros_like(x)
            at[self._held] = self._held_values @ x
        for lock in self._locks:
            self._values[lock.nodes] = 0.0
        for constraint in self._active:
            if constraint.direction is None:
                targets = constraint.targets(then, rest)
                self._values[constraint.nodes] = (targets - at[constraint.nodes]) / dt
        for lock in self._locks:
            self._update_lock(lock, then, rest, at, dt, body)
        if self._maps is not None:
            self.prescribed[self._held] = self._held_unknowns @ self._values
            self._zero_free(self.prescribed)

    def combine(self, constraints: Sequence[Constraint], now: float) -> None:
        """Find the fixed components under the constraints that act at time `now` [s]."""
        active = tuple(c for c in constraints if now < c.until)
        if active != self._active:
            self._combine(active)

    def project_rows(self, nodes: NDArray[np.intp], matrices: NDArray[np.float64]) -> None:
        """Remove the fixed components, in place, from matrices [k, 3, a] that map to coefficients of velocities.

        The nodes [k] are all those of some pieces of the body.
        """
        every = np.zeros((len(self.fixed), *matrices.shape[1:]))
        every[nodes] = matrices
        if self.basis is not None:
            every = self.basis.unknowns(every)
        every[self._whole] = 0.0
        if len(self._partly):
            every[self._partly] = np.einsum("kij,kja->kia", self._free, every[self._partly])
        if self.basis is not None:
            every = self.basis.coefficients(every)
        matrices[:] = every[nodes]

    def apply(self, coefficients: NDArray[np.float64]) -> None:
        """Set the fixed components of a field [n, 3] to the prescribed ones, in place."""
        values = self.unknowns(coefficients)
        values[self._whole] = self.prescribed[self._whole]
        if len(self._partly):
            free = np.einsum("kij,kj->ki", self._free, values[self._partly])
            values[self._partly] = free + self.prescribed[self._partly]
        self.set_coefficients(values, coefficients)

    def zero_fixed(self, coefficients: NDArray[np.float64]) -> None:
        """Set the fixed components of a field [n, 3] to zero, in place."""
        values = self.unknowns(coefficients)
        self.zero_unknowns(values)
        self.set_coefficients(values, coefficients)

    def project_free(self, forces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return forces on the unknowns, with zeros in fixed components, of forces on the coefficients [n, 3]."""
        free = forces.copy() if self.basis is None else self.basis.loads(forces)
        self.zero_unknowns(free)
        return free

    def unknowns(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the unknowns of a field [n, 3]: the same array, if they are the coefficients."""
        return coefficients if self.basis is None else self.basis.unknowns(coefficients)

    def set_coefficients(self, unknowns: NDArray[np.float64], coefficients: NDArray[np.float64]) -> None:
        """Set the coefficients [n, 3] of a field from `unknowns`, which may be the same array if they are the same."""
        if unknowns is not coefficients:
            coefficients[:] = unknowns if self.basis is None else self.basis.coefficients(unknowns)

    def loads(self, forces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the forces on the unknowns of forces on the coefficients [n, 3]; may be the same array."""
        return forces if self.basis is None else self.basis.loads(forces)

    def matrix(self, matrix: BlockMatrix) -> BlockMatrix:
        """Return the matrix of a system in the unknowns; may be the same one."""
        return matrix if self.basis is None else self.basis.matrix(matrix)

    def zero_unknowns(self, values: NDArray[np.float64]) -> None:
        """Set the fixed components of unknowns or of forces on them to zero."""
        values[self._whole] = 0.0
        if len(self._partly):
            values[self._partly] = np.einsum("kij,kj->ki", self._free, values[self._partly])

    def _zero_free(self, values: NDArray[np.float64]) -> None:
        """Set the free components of unknowns at partly fixed nodes to zero."""
        if len(self._partly):
            values[self._partly] -= np.einsum("kij,kj->ki", self._free, values[self._partly])

    def unconstrained_direction(self, force: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the direction in which a net `force` translates the body, because nothing is fixed there, or None."""
        fixed = len(self._whole) * np.eye(3)
        if len(self._partly):
            fixed += len(self._partly) * np.eye(3) - self._free.sum(axis=0)
        strength, directions = np.linalg.eigh(fixed)
        free = directions[:, strength < _TOLERANCE]
        net = free @ (free.T @ force.sum(axis=0))
        size = float(np.linalg.norm(net))
        return net / size if size > _TOLERANCE * np.abs(force).sum() else None

    def _combine(self, active: tuple[Constraint, ...]) -> None:
        """Find the free directions of every node; called only when the set of constraints has changed."""
        self._active, self._locks = active, []
        self.any = any(c is not self.plane for c in active)
        self.fixed[:] = 0
        self.projections = None
        for constraint in active:
            if constraint.direction is None:
                self.fixed[constraint.nodes] = 1
        locks = [c for c in active if c.direction is not None]
        if locks:
            free = np.tile(np.eye(3), (len(self.fixed), 1, 1))
            free[self.fixed == 1] = 0.0
            for constraint in locks:
                self._locks.append(self._lock(constraint, free))
            left = np.einsum("nii->n", free)
            self.fixed[left < 2.5] = 2
            self.fixed[left < 0.5] = 1
            self.projections = np.ascontiguousarray(free[:, *_UPPER])
        self._whole, self._partly = (np.flatnonzero(self.fixed == kind).astype(np.int32) for kind in (1, 2))
        if locks:
            self._free = free[self._partly]
        if self._maps is not None:
            self._choose_unknowns(*self._maps)

    def _choose_unknowns(self, to_values: sparse.csr_array, to_coefficients: sparse.csr_array) -> None:
        """Find the nodes whose values have to be unknowns, and the unknowns that the prescribed values give."""
        held = self._held = np.flatnonzero(self.fixed).astype(np.int32)
        self._held_values = to_values[held]
        self._held_unknowns = to_coefficients[held]
        follows = np.repeat(np.arange(len(held)), np.diff(self._held_unknowns.indptr))
        node, other = held[follows], self._held_unknowns.indices
        determined = self.fixed[other] == 1
        locked = np.flatnonzero((self.fixed[node] == 2) & (self.fixed[other] == 2))
        if len(locked):  # the other node has to be fixed in all directions in which this one is
            free = np.zeros((len(self.fixed), 3, 3))
            free[self._partly] = self._free
            loose = np.einsum("kij,kjl->kil", np.eye(3) - free[node[locked]], free[other[locked]])
            determined[locked] = np.abs(loose).max(axis=(1, 2)) < _TOLERANCE
        determined |= node == other
        hanging = np.unique(node[~determined]).astype(np.int32)
        self.basis = BasisChange(hanging, to_values[hanging]) if len(hanging) else None
        if len(hanging):
            keep, own = np.ones(len(held)), np.searchsorted(held, hanging)
            keep[own] = 0.0
            shape = self._held_unknowns.shape
            same = sparse.csr_array((np.ones(len(own)), (own, hanging)), shape=shape)
            self._held_unknowns = sparse.csr_array(sparse.diags_array(keep) @ self._held_unknowns + same)

    @staticmethod
    def _lock(constraint: Constraint, free: NDArray[np.float64]) -> _Lock:
        """Remove the direction of a constraint from the `free` projectors of its nodes."""
        nodes = constraint.nodes
        assert constraint.direction is not None
        left = free[nodes] @ constraint.direction
        length = np.linalg.norm(left, axis=1)
        fresh = length > _TOLERANCE
        unit = left[fresh] / length[fresh, None]
        free[nodes[fresh]] -= unit[:, :, None] * unit[:, None, :]
        return _Lock(constraint, nodes[fresh], unit, length[fresh], nodes[~fresh])

    def _update_lock(
        self,
        lock: _Lock,
        then: float,
        rest: NDArray[np.float64],
        at: NDArray[np.float64],
        dt: float,
        body: str,
    ) -> None:
        """Prescribe the component of a lock; where its direction is fixed already, check that both agree."""
        constraint, direction = lock.constraint, lock.constraint.direction
        assert direction is not None
        target = np.zeros(len(rest))
        target[constraint.nodes] = (constraint.targets(then, rest) - at[constraint.nodes]) @ direction / dt
        own = target[lock.nodes] - self._values[lock.nodes] @ direction
        self._values[lock.nodes] += lock.free_direction * (own / lock.length)[:, None]
        off = dt * np.abs(target[lock.redundant] - self._values[lock.redundant] @ direction)
        if len(off) and not off.max() <= _TOLERANCE * self._size:
            raise InputError(
                f"node {lock.redundant[off.argmax()]} of body '{body}' has two contradicting positions "
                f"at t = {then:g} s: it is locked along a direction and moved along it as well; remove one of the two"
            )


def check_no_conflict(new: Constraint, others: Sequence[Constraint], now: float, body: str) -> None:
    """Raise InputError if `new` contradicts one of the `others` that still act.

    Locks along different directions are always compatible, and a pin wins over a lock on the same node. A driven node
    may be locked across its path; a contradiction shows when it moves.
    """
    for other in others:
        if new.motion is other.motion or now >= other.until:
            continue
        if new.direction is not None and other.direction is not None:
            if abs(float(new.direction @ other.direction)) < 1.0 - _TOLERANCE:
                continue
        elif any(c.direction is not None and c.motion is None for c in (new, other)):
            continue
        shared = np.intersect1d(new.nodes, other.nodes)
        if len(shared):
            whose = f"body '{body}'" if body else "the body"
            how = "pinned and driven" if None in (new.motion, other.motion) else "driven in two ways"
            raise InputError(
                f"node {shared[0]} of {whose} would be {how} at once; remove the first constraint, "
                "or choose other nodes"
            )
