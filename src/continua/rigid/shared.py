"""Pieces of a rigid system that are solved for together with other bodies, instead of by the system itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.contact.sweeps import FREE, LED, begin_small, try_move
from continua.rigid.detect import Touching

if TYPE_CHECKING:
    from continua.rigid.system import RigidSystem

__all__ = ["SharedPieces"]


class SharedPieces:
    """Some pieces for one part of a step.

    Args:
        system: Their system.
        which: Numbers of the pieces; all of them can be moved.

    Attributes:
        place: Place of each piece of the system among these, or -1, shape [n].
        joints: The joints that hold them.
    """

    def __init__(self, system: RigidSystem, which: NDArray[np.int64]) -> None:
        self.system, self.which = system, which
        p = system.pieces
        self.place = np.full(len(p.X), -1, np.int64)
        self.place[which] = np.arange(len(which))
        self._mine = np.zeros(len(p.X), np.int8)
        self._mine[: p.count][~p.moves[: p.count]] = LED
        self._mine[which] = FREE
        self.joints = system.joints.among(self.place >= 0)

    def begin(self, time: float, dt: float) -> tuple[NDArray[np.float64], Touching]:
        """Begin a part of a step of `dt` [s] at `time` [s].

        Returns:
            The velocities [k, 6] that the pieces would have at its end if they touched nothing, and what they touch
            of their own kind and of obstacles, with gaps and levers at the start.
        """
        system, p = self.system, self.system.pieces
        p.refresh()
        p.drive(time, dt)
        g = float(np.linalg.norm(system._surroundings.gravity))
        touching = system.other_detector.find(dt, dt, g * dt * dt, self.place >= 0)
        V = p.V.copy()
        springs = system._springs(self.place >= 0)
        begin_small(
            p.X, p.R, V, p.M, system._accelerations(), touching.AB, touching.C, touching.first, springs[0], springs[1],
            self._mine, dt, 0.0, False,
        )  # fmt: skip
        for pull, row in zip(springs[2], springs[1], strict=True):
            pull._force = row[8:11].copy()
        return V[self.which], touching

    @property
    def inertia(self) -> NDArray[np.float64]:
        """Inertia of the pieces in world axes [kg m2], shape [k, 3, 3]."""
        p = self.system.pieces
        turns = p.R[self.which].reshape(-1, 3, 3)
        return np.einsum("kij,kj,klj->kil", turns, p.J[self.which], turns)

    def trial(
        self, V: NDArray[np.float64], dt: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return where all pieces are after `dt` [s], these with velocities V [k, 6].

        Returns:
            Positions [n, 3], quaternions [n, 4], rotations [n, 9] and velocities [n, 6] (of those that move).
        """
        p = self.system.pieces
        now = p.V.copy()
        now[self.which] = V
        X, Q, R, after = p.X.copy(), p.Q.copy(), p.R.copy(), now.copy()
        try_move(p.X, p.Q, p.R, now, p.M, p.J, self._mine, dt, X, Q, R, after)
        return X, Q, R, after

    def move(
        self,
        V: NDArray[np.float64],
        after: NDArray[np.float64],
        dt: float,
        free: NDArray[np.bool_],
    ) -> None:
        """Move the pieces for `dt` [s] with V [k, 6]; they end with the velocities `after`, turned along.

        Those that are `free` [k] fly along parabolas.
        """
        p, w = self.system.pieces, self.which
        X, Q, R, _ = self.trial(V, dt)
        before, turns = p.R[w].reshape(-1, 3, 3), R[w].reshape(-1, 3, 3)
        momentum = np.einsum("kij,kj,klj,kl->ki", before, p.J[w], before, after[:, 3:])
        p.X[w] = X[w]
        p.X[w[free]] -= 0.5 * dt * dt * self.system._accelerations()[w[free], :3]
        p.Q[w], p.R[w] = Q[w], R[w]
        p.V[w, :3] = after[:, :3]
        p.V[w, 3:] = np.einsum("kij,kj,klj,kl->ki", turns, 1.0 / p.J[w], turns, momentum)

    def save(self) -> tuple[NDArray[np.float64], ...]:
        """Return the state of the pieces and their joints."""
        p, w = self.system.pieces, self.which
        return p.X[w].copy(), p.Q[w].copy(), p.V[w].copy(), self.system.joints.forces.copy()

    def restore(self, state: tuple[NDArray[np.float64], ...]) -> None:
        """Go back to a state from `save`."""
        p, w = self.system.pieces, self.which
        p.X[w], p.Q[w], p.V[w], self.system.joints.forces[:] = state
        p.refresh()
