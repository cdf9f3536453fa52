"""All rigid bodies of a world, advanced together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.contact import Contact, Shape
from continua.contact.direct import ROW, contact_rows_of, solve_rows, take_impulses
from continua.contact.impulses import GAP, IMPULSE, RESTITUTION
from continua.contact.sweeps import (
    FREE,
    JOINED,
    LED,
    NOT_MINE,
    advance,
    begin_small,
    end_small,
    try_move,
)
from continua.errors import DivergedError
from continua.frames import StepReport
from continua.numerics.stages import timed
from continua.rigid.body import RigidGroup
from continua.rigid.detect import Detector, Touching
from continua.rigid.islands import DirectSet, choose_direct
from continua.rigid.joint_rows import JointRows
from continua.rigid.joints import Joint, Motor
from continua.rigid.pieces import Pieces
from continua.rigid.pressing import Pressing
from continua.surroundings import Surroundings

__all__ = ["RigidSystem"]

_SMALL = 1.25e-3  # s: wanted length of a small step of sweeps
_DIRECT = 2.5e-3  # s: that of a direct solve
_SWEEPS, _CALM_SWEEPS = 2, 8  # in a small step; towers sway for ever unless forces are found well
_CALM = 3.0  # speeds that gravity gives in a step below which a heap is calm
_RATE = 0.2  # part of an overlap that goes in a small step
_FASTEST = 2.0  # m/s: largest speed with which overlaps go
_FAR = 1.0  # least radii of a piece that it may move before contacts are found anew
_STIFF = 1e8  # weight of a row in a direct solve relative to its own mass
_SPEED = 1e-10  # m/s: what a direct solve may leave
_SOLVES = 40
_ROUNDS = 6  # of corrections of joints that turn while they move
_JOINT_ERROR = 1e-10  # m or rad


class RigidSystem:
    """The rigid bodies of a world with the obstacles and joints.

    Args:
        bodies: The rigid bodies.
        colliders: The obstacles.
        contact: What the user says about contact.
        surroundings: Gravity and time.
        joints: What joins the bodies.
        collider_names: Names of the colliders, for single pairs of `contact`.
    """

    def __init__(
        self,
        bodies: Sequence[RigidGroup],
        colliders: Sequence[Shape],
        contact: Contact,
        surroundings: Surroundings,
        joints: Sequence[Joint | Motor] = (),
        collider_names: Sequence[str] = (),
    ) -> None:
        self._surroundings = surroundings
        self.pieces = Pieces(bodies, colliders)
        names = [body.name for body in bodies] + (list(collider_names) or [""] * len(colliders))
        self.joints = JointRows(joints, self.pieces)
        self._detector = Detector(self.pieces, contact, names, self.joints.barred)
        # a search without a memory, for pieces that are solved for elsewhere
        self.other_detector = Detector(self.pieces, contact, names, self.joints.barred)
        self._busy: NDArray[np.bool_] | None = None
        self._held = self.joints
        n = len(self.pieces.X)
        self._free = np.zeros(n, np.bool_)
        self._shift = np.zeros_like(self.pieces.V)
        self._trial = (np.zeros((n, 3)), np.zeros((n, 4)), np.zeros((n, 9)), np.zeros((n, 6)))
        self._direct: DirectSet | None = None
        self.touching: Touching | None = None
        self._pressing = Pressing()

    # --- one step -----------------------------------------------------------------------------------------

    def step(self, dt: float, busy: NDArray[np.bool_] | None = None) -> tuple[StepReport, ...]:
        """Advance all rigid bodies by `dt` [s] and return a report for each.

        Pieces that are `busy` [n] have been moved already, with other bodies that they touch. Pieces that move far
        against their own size make the step be done in several parts, each with contacts of its own. DivergedError is
        raised if velocities are no longer finite.
        """
        start = perf_counter()
        self._busy = busy
        self._pressing.clear()
        self._held = self.joints if busy is None else self.joints.without(busy)
        p = self.pieces
        before = (p.X.copy(), p.Q.copy(), p.V.copy())
        try:
            small = self._advance(dt)
            if not np.isfinite(p.V).all() or not np.isfinite(p.X).all():
                raise DivergedError(
                    "the rigid bodies move without bound; shorten dt", step=self._surroundings.step
                )
        except Exception:
            p.X[:], p.Q[:], p.V[:] = before
            raise
        return self._reports(dt, small, perf_counter() - start)

    def _advance(self, dt: float) -> int:
        """Advance by `dt` [s] and return the number of small steps."""
        p = self.pieces
        p.refresh()
        fast = np.sqrt((p.V[: p.count, :3] ** 2).sum(axis=1)) * dt / (_FAR * p.thin[: p.count])
        if self._busy is not None:
            fast = fast[~self._busy[: p.count]]
        parts = int(min(8, max(1, ceil(fast.max(initial=0.0) * (1.0 - 1e-9)))))
        small = 0
        for part in range(parts):
            small += self._part(self._surroundings.time + part * dt / parts, dt / parts)
        p.drive(self._surroundings.time + dt, 0.0)
        return small

    def _part(self, time: float, dt: float) -> int:
        """Do a part of a step with contacts of its own; return the number of small steps."""
        p = self.pieces
        p.drive(time, dt)
        steps, few = (max(2, ceil(dt / small - 1e-9)) for small in (_SMALL, _DIRECT))
        few = min(256, max(few, ceil(dt * self._held.fastest())))
        h, g = dt / few, float(np.linalg.norm(self._surroundings.gravity))
        own = None if self._busy is None else ~self._busy
        moves = p.moves if own is None else p.moves & own
        touching = self._detector.find(dt, h, g * dt * dt, own)
        self._direct = choose_direct(moves, touching.AB[touching.first[:-1]], self._held.links, self._direct)
        A, springs = self._accelerations(), self._springs(own)
        mine = np.where(moves, FREE, np.where(p.moves, NOT_MINE, LED)).astype(np.int8)
        chosen: NDArray = np.zeros(len(touching), np.bool_)
        if self._direct is not None:
            inside = self._direct.node >= 0
            chosen = np.asarray(inside[touching.AB].any(axis=1))
            self._go_direct(
                touching, chosen, A, springs, np.where(inside, FREE, NOT_MINE).astype(np.int8), h, few
            )
            mine[inside] = NOT_MINE
        if (mine == FREE).any():
            if self._direct is not None:
                p.drive(time, dt)  # back to where what is led begins
            self._go_sweeps(touching, ~chosen, A, springs, mine, dt / steps, steps, few)
        for pull, row in zip(springs[2], springs[1], strict=True):
            pull._force = row[8:11].copy()
        self._pressing.add_contacts(touching, p.X)
        self._detector.keep(touching, h)
        self.touching = touching
        return steps

    @timed("contacts and joints")
    def _go_sweeps(
        self, touching: Touching, which: NDArray, A: NDArray, springs: tuple, mine: NDArray, h: float, steps: int,
        few: int,
    ) -> None:  # fmt: skip
        p = self.pieces
        AB, C, first = _some(touching, which)
        C[:, IMPULSE : IMPULSE + 3] *= (
            few / steps
        )  # contacts remember impulses of a direct solve's small steps
        slow = 4.0 * h * float(np.linalg.norm(self._surroundings.gravity))
        bouncy = bool((C[:, RESTITUTION] > 0.0).any())
        square = float((p.V[mine == FREE, :3] ** 2).sum(axis=1).mean())
        calm = square < (0.25 * _CALM * slow * steps) ** 2
        advance(
            p.X, p.Q, p.R, p.V, self._shift, p.M, p.J, A, AB, C, first, springs[0], springs[1], mine, h, steps,
            _CALM_SWEEPS if calm else _SWEEPS, _RATE, _FASTEST, slow, bouncy, self._free,
        )  # fmt: skip
        C[:, IMPULSE : IMPULSE + 3] *= steps / few
        if not which.all():
            touching.C[which] = C

    @timed("contacts and joints")
    def _go_direct(
        self,
        touching: Touching,
        which: NDArray,
        A: NDArray,
        springs: tuple,
        mine: NDArray,
        h: float,
        steps: int,
    ) -> None:
        p, d = self.pieces, self._direct
        assert d is not None
        joints = self._held
        mine[joints.ends[mine[joints.ends] == FREE]] = JOINED
        mine[~p.moves] = LED
        AB, C, first = _some(touching, which)
        contacts = np.arange(len(C))
        count = 3 * len(C) + joints.row_count
        J, ab, row = np.zeros((count, 12)), np.zeros((count, 2), np.int32), np.zeros((count, ROW))
        slow = 4.0 * h * float(np.linalg.norm(self._surroundings.gravity))
        bouncy = bool((C[:, RESTITUTION] > 0.0).any())
        for _ in range(steps):
            begin_small(p.X, p.R, p.V, p.M, A, AB, C, first, springs[0], springs[1], mine, h, slow, bouncy)
            contact_rows_of(C, AB, contacts, h, ab, J, row)
            joints.write(p.X, p.R, h, ab, J, row, 3 * len(C))
            V0 = p.V.copy()
            self._solve(V0, p.V, J, ab, row, len(C), True)
            self._hold_joints(V0, J, ab, row, len(C), mine, h)
            take_impulses(C, contacts, row)
            joints.keep(row, 3 * len(C), h)
            self._take_overlaps(C, J, ab, row, h)
            end_small(p.X, p.Q, p.R, p.V, self._shift, p.M, p.J, A, AB, C, mine, h, self._free)
        if not which.all():
            touching.C[which] = C

    def _solve(
        self, V0: NDArray, V: NDArray, J: NDArray, ab: NDArray, row: NDArray, contacts: int, fresh: bool
    ) -> int:
        p, d = self.pieces, self._direct
        assert d is not None
        return int(
            solve_rows(
                V0,
                V,
                p.R,
                p.M,
                p.J,
                d.node,
                d.pieces,
                d.ptr,
                d.pattern,
                d.L,
                J,
                ab,
                row,
                contacts,
                _STIFF,
                _SPEED,
                _SOLVES,
                fresh,
                d.x,
            )
        )

    def _hold_joints(
        self, V0: NDArray, J: NDArray, ab: NDArray, row: NDArray, contacts: int, mine: NDArray, h: float
    ) -> None:
        """Correct the velocities until the joints fit where these lead, not only to first order (SHAKE)."""
        p = self.pieces
        if not self._held.row_count:
            return
        for _ in range(_ROUNDS):
            X, Q, R, V = self._trial
            try_move(p.X, p.Q, p.R, p.V, p.M, p.J, mine, h, X, Q, R, V)
            known, speeds = row.copy(), p.V.copy()
            if self._held.correct(X, R, h, row, 3 * contacts) < _JOINT_ERROR:
                return
            self._solve(V0, p.V, J, ab, row, contacts, False)
            # where a loop locks, a tiny error would ask for a huge speed: do a part now, the rest later
            change, most = np.abs(p.V - speeds).max(), 0.1 * np.abs(speeds).max() + 10.0 * h
            if change > most:
                row[:] = known + (row - known) * (most / change)
                p.V[:] = speeds + (p.V - speeds) * (most / change)

    def _take_overlaps(self, C: NDArray, J: NDArray, ab: NDArray, row: NDArray, h: float) -> None:
        """Find the shifts that take away overlaps; joints keep still."""
        self._shift[:] = 0.0
        gaps = C[:, GAP]
        if not len(C) or gaps.min() > -1e-12:
            return
        own = row.copy()
        own[:, :2], own[:, 5] = 0.0, 0.0  # no impulses yet, no friction
        own[3 * len(C) :, 3:5] = (-1e300, 1e300)
        own[: 3 * len(C) : 3, 0] = np.where(gaps < 0.0, np.maximum(_RATE * gaps / h, -_FASTEST), gaps / h)
        self._solve(np.zeros_like(self._shift), self._shift, J, ab, own, len(C), True)

    # --- what acts ------------------------------------------------------------------------------------------

    def _accelerations(self) -> NDArray[np.float64]:
        p = self.pieces
        A = np.zeros((len(p.X), 6))
        A[: p.count, :3] = self._surroundings.gravity * p.moves[: p.count, None]
        for number, body in enumerate(p.bodies):
            load = body._loads
            rows = slice(p.starts[number], p.starts[number + 1])
            if body._burden is not None:  # it has no weight
                A[rows, :3] *= (body.mass_each / p.mass[rows])[:, None]
            if load.any() and body.motion is None:
                A[rows, :3] += load[:, :3] / p.mass[rows, None]
                turns = p.R[rows].reshape(-1, 3, 3)
                own = np.einsum("kji,kj->ki", turns, load[:, 3:]) / p.J[rows]
                A[rows, 3:] += np.einsum("kij,kj->ki", turns, own)
        return A

    def _springs(
        self, only: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], list[Any]]:
        p = self.pieces
        pulls = [
            (start, pull)
            for start, body in zip(p.starts, p.bodies, strict=False)
            for pull in body._pulls
            if only is None or only[start + pull.copy]
        ]
        P = np.zeros((len(pulls), 11))
        for row, (_, pull) in zip(P, pulls, strict=True):
            row[:3], row[3:6], row[6], row[7] = pull.own, pull.target, pull.stiffness, pull.damping
        return (
            np.array([start + pull.copy for start, pull in pulls], np.int32),
            P,
            [pull for _, pull in pulls],
        )

    def _reports(self, dt: float, small: int, seconds: float) -> tuple[StepReport, ...]:
        touching, p = self.touching, self.pieces
        assert touching is not None
        pressed = touching.C[:, IMPULSE] > 0.0
        pieces = np.bincount(touching.AB[pressed].ravel(), minlength=len(p.X))[: p.count]
        counts = np.add.reduceat(pieces, p.starts[:-1]) if p.count else np.zeros(0, int)
        now = self._surroundings
        forces, overlaps = self._forces(dt), self._overlaps()
        return tuple(
            StepReport(
                body=body.name,
                step=now.step,
                time=now.time,
                dt=dt,
                substeps=small,
                contacts=int(count),
                contact_force=(float(force[0]), float(force[1]), float(force[2])),
                overlap=float(overlap),
                seconds=seconds / len(p.bodies),
            )
            for body, count, force, overlap in zip(p.bodies, counts, forces, overlaps, strict=True)
        )

    def _forces(self, dt: float) -> NDArray[np.float64]:
        """Return the sum of the contact forces on each body in the last step of `dt` [s] [N], shape [b, 3]."""
        p = self.pieces
        pieces, _, impulses = self._pressing.gathered()
        own = pieces < p.count
        total = np.zeros((len(p.bodies), 3))
        np.add.at(total, p.group[pieces[own]], impulses[own] / dt)
        return total

    def _overlaps(self) -> NDArray[np.float64]:
        """Return how deep each body is inside something [m], shape [b]."""
        assert self.touching is not None
        p = self.pieces
        depth = np.zeros(len(p.bodies) + len(p.colliders) + 1)
        np.maximum.at(depth, p.group[self.touching.AB], -self.touching.C[:, GAP, None])
        return depth[: len(p.bodies)]

    def tell_bodies(self, dt: float, others: Sequence[Pressing] = ()) -> None:
        """Tell every body which forces pressed on it in the step of `dt` [s] that was done, those of others too."""
        p = self.pieces
        for other in others:
            self._pressing.add_all(other)
        pieces, points, impulses = self._pressing.gathered()
        order = np.argsort(pieces, kind="stable")
        ends = np.searchsorted(pieces[order], p.starts)
        for body, first, last in zip(p.bodies, ends[:-1], ends[1:], strict=True):
            own = order[first:last]
            body.note_contact(points[own], impulses[own] / dt)

    @property
    def deepest(self) -> float:
        """Deepest overlap in the last small step [m], 0 or more."""
        if self.touching is None or not len(self.touching):
            return 0.0
        return max(0.0, -float(self.touching.C[:, GAP].min()))

    # --- keeping ----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray]:
        """Return what a bit-equal restart needs besides the bodies' states."""
        return self._detector.state() | {"joints": self.joints.forces.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state from `state()`; the bodies have theirs already."""
        self._detector.restore(state)
        self.joints.forces[:] = state["joints"]
        self.pieces.refresh()
        self._pressing.clear()

    def reset(self) -> None:
        """Go back to the start, after the bodies did."""
        self._detector.forget()
        self._pressing.clear()
        self.joints.forces[:] = 0.0
        self.pieces.refresh()


def _some(touching: Touching, which: NDArray[np.bool_]) -> tuple[NDArray, NDArray, NDArray]:
    """Return pieces, rows and pairs of some contacts: those of a pair go together."""
    if which.all():
        return touching.AB, touching.C, touching.first
    lengths = np.diff(touching.first)[which[touching.first[:-1]]]
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return touching.AB[which], touching.C[which], first
