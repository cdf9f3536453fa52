"""Instances of a rigid system that are solved together with other bodies, instead of by the system itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.rigid_pgs import DYNAMIC, KINEMATIC, begin_substep, trial_pose
from continua.rigid.contact_detection import RigidContacts

if TYPE_CHECKING:
    from continua.rigid.system import RigidSystem

__all__ = ["CoupledSubset"]


class CoupledSubset:
    """Some instances for one substep.

    Args:
        system: Their system.
        instances: Indices of the instances; all of them are dynamic.

    Attributes:
        local_index: Index of each instance of the system in the subset, or -1, shape [n].
        joints: The joints of the subset.
    """

    def __init__(self, system: RigidSystem, instances: NDArray[np.int64]) -> None:
        self.system, self.instances = system, instances
        p = system.rigid_state
        self.local_index = np.full(len(p.X), -1, np.int64)
        self.local_index[instances] = np.arange(len(instances))
        self._role = np.zeros(len(p.X), np.int8)
        self._role[: p.count][~p.is_dynamic[: p.count]] = KINEMATIC
        self._role[instances] = DYNAMIC
        self.joints = system.joints.subset_inside(self.local_index >= 0)

    def begin_substep(self, time: float, dt: float) -> tuple[NDArray[np.float64], RigidContacts]:
        """Begin a substep of `dt` [s] at `time` [s].

        Returns:
            The velocities [k, 6] that the instances would have at its end without contacts, and their contacts with
            rigid bodies and colliders, with gaps and lever arms at the start.
        """
        system, p = self.system, self.system.rigid_state
        p.update_derived()
        p.set_kinematic(time, dt)
        g = float(np.linalg.norm(system.environment.gravity))
        contacts = system.stateless_detector.detect(dt, dt, g * dt * dt, self.local_index >= 0)
        V = p.V.copy()
        springs = system.springs(self.local_index >= 0)
        begin_substep(
            p.X, p.R, V, p.M, system.accelerations(), contacts.pairs, contacts.rows, contacts.first,
            springs[0], springs[1], self._role, dt, 0.0, False,
        )  # fmt: skip
        for pull, row in zip(springs[2], springs[1], strict=True):
            pull.store_force(row[8:11])
        return V[self.instances], contacts

    @property
    def inertia(self) -> NDArray[np.float64]:
        """Inertia of the instances in world axes [kg m2], shape [k, 3, 3]."""
        p = self.system.rigid_state
        rotations = p.R[self.instances].reshape(-1, 3, 3)
        return np.einsum("kij,kj,klj->kil", rotations, p.J[self.instances], rotations)

    def trial(
        self, V: NDArray[np.float64], dt: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the poses of all instances after `dt` [s], those of the subset with velocities V [k, 6].

        Returns:
            Positions [n, 3], quaternions [n, 4], rotations [n, 9] and velocities [n, 6] (of those that move).
        """
        p = self.system.rigid_state
        now = p.V.copy()
        now[self.instances] = V
        X, Q, R, after = p.X.copy(), p.Q.copy(), p.R.copy(), now.copy()
        trial_pose(p.X, p.Q, p.R, now, p.M, p.J, self._role, dt, X, Q, R, after)
        return X, Q, R, after

    def advance(
        self,
        V: NDArray[np.float64],
        end_velocities: NDArray[np.float64],
        dt: float,
        in_flight: NDArray[np.bool_],
    ) -> None:
        """Move the subset for `dt` [s] with V [k, 6]; it ends with `end_velocities`, rotated along.

        Those `in_flight` [k] move along parabolas.
        """
        p, w = self.system.rigid_state, self.instances
        X, Q, R, _ = self.trial(V, dt)
        before, rotations = p.R[w].reshape(-1, 3, 3), R[w].reshape(-1, 3, 3)
        momentum = np.einsum("kij,kj,klj,kl->ki", before, p.J[w], before, end_velocities[:, 3:])
        p.X[w] = X[w]
        p.X[w[in_flight]] -= 0.5 * dt * dt * self.system.accelerations()[w[in_flight], :3]
        p.Q[w], p.R[w] = Q[w], R[w]
        p.V[w, :3] = end_velocities[:, :3]
        p.V[w, 3:] = np.einsum("kij,kj,klj,kl->ki", rotations, 1.0 / p.J[w], rotations, momentum)

    def save(self) -> tuple[NDArray[np.float64], ...]:
        """Return the state of the subset and of the joints."""
        p, w = self.system.rigid_state, self.instances
        return p.X[w].copy(), p.Q[w].copy(), p.V[w].copy(), self.system.joints.forces.copy()

    def restore(self, state: tuple[NDArray[np.float64], ...]) -> None:
        """Restore a state from `save`."""
        p, w = self.system.rigid_state, self.instances
        p.X[w], p.Q[w], p.V[w], self.system.joints.forces[:] = state
        p.update_derived()
