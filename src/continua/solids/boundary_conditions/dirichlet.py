"""Dirichlet conditions of a step: pins, driven nodes and locked directions, combined per node.

Each node has a projector S onto the directions in which it is free: 1 for a free node, 0 for one that is pinned or
driven, 1 - n n^T for one that is locked along n. The solver filters with S (Baraff and Witkin 1998) and leaves the
matrix unchanged. A second lock m on the same node removes the free part of its direction, S m; the value prescribed
along it follows from both locks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.solids.boundary_conditions.constraints import Constraint

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
        prescribed: Values of the fixed components, velocities [m/s] or displacements [m], shape [n, 3].
        any: Whether anything is fixed, apart from a plane body in its plane.
        plane: The lock that keeps a plane body in its plane, or None.

    Args:
        node_count: Number of nodes n.
        size: Size of the body [m].
        plane: The lock that keeps a plane body in its plane, or None.
    """

    def __init__(self, node_count: int, size: float, plane: Constraint | None = None) -> None:
        self.plane = plane
        self.fixed = np.zeros(node_count, np.uint8)
        self.projections: NDArray[np.float64] | None = None
        self.prescribed = np.zeros((node_count, 3))
        self.any = False
        self._size = size
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
            x: Positions at the start [n, 3].
            dt: Duration of the step [s]; with 1 the prescribed values are displacements.
            body: Name of the body, for messages.
        """
        self.combine(constraints, now)
        for lock in self._locks:
            self.prescribed[lock.nodes] = 0.0
        for constraint in self._active:
            if constraint.direction is None:
                targets = constraint.targets(then, rest)
                self.prescribed[constraint.nodes] = (targets - x[constraint.nodes]) / dt
        for lock in self._locks:
            self._update_lock(lock, then, rest, x, dt, body)

    def combine(self, constraints: Sequence[Constraint], now: float) -> None:
        """Find the fixed components under the constraints that act at time `now` [s]."""
        active = tuple(c for c in constraints if now < c.until)
        if active != self._active:
            self._combine(active)

    def project_rows(self, nodes: NDArray[np.intp], matrices: NDArray[np.float64]) -> None:
        """Remove the fixed components, in place, from matrices [k, 3, ...] that map to velocities of nodes [k]."""
        matrices[self.fixed[nodes] == 1] = 0.0
        if len(self._partly):
            free = np.tile(np.eye(3), (len(self.fixed), 1, 1))
            free[self._partly] = self._free
            partly = np.flatnonzero(self.fixed[nodes] == 2)
            matrices[partly] = np.einsum("kij,kja->kia", free[nodes[partly]], matrices[partly])

    def apply(self, values: NDArray[np.float64]) -> None:
        """Set the fixed components of `values` [n, 3] to the prescribed values."""
        values[self._whole] = self.prescribed[self._whole]
        if len(self._partly):
            free = np.einsum("kij,kj->ki", self._free, values[self._partly])
            values[self._partly] = free + self.prescribed[self._partly]

    def project_free(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `values` [n, 3] with their fixed components set to zero."""
        free = values.copy()
        self.zero_fixed(free)
        return free

    def zero_fixed(self, values: NDArray[np.float64]) -> None:
        """Set the fixed components of `values` [n, 3] to zero, in place."""
        values[self._whole] = 0.0
        if len(self._partly):
            values[self._partly] = np.einsum("kij,kj->ki", self._free, values[self._partly])

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
        x: NDArray[np.float64],
        dt: float,
        body: str,
    ) -> None:
        """Prescribe the component of a lock; where its direction is fixed already, check that both agree."""
        constraint, direction = lock.constraint, lock.constraint.direction
        assert direction is not None
        target = np.zeros(len(rest))
        target[constraint.nodes] = (constraint.targets(then, rest) - x[constraint.nodes]) @ direction / dt
        own = target[lock.nodes] - self.prescribed[lock.nodes] @ direction
        self.prescribed[lock.nodes] += lock.free_direction * (own / lock.length)[:, None]
        off = dt * np.abs(target[lock.redundant] - self.prescribed[lock.redundant] @ direction)
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
