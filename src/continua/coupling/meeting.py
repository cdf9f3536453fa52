"""The meeting of all bodies of a world: who may touch whom, and steps in groups that hang together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.contact import (
    ALONE,
    Contact,
    Obstacles,
    PairTable,
    Shape,
    SurfaceContacts,
    advance,
    join_rows,
)
from continua.coupling.encounter import NEAR
from continua.coupling.gathering import Gathering, Memory
from continua.coupling.groups import Boxes, Grouping, connected, near_collider
from continua.coupling.members import SoftMember
from continua.coupling.resting import settle_together
from continua.coupling.rigid_member import RigidMember
from continua.coupling.solids import Solids
from continua.errors import InputError
from continua.frames import StepReport
from continua.numerics.stages import timed
from continua.rigid import RigidSystem
from continua.solids import SoftBody, StaticReport
from continua.surroundings import Surroundings

__all__ = ["Meeting"]

_TRIES = 4  # times that groups are made larger before all bodies are one group


class Meeting:
    """Steps the soft and rigid bodies of a world, and lets them touch colliders and each other.

    Args:
        bodies: The soft bodies with their numbers in the world.
        shapes: The colliders.
        contact: What the user says about contact.
        names: Names of all bodies of the world and of the colliders, in the order of their numbers.
        things: All of these themselves.
        surroundings: Gravity and time.
        rigid: The rigid bodies, or None.
    """

    def __init__(
        self,
        bodies: Sequence[tuple[int, SoftBody]],
        shapes: Sequence[Shape],
        contact: Contact,
        names: Sequence[str],
        things: Sequence[Any],
        surroundings: Surroundings,
        rigid: RigidSystem | None = None,
    ) -> None:
        self.obstacles = Obstacles(shapes)
        self._shapes = tuple(shapes)
        self.table = PairTable.of(contact, names, things)
        self.contact = contact
        self._surroundings = surroundings
        self._first_collider = len(things) - len(shapes)
        self.rigid = rigid
        own = () if rigid is None else rigid.pieces.bodies
        self._rigid_numbers = np.array([_place(body, things) for body in own], dtype=np.int64)
        self.members = [SoftMember(body, number) for number, body in bodies]
        self.touchable = [member for member in self.members if self._can_touch(member)]
        self.surfaces = SurfaceContacts(
            [member.surface for member in self.touchable], shapes, contact, self.table
        )
        said = self.surfaces.check_start([member.places for member in self.touchable], surroundings.time)
        if said:
            warnings.warn(said, stacklevel=4)
        self._pairs = (self.surfaces.surfaces.face_pairs.copy(), self.surfaces.surfaces.edge_pairs.copy())
        self.solids: Solids | None = None
        if rigid is not None and own and self._touch_rigid().any():
            self.solids = Solids(self.touchable, rigid, self._rigid_numbers.tolist(), contact, self.table)
            self.solids.check_start()
        self.memory = Memory.nothing()

    # --- one step -----------------------------------------------------------------------------------------

    def step(self, dt: float) -> dict[int, StepReport]:
        """Advance all soft and rigid bodies by `dt` [s]; returns the reports by the bodies' numbers.

        If a step fails all bodies are back where they were.
        """
        lonely = len(self.members) == 1 and not self.touchable and self.rigid is None
        state = None if lonely else self.save()
        extra = np.zeros((0, 2), np.int64)
        try:
            for attempt in range(_TRIES + 1):
                grouping = self._group(dt, extra, everything=attempt == _TRIES)
                start = [member.places.copy() for member in self.touchable]
                poses = None if self.solids is None else self.solids.system.pieces.X.copy()
                reports, memory = self._step_groups(grouping, dt)
                missed = self._missed(grouping, start, poses)
                if attempt == _TRIES or not len(missed):
                    break
                extra = np.concatenate([extra, missed])
                assert state is not None
                self.put_back(state)
        except Exception:
            if state is not None:
                self.put_back(state)
            raise
        self.memory = memory
        return reports

    def _step_groups(self, grouping: Grouping, dt: float) -> tuple[dict[int, StepReport], Memory]:
        time, reports = self._surroundings.time, {}
        memories, mixed = [], []
        places = {id(member): k for k, member in enumerate(self.touchable)}
        done: set[int] = set()
        busy = None
        for member in self.members:
            k = places.get(id(member))
            if k is None or grouping.alone[k]:
                (report,) = advance([member.begin(dt)], time, dt, ALONE)
                reports[member.number] = member.complete(report)
            elif (label := int(grouping.label[k])) not in done:
                done.add(label)
                group = self._gathering(grouping, label)
                told = advance(group.begin(dt), time, dt, group)
                for one, report in zip(group.soft, told, strict=False):
                    reports[one.number] = one.complete(report)
                memories.append(group.memory)
                if group.rigid is not None:
                    mixed.append(group.rigid)
                    busy = np.zeros(len(group.rigid.shared.place), np.bool_) if busy is None else busy
                    busy |= group.rigid.shared.place >= 0
        if self.rigid is not None:
            rigid_reports = self.rigid.step(dt, busy)
            for pieces in mixed:
                rigid_reports = pieces.add_to(rigid_reports)
            self.rigid.tell_bodies(dt, [pieces.pressing for pieces in mixed])
            reports |= dict(zip(self._rigid_numbers.tolist(), rigid_reports, strict=True))
        return reports, Memory.joined(memories)

    def _gathering(self, grouping: Grouping, label: int) -> Gathering:
        count = len(self.touchable)
        soft = [self.touchable[k] for k in np.flatnonzero(grouping.label[:count] == label)]
        pieces = np.flatnonzero(grouping.label[count:] == label)
        rigid = None
        if len(pieces):
            assert self.rigid is not None
            colliders = self._first_collider + np.arange(len(self._shapes))
            rigid = RigidMember(self.rigid, pieces, np.concatenate([self._rigid_numbers, colliders]))
        return Gathering(self, soft, rigid, self.memory)

    # --- who may touch whom -----------------------------------------------------------------------------------

    def _can_touch(self, member: SoftMember) -> bool:
        """Return whether a body can touch a collider, another body, or itself."""
        touch = self.table.touch[member.number]
        others = [other.number for other in self.members] + self._rigid_numbers.tolist()
        return bool(touch[others].any() or touch[self._first_collider :].any())

    def _touch_rigid(self) -> NDArray[np.bool_]:
        """Return which soft bodies can touch which rigid ones, shape [soft, rigid]."""
        numbers = np.array([member.number for member in self.touchable], dtype=np.int64)
        return self.table.touch[numbers[:, None], self._rigid_numbers[None, :]]

    @timed("contact search")
    def _group(self, dt: float, extra: NDArray[np.int64], everything: bool) -> Grouping:
        """Find groups of soft bodies and rigid pieces that may touch within the step."""
        if not self.touchable:  # nor does any rigid piece touch a soft body
            return Grouping(np.zeros(0, np.int32), np.zeros(0, np.bool_))
        grow = np.array([NEAR * member.size for member in self.touchable])
        grow += 2.0 * float(self.surfaces.keep.max(initial=0.0)) + self.speed_scale(dt) * dt
        ways = [(m.places, m.moved(m.velocities, dt)) for m in self.touchable]
        boxes = Boxes.around(ways, grow)
        links, alone = self._links(boxes)
        pieces = 0
        if self.solids is not None:
            system = self.solids.system
            pieces = len(system.pieces.X)
            system.pieces.refresh()
            system.pieces.drive(self._surroundings.time, dt)
            pairs = system.other_detector.near(dt, self.speed_scale(dt) * dt)
            links, alone = self._solid_links(boxes, Boxes(*system.other_detector.boxes), pairs, links, alone)
        count = len(self.touchable)
        links = np.concatenate([links, extra[extra[:, 1] >= 0]])
        alone[extra[:, 0]] = False
        if everything:
            one = np.zeros(count, np.int64)
            links = np.concatenate([links, np.column_stack([one, np.arange(count)])])
            alone[:] = False
        return Grouping(connected(count + pieces, links), alone)

    def _links(self, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return pairs of soft bodies whose boxes overlap, and which of all are near nothing."""
        numbers = [member.number for member in self.touchable]
        near = boxes.overlaps(boxes) & self.table.touch[np.ix_(numbers, numbers)]
        alone: NDArray[np.bool_] = np.asarray(~near.any(axis=1))
        for k, shape in enumerate(self._shapes):
            touch = self.table.touch[numbers, self._first_collider + k]
            if (touch & alone).any():
                alone &= ~(touch & near_collider(shape, boxes))
        np.fill_diagonal(near, False)
        return np.argwhere(np.triu(near)).astype(np.int64), alone

    def _solid_links(
        self,
        boxes: Boxes,
        solid: Boxes,
        pairs: NDArray[np.int32],
        links: NDArray[np.int64],
        alone: NDArray[np.bool_],
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Add pairs of soft bodies with rigid pieces, and of these with each other."""
        assert self.solids is not None
        p, count = self.solids.system.pieces, len(self.touchable)
        touch = np.zeros((count, len(p.X)), np.bool_)
        touch[:, : p.count] = self._touch_rigid()[:, p.group[: p.count]]
        near = touch & boxes.overlaps(solid)
        alone &= ~near.any(axis=1)
        near &= p.moves
        joined = self.solids.system.joints.links.astype(np.int64)
        both = np.concatenate([pairs.astype(np.int64), joined])
        both = both[p.moves[both].all(axis=1)]
        return np.concatenate([links, np.argwhere(near) + [0, count], both + count]), alone

    def _missed(
        self,
        grouping: Grouping,
        start: Sequence[NDArray[np.float64]],
        poses: NDArray[np.float64] | None,
    ) -> NDArray[np.int64]:
        """Return pairs of different groups whose ways in the step came near each other after all.

        The second of a pair is -1 for a body that was alone and came near a collider or a piece that moves as told.
        """
        if not self.touchable or ((grouping.label == grouping.label[0]).all() and not grouping.alone.any()):
            return np.zeros((0, 2), np.int64)
        count = len(self.touchable)
        grow = np.full(count, float(self.surfaces.keep.max(initial=0.0)))
        boxes = Boxes.around([(a, m.places) for a, m in zip(start, self.touchable, strict=True)], grow)
        links, alone = self._links(boxes)
        if self.solids is not None:
            p = self.solids.system.pieces
            assert poses is not None
            radius = np.where(np.arange(len(p.X)) < p.count, p.radius, -1e300)[:, None]
            solid = Boxes(np.minimum(poses, p.X) - radius, np.maximum(poses, p.X) + radius)
            none = np.zeros((0, 2), np.int32)
            links, alone = self._solid_links(boxes, solid, none, links, alone)
        links = links[links[:, 0] < count]
        apart = grouping.label[links[:, 0]] != grouping.label[links[:, 1]]
        woken = np.flatnonzero(grouping.alone & ~alone)
        return np.concatenate([links[apart], np.column_stack([woken, np.full(len(woken), -1)])])

    def choose(self, soft: Sequence[SoftMember]) -> bool:
        """Let the search for contacts of surfaces look at these bodies alone; returns whether there is any to do."""
        some = np.ones(len(self.surfaces.surfaces.members), np.bool_)
        some[: len(self.touchable)] = [member in soft for member in self.touchable]
        mask = some[:, None] & some[None, :]
        found = self.surfaces.surfaces
        found.face_pairs, found.edge_pairs = self._pairs[0] & mask, self._pairs[1] & mask
        return self.surfaces.any

    # --- rest ---------------------------------------------------------------------------------------------

    def settle(self, rtol: float, max_newton: int, steps: int | None) -> tuple[StaticReport, ...]:
        """Put every soft body at its equilibrium; those that come to touch each other at a common one."""
        self._refuse_rigid()
        start = [member.places.copy() for member in self.touchable]
        state = self.save()
        needy: InputError | None = None
        reports: dict[int, StaticReport] = {}
        for member in self.members:
            obstacles = self.obstacles_of(member.number)
            try:
                reports[member.number] = member.body.settle(
                    rtol, max_newton, steps=steps, obstacles=obstacles
                )
            except InputError as unheld:  # it may lean on another body
                if not self._leans(member):
                    raise
                needy = unheld
        if self._pairs[0][: len(self.touchable), : len(self.touchable)].any() and (
            needy is not None or self._meet(start)
        ):
            self.put_back(state)
            self.choose(self.touchable)
            reports |= settle_together(self.touchable, self.surfaces, self.obstacles_of, rtol, max_newton)
        elif needy is not None:
            raise needy
        return tuple(reports[member.number] for member in self.members)

    def _refuse_rigid(self) -> None:
        """Refuse to settle what leans on rigid bodies: these would have to come to rest as well."""
        if self.rigid is None:
            return
        free = np.array([body.motion is None for body in self.rigid.pieces.bodies], np.bool_)
        if not self.members and free.any():
            raise InputError(
                "settle finds the rest of soft bodies, and the world has only rigid ones; let these come to rest in "
                "steps"
            )
        touch = self._touch_rigid()
        if touch.any():
            i, j = np.argwhere(touch)[0]
            raise InputError(
                f"settle finds the rest of soft bodies alone, and '{self.touchable[i].body.name}' can touch the rigid "
                f"'{self.rigid.pieces.bodies[j].name}'; let them come to rest in steps with some damping, or forbid "
                "the pair to touch"
            )

    def _leans(self, member: SoftMember) -> bool:
        others = [other.number for other in self.members if other is not member]
        return bool(self.table.touch[member.number, others].any())

    def _meet(self, start: Sequence[NDArray[np.float64]]) -> bool:
        """Return whether soft bodies came too near each other on their way from where they were."""
        self.choose(self.touchable)
        end = [member.places for member in self.touchable]
        rows = np.zeros(len(end), np.int64)
        time = self._surroundings.time
        crossed, _ = self.surfaces.crossings(start, end, time, 1.0, rows)
        near = join_rows([crossed, self.surfaces.find(end, end, time, 1.0, rows)])
        numbers = [member.number for member in self.touchable]
        both = np.isin(near.a, numbers) & np.isin(near.b, numbers)
        return bool(both.any())

    # --- state ------------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Return all that a step changes, for `put_back`."""
        state: dict[str, Any] = {
            "soft": [(m.body.state(), m.body._stepper.solver_memory()) for m in self.members],
            "memory": self.memory,
        }
        if self.rigid is not None:
            p = self.rigid.pieces
            state["rigid"] = (p.X.copy(), p.Q.copy(), p.V.copy(), self.rigid.state())
        return state

    def put_back(self, state: Any) -> None:
        """Go back to what `save` returned."""
        for member, (own, learnt) in zip(self.members, state["soft"], strict=True):
            member.body.restore(own)
            member.body._stepper.restore_solver_memory(learnt)
        self.memory = state["memory"]
        if self.rigid is not None:
            p = self.rigid.pieces
            p.X[:], p.Q[:], p.V[:] = state["rigid"][:3]
            self.rigid.restore(state["rigid"][3])

    def state(self) -> dict[str, NDArray]:
        """Return what goes from step to step."""
        return {"contact_keys": self.memory.keys.copy(), "contact_forces": self.memory.forces.copy()}

    def restore_state(self, keys: NDArray, forces: NDArray) -> None:
        """Take over a state."""
        self.memory = Memory(np.asarray(keys, np.int64).copy(), np.asarray(forces, np.float64).copy())

    def forget(self) -> None:
        """Forget all contacts."""
        self.memory = Memory.nothing()

    # --- small things -----------------------------------------------------------------------------------

    def obstacles_of(self, number: int) -> Obstacles | None:
        """Return the colliders that the body of this number can touch, or None."""
        touch = self.table.touch[number, self._first_collider :]
        shapes = [shape for shape, can in zip(self._shapes, touch, strict=True) if can]
        return Obstacles(shapes) if shapes else None

    def collider_number(self, shape: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the numbers of colliders in the table of pairs."""
        return self._first_collider + shape

    def speed_scale(self, dt: float) -> float:
        """Return the speed [m/s] that gravity gives in a step."""
        return float(np.linalg.norm(self._surroundings.gravity)) * dt


def _place(thing: Any, things: Sequence[Any]) -> int:
    """Return which of the things this is."""
    return next(k for k, other in enumerate(things) if other is thing)
