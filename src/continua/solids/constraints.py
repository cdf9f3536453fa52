"""Which nodes may not move freely in a step: pins, driven nodes and locked directions, put together node by node.

Each node has a projector S onto the directions in which it is free: 1 for a free node, 0 for one that is pinned or
driven, 1 - n n^T for one that is locked along n. The solver filters with S (Baraff and Witkin 1998) and leaves the
matrix alone. A second lock m on the same node takes away what is left of its direction, S m; what the node has to do
along it follows from both prescribed values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.solids.handles import Constraint

__all__ = ["Held", "refuse_contradiction"]

_SAME = 1e-6  # part of a direction below which nothing of it is left, and part of the body's size that is no difference
_SIX = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])  # the values of a symmetric matrix that are kept


@dataclass(frozen=True, eq=False)
class _Lock:
    """A locked direction in the order of combination: what it adds to the nodes it still matters for."""

    constraint: Constraint
    nodes: NDArray[np.int32]  # nodes for which something of the direction was left
    rest: NDArray[np.float64]  # the unit vectors along what was left [k, 3]
    length: NDArray[np.float64]  # and how much it was [k]
    known: NDArray[np.int32]  # nodes that are held along the direction already


class Held:
    """What holds the nodes of a body in one step.

    Attributes:
        fixed: 0 for free nodes, 1 for held ones, 2 for nodes held in some directions, shape [n].
        projections: For the last kind the projector onto the free directions (00, 01, 02, 11, 12, 22), shape [n, 6];
            None when there is no such node.
        prescribed: What held components have to be, velocities [m/s] or displacements [m], shape [n, 3].
        any: Whether anything is held, besides a plane body in its plane.

    Args:
        node_count: Number of nodes n.
        size: Size of the body [m].
        plane: The lock that keeps a plane body in its plane, or None.
    """

    def __init__(self, node_count: int, size: float, plane: Constraint | None = None) -> None:
        self._plane = plane
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

    def place(
        self,
        constraints: Sequence[Constraint],
        now: float,
        then: float,
        rest: NDArray[np.float64],
        x: NDArray[np.float64],
        dt: float,
        body: str,
    ) -> None:
        """Prescribe what takes the held components from `x` to where they have to be at time `then`, in `dt` [s].

        Args:
            constraints: All constraints of the body; those whose time is over at time `now` [s] do not act.
            now: Time at the start of the step [s].
            then: Time at its end [s].
            rest: Rest positions [n, 3].
            x: Positions at the start [n, 3].
            dt: Time the way takes [s]; with 1 the prescribed values are displacements.
            body: Name of the body, for messages.
        """
        active = tuple(c for c in constraints if now < c.until)
        if active != self._active:
            self._combine(active)
        for lock in self._locks:
            self.prescribed[lock.nodes] = 0.0
        for constraint in active:
            if constraint.direction is None:
                targets = constraint.targets(then, rest)
                self.prescribed[constraint.nodes] = (targets - x[constraint.nodes]) / dt
        for lock in self._locks:
            self._place_lock(lock, then, rest, x, dt, body)

    def impose(self, values: NDArray[np.float64]) -> None:
        """Set the held components of `values` [n, 3] to what is prescribed."""
        values[self._whole] = self.prescribed[self._whole]
        if len(self._partly):
            free = np.einsum("kij,kj->ki", self._free, values[self._partly])
            values[self._partly] = free + self.prescribed[self._partly]

    def free_part(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `values` [n, 3] without their held components."""
        free = values.copy()
        self.release(free)
        return free

    def release(self, values: NDArray[np.float64]) -> None:
        """Take the held components out of `values` [n, 3]."""
        values[self._whole] = 0.0
        if len(self._partly):
            values[self._partly] = np.einsum("kij,kj->ki", self._free, values[self._partly])

    def loose(self, force: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the direction in which a net `force` moves the body because no node is held along it, or None."""
        held = len(self._whole) * np.eye(3)
        if len(self._partly):
            held += len(self._partly) * np.eye(3) - self._free.sum(axis=0)
        strength, directions = np.linalg.eigh(held)
        free = directions[:, strength < _SAME]
        net = free @ (free.T @ force.sum(axis=0))
        size = float(np.linalg.norm(net))
        return net / size if size > _SAME * np.abs(force).sum() else None

    def _combine(self, active: tuple[Constraint, ...]) -> None:
        """Work out which directions every node has left; only when the constraints are others than before."""
        self._active, self._locks = active, []
        self.any = any(c is not self._plane for c in active)
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
            self.projections = np.ascontiguousarray(free[:, *_SIX])
        self._whole, self._partly = (np.flatnonzero(self.fixed == kind).astype(np.int32) for kind in (1, 2))
        if locks:
            self._free = free[self._partly]

    @staticmethod
    def _lock(constraint: Constraint, free: NDArray[np.float64]) -> _Lock:
        """Take the direction of a constraint from the `free` ones of its nodes."""
        nodes = constraint.nodes
        assert constraint.direction is not None
        left = free[nodes] @ constraint.direction
        length = np.linalg.norm(left, axis=1)
        fresh = length > _SAME
        unit = left[fresh] / length[fresh, None]
        free[nodes[fresh]] -= unit[:, :, None] * unit[:, None, :]
        return _Lock(constraint, nodes[fresh], unit, length[fresh], nodes[~fresh])

    def _place_lock(
        self,
        lock: _Lock,
        then: float,
        rest: NDArray[np.float64],
        x: NDArray[np.float64],
        dt: float,
        body: str,
    ) -> None:
        """Prescribe the component of a lock; along directions that are held already, make sure that both agree."""
        constraint, direction = lock.constraint, lock.constraint.direction
        assert direction is not None
        way = np.zeros(len(rest))
        way[constraint.nodes] = (constraint.targets(then, rest) - x[constraint.nodes]) @ direction / dt
        own = way[lock.nodes] - self.prescribed[lock.nodes] @ direction
        self.prescribed[lock.nodes] += lock.rest * (own / lock.length)[:, None]
        off = dt * np.abs(way[lock.known] - self.prescribed[lock.known] @ direction)
        if len(off) and not off.max() <= _SAME * self._size:
            raise InputError(
                f"node {lock.known[off.argmax()]} of body '{body}' is told to be at two places at t = {then:g} s: "
                "it is locked along a direction and moved along it as well; remove one of the two"
            )


def refuse_contradiction(new: Constraint, others: Sequence[Constraint], now: float, body: str) -> None:
    """Raise InputError if `new` tells a node to move otherwise than one of the `others` that still act does.

    Locks along different directions always go together, and a pin holds what it shares with a lock. A driven node
    may be locked across its way; whether it is, shows when it moves.
    """
    for other in others:
        if new.motion is other.motion or now >= other.until:
            continue
        if new.direction is not None and other.direction is not None:
            if abs(float(new.direction @ other.direction)) < 1.0 - _SAME:
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
