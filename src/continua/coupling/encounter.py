"""One part of a step of bodies that may touch: finding contacts, solving with them, and looking again.

V holds the velocities of all bodies of the group, one after the other. After a solve the ways of all points are looked
at; where one goes through something, a contact is added and the bodies concerned are solved again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.contact import (
    NO_ROWS,
    Answer,
    BodyContact,
    BodySystem,
    BodyVelocities,
    ContactRows,
    contact_rows,
    join_rows,
    solve_contacts,
)
from continua.contact.obstacles import Look, Touching
from continua.contact.solve import ContactSolution
from continua.contact.sweep import settle_velocities
from continua.coupling.islands import find_islands, localise
from continua.coupling.members import SoftMember
from continua.coupling.rigid_member import RigidMember
from continua.coupling.solid_search import SolidSearch, kept_apart
from continua.coupling.solids import Poses
from continua.linalg import SolveReport
from continua.numerics.stages import timed
from continua.rigid.shared import SharedPieces

if TYPE_CHECKING:
    from continua.coupling.gathering import Gathering

__all__ = ["Encounter"]

NEAR = 0.1
"""Part of an element's size within which a node counts as near a shape from the start."""

DEPTH = 1e-3
"""Part of an element's size that a node may end inside a shape."""

RECOVERY = 0.1
"""Part of an element's size by which a node that starts inside is put out in a step."""

ACCURATE = 1e-5
"""Relative velocity that may be wrong, as a part of the speed of things."""

ENOUGH = 1e-3
"""The same after some solves, where many contacts change at once."""

CALM = 0.02
"""What gravity gives in a step counts this much there: things at rest take no coarse solutions."""

LOOSE, CARE = 2.0, 4.0
"""And at most what leads this many depths too near in the step, a tenth of the distance that surfaces keep; contacts
with colliders, which keep none, are this many times more exact."""

ROUNDS = 8
"""Times that contacts are added before a step has failed."""

FITTING = 3
"""Times that joints are corrected for how they turn in a step."""

SHARP = 1e-8
"""Tolerance of linear solves with rigid bodies, which have few rows and much mass."""


class Encounter:
    """A group of bodies in one part of a step.

    Args:
        host: The bodies, and the contacts that they had before.
        time: Time at the start [s].
        dt: Time step [s].
    """

    def __init__(self, host: Gathering, time: float, dt: float) -> None:
        self.host, self.meeting, self.time, self.dt = host, host.meeting, time, dt
        self.soft, self.rigid = host.soft, host.rigid
        self.group: list[SoftMember | RigidMember] = [*self.soft]
        if self.rigid is not None:
            self.group.append(self.rigid)
        self.starts = np.cumsum([0] + [member.row_count for member in self.group])
        self.V = np.concatenate([member.velocities for member in self.group])
        self._before = self.V.copy()
        self.rows: ContactRows = NO_ROWS
        self.force = np.zeros((0, 3))  # of every contact, in its frame [N]
        self.found = False
        self._solids: SolidSearch | None = None
        self._spent: list[tuple[int, float]] = []  # motors at the end of their strength, and their forces
        self._waiting: dict[int, Answer] = {}

    def _slice(self, i: int) -> slice:
        return slice(self.starts[i], self.starts[i + 1])

    def answer(self, asked: Mapping[int, BodySystem | BodyVelocities]) -> dict[int, Answer]:
        """Answer what some bodies ask for; bodies that ask for the last word on velocities wait for all others."""
        simple = {i: ask for i, ask in asked.items() if isinstance(ask, BodySystem) and not ask.touches}
        if simple:
            return {i: Answer(ask.alone()) for i, ask in simple.items()}
        systems = {i: ask for i, ask in asked.items() if isinstance(ask, BodySystem)}
        eager = [i for i, ask in systems.items() if not ask.patient]
        if eager or any(i not in self._waiting for i in systems):
            self._waiting = self._solve(systems)
        if systems:
            if not eager and self.rigid is not None:
                self.rigid.know(self.rows, int(self.starts[len(self.soft)]))
            return {i: self._waiting[i] for i in eager or systems}
        last = {i: ask for i, ask in asked.items() if isinstance(ask, BodyVelocities)}
        self._last_word(last)
        return {i: Answer(SolveReport(0, 0.0, True)) for i in last}

    # --- finding ----------------------------------------------------------------------------------------

    @timed("contact search")
    def _find(self) -> None:
        """Find what is near at the start."""
        self.found = True
        self._looks: list[tuple[int, NDArray[np.int32], Look]] = []
        parts = []
        for i, member in enumerate(self.soft):
            nodes, points = member.touching
            touch = self.meeting.table.touch[member.number, self.meeting._first_collider :]
            only = np.flatnonzero(touch).tolist()
            if not len(nodes) or not only:
                continue
            look = self.meeting.obstacles.look(points, self.time, self.dt, only)
            self._looks.append((i, nodes, look))
            parts.append(self._obstacle_rows(i, nodes, look.near(NEAR * member.size), 0))
        search = self.meeting.surfaces
        if self.meeting.choose(self.soft):
            start, end, first = self._ways(self._before)
            parts.append(search.find(start, end, self.time, self.dt, first, known=self.host.memory.keys))
        if self.meeting.solids is not None:
            self._find_solids(parts)
        self._add(join_rows(parts))

    def _find_solids(self, parts: list[ContactRows]) -> None:
        """Find what soft bodies touch of rigid ones, and these among themselves."""
        solids = self.meeting.solids
        assert solids is not None
        pieces = solids.system.pieces
        first = int(self.starts[len(self.soft)])
        none = np.zeros(0, np.int64)
        self._shared = SharedPieces(solids.system, none) if self.rigid is None else self.rigid.shared
        row = np.full(len(pieces.X), -1, np.int64)
        if self.rigid is not None:
            row = self.rigid.rows_of_pieces(first)
            parts.append(self.rigid.own_rows(first))
        takes = (row >= 0) | ~pieces.moves
        self._solids = SolidSearch(
            solids, self.soft, self.starts[: len(self.soft)].tolist(), row, takes, self.dt
        )
        ends, then = self._trial(self._before)
        parts.append(self._solids.near([NEAR * member.size for member in self.soft], ends, then))

    def _trial(self, V: NDArray[np.float64]) -> tuple[list[NDArray[np.float64]], Poses]:
        """Return where the soft bodies of the group and all rigid pieces are at the end if V are the velocities."""
        ends = [member.moved(V[self._slice(i)], self.dt) for i, member in enumerate(self.soft)]
        X, _, R, _ = self._shared.trial(V[self.starts[len(self.soft)] :].reshape(-1, 6), self.dt)
        return ends, Poses.of(X, R)

    def _ways(
        self, V: NDArray[np.float64]
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]], NDArray[np.int64]]:
        """Return where all surfaces are at the start, and at the end if V are the velocities, and their first rows."""
        everyone = self.meeting.touchable
        start = [member.places for member in everyone]
        end, first = list(start), np.zeros(len(everyone), np.int64)
        for i, member in enumerate(self.soft):
            k = everyone.index(member)
            end[k], first[k] = member.moved(V[self._slice(i)], self.dt), self.starts[i]
        return start, end, first

    def _obstacle_rows(self, i: int, nodes: NDArray[np.int32], met: Touching, again: int) -> ContactRows:
        if not len(met):
            return NO_ROWS
        number, table = self.soft[i].number, self.meeting.table
        other = self.meeting.collider_number(met.shape.astype(np.int64))
        node = nodes[met.which].astype(np.int64)
        key = self._node_keys(i, node, other)
        key += np.where(np.isin(key, self.rows.key), again * 2**56, 0)  # another plane for the same two
        return contact_rows(
            met.normal,
            met.place,
            met.gap,
            soft_rows=(self.starts[i] + node)[:, None],
            surface=met.surface,
            friction=table.friction[number, other],
            restitution=table.restitution[number, other],
            key=key,
            a=number,
            b=other,
        )

    def _node_keys(self, i: int, node: NDArray[np.integer], other: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the keys of contacts of nodes of body i with colliders."""
        return (
            self.soft[i].number * len(self.meeting.table.friction) + other.astype(np.int64)
        ) * 2**32 + node

    def _add(self, rows: ContactRows) -> None:
        """Add contacts; those that were there in the last step begin with the forces that they had."""
        if len(rows):
            self.rows = join_rows([self.rows, rows])
            self.force = np.concatenate([self.force, self.host.recall(rows.key)])

    def _broken(self, asked: Mapping[int, BodySystem]) -> NDArray[np.bool_]:
        """Return which contacts with colliders the velocities V do not keep, shape [c]."""
        rows = self.rows
        broken = (rows.bilateral == 0) & (rows.b >= self.meeting._first_collider)
        if not broken.any():
            return broken
        body = np.searchsorted(self.starts, rows.row[rows.ptr[:-1]], side="right") - 1
        size = np.array([member.size for member in self.group])[body]
        free = np.zeros(len(self.V), np.bool_)
        for i, ask in asked.items():
            free[self._slice(i)] = ask.fixed == 0
        broken &= np.logical_and.reduceat(free[rows.row], rows.ptr[:-1])
        start = np.minimum(rows.gap, 0.0)
        return broken & (rows.gap + self.dt * rows.velocities(self.V)[:, 0] < start - DEPTH * size)

    @timed("contact search")
    def _look_again(self, asked: Mapping[int, BodySystem], round_: int) -> ContactRows:
        """Return contacts for points that go through something on the ways that V gives them.

        A contact that there is and does not hold tells nothing about where its point should be.
        """
        parts = []
        broken = self.rows.key[self._broken(asked)] % 2**56
        for i, nodes, look in self._looks:
            if i not in asked:
                continue
            member = self.soft[i]
            _, points = member.touching
            v = self.V[self._slice(i)][nodes]
            met = look.crossed(points + self.dt * v, DEPTH * member.size)
            other = self.meeting.collider_number(met.shape.astype(np.int64))
            free = asked[i].fixed[nodes[met.which]] != 1
            free &= ~np.isin(self._node_keys(i, nodes[met.which], other), broken)
            met = Touching(*(column[free] for column in met))
            parts.append(self._obstacle_rows(i, nodes, met, round_))
        parts.append(self._crossing_rows(round_))
        if self._solids is not None:
            ends, then = self._trial(self.V)
            held = [
                asked[i].fixed == 1 if i in asked else np.ones(member.row_count, np.bool_)
                for i, member in enumerate(self.soft)
            ]
            depths = [DEPTH * member.size for member in self.soft]
            parts.append(self._solids.crossed(ends, then, depths, held, self.V, self.rows, round_))
        return join_rows(parts)

    def _look_at_joints(self, asked: Mapping[int, BodySystem], round_: int) -> bool:
        """Correct joints for where V leads, and motors for what they can give; returns whether something changed."""
        last = len(self.soft)
        if self.rigid is None or last not in asked:
            return False
        beyond = self.rigid.motors_beyond(self.rows, self.force)
        if len(beyond):
            given = np.zeros_like(self.V)
            some = self.rows.take(beyond)
            some.spread(self.force[beyond], given)
            asked[last].rhs[:] += asked[last].weight * given[self._slice(last)]
            self._spent += list(zip(beyond.tolist(), self.force[beyond, 0].tolist(), strict=True))
            self.rows.bilateral[beyond], self.rows.gap[beyond] = 0, 1e30
            self.force[beyond] = 0.0
        fits = round_ > FITTING or self.rigid.fit_joints(self.rows, self.V[self._slice(last)])
        return bool(len(beyond)) or not fits

    def _crossing_rows(self, round_: int) -> ContactRows:
        """Return contacts for surfaces that cross on the ways that V gives them."""
        search = self.meeting.surfaces
        if not self.meeting.choose(self.soft):
            return NO_ROWS
        start, end, first = self._ways(self.V)
        crossed, _ = search.crossings(start, end, self.time, self.dt, first)
        depth = DEPTH * min(member.size for member in self.soft)
        crossed = crossed.take(~kept_apart(crossed, self.rows, self.V, self.dt, depth))
        if not len(crossed):
            return NO_ROWS
        # what will be too near is not far off
        near = search.find(start, end, self.time, self.dt, first, known=self.host.memory.keys)
        near = near.take(~np.isin(near.key, self.rows.key) & ~np.isin(near.key, crossed.key))
        crossed.key = crossed.key + np.where(np.isin(crossed.key, self.rows.key), round_, 0)
        return join_rows([near, crossed])

    # --- solving ----------------------------------------------------------------------------------------

    def _solve(self, asked: dict[int, BodySystem]) -> dict[int, Answer]:
        """Solve the systems of all bodies that ask, those that touch together."""
        if not self.found:
            self._find()
        reports: dict[int, SolveReport] = {}
        contacts: dict[int, BodyContact] = {}
        todo = set(asked)
        failure, said = "", ""
        for round_ in range(1, ROUNDS + 2):
            islands = find_islands(self.rows, self.starts, sorted(asked))
            for bodies, which in islands:
                if not todo & set(bodies):
                    continue
                if self._apart(asked, bodies, which, reports):
                    continue
                solution = self._solve_island(asked, bodies, which, contacts)
                for i in bodies:
                    reports[i] = _plus(reports.get(i), solution.report)
                if not solution.settled and solution.report.residual >= 0.0:
                    said = (
                        f"contact forces were not found to the tolerance in {solution.solves} solves "
                        f"(error {solution.error:.1e} m/s)"
                    )
            if any(not r.residual >= 0.0 for r in reports.values()):
                break
            new = self._look_again(asked, round_)
            turned = self._look_at_joints(asked, round_)
            if not len(new) and not turned:
                if self._broken(asked).any():
                    failure = "nodes could not be kept out of what they touch"
                break
            if round_ > ROUNDS:
                failure = "nodes could not be kept out of what they touch"
                break
            before = len(self.rows)
            self._add(new)
            body = np.searchsorted(self.starts, self.rows.row[self.rows.ptr[before] :], side="right") - 1
            todo = set(body.tolist()) | ({len(self.soft)} if turned else set())
        if said:
            reports = {i: _saying(r, said) if i in contacts else r for i, r in reports.items()}
        return {i: Answer(reports[i], contacts.get(i), failure) for i in asked}

    def _apart(
        self,
        asked: Mapping[int, BodySystem],
        bodies: Sequence[int],
        which: NDArray[np.int64],
        reports: dict[int, SolveReport],
    ) -> bool:
        """Solve bodies each by itself if nothing presses on them; returns whether nothing does afterwards, too."""
        if len(which):
            for i in bodies:
                self._take(i, asked[i])
            if self.force[which].any() or self._close(which):
                return False
        for i in bodies:
            reports[i] = _plus(reports.get(i), asked[i].alone())
            self._take(i, asked[i])
        return not (len(which) and self._close(which))

    def _close(self, which: NDArray[np.int64]) -> bool:
        """Return whether the velocities V close one of the contacts, or hold one that is to be held."""
        rows = self.rows.take(which)
        if rows.bilateral.any():
            return True
        return bool((rows.gap + self.dt * rows.velocities(self.V)[:, 0] < 0.0).any())

    def _take(self, i: int, ask: BodySystem) -> None:
        self.V[self._slice(i)] = ask.x if ask.base is None else ask.base + ask.x

    def _solve_island(
        self,
        asked: Mapping[int, BodySystem],
        bodies: Sequence[int],
        which: NDArray[np.int64],
        contacts: dict[int, BodyContact],
    ) -> ContactSolution:
        """Solve bodies that hang together by the contacts `which`."""
        systems = [asked[i] for i in bodies]
        rows = localise(self.rows, which, self.starts, bodies, self.V)
        weight = max(s.weight for s in systems)
        size = np.array([self.group[i].size for i in bodies]).min()
        bound = np.maximum(rows.gap / self.dt, -RECOVERY * size / self.dt)
        single = len(bodies) == 1 and bool((np.diff(rows.ptr) == 1).all())
        hard = len(self.soft) in bodies
        fall = self.meeting.speed_scale(self.dt)
        speed = (10.0 if single or hard else 0.2) * fall + float(np.abs(self._before).max(initial=0.0))
        speed += 1e-6 * size / self.dt
        push = weight * self.force[which]
        if hard:
            solution = solve_contacts(systems, rows, bound, push, ACCURATE * speed, rtol=SHARP, rough=True)
        else:
            moving = CALM * fall + float(np.abs(self._before).max(initial=0.0))
            enough = min(ENOUGH * moving, LOOSE * DEPTH * size / self.dt)
            care = np.where(rows.b >= self.meeting._first_collider, CARE, 1.0)
            solution = solve_contacts(systems, rows, bound, push, ACCURATE * speed, enough, care=care)
        self.force[which] = solution.impulse / weight
        rest = rows.restitution > 0.0
        again = bool(rest.any()) or any(s.weight != self.dt for s in systems)
        total = np.zeros((sum(len(s.rhs) for s in systems), 3))
        rows.spread(solution.impulse, total)
        first = 0
        for i, s in zip(bodies, systems, strict=True):
            mine = slice(first, first + len(s.rhs))
            first = mine.stop
            member = self.group[i]
            own = -1 if isinstance(member, RigidMember) else member.number
            pressing = (solution.impulse[:, 0] > 0.0) & ((rows.a == own) | (rows.b == own))
            if hard or not single:
                member.make_exact(s, (s.weight / weight) * total[mine])
            self._take(i, s)
            contacts[i] = BodyContact((s.weight / weight) * total[mine], int(pressing.sum()), again)
        return solution

    # --- the end ----------------------------------------------------------------------------------------

    def _last_word(self, asked: Mapping[int, BodyVelocities]) -> None:
        """Let contacts act on the velocities at the end of the step."""
        which = np.flatnonzero((self.force[:, 0] > 0.0) & (self.rows.bilateral == 0))
        rows = self.rows.take(which)
        end = self.V.copy()
        inverse = np.zeros((len(end), 9))
        for i, ask in asked.items():
            end[self._slice(i)] = ask.velocities
            inverse[self._slice(i)] = ask.inverse
        came = rows.velocities(self._before)[:, 0]
        slow = 2.0 * self.meeting.speed_scale(self.dt)
        target = np.where(came < -slow, -rows.restitution * came, 0.0)
        settle_velocities(rows, target, inverse, end)
        for i, ask in asked.items():
            ask.velocities[:] = end[self._slice(i)]

    def finish(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Tell all bodies what pressed on them, and return the keys and forces of the contacts, in order."""
        rows = self.rows
        total = np.zeros_like(self.V)
        rows.spread(self.force, total)
        gap = np.where(rows.bilateral == 0, rows.gap + self.dt * rows.velocities(self.V)[:, 0], 0.0)
        for i, member in enumerate(self.soft):
            mine = (rows.a == member.number) | (rows.b == member.number)
            depth = max(0.0, -float(gap[mine].min(initial=0.0)))
            member.pressed(total[self._slice(i)], depth, self.dt)
        if self.rigid is not None:
            for number, value in self._spent:
                self.force[number, 0] = value
            self.rigid.pressed(rows, self.force, int(self.starts[len(self.soft)]), self.V, self.dt)
        keep = self.force.any(axis=1)
        order = np.argsort(self.rows.key[keep], kind="stable")
        return self.rows.key[keep][order], self.force[keep][order]


def _plus(one: SolveReport | None, other: SolveReport) -> SolveReport:
    if one is None:
        return other
    said = one.warnings + tuple(s for s in other.warnings if s not in one.warnings)
    return SolveReport(one.iterations + other.iterations, other.residual, other.converged, warnings=said)


def _saying(report: SolveReport, sentence: str) -> SolveReport:
    return SolveReport(
        report.iterations, report.residual, report.converged, warnings=(*report.warnings, sentence)
    )
