"""Rigid instances as the contact stepper sees them: two rows of V each, with their own contacts and joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from continua.collision.rigid.narrow_phase import MAX_CONTACTS_PER_PAIR
from continua.contact_solver import EMPTY_ROWS, ConstraintRows, contact_rows, join_rows
from continua.contact_solver.rigid_contact_layout import FRICTION, GAP, LEVER_A, RESTITUTION
from continua.contact_solver.rigid_direct import BIAS, MAX_IMPULSE, MIN_IMPULSE, ROW
from continua.errors import DivergedError
from continua.frames import StepReport
from continua.linalg import PCG, BlockMatrix, BlockPattern, SolveReport
from continua.rigid import RigidSystem
from continua.rigid.contact_detection import RigidContacts
from continua.rigid.contact_forces import ImpulseAccumulator
from continua.rigid.coupled_subset import CoupledSubset
from continua.timestepping import (
    StepCoroutine,
    SubstepError,
    VelocityProjection,
    VelocitySystem,
    VolumePartner,
)

__all__ = ["RigidInstancesAdapter"]

_CORRECTION_RATE = 0.2  # fraction of an overlap of rigid bodies that is removed in a step
_PAIR_KEY = -(2**62)
_FEATURES = MAX_CONTACTS_PER_PAIR * 4096
_JOINT_KEY = _PAIR_KEY - 2**61
_JOINT_TOLERANCE = 1e-8  # m or rad: accepted error of joints


class RigidInstancesAdapter:
    """Rigid instances that may touch soft bodies, or other instances that do.

    Args:
        system: The rigid bodies of the world.
        instances: Indices of the instances.
        numbers: Numbers of all rigid bodies, and then of all colliders, in the pair table.
    """

    number = -1  # of no single body

    def __init__(self, system: RigidSystem, instances: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        self.system = system
        self.subset = CoupledSubset(system, instances)
        self.numbers = numbers
        self.size = float(system.rigid_state.min_radius[instances].min())
        self.dt = 0.0
        self._contacts: RigidContacts | None = None
        self._joint_rows = np.zeros((0, ROW))
        self._joint_first = 0
        self._contact_count = np.zeros(len(system.rigid_state.bodies), int)
        self._impulse = np.zeros((len(system.rigid_state.bodies), 3))
        self._time, self._depth = 0.0, 0.0
        self.in_flight = np.ones(len(instances), np.bool_)
        self.impulses = ImpulseAccumulator()

    @property
    def row_count(self) -> int:
        """Number of its rows of V."""
        return 2 * len(self.subset.instances)

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Its rows of V at the start of a step [row_count, 3]."""
        return self.system.rigid_state.V[self.subset.instances].reshape(-1, 3)

    def rows_of_instances(self, start: int) -> NDArray[np.int64]:
        """Return the first row of every instance of the world, -1 for those not in the subset."""
        local_index = self.subset.local_index
        return np.where(local_index >= 0, start + 2 * local_index, -1)

    def begin_step(self, dt: float) -> RigidInstancesStep:
        """Begin a step of `dt` [s]."""
        self.clear_contact()
        return RigidInstancesStep(self)

    def clear_contact(self) -> None:
        """Clear the accumulated contact impulses."""
        self._contact_count[:] = 0
        self._impulse[:] = 0.0
        self._time, self._depth = 0.0, 0.0
        self.impulses.clear()

    # --- contacts among rigid instances, and joints --------------------------------------------------------------

    def begin_substep(self, time: float, dt: float) -> VelocitySystem:
        """Begin a substep: detect contacts among rigid instances and with colliders, and return the velocity system."""
        self.dt = dt
        V, self._contacts = self.subset.begin_substep(time, dt)
        k = len(V)
        p = self.system.rigid_state
        matrix = BlockMatrix(BlockPattern.of_diagonal(2 * k))
        matrix.blocks[::2, ::4] = p.mass[self.subset.instances][:, None]
        matrix.blocks[1::2] = self.subset.inertia.reshape(-1, 9)
        rhs = matrix.multiply(V.reshape(-1, 3))
        x = V.reshape(-1, 3).copy()
        fixed = np.zeros(2 * k, np.uint8)

        def solve_alone() -> SolveReport:
            x[:] = V.reshape(-1, 3)
            return SolveReport(0, 0.0, True)

        return VelocitySystem(matrix, rhs, x, rhs, fixed, None, PCG(), solve_alone, None, dt, deferred=True)

    def internal_constraint_rows(self, start: int) -> ConstraintRows:
        """Return the contacts of the instances with each other and with colliders, and their joints, as rows."""
        return join_rows([self._contact_rows(start), self._rows_of_joints(start)])

    def _contact_rows(self, start: int) -> ConstraintRows:
        contacts, p = self._contacts, self.system.rigid_state
        if contacts is None or not len(contacts):
            return EMPTY_ROWS
        AB, C = contacts.pairs, contacts.rows
        points = p.X[AB[:, 0]] + C[:, LEVER_A : LEVER_A + 3]
        rows = self.rows_of_instances(start)[AB]
        speeds = p.V[AB, :3] + np.cross(p.V[AB, 3:], points[:, None] - p.X[AB])
        prescribed = np.where((rows < 0)[..., None], speeds, 0.0)
        pair = np.repeat(contacts.pair_keys, np.diff(contacts.first))
        gap = C[:, GAP]
        return contact_rows(
            np.ascontiguousarray(C[:, :3]),
            points,
            np.where(gap < 0.0, _CORRECTION_RATE * gap, gap),
            rigid_rows=rows,
            rigid_signs=np.array([1.0, -1.0]),
            rigid_centers=p.X[AB],
            surface_velocity=prescribed[:, 1] - prescribed[:, 0],
            friction=C[:, FRICTION],
            restitution=C[:, RESTITUTION],
            key=_PAIR_KEY - 1 - (pair * _FEATURES + contacts.features % _FEATURES),
            a=self.numbers[p.owner[AB[:, 0]]],
            b=self.numbers[p.owner[AB[:, 1]]],
        )

    def _rows_of_joints(self, start: int) -> ConstraintRows:
        """Return every row of the joints as a bilateral constraint, limits as contacts without friction."""
        joints, p = self.subset.joints, self.system.rigid_state
        m = joints.row_count
        if not m:
            return EMPTY_ROWS
        ab, J, row = np.zeros((m, 2), np.int32), np.zeros((m, 12)), np.zeros((m, ROW))
        joints.write(p.X, p.R, self.dt, ab, J, row, 0)
        self._joint_rows = row
        is_limit = (row[:, MIN_IMPULSE] == 0.0) & (row[:, MAX_IMPULSE] > 1e299)
        first = self.rows_of_instances(start)[ab]
        some = contact_rows(
            np.tile([1.0, 0.0, 0.0], (m, 1)), np.zeros((m, 3)), np.where(is_limit, self.dt * row[:, BIAS], 0.0),
            rigid_rows=first, rigid_signs=0.0, key=_JOINT_KEY - 1 - joints.numbers, a=-1, b=-1,
            bilateral=np.where(is_limit, 0, 1),
        )  # fmt: skip
        some.block[:] = 0.0
        contact = np.repeat(np.arange(m), np.diff(some.ptr))
        is_angular = (some.row - start) % 2
        both = np.asarray((first >= 0).all(axis=1))
        entry = np.arange(len(contact)) - some.ptr[contact]
        side = np.where(both[contact], entry // 2, np.where(first[contact, 0] >= 0, 0, 1))
        columns = 6 * side[:, None] + 3 * is_angular[:, None] + np.arange(3)
        some.block[:, :3] = J[contact[:, None], columns]
        some.offset[:] = 0.0
        some.offset[:, 0] = np.where(is_limit, 0.0, row[:, BIAS])
        for s in range(2):  # bodies with prescribed motion
            prescribed = (first[:, s] < 0) & (ab[:, s] < p.count)
            some.offset[:, 0] += np.where(
                prescribed, np.einsum("mk,mk->m", J[:, 6 * s : 6 * s + 6], p.V[ab[:, s]]), 0.0
            )
        return some

    def correct_joint_rows(self, rows: ConstraintRows, V: NDArray[np.float64]) -> bool:
        """Correct the offsets of joint rows by their error at the end with V; returns whether it was small."""
        joints = self.subset.joints
        if not joints.row_count:
            return True
        X, _, R, _ = self.subset.trial(V.reshape(-1, 6), self.dt)
        before = self._joint_rows[:, BIAS].copy()
        worst = joints.correct(X, R, self.dt, self._joint_rows, 0)
        at = np.flatnonzero(rows.key <= _JOINT_KEY)
        number = np.searchsorted(joints.numbers, _JOINT_KEY - 1 - rows.key[at])
        rows.offset[at, 0] += (self._joint_rows[:, BIAS] - before)[number]
        return worst <= _JOINT_TOLERANCE

    def saturated_motors(self, rows: ConstraintRows, force: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the rows of motors whose force exceeds their limit; these forces are clipped."""
        joints = self.subset.joints
        at = np.flatnonzero((rows.key <= _JOINT_KEY) & (rows.bilateral == 1))
        if not len(at):
            return at
        number = np.searchsorted(joints.numbers, _JOINT_KEY - 1 - rows.key[at])
        limit = self._joint_rows[number, MAX_IMPULSE] / self.dt
        saturated = np.abs(force[at, 0]) > limit * (1.0 + 1e-9)
        force[at[saturated], 0] = np.clip(force[at[saturated], 0], -limit[saturated], limit[saturated])
        return at[saturated]

    # --- after a solve --------------------------------------------------------------------------------------

    def restore_momentum(self, system: VelocitySystem, impulse: NDArray[np.float64]) -> None:
        """Set the solution to the velocities that result from the impulses, by Newton's law to the last digit."""
        blocks = system.matrix.blocks.reshape(-1, 3, 3)
        system.x[:] = np.linalg.solve(blocks, (system.rhs + impulse)[..., None])[..., 0]

    def mark_in_flight(self, rows: ConstraintRows, start: int) -> None:
        """Mark the instances without contacts in a substep: they are in free flight."""
        self.in_flight = np.ones(len(self.subset.instances), np.bool_)
        own = rows.row[(rows.row >= start) & (rows.row < start + self.row_count)] - start
        self.in_flight[np.unique(own // 2)] = False

    def accumulate_contact(
        self, rows: ConstraintRows, force: NDArray[np.float64], start: int, V: NDArray[np.float64], dt: float
    ) -> None:
        """Add the contacts of a substep of `dt` [s] with their forces [N]; V are the velocities."""
        total = np.zeros_like(V)
        contact = rows.key > _JOINT_KEY
        some = rows.take(contact)
        some.apply_transpose(force[contact], total)
        mine = total[start : start + self.row_count : 2]
        self._record_impulses(some, force[contact], start, dt)
        body = self.system.rigid_state.owner[self.subset.instances]
        np.add.at(self._impulse, body, dt * mine)
        self._time += dt
        gap = some.gap + dt * some.relative_velocities(V)[:, 0]
        active = force[contact, 0] > 0.0
        for g in range(len(self._contact_count)):
            own = (some.a == self.numbers[g]) | (some.b == self.numbers[g])
            self._contact_count[g] = max(self._contact_count[g], int((active & own).sum()))
            self._depth = max(self._depth, -float(gap[own].min(initial=0.0)))
        if self.subset.joints.row_count:
            at = np.flatnonzero(~contact)
            number = np.searchsorted(self.subset.joints.numbers, _JOINT_KEY - 1 - rows.key[at])
            self.subset.joints.set_forces(number, force[at, 0])

    def _record_impulses(
        self, rows: ConstraintRows, force: NDArray[np.float64], start: int, dt: float
    ) -> None:
        """Record the impulses of contacts on the instances over `dt` [s]."""
        local_index = rows.row - start
        mine = np.flatnonzero((local_index >= 0) & (local_index < self.row_count) & (local_index % 2 == 0))
        contact = np.searchsorted(rows.ptr, mine, side="right") - 1
        impulse = dt * np.einsum("eij,ei->ej", rows.block[mine].reshape(-1, 3, 3), force[contact])
        active = impulse.any(axis=1)
        instances = self.subset.instances[local_index[mine] // 2]
        self.impulses.add(instances[active], rows.point[contact[active]], impulse[active])

    def merge_reports(self, reports: Sequence[StepReport]) -> tuple[StepReport, ...]:
        """Return the reports of the rigid bodies with these contacts added."""
        time = max(self._time, 1e-300)
        return tuple(
            replace(
                report,
                contacts=report.contacts + int(count),
                contact_force=tuple((np.array(report.contact_force) + force / time).tolist()),
                max_penetration=max(report.max_penetration, self._depth) if count else report.max_penetration,
            )
            for report, count, force in zip(reports, self._contact_count, self._impulse, strict=True)
        )


class RigidInstancesStep:
    """The step of the instances, see `timestepping.substepping`."""

    min_substeps = 1
    may_subdivide = True

    def __init__(self, adapter: RigidInstancesAdapter) -> None:
        self.adapter = adapter
        self._saved: tuple[NDArray[np.float64], ...] | None = None

    def substep(self, time: float, dt: float) -> StepCoroutine:
        """Do one substep."""
        adapter = self.adapter
        subset = adapter.subset
        system = adapter.begin_substep(time, dt)
        result = yield system
        if result.failure or not result.report.residual >= 0.0:
            raise SubstepError(result.failure or "the linear solver found no solution")
        V = system.x.reshape(-1, 6)
        end_velocities = V.copy()

        def inverse_mass() -> NDArray[np.float64]:
            return np.linalg.inv(system.matrix.blocks.reshape(-1, 3, 3)).reshape(-1, 9)

        if result.contact is not None and result.contact.needs_projection:
            yield VelocityProjection(end_velocities.reshape(-1, 3), inverse_mass())
        over = VolumePartner(lambda: V.reshape(-1, 3), inverse_mass)
        yield over
        if over.velocities is not None and over.change is not None:
            V = over.velocities.reshape(-1, 6)
            end_velocities = end_velocities + over.change.reshape(-1, 6)
        end = VolumePartner(lambda: end_velocities.reshape(-1, 3), inverse_mass)
        yield end
        if end.velocities is not None:
            end_velocities = end.velocities.reshape(-1, 6)
        if not (np.isfinite(V).all() and np.isfinite(end_velocities).all()):
            raise SubstepError("the velocities of rigid bodies became infinite")
        subset.advance(V, end_velocities, dt, adapter.in_flight)

    def save(self) -> None:
        """Save the state."""
        self._saved = self.adapter.subset.save()

    def restore(self) -> None:
        """Restore the saved state."""
        if self._saved is not None:
            self.adapter.subset.restore(self._saved)

    def report(self, dt: float, substeps: int, min_substeps: int, reason: str, seconds: float) -> StepReport:
        """Return a report; that of the rigid system has the details."""
        return StepReport(body="", step=0, time=0.0, dt=dt, substeps=substeps, seconds=seconds)

    def diverged(self, dt: float, substeps: int, reason: str) -> DivergedError:
        """Return the error of a step that failed."""
        now = self.adapter.system.environment
        return DivergedError(
            f"rigid bodies that touch soft ones diverged in step {now.step + 1} at t = {now.time:g} s (dt = {dt:g} s, "
            f"even in {substeps} substeps): {reason}; try a smaller dt",
            step=now.step + 1,
        )
