"""Rigid pieces in the meeting: two rows of V each, their contacts with each other and with obstacles, and joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from continua.contact import (
    NO_ROWS,
    BodySystem,
    BodyVelocities,
    ContactRows,
    Conversation,
    FailedPartError,
    contact_rows,
    join_rows,
)
from continua.contact.direct import BIAS, LEAST, MOST, ROW
from continua.contact.impulses import FRICTION, GAP, LEVER_A, RESTITUTION
from continua.contact.rigid_pairs import SLOTS
from continua.errors import DivergedError
from continua.frames import StepReport
from continua.linalg import PCG, BlockMatrix, BlockPattern, SolveReport
from continua.rigid import RigidSystem
from continua.rigid.detect import Touching
from continua.rigid.pressing import Pressing
from continua.rigid.shared import SharedPieces

__all__ = ["RigidMember"]

_RATE = 0.2  # part of an overlap of rigid bodies that goes in a step
_PAIR = -(2**62)
_JOINT = _PAIR - 2**61
_FITS = 1e-8  # m or rad: error of joints that is none


class RigidMember:
    """Some rigid pieces that may touch soft bodies, or others that do.

    Args:
        system: The rigid bodies of the world.
        which: Numbers of the pieces.
        numbers: Numbers of all rigid bodies, and then of all colliders, in the table of pairs.
    """

    def __init__(self, system: RigidSystem, which: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        self.system = system
        self.shared = SharedPieces(system, which)
        self.numbers = numbers
        self.size = float(system.pieces.thin[which].min())
        self.dt = 0.0
        self._touching: Touching | None = None
        self._joint_rows = np.zeros((0, ROW))
        self._joint_first = 0
        self._count = np.zeros(len(system.pieces.bodies), int)
        self._force = np.zeros((len(system.pieces.bodies), 3))
        self._time, self._depth = 0.0, 0.0
        self.free = np.ones(len(which), np.bool_)
        self.pressing = Pressing()

    @property
    def row_count(self) -> int:
        """Number of its rows of V."""
        return 2 * len(self.shared.which)

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Its rows of V at the start of a step [row_count, 3]."""
        return self.system.pieces.V[self.shared.which].reshape(-1, 3)

    def rows_of_pieces(self, start: int) -> NDArray[np.int64]:
        """Return the first row of every piece of the world, -1 for those that are none of these."""
        place = self.shared.place
        return np.where(place >= 0, start + 2 * place, -1)

    def begin(self, dt: float) -> RigidStep:
        """Begin a step of `dt` [s]."""
        self.forget()
        return RigidStep(self)

    def forget(self) -> None:
        """Forget what pressed on the pieces: the step begins anew."""
        self._count[:] = 0
        self._force[:] = 0.0
        self._time, self._depth = 0.0, 0.0
        self.pressing.clear()

    # --- contacts among rigid pieces, and joints --------------------------------------------------------------

    def begin_part(self, time: float, dt: float) -> BodySystem:
        """Begin a part of a step: find what the pieces touch of their own kind, and return their system."""
        self.dt = dt
        V, self._touching = self.shared.begin(time, dt)
        k = len(V)
        p = self.system.pieces
        matrix = BlockMatrix(BlockPattern.of_diagonal(2 * k))
        matrix.blocks[::2, ::4] = p.mass[self.shared.which][:, None]
        matrix.blocks[1::2] = self.shared.inertia.reshape(-1, 9)
        rhs = matrix.multiply(V.reshape(-1, 3))
        x = V.reshape(-1, 3).copy()
        fixed = np.zeros(2 * k, np.uint8)

        def alone() -> SolveReport:
            x[:] = V.reshape(-1, 3)
            return SolveReport(0, 0.0, True)

        return BodySystem(matrix, rhs, x, rhs, fixed, None, PCG(), alone, None, dt, patient=True)

    def own_rows(self, start: int) -> ContactRows:
        """Return the contacts of the pieces among themselves and with obstacles, and their joints, as rows."""
        return join_rows([self._contact_rows(start), self._rows_of_joints(start)])

    def _contact_rows(self, start: int) -> ContactRows:
        touching, p = self._touching, self.system.pieces
        if touching is None or not len(touching):
            return NO_ROWS
        AB, C = touching.AB, touching.C
        points = p.X[AB[:, 0]] + C[:, LEVER_A : LEVER_A + 3]
        rows = self.rows_of_pieces(start)[AB]
        speeds = p.V[AB, :3] + np.cross(p.V[AB, 3:], points[:, None] - p.X[AB])
        told = np.where((rows < 0)[..., None], speeds, 0.0)
        pair = np.repeat(touching.pairs, np.diff(touching.first))
        gap = C[:, GAP]
        return contact_rows(
            np.ascontiguousarray(C[:, :3]),
            points,
            np.where(gap < 0.0, _RATE * gap, gap),
            rigid_rows=rows,
            rigid_signs=np.array([1.0, -1.0]),
            rigid_centers=p.X[AB],
            surface=told[:, 1] - told[:, 0],
            friction=C[:, FRICTION],
            restitution=C[:, RESTITUTION],
            key=_PAIR - 1 - (pair * (SLOTS * 4096) + touching.features % (SLOTS * 4096)),
            a=self.numbers[p.group[AB[:, 0]]],
            b=self.numbers[p.group[AB[:, 1]]],
        )

    def _rows_of_joints(self, start: int) -> ContactRows:
        """Return every row of the joints as a held direction, limits as contacts without friction."""
        joints, p = self.shared.joints, self.system.pieces
        m = joints.row_count
        if not m:
            return NO_ROWS
        ab, J, row = np.zeros((m, 2), np.int32), np.zeros((m, 12)), np.zeros((m, ROW))
        joints.write(p.X, p.R, self.dt, ab, J, row, 0)
        self._joint_rows = row
        limit = (row[:, LEAST] == 0.0) & (row[:, MOST] > 1e299)
        first = self.rows_of_pieces(start)[ab]
        some = contact_rows(
            np.tile([1.0, 0.0, 0.0], (m, 1)), np.zeros((m, 3)), np.where(limit, self.dt * row[:, BIAS], 0.0),
            rigid_rows=first, rigid_signs=0.0, key=_JOINT - 1 - joints.numbers, a=-1, b=-1,
            bilateral=np.where(limit, 0, 1),
        )  # fmt: skip
        some.block[:] = 0.0
        contact = np.repeat(np.arange(m), np.diff(some.ptr))
        turn = (some.row - start) % 2
        both = np.asarray((first >= 0).all(axis=1))
        place = np.arange(len(contact)) - some.ptr[contact]
        side = np.where(both[contact], place // 2, np.where(first[contact, 0] >= 0, 0, 1))
        columns = 6 * side[:, None] + 3 * turn[:, None] + np.arange(3)
        some.block[:, :3] = J[contact[:, None], columns]
        some.offset[:] = 0.0
        some.offset[:, 0] = np.where(limit, 0.0, row[:, BIAS])
        for s in range(2):  # ends that move as told
            told = (first[:, s] < 0) & (ab[:, s] < p.count)
            some.offset[:, 0] += np.where(
                told, np.einsum("mk,mk->m", J[:, 6 * s : 6 * s + 6], p.V[ab[:, s]]), 0.0
            )
        return some

    def fit_joints(self, rows: ContactRows, V: NDArray[np.float64]) -> bool:
        """Correct the offsets of joints by what is wrong where V leads; returns whether they fitted."""
        joints = self.shared.joints
        if not joints.row_count:
            return True
        X, _, R, _ = self.shared.trial(V.reshape(-1, 6), self.dt)
        before = self._joint_rows[:, BIAS].copy()
        worst = joints.correct(X, R, self.dt, self._joint_rows, 0)
        at = np.flatnonzero(rows.key <= _JOINT)
        number = np.searchsorted(joints.numbers, _JOINT - 1 - rows.key[at])
        rows.offset[at, 0] += (self._joint_rows[:, BIAS] - before)[number]
        return worst <= _FITS

    def motors_beyond(self, rows: ContactRows, force: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the numbers of rows of motors that give more than they can; their forces become the most."""
        joints = self.shared.joints
        at = np.flatnonzero((rows.key <= _JOINT) & (rows.bilateral == 1))
        if not len(at):
            return at
        number = np.searchsorted(joints.numbers, _JOINT - 1 - rows.key[at])
        most = self._joint_rows[number, MOST] / self.dt
        beyond = np.abs(force[at, 0]) > most * (1.0 + 1e-9)
        force[at[beyond], 0] = np.clip(force[at[beyond], 0], -most[beyond], most[beyond])
        return at[beyond]

    # --- after a solve --------------------------------------------------------------------------------------

    def make_exact(self, system: BodySystem, impulse: NDArray[np.float64]) -> None:
        """Set the solution to what the impulses make, by Newton's law to the last digit."""
        blocks = system.matrix.blocks.reshape(-1, 3, 3)
        system.x[:] = np.linalg.solve(blocks, (system.rhs + impulse)[..., None])[..., 0]

    def know(self, rows: ContactRows, start: int) -> None:
        """Hear of all contacts of a part of a step: pieces without any fly freely."""
        self.free = np.ones(len(self.shared.which), np.bool_)
        own = rows.row[(rows.row >= start) & (rows.row < start + self.row_count)] - start
        self.free[np.unique(own // 2)] = False

    def pressed(
        self, rows: ContactRows, force: NDArray[np.float64], start: int, V: NDArray[np.float64], dt: float
    ) -> None:
        """Hear of the contacts of a part of a step of `dt` [s] and their forces [N]; V are the velocities."""
        total = np.zeros_like(V)
        contact = rows.key > _JOINT
        some = rows.take(contact)
        some.spread(force[contact], total)
        mine = total[start : start + self.row_count : 2]
        self._note(some, force[contact], start, dt)
        group = self.system.pieces.group[self.shared.which]
        np.add.at(self._force, group, dt * mine)
        self._time += dt
        gap = some.gap + dt * some.velocities(V)[:, 0]
        pressing = force[contact, 0] > 0.0
        for g in range(len(self._count)):
            own = (some.a == self.numbers[g]) | (some.b == self.numbers[g])
            self._count[g] = max(self._count[g], int((pressing & own).sum()))
            self._depth = max(self._depth, -float(gap[own].min(initial=0.0)))
        if self.shared.joints.row_count:
            at = np.flatnonzero(~contact)
            number = np.searchsorted(self.shared.joints.numbers, _JOINT - 1 - rows.key[at])
            self.shared.joints.take_forces(number, force[at, 0])

    def _note(self, rows: ContactRows, force: NDArray[np.float64], start: int, dt: float) -> None:
        """Keep the impulses of contacts on the pieces, over `dt` [s]: what they do to the rows of their velocities."""
        place = rows.row - start
        mine = np.flatnonzero((place >= 0) & (place < self.row_count) & (place % 2 == 0))
        contact = np.searchsorted(rows.ptr, mine, side="right") - 1
        impulse = dt * np.einsum("eij,ei->ej", rows.block[mine].reshape(-1, 3, 3), force[contact])
        pressing = impulse.any(axis=1)
        pieces = self.shared.which[place[mine] // 2]
        self.pressing.add(pieces[pressing], rows.point[contact[pressing]], impulse[pressing])

    def add_to(self, reports: Sequence[StepReport]) -> tuple[StepReport, ...]:
        """Add what contacts did to the reports of the rigid bodies."""
        time = max(self._time, 1e-300)
        return tuple(
            replace(
                report,
                contacts=report.contacts + int(count),
                contact_force=tuple((np.array(report.contact_force) + force / time).tolist()),
                overlap=max(report.overlap, self._depth) if count else report.overlap,
            )
            for report, count, force in zip(reports, self._count, self._force, strict=True)
        )


class RigidStep:
    """One step of shared pieces, as `contact.parts` does it."""

    needed = 1
    retries = True

    def __init__(self, member: RigidMember) -> None:
        self.member = member
        self._saved: tuple[NDArray[np.float64], ...] | None = None

    def part(self, time: float, dt: float) -> Conversation:
        """Advance by one part of the step."""
        member = self.member
        shared = member.shared
        system = member.begin_part(time, dt)
        answer = yield system
        if answer.failure or not answer.report.residual >= 0.0:
            raise FailedPartError(answer.failure or "the linear solver found no solution")
        V = system.x.reshape(-1, 6)
        after = V.copy()
        if answer.contact is not None and answer.contact.again:
            inverse = np.zeros((2 * len(V), 9))
            blocks = system.matrix.blocks.reshape(-1, 3, 3)
            inverse[:] = np.linalg.inv(blocks).reshape(-1, 9)
            yield BodyVelocities(after.reshape(-1, 3), inverse)
        if not (np.isfinite(V).all() and np.isfinite(after).all()):
            raise FailedPartError("the velocities of rigid bodies became infinite")
        shared.move(V, after, dt, member.free)

    def save(self) -> None:
        """Remember the state."""
        self._saved = self.member.shared.save()

    def restore(self) -> None:
        """Go back to the state that was saved."""
        if self._saved is not None:
            self.member.shared.restore(self._saved)

    def report(self, dt: float, parts: int, needed: int, reason: str, seconds: float) -> StepReport:
        """Tell how it went; the rigid system tells more."""
        return StepReport(body="", step=0, time=0.0, dt=dt, substeps=parts, seconds=seconds)

    def diverged(self, dt: float, parts: int, reason: str) -> DivergedError:
        """Return the error of a step that failed."""
        now = self.member.system._surroundings
        return DivergedError(
            f"rigid bodies that touch soft ones diverged in step {now.step + 1} at t = {now.time:g} s (dt = {dt:g} s, "
            f"even in {parts} parts): {reason}; try a smaller dt",
            step=now.step + 1,
        )
