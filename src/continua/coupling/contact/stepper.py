"""Steps the soft and rigid bodies of a world with contact, in groups of bodies that may touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.collision import ColliderSet
from continua.contact_solver import Contact, ContactPairTable, HasContactBody, join_rows
from continua.coupling.contact.contact_groups import (
    AABBs,
    ContactGroups,
    aabb_overlaps_collider,
    connected_components,
)
from continua.coupling.contact.deformable_adapter import DeformableAdapter
from continua.coupling.contact.group_driver import GroupDriver, WarmStart
from continua.coupling.contact.rigid_adapter import RigidInstancesAdapter
from continua.coupling.contact.rigid_surfaces import RigidSurfaces
from continua.coupling.contact.start_checks import check_colliders, check_rigid_bodies
from continua.coupling.contact.statics import solve_static_contact
from continua.coupling.contact.substep_solve import PROXIMITY_FRACTION
from continua.coupling.contact.surface_contacts import SurfaceBody, SurfaceContacts
from continua.deformable import StaticReport
from continua.environment import Environment
from continua.errors import InputError, warn_user
from continua.frames import StepReport
from continua.geometry import AnimatedMeshShape, Shape
from continua.geometry.shape import refuse_deforming
from continua.numerics.timers import timed
from continua.rigid import RigidSystem
from continua.timestepping import NO_CONTACT, advance_with_retries

__all__ = ["ContactStepper"]

_MAX_REGROUPINGS = 4  # attempts with larger groups before all bodies form one group


class ContactStepper:
    """Steps the soft and rigid bodies of a world, with contact between them and with colliders.

    Args:
        bodies: The deformable bodies with their numbers in the world.
        shapes: The colliders.
        contact: Contact options.
        names: Names of all bodies of the world and of the colliders, in the order of their numbers.
        participants: The bodies and colliders themselves.
        environment: Gravity and time.
        rigid: The rigid bodies, or None.
        overlapping: Pairs of bodies that intersected at the start and do not touch each other; None finds and warns of
            those that intersect now.
    """

    def __init__(
        self,
        bodies: Sequence[tuple[int, HasContactBody]],
        shapes: Sequence[Shape],
        contact: Contact,
        names: Sequence[str],
        participants: Sequence[Any],
        environment: Environment,
        rigid: RigidSystem | None = None,
        *,
        overlapping: frozenset[tuple[int, int]] | None = None,
    ) -> None:
        self.collider_set = ColliderSet(shapes)
        self.shapes = tuple(shapes)
        self.pair_table = ContactPairTable.of(contact, names, participants)
        self.contact = contact
        self._environment = environment
        self.first_collider = len(participants) - len(shapes)
        self.rigid = rigid
        own = () if rigid is None else rigid.rigid_state.bodies
        self._rigid_numbers = np.array([_index_of(body, participants) for body in own], dtype=np.int64)
        for body, number in zip(own, self._rigid_numbers, strict=True):
            if body.motion is None:
                touched = self.pair_table.collide[number, self.first_collider :]
                refuse_deforming(
                    (shape for shape, can in zip(shapes, touched, strict=True) if can),
                    f"the rigid body '{body.name}'",
                )
        self.soft = [DeformableAdapter(body.contact_body(), number) for number, body in bodies]
        self.contact_bodies = [adapter for adapter in self.soft if self._can_collide(adapter)]
        for k, adapter in enumerate(self.contact_bodies):
            adapter.index = k
        numbers = np.array([adapter.number for adapter in self.contact_bodies], np.int64)
        collide = self.pair_table.collide[numbers]
        self._bodies_collide, self._touches_collider = collide[:, numbers], collide[:, self.first_collider :]
        self._several_pieces = np.array(
            [self._pieces_collide(adapter) for adapter in self.contact_bodies], np.bool_
        )
        self.surface_contacts = SurfaceContacts(
            [
                SurfaceBody.of(adapter.name, adapter.surface, adapter.number)
                for adapter in self.contact_bodies
            ],
            shapes,
            contact,
            self.pair_table,
            self.collider_set.poses,
        )
        if overlapping is not None:
            self.surface_contacts.disable_overlapping(overlapping)
        else:
            _warn(
                *self.surface_contacts.check_start(
                    [adapter.positions for adapter in self.contact_bodies], environment.time
                )
            )
        self.rigid_surfaces: RigidSurfaces | None = None
        if rigid is not None and own and self._rigid_collide().any():
            self.rigid_surfaces = RigidSurfaces(
                self.contact_bodies, rigid, self._rigid_numbers.tolist(), contact, self.pair_table
            )
            if overlapping is None:
                _warn(*self.rigid_surfaces.check_start())
        self.warm_start = WarmStart.empty()

    def check_start(self, only: frozenset[int] | None = None) -> None:
        """Refuse bodies that start inside colliders, and rigid ones inside each other, or warn of them.

        With `only`, numbers of bodies and colliders that are new, pairs with one of these are checked, among them those
        of deformable bodies, which the constructor checks in a new world.
        """
        time, new_rigid = self._environment.time, None
        if only is not None:
            numbers = [
                *self._rigid_numbers,
                *range(self.first_collider, self.first_collider + len(self.shapes)),
            ]
            new_rigid = frozenset(k for k, number in enumerate(numbers) if number in only)
            positions = [adapter.positions for adapter in self.contact_bodies]
            _warn(*self.surface_contacts.check_start(positions, time, only))
            if self.rigid_surfaces is not None:
                _warn(*self.rigid_surfaces.check_start(only))
        _warn(
            check_colliders(
                self.contact_bodies, self.shapes, self.pair_table, self.first_collider, time, only
            ),
            "" if self.rigid is None else check_rigid_bodies(self.rigid, time, new_rigid),
        )

    # --- one step -----------------------------------------------------------------------------------------

    def step(self, dt: float) -> dict[int, StepReport]:
        """Advance all soft and rigid bodies by `dt` [s]; returns the reports by the bodies' numbers.

        If a step fails, all bodies are back in their initial state.
        """
        self.collider_set.poses.clear()
        single = len(self.soft) == 1 and not self.contact_bodies and self.rigid is None
        state = None if single else self.snapshot()
        extra = np.zeros((0, 2), np.int64)
        try:
            for attempt in range(_MAX_REGROUPINGS + 1):
                groups = self._group(dt, extra, everything=attempt == _MAX_REGROUPINGS)
                start = [] if groups.is_one else [adapter.positions.copy() for adapter in self.contact_bodies]
                poses = (
                    None if self.rigid_surfaces is None else self.rigid_surfaces.system.rigid_state.X.copy()
                )
                reports, warm_start = self._step_groups(groups, dt)
                missed = self._missed_pairs(groups, start, poses)
                if attempt == _MAX_REGROUPINGS or not len(missed):
                    break
                extra = np.concatenate([extra, missed])
                assert state is not None
                self.restore(state)
        except Exception:
            if state is not None:
                self.restore(state)
            raise
        self.warm_start = warm_start
        self.collider_set.poses.clear()
        return reports

    def _step_groups(self, groups: ContactGroups, dt: float) -> tuple[dict[int, StepReport], WarmStart]:
        time, reports = self._environment.time, {}
        warm_starts, mixed = [], []
        done: set[int] = set()
        already_solved = None
        for adapter in self.soft:
            k = adapter.index
            if k < 0 or groups.isolated[k]:
                (report,) = advance_with_retries([adapter.begin_step(dt)], time, dt, NO_CONTACT)
                reports[adapter.number] = adapter.finish_report(report)
            elif (label := int(groups.label[k])) not in done:
                done.add(label)
                group = self._driver(groups, label)
                group_reports = advance_with_retries(group.begin_step(dt), time, dt, group)
                for one, report in zip(group.soft, group_reports, strict=False):
                    reports[one.number] = one.finish_report(report)
                warm_starts.append(group.warm_start)
                if group.rigid is not None:
                    mixed.append(group.rigid)
                    already_solved = (
                        np.zeros(len(group.rigid.subset.local_index), np.bool_)
                        if already_solved is None
                        else already_solved
                    )
                    already_solved |= group.rigid.subset.local_index >= 0
        if self.rigid is not None:
            rigid_reports = self.rigid.step(dt, already_solved)
            for coupled in mixed:
                rigid_reports = coupled.merge_reports(rigid_reports)
            self.rigid.publish_contacts(dt, [one.impulses for one in mixed])
            reports |= dict(zip(self._rigid_numbers.tolist(), rigid_reports, strict=True))
        return reports, WarmStart.joined(warm_starts)

    def _driver(self, groups: ContactGroups, label: int) -> GroupDriver:
        count = len(self.contact_bodies)
        soft = [self.contact_bodies[k] for k in np.flatnonzero(groups.label[:count] == label)]
        instances = np.flatnonzero(groups.label[count:] == label)
        rigid = None
        if len(instances):
            assert self.rigid is not None
            colliders = self.first_collider + np.arange(len(self.shapes))
            rigid = RigidInstancesAdapter(
                self.rigid, instances, np.concatenate([self._rigid_numbers, colliders])
            )
        return GroupDriver(self, soft, rigid, self.warm_start)

    # --- which bodies may touch -----------------------------------------------------------------------------------

    def _can_collide(self, adapter: DeformableAdapter) -> bool:
        """Return whether a body can touch a collider, another body, or itself."""
        if self._pieces_collide(adapter):
            return True
        collide = self.pair_table.collide[adapter.number]
        others = [other.number for other in self.soft] + self._rigid_numbers.tolist()
        return bool(collide[others].any() or collide[self.first_collider :].any())

    def _pieces_collide(self, adapter: DeformableAdapter) -> bool:
        """Return whether a body has pieces that can touch each other."""
        return adapter.piece_count > 1 and bool(self.pair_table.pieces_collide[adapter.number])

    def _rigid_collide(self) -> NDArray[np.bool_]:
        """Return which soft bodies can touch which rigid ones, shape [soft, rigid]."""
        numbers = np.array([adapter.number for adapter in self.contact_bodies], dtype=np.int64)
        return self.pair_table.collide[numbers[:, None], self._rigid_numbers[None, :]]

    @timed("contact search")
    def _group(self, dt: float, extra: NDArray[np.int64], everything: bool) -> ContactGroups:
        """Find groups of soft bodies and rigid instances that may touch within the step."""
        if not self.contact_bodies:  # nor does any rigid instance touch a soft body
            return ContactGroups(np.zeros(0, np.int32), np.zeros(0, np.bool_))
        margin = np.array(
            [PROXIMITY_FRACTION * adapter.size + adapter.radius for adapter in self.contact_bodies]
        )
        margin += (
            2.0 * float(self.surface_contacts.min_distance.max(initial=0.0)) + self.gravity_speed(dt) * dt
        )
        paths = [(m.positions, m.positions_after(m.velocities, dt)) for m in self.contact_bodies]
        boxes = AABBs.around(paths, margin)
        links, isolated = self._links(boxes)
        instances = 0
        if self.rigid_surfaces is not None:
            system = self.rigid_surfaces.system
            instances = len(system.rigid_state.X)
            system.rigid_state.update_derived()
            system.rigid_state.set_kinematic(self._environment.time, dt)
            pairs = system.stateless_detector.broad_phase(dt, self.gravity_speed(dt) * dt)
            links, isolated = self._rigid_links(
                boxes, AABBs(*system.stateless_detector.aabbs), pairs, links, isolated
            )
        count = len(self.contact_bodies)
        links = np.concatenate([links, extra[extra[:, 1] >= 0]])
        isolated[extra[:, 0]] = False
        if everything:
            one = np.zeros(count, np.int64)
            links = np.concatenate([links, np.column_stack([one, np.arange(count)])])
            isolated[:] = False
        return ContactGroups(connected_components(count + instances, links), isolated)

    def _links(self, boxes: AABBs) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return pairs of soft bodies whose boxes overlap, and which bodies are close to nothing."""
        near = self._bodies_collide & (boxes.overlaps(boxes) if len(boxes) > 1 else True)
        isolated: NDArray[np.bool_] = ~(near.any(axis=1) | self._several_pieces)
        for k, shape in enumerate(self.shapes):
            collide = self._touches_collider[:, k]
            if (collide & isolated).any():
                isolated &= ~(collide & aabb_overlaps_collider(shape, boxes))
        np.fill_diagonal(near, False)
        return np.argwhere(np.triu(near)).astype(np.int64), isolated

    def _rigid_links(
        self,
        boxes: AABBs,
        rigid_boxes: AABBs,
        pairs: NDArray[np.int32],
        links: NDArray[np.int64],
        isolated: NDArray[np.bool_],
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Add pairs of soft bodies with rigid instances, and of these with each other."""
        assert self.rigid_surfaces is not None
        p, count = self.rigid_surfaces.system.rigid_state, len(self.contact_bodies)
        collide = np.zeros((count, len(p.X)), np.bool_)
        collide[:, : p.count] = self._rigid_collide()[:, p.owner[: p.count]]
        near = collide & boxes.overlaps(rigid_boxes)
        isolated &= ~near.any(axis=1)
        near &= p.is_dynamic
        joined = self.rigid_surfaces.system.joints.linked_pairs.astype(np.int64)
        both = np.concatenate([pairs.astype(np.int64), joined])
        both = both[p.is_dynamic[both].all(axis=1)]
        return np.concatenate([links, np.argwhere(near) + [0, count], both + count]), isolated

    def _missed_pairs(
        self,
        groups: ContactGroups,
        start: Sequence[NDArray[np.float64]],
        poses: NDArray[np.float64] | None,
    ) -> NDArray[np.int64]:
        """Return pairs of different groups whose paths in the step came close to each other after all.

        The second of a pair is -1 for a body that was isolated and came close to a collider or a kinematic instance.
        """
        if groups.is_one:
            return np.zeros((0, 2), np.int64)
        count = len(self.contact_bodies)
        margin = np.full(count, float(self.surface_contacts.min_distance.max(initial=0.0)))
        margin += [adapter.radius for adapter in self.contact_bodies]
        boxes = AABBs.around(
            [(a, m.positions) for a, m in zip(start, self.contact_bodies, strict=True)], margin
        )
        links, isolated = self._links(boxes)
        if self.rigid_surfaces is not None:
            p = self.rigid_surfaces.system.rigid_state
            assert poses is not None
            radius = np.where(np.arange(len(p.X)) < p.count, p.radius, -1e300)[:, None]
            rigid_boxes = AABBs(np.minimum(poses, p.X) - radius, np.maximum(poses, p.X) + radius)
            none = np.zeros((0, 2), np.int32)
            links, isolated = self._rigid_links(boxes, rigid_boxes, none, links, isolated)
        links = links[links[:, 0] < count]
        apart = groups.label[links[:, 0]] != groups.label[links[:, 1]]
        no_longer_isolated = np.flatnonzero(groups.isolated & ~isolated)
        return np.concatenate(
            [links[apart], np.column_stack([no_longer_isolated, np.full(len(no_longer_isolated), -1)])]
        )

    def restrict_to(self, soft: Sequence[DeformableAdapter]) -> bool:
        """Restrict the detection of surface contacts to these bodies; returns whether any surfaces can touch."""
        some = {id(adapter) for adapter in soft}
        return self.surface_contacts.restrict_to(
            np.array([id(adapter) in some for adapter in self.contact_bodies], np.bool_)
        )

    # --- static equilibrium -------------------------------------------------------------------------------

    def settle(self, rtol: float, max_newton: int, steps: int | None) -> tuple[StaticReport, ...]:
        """Move every soft body to its static equilibrium; bodies that touch each other to a common one."""
        self.collider_set.poses.clear()
        self._check_no_rigid()
        start = [adapter.positions.copy() for adapter in self.contact_bodies]
        state = self.snapshot()
        unsupported: InputError | None = None
        reports: dict[int, StaticReport] = {}
        for adapter in self.soft:
            if self._pieces_collide(adapter):
                continue
            obstacles = self.colliders_for(adapter.number)
            try:
                reports[adapter.number] = adapter.body.settle(rtol, max_newton, steps, obstacles)
            except InputError as error:  # another body may support it
                if not self._may_contact(adapter):
                    raise
                unsupported = error
        if self.surface_contacts.bodies_collide and (
            unsupported is not None or len(reports) < len(self.soft) or self._surfaces_contact(start)
        ):
            self.restore(state)
            self.restrict_to(self.contact_bodies)
            reports |= solve_static_contact(
                self.contact_bodies,
                self.surface_contacts,
                self.colliders_for,
                rtol,
                max_newton,
                self._environment,
            )
        elif unsupported is not None:
            raise unsupported
        return tuple(reports[adapter.number] for adapter in self.soft)

    def _check_no_rigid(self) -> None:
        """Raise InputError if soft bodies can touch rigid ones: these would have to come to rest as well."""
        if self.rigid is None:
            return
        free = np.array([body.motion is None for body in self.rigid.rigid_state.bodies], np.bool_)
        if not self.soft and free.any():
            raise InputError(
                "settle finds the rest of soft bodies, and the world has only rigid ones; let these come to rest in "
                "steps"
            )
        collide = self._rigid_collide()
        if collide.any():
            i, j = np.argwhere(collide)[0]
            raise InputError(
                f"settle finds the rest of soft bodies alone, and '{self.contact_bodies[i].name}' can touch "
                f"the rigid '{self.rigid.rigid_state.bodies[j].name}'; let them come to rest in steps with "
                "some damping, or set 'collide' of the pair to false"
            )

    def _may_contact(self, adapter: DeformableAdapter) -> bool:
        others = [other.number for other in self.soft if other is not adapter]
        return bool(self.pair_table.collide[adapter.number, others].any())

    def _surfaces_contact(self, start: Sequence[NDArray[np.float64]]) -> bool:
        """Return whether soft bodies came too close to each other on the path from their start positions."""
        self.restrict_to(self.contact_bodies)
        end = [adapter.positions for adapter in self.contact_bodies]
        rows = np.zeros(len(end), np.int64)
        time = self._environment.time
        crossed, _ = self.surface_contacts.find_crossings(start, end, time, 1.0, rows)
        near = join_rows([crossed, self.surface_contacts.find_close(end, end, time, 1.0, rows)])
        numbers = [adapter.number for adapter in self.contact_bodies]
        both = np.isin(near.a, numbers) & np.isin(near.b, numbers)
        return bool(both.any())

    # --- state ------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return everything that a step changes, for `restore`."""
        state: dict[str, Any] = {
            "soft": [adapter.body.snapshot() for adapter in self.soft],
            "warm_start": self.warm_start,
        }
        if self.rigid is not None:
            p = self.rigid.rigid_state
            state["rigid"] = (p.X.copy(), p.Q.copy(), p.V.copy(), self.rigid.state())
        return state

    def restore(self, state: Any) -> None:
        """Restore a state from `snapshot`."""
        for adapter, own in zip(self.soft, state["soft"], strict=True):
            adapter.body.rollback(own)
        self.warm_start = state["warm_start"]
        if self.rigid is not None:
            p = self.rigid.rigid_state
            p.X[:], p.Q[:], p.V[:] = state["rigid"][:3]
            self.rigid.restore(state["rigid"][3])

    def state(self) -> dict[str, NDArray]:
        """Return what is carried from step to step."""
        return {
            "contact_keys": self.warm_start.keys.copy(),
            "contact_forces": self.warm_start.forces.copy(),
            "contact_participants": self.warm_start.participants.copy(),
        }

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned; what is missing is empty."""
        keys = np.asarray(state.get("contact_keys", ()), np.int64).copy()
        forces = state.get("contact_forces", np.zeros((0, 3)))
        unknown = np.full((len(keys), 3), -1)  # participants of old states, which no `remap` finds
        participants = state.get("contact_participants", unknown)
        self.warm_start = WarmStart(
            keys, np.asarray(forces, np.float64).copy(), np.asarray(participants, np.int32).copy()
        )

    def clear_warm_start(self) -> None:
        """Clear the contact forces of the last step."""
        self.warm_start = WarmStart.empty()

    def take_warm_start(self, before: ContactStepper, number: int, nodes: NDArray[np.integer] | None) -> None:
        """Take over the warm start of a stepper with the same bodies, of which body `number` has new nodes.

        For `nodes` see `WarmStart.remap`.
        """
        self.warm_start = before.warm_start.remap(number, nodes)

    def renumber_warm_start(
        self, before: ContactStepper, numbers: NDArray[np.int64], same_rigid: bool
    ) -> None:
        """Take over the warm start of the stepper of a world before something was added or removed.

        Args:
            before: That stepper.
            numbers: The new number of each of its bodies and colliders, -1 for those that are gone.
            same_rigid: Whether the rigid bodies, joints and colliders are the same.
        """
        self.warm_start = before.warm_start.renumber(
            numbers, before.first_collider, len(self.pair_table.friction), same_rigid
        )

    # --- helpers -----------------------------------------------------------------------------------

    def colliders_for(self, number: int) -> ColliderSet | None:
        """Return the colliders that the body of this number can touch, as they are now, or None."""
        collide, time = self.pair_table.collide[number, self.first_collider :], self._environment.time
        shapes = [
            shape.frozen(time) if isinstance(shape, AnimatedMeshShape) else shape
            for shape, can in zip(self.shapes, collide, strict=True)
            if can
        ]
        return ColliderSet(shapes) if shapes else None

    def collider_number(self, shape: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the numbers of colliders in the pair table."""
        return self.first_collider + shape

    def gravity_speed(self, dt: float) -> float:
        """Return the speed [m/s] that gravity adds in a step."""
        return float(np.linalg.norm(self._environment.gravity)) * dt


def _warn(*sentences: str) -> None:
    for sentence in filter(None, sentences):
        warn_user(sentence)


def _index_of(one: Any, participants: Sequence[Any]) -> int:
    """Return the index of a participant."""
    return next(k for k, other in enumerate(participants) if other is one)
