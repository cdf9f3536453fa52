"""All rigid bodies of a world, advanced together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver import Contact
from continua.contact_solver.rigid_contact_layout import GAP, IMPULSE, RESTITUTION
from continua.contact_solver.rigid_direct import ROW, solve_island, store_impulses, write_contact_rows
from continua.contact_solver.rigid_pgs import (
    DYNAMIC,
    EXCLUDED,
    JOINED,
    KINEMATIC,
    begin_substep,
    end_substep,
    pgs_substeps,
    trial_pose,
)
from continua.environment import Environment
from continua.errors import DivergedError
from continua.frames import StepReport
from continua.geometry import Shape
from continua.numerics.timers import timed
from continua.rigid.body import RigidInstances
from continua.rigid.contact_detection import RigidContactDetector, RigidContacts
from continua.rigid.contact_forces import ImpulseAccumulator
from continua.rigid.islands import DirectIslands, select_direct_islands
from continua.rigid.joint_rows import JointRows
from continua.rigid.joints import Joint, Motor
from continua.rigid.pull import RigidPull
from continua.rigid.rigid_state import RigidState

__all__ = ["RigidSystem"]

_PGS_SUBSTEP = 1.25e-3  # s: wanted length of a substep of Gauss-Seidel
_DIRECT_SUBSTEP = 2.5e-3  # s: that of a direct solve
_SWEEPS, _REST_SWEEPS = 2, 8  # per substep; towers at rest sway unless forces are well converged
_REST_SPEED_FACTOR = 3.0  # speeds that gravity adds in a step below which a pile counts as at rest
_CORRECTION_RATE = 0.2  # fraction of an overlap that is removed in a substep
_MAX_CORRECTION_SPEED = 2.0  # m/s: largest speed with which overlaps are removed
_MAX_TRAVEL_RADII = 1.0  # smallest radii that an instance may move before contacts are detected again
_PENALTY = 1e8  # penalty of a row in a direct solve relative to its effective mass
_SPEED_TOLERANCE = 1e-10  # m/s: residual of a direct solve
_MAX_SOLVES = 40
_MAX_JOINT_CORRECTIONS = 6  # corrections of joints for their rotation during a substep
_JOINT_TOLERANCE = 1e-10  # m or rad

Springs = tuple[NDArray[np.int32], NDArray[np.float64], list[RigidPull]]
"""Instances that springs act on, the springs [s, 11] (see `rigid_pgs.pgs_substeps`), and their pulls."""


class RigidSystem:
    """The rigid bodies of a world with the colliders and joints.

    Args:
        bodies: The rigid bodies.
        colliders: The colliders.
        contact: Contact options.
        environment: Gravity and time.
        joints: Joints and motors of the bodies.
        collider_names: Names of the colliders, for the pairs of `contact`.

    Attributes:
        rigid_state: Poses, velocities, masses and shapes of all instances.
        joints: The joints as constraint rows.
        stateless_detector: Detects contacts without warm starting, for instances that are solved elsewhere.
        contacts: The contacts of the last step, or None.
    """

    def __init__(
        self,
        bodies: Sequence[RigidInstances],
        colliders: Sequence[Shape],
        contact: Contact,
        environment: Environment,
        joints: Sequence[Joint | Motor] = (),
        collider_names: Sequence[str] = (),
    ) -> None:
        self.environment = environment
        self.rigid_state = RigidState(bodies, colliders)
        names = [body.name for body in bodies] + (list(collider_names) or [""] * len(colliders))
        self.joints = JointRows(joints, self.rigid_state)
        excluded = self.joints.excluded_pairs
        self._detector = RigidContactDetector(self.rigid_state, contact, names, excluded)
        self.stateless_detector = RigidContactDetector(self.rigid_state, contact, names, excluded)
        self._already_solved: NDArray[np.bool_] | None = None
        self._active_joints = self.joints
        n = len(self.rigid_state.X)
        self._in_flight = np.zeros(n, np.bool_)
        self._correction = np.zeros_like(self.rigid_state.V)  # velocities that remove overlaps
        self._trial = (np.zeros((n, 3)), np.zeros((n, 4)), np.zeros((n, 9)), np.zeros((n, 6)))
        self._direct: DirectIslands | None = None
        self.contacts: RigidContacts | None = None
        self._impulses = ImpulseAccumulator()

    # --- one step -----------------------------------------------------------------------------------------

    def step(self, dt: float, already_solved: NDArray[np.bool_] | None = None) -> tuple[StepReport, ...]:
        """Advance all rigid bodies by `dt` [s] and return a report for each.

        Instances that are `already_solved` [n] were moved together with other bodies that they touch. If instances move
        far compared with their own size, the step is divided, and contacts are detected again in each part.
        DivergedError is raised if velocities are no longer finite.
        """
        start = perf_counter()
        self._already_solved = already_solved
        self._impulses.clear()
        self._active_joints = (
            self.joints if already_solved is None else self.joints.subset_outside(already_solved)
        )
        p = self.rigid_state
        before = (p.X.copy(), p.Q.copy(), p.V.copy())
        try:
            substeps = self._advance(dt)
            if not np.isfinite(p.V).all() or not np.isfinite(p.X).all():
                raise DivergedError(
                    "the rigid bodies move without bound; shorten dt", step=self.environment.step + 1
                )
        except Exception:
            p.X[:], p.Q[:], p.V[:] = before
            raise
        return self._reports(dt, substeps, perf_counter() - start)

    def _advance(self, dt: float) -> int:
        """Advance by `dt` [s] and return the number of substeps."""
        p = self.rigid_state
        p.update_derived()
        travel = (
            np.sqrt((p.V[: p.count, :3] ** 2).sum(axis=1))
            * dt
            / (_MAX_TRAVEL_RADII * p.min_radius[: p.count])
        )
        if self._already_solved is not None:
            travel = travel[~self._already_solved[: p.count]]
        parts = int(min(8, max(1, ceil(travel.max(initial=0.0) * (1.0 - 1e-9)))))
        substeps = 0
        for part in range(parts):
            substeps += self._advance_part(self.environment.time + part * dt / parts, dt / parts)
        p.set_kinematic(self.environment.time + dt, 0.0)
        return substeps

    def _advance_part(self, time: float, dt: float) -> int:
        """Detect contacts once and advance by `dt` [s]; return the number of substeps."""
        p = self.rigid_state
        p.set_kinematic(time, dt)
        substeps, direct_substeps = (max(2, ceil(dt / h - 1e-9)) for h in (_PGS_SUBSTEP, _DIRECT_SUBSTEP))
        direct_substeps = min(256, max(direct_substeps, ceil(dt * self._active_joints.max_rate())))
        h, g = dt / direct_substeps, float(np.linalg.norm(self.environment.gravity))
        own = None if self._already_solved is None else ~self._already_solved
        dynamic = p.is_dynamic if own is None else p.is_dynamic & own
        contacts = self._detector.detect(dt, h, g * dt * dt, own)
        self._direct = select_direct_islands(
            dynamic, contacts.pairs[contacts.first[:-1]], self._active_joints.linked_pairs, self._direct
        )
        A, springs = self.accelerations(), self.springs(own)
        role = np.where(dynamic, DYNAMIC, np.where(p.is_dynamic, EXCLUDED, KINEMATIC)).astype(np.int8)
        is_direct: NDArray = np.zeros(len(contacts), np.bool_)
        if self._direct is not None:
            inside = self._direct.node >= 0
            is_direct = np.asarray(inside[contacts.pairs].any(axis=1))
            direct_role = np.where(inside, DYNAMIC, EXCLUDED).astype(np.int8)
            self._solve_direct(contacts, is_direct, A, springs, direct_role, h, direct_substeps)
            role[inside] = EXCLUDED
        if (role == DYNAMIC).any():
            if self._direct is not None:
                p.set_kinematic(time, dt)  # back to the start of the part
            self._solve_pgs(contacts, ~is_direct, A, springs, role, dt / substeps, substeps, direct_substeps)
        for pull, row in zip(springs[2], springs[1], strict=True):
            pull.store_force(row[8:11])
        self._impulses.add_contacts(contacts, p.X)
        self._detector.store_warm_start(contacts, h)
        self.contacts = contacts
        return substeps

    @timed("contacts and joints")
    def _solve_pgs(
        self, contacts: RigidContacts, which: NDArray, A: NDArray, springs: Springs, role: NDArray, h: float,
        substeps: int, direct_substeps: int,
    ) -> None:  # fmt: skip
        p = self.rigid_state
        AB, C, first = _subset(contacts, which)
        # warm starts hold the impulses of a direct solve's substeps
        C[:, IMPULSE : IMPULSE + 3] *= direct_substeps / substeps
        rest_speed = 4.0 * h * float(np.linalg.norm(self.environment.gravity))
        has_restitution = bool((C[:, RESTITUTION] > 0.0).any())
        square = float((p.V[role == DYNAMIC, :3] ** 2).sum(axis=1).mean())
        at_rest = square < (0.25 * _REST_SPEED_FACTOR * rest_speed * substeps) ** 2
        pgs_substeps(
            p.X, p.Q, p.R, p.V, self._correction, p.M, p.J, A, AB, C, first, springs[0], springs[1], role, h,
            substeps, _REST_SWEEPS if at_rest else _SWEEPS, _CORRECTION_RATE, _MAX_CORRECTION_SPEED, rest_speed,
            has_restitution, self._in_flight,
        )  # fmt: skip
        C[:, IMPULSE : IMPULSE + 3] *= substeps / direct_substeps
        if not which.all():
            contacts.rows[which] = C

    @timed("contacts and joints")
    def _solve_direct(
        self,
        contacts: RigidContacts,
        which: NDArray,
        A: NDArray,
        springs: Springs,
        role: NDArray,
        h: float,
        substeps: int,
    ) -> None:
        p, d = self.rigid_state, self._direct
        assert d is not None
        joints = self._active_joints
        jointed = joints.jointed_instances
        role[jointed[role[jointed] == DYNAMIC]] = JOINED
        role[~p.is_dynamic] = KINEMATIC
        AB, C, first = _subset(contacts, which)
        numbers = np.arange(len(C))
        count = 3 * len(C) + joints.row_count
        J, ab, row = np.zeros((count, 12)), np.zeros((count, 2), np.int32), np.zeros((count, ROW))
        rest_speed = 4.0 * h * float(np.linalg.norm(self.environment.gravity))
        has_restitution = bool((C[:, RESTITUTION] > 0.0).any())
        for _ in range(substeps):
            begin_substep(
                p.X, p.R, p.V, p.M, A, AB, C, first, springs[0], springs[1], role, h, rest_speed, has_restitution
            )  # fmt: skip
            write_contact_rows(C, AB, numbers, h, ab, J, row)
            joints.write(p.X, p.R, h, ab, J, row, 3 * len(C))
            V0 = p.V.copy()
            self._solve_rows(V0, p.V, J, ab, row, len(C), True)
            self._correct_joints(V0, J, ab, row, len(C), role, h)
            store_impulses(C, numbers, row)
            joints.store_forces(row, 3 * len(C), h)
            self._correct_overlaps(C, J, ab, row, h)
            end_substep(p.X, p.Q, p.R, p.V, self._correction, p.M, p.J, A, AB, C, role, h, self._in_flight)
        if not which.all():
            contacts.rows[which] = C

    def _solve_rows(
        self,
        V0: NDArray,
        V: NDArray,
        J: NDArray,
        ab: NDArray,
        row: NDArray,
        contact_count: int,
        refactor: bool,
    ) -> int:
        p, d = self.rigid_state, self._direct
        assert d is not None
        return int(
            solve_island(
                V0,
                V,
                p.R,
                p.M,
                p.J,
                d.node,
                d.instances,
                d.ptr,
                d.pattern,
                d.L,
                J,
                ab,
                row,
                contact_count,
                _PENALTY,
                _SPEED_TOLERANCE,
                _MAX_SOLVES,
                refactor,
                d.x,
            )
        )

    def _correct_joints(
        self, V0: NDArray, J: NDArray, ab: NDArray, row: NDArray, contact_count: int, role: NDArray, h: float
    ) -> None:
        """Correct the velocities until the joints fit at the end of the substep, not only to first order (SHAKE)."""
        p = self.rigid_state
        if not self._active_joints.row_count:
            return
        for _ in range(_MAX_JOINT_CORRECTIONS):
            X, Q, R, V = self._trial
            trial_pose(p.X, p.Q, p.R, p.V, p.M, p.J, role, h, X, Q, R, V)
            old_row, old_V = row.copy(), p.V.copy()
            if self._active_joints.correct(X, R, h, row, 3 * contact_count) < _JOINT_TOLERANCE:
                return
            self._solve_rows(V0, p.V, J, ab, row, contact_count, False)
            # where a loop locks, a tiny error would need a huge speed: correct only a part of it now
            change, limit = np.abs(p.V - old_V).max(), 0.1 * np.abs(old_V).max() + 10.0 * h
            if change > limit:
                row[:] = old_row + (row - old_row) * (limit / change)
                p.V[:] = old_V + (p.V - old_V) * (limit / change)

    def _correct_overlaps(self, C: NDArray, J: NDArray, ab: NDArray, row: NDArray, h: float) -> None:
        """Find the correction velocities that remove overlaps; joints do not move."""
        self._correction[:] = 0.0
        gaps = C[:, GAP]
        if not len(C) or gaps.min() > -1e-12:
            return
        own = row.copy()
        own[:, :2], own[:, 5] = 0.0, 0.0  # no impulses yet, no friction
        own[3 * len(C) :, 3:5] = (-1e300, 1e300)
        own[: 3 * len(C) : 3, 0] = np.where(
            gaps < 0.0, np.maximum(_CORRECTION_RATE * gaps / h, -_MAX_CORRECTION_SPEED), gaps / h
        )
        self._solve_rows(np.zeros_like(self._correction), self._correction, J, ab, own, len(C), True)

    # --- loads ----------------------------------------------------------------------------------------------

    def accelerations(self) -> NDArray[np.float64]:
        """Return linear [m/s2] and angular [rad/s2] accelerations by gravity and loads, shape [n, 6]."""
        p = self.rigid_state
        A = np.zeros((len(p.X), 6))
        A[: p.count, :3] = self.environment.gravity * p.is_dynamic[: p.count, None]
        for number, body in enumerate(p.bodies):
            load = body._loads
            rows = slice(p.starts[number], p.starts[number + 1])
            if body._added_mass is not None:  # it has no weight
                A[rows, :3] *= (body.mass_each / p.mass[rows])[:, None]
            if load.any() and body.motion is None:
                A[rows, :3] += load[:, :3] / p.mass[rows, None]
                rotations = p.R[rows].reshape(-1, 3, 3)
                own = np.einsum("kji,kj->ki", rotations, load[:, 3:]) / p.J[rows]
                A[rows, 3:] += np.einsum("kij,kj->ki", rotations, own)
        return A

    def springs(self, only: NDArray[np.bool_] | None = None) -> Springs:
        """Return the springs of all pulls, or of those on some instances, by a mask [n]."""
        p = self.rigid_state
        pulls = [
            (start, pull)
            for start, body in zip(p.starts, p.bodies, strict=False)
            for pull in body._pulls
            if only is None or only[start + pull.instance]
        ]
        table = np.zeros((len(pulls), 11))
        for row, (_, pull) in zip(table, pulls, strict=True):
            row[:3], row[3:6], row[6], row[7] = pull.local_point, pull.target, pull.stiffness, pull.damping
        return (
            np.array([start + pull.instance for start, pull in pulls], np.int32),
            table,
            [pull for _, pull in pulls],
        )

    # --- reports --------------------------------------------------------------------------------------------

    def _reports(self, dt: float, substeps: int, seconds: float) -> tuple[StepReport, ...]:
        contacts, p = self.contacts, self.rigid_state
        assert contacts is not None
        active = contacts.rows[:, IMPULSE] > 0.0
        per_instance = np.bincount(contacts.pairs[active].ravel(), minlength=len(p.X))[: p.count]
        counts = np.add.reduceat(per_instance, p.starts[:-1]) if p.count else np.zeros(0, int)
        now = self.environment
        forces, penetrations = self._contact_forces(dt), self._penetrations()
        return tuple(
            StepReport(
                body=body.name,
                step=now.step + 1,
                time=now.time,
                dt=dt,
                substeps=substeps,
                contacts=int(count),
                contact_force=(float(force[0]), float(force[1]), float(force[2])),
                max_penetration=float(penetration),
                seconds=seconds / len(p.bodies),
            )
            for body, count, force, penetration in zip(p.bodies, counts, forces, penetrations, strict=True)
        )

    def _contact_forces(self, dt: float) -> NDArray[np.float64]:
        """Return the sum of the contact forces on each body in the last step of `dt` [s] [N], shape [b, 3]."""
        p = self.rigid_state
        instances, _, impulses = self._impulses.arrays()
        own = instances < p.count
        total = np.zeros((len(p.bodies), 3))
        np.add.at(total, p.owner[instances[own]], impulses[own] / dt)
        return total

    def _penetrations(self) -> NDArray[np.float64]:
        """Return the penetration depth of each body [m], shape [b]."""
        assert self.contacts is not None
        p = self.rigid_state
        depth = np.zeros(len(p.bodies) + len(p.colliders) + 1)
        np.maximum.at(depth, p.owner[self.contacts.pairs], -self.contacts.rows[:, GAP, None])
        return depth[: len(p.bodies)]

    def publish_contacts(self, dt: float, others: Sequence[ImpulseAccumulator] = ()) -> None:
        """Report the contact forces of the last step of `dt` [s] to every body, including impulses from `others`."""
        p = self.rigid_state
        for other in others:
            self._impulses.add_all(other)
        instances, points, impulses = self._impulses.arrays()
        order = np.argsort(instances, kind="stable")
        ends = np.searchsorted(instances[order], p.starts)
        for body, first, last in zip(p.bodies, ends[:-1], ends[1:], strict=True):
            own = order[first:last]
            body.set_contact_forces(points[own], impulses[own] / dt)

    @property
    def max_penetration(self) -> float:
        """Largest penetration depth in the last substep [m], 0 or more."""
        if self.contacts is None or not len(self.contacts):
            return 0.0
        return max(0.0, -float(self.contacts.rows[:, GAP].min()))

    # --- state ------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray]:
        """Return what a bitwise identical restart needs besides the bodies' states."""
        return self._detector.state() | {"joints": self.joints.forces.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`; the bodies are restored already."""
        self._detector.restore(state)
        self.joints.forces[:] = state["joints"]
        self.rigid_state.update_derived()
        self._impulses.clear()

    def take_over(self, before: RigidSystem) -> bool:
        """Take over the impulses of contacts from the system of a world before something was added or removed.

        Returns whether it has the same bodies, joints and colliders.
        """
        self._detector.take_warm_start(before._detector, self.rigid_state.rows_of(before.rigid_state))
        own, other = self.rigid_state, before.rigid_state
        things = [(*state.bodies, *state.colliders) for state in (own, other)]
        same = len(things[0]) == len(things[1]) and all(a is b for a, b in zip(*things, strict=True))
        same = same and len(self.joints.forces) == len(before.joints.forces)
        if same:
            self.joints.forces[:] = before.joints.forces
        return same

    def reset(self) -> None:
        """Return to the start, after the bodies did."""
        self._detector.clear_warm_start()
        self._impulses.clear()
        self.joints.forces[:] = 0.0
        self.rigid_state.update_derived()


def _subset(contacts: RigidContacts, which: NDArray[np.bool_]) -> tuple[NDArray, NDArray, NDArray]:
    """Return instances, rows and pairs of some contacts: those of a pair stay together."""
    if which.all():
        return contacts.pairs, contacts.rows, contacts.first
    lengths = np.diff(contacts.first)[which[contacts.first[:-1]]]
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return contacts.pairs[which], contacts.rows[which], first
