"""The last check of a substep: what contact could not keep apart does not pass; see `impact_zones`.

It looks at the paths from the positions at the start of a substep to those that the bodies have in the end, whatever
led to these: contacts that were missed, a solve that did not converge, the line search of Newton's method, a velocity
that was too large. Bodies say whether they can be corrected; others, and nodes that are held, move as they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.collision import find_collider_impacts, find_passages
from continua.coupling.contact.impact_zones import (
    Anchor,
    RigidMember,
    StepMotion,
    ZonePairs,
    ZoneReport,
    keep_apart,
)
from continua.coupling.contact.rigid_surfaces import Poses
from continua.coupling.contact.surface_contacts import CROSSED_MARGIN, Passages
from continua.geometry import AnimatedMeshShape
from continua.numerics.rotations import quaternion_from_matrix
from continua.numerics.timers import timed

if TYPE_CHECKING:
    from continua.coupling.contact.group_driver import GroupDriver

__all__ = ["DEPTH_FRACTION", "FailSafe"]

DEPTH_FRACTION = 0.02
"""Depth of a node in a collider or rigid body that counts as passing, as a fraction of an element's size, where the
surface has no thickness."""

SAME_PATH = 1e-3
"""Distance of the end of a path from that of one that is free, as a fraction of the smallest distance to keep."""

INSIDE_FRACTION = 1e-3
"""The same for a node that starts inside."""


class FailSafe:
    """Keeps the surfaces of a group apart in one substep.

    Args:
        driver: The bodies.
        time: Time at the start [s].
        dt: Time step [s].
    """

    def __init__(self, driver: GroupDriver, time: float, dt: float) -> None:
        self.driver, self.stepper, self.time, self.dt = driver, driver.stepper, time, dt
        self.soft = driver.soft
        self.start = [adapter.positions.copy() for adapter in self.soft]
        self.first = np.cumsum([0] + [len(x) for x in self.start])
        self._first_row = np.cumsum([0] + [adapter.row_count for adapter in self.soft])
        self._body = np.full(len(self.stepper.contact_bodies), -1, np.int64)  # the place in `soft` of each
        for i, adapter in enumerate(self.soft):
            self._body[adapter.index] = i
        self._instances = np.zeros(0, np.int64)
        if self.stepper.rigid_surfaces is not None:
            state = self.stepper.rigid_surfaces.system.rigid_state
            self._start_poses = Poses.of(state.X, state.R)
            if driver.rigid is not None:
                self._instances = driver.rigid.subset.instances
        self._colliders: dict[int, int] = {}
        self._kinematic: dict[int, int] = {}

    @timed("contact fail-safe")
    def run(self, held: Sequence[NDArray[np.bool_] | None], clear: NDArray[np.float64] | None = None) -> str:
        """Correct what would pass; return a sentence about it, or an empty one.

        Args:
            held: Nodes of each body whose motion is prescribed; None is all of a body that cannot be corrected.
            clear: Velocities [m/s] whose paths contact has found to be free, one after the other; or None.
        """
        if clear is not None and self._moved_as(clear):
            return ""
        motion = self._motion(held)
        self._tangled: NDArray[np.bool_] | None = None
        self._was_tangled = 0
        initial, rate = motion.u.copy(), motion.rate.copy()
        poses = [member.displacement.copy() for member in motion.rigid]
        report = keep_apart(motion, lambda: self._find(motion))
        if not report.pairs:
            return ""
        for i, adapter in enumerate(self.soft):
            own = slice(self.first[i], self.first[i + 1])
            moved, changed = motion.u[own] - initial[own], motion.rate[own] - rate[own]
            if moved.any() or changed.any():
                adapter.correct_motion(moved, changed / self.dt)
        self._correct_rigid(motion, poses)
        return self._describe(motion, report)

    def _moved_as(self, velocities: NDArray[np.float64]) -> bool:
        """Return whether all nodes moved with these velocities, but for much less than the distances that count."""
        distance = self.stepper.surface_contacts.min_distance
        same = SAME_PATH * float(distance.min(initial=np.inf, where=distance > 0.0))
        rows = zip(self._first_row[:-1], self._first_row[1:], strict=True)
        return all(
            np.abs(body.positions - x - self.dt * body.point_velocities(velocities[a:b])).max(initial=0.0)
            <= same
            for body, x, (a, b) in zip(self.soft, self.start, rows, strict=True)
        )

    def _motion(self, held: Sequence[NDArray[np.bool_] | None]) -> StepMotion:
        end = [adapter.positions for adapter in self.soft]
        u = np.concatenate(end) - np.concatenate(self.start)
        masses, fixed = [], []
        for adapter, own, x in zip(self.soft, held, end, strict=True):
            mass, count = adapter.node_masses, len(x)
            masses.append(np.ones(count) if mass is None else mass)
            whole = own is None or mass is None
            fixed.append(np.full(count, whole) if whole or own is None else own | (masses[-1] <= 0.0))
        rate = self.dt * np.concatenate(
            [adapter.point_velocities(adapter.velocities) for adapter in self.soft]
        )
        motion = StepMotion(
            np.concatenate(self.start), u, rate, np.concatenate(masses), np.concatenate(fixed)
        )
        self._set_anchors(motion)
        return motion

    def _set_anchors(self, motion: StepMotion) -> None:
        for k, shape in enumerate(self.stepper.shapes):
            if isinstance(shape, AnimatedMeshShape):
                continue
            now, then = shape.pose(self.time), shape.pose(self.time + self.dt)
            zero, one = np.zeros(3), np.eye(3)
            self._colliders[k] = len(motion.anchors)
            if now is None or then is None or np.array_equal(now.rotation, then.rotation):
                shift = zero if now is None or then is None else then.translation - now.translation
                motion.anchors.append(Anchor(zero, shift, one))
            else:
                motion.anchors.append(
                    Anchor(now.translation, then.translation, then.rotation @ now.rotation.T)
                )
        if self.stepper.rigid_surfaces is None:
            return
        state = self.stepper.rigid_surfaces.system.rigid_state
        before = self._start_poses
        self._member = np.full(len(state.X), -1, np.int64)
        for i in range(state.count):
            rotation = state.R[i].reshape(3, 3) @ before.R[i].T
            if i not in self._instances:
                self._kinematic[i] = len(motion.anchors)
                same = np.array_equal(state.R[i].reshape(3, 3), before.R[i])
                motion.anchors.append(Anchor(before.X[i], state.X[i].copy(), np.eye(3) if same else rotation))
                continue
            self._member[i] = len(motion.rigid)
            inertia = (before.R[i] * state.J[i]) @ before.R[i].T
            motion.rigid.append(
                RigidMember(
                    before.X[i], float(state.mass[i]), inertia, state.X[i] - before.X[i],
                    self.dt * state.V[i, 3:], rotation,
                )
            )  # fmt: skip

    # --- what passes --------------------------------------------------------------------------------------

    def _find(self, motion: StepMotion) -> ZonePairs:
        end = [motion.x[a:b] + motion.u[a:b] for a, b in zip(self.first[:-1], self.first[1:], strict=True)]
        parts = []
        if self.stepper.restrict_to(self.soft):
            starts = [adapter.positions for adapter in self.stepper.contact_bodies]
            ends = list(starts)
            for i, adapter in enumerate(self.soft):
                starts[adapter.index], ends[adapter.index] = self.start[i], end[i]
            surfaces = self.stepper.surface_contacts
            found = surfaces.find_passages(starts, ends, self.time, self.dt)
            if len(found.pairs):
                parts.append(self._without_tangled(starts, self._surface_pairs(motion, found)))
        parts += self._collider_pairs(motion, end)
        if self.stepper.rigid_surfaces is not None:
            parts += self._rigid_pairs(motion, end)
        return ZonePairs.join(parts) if parts else _NO_PAIRS

    def _surface_pairs(self, motion: StepMotion, found: Passages) -> ZonePairs:
        body = np.where(found.body >= 0, self._body[found.body], -1)
        node = np.where(body >= 0, self.first[body] + found.node, -1)
        anchor = np.full(len(found.pairs), -1, np.int64)
        for c in np.flatnonzero(found.other >= 0).tolist():
            k = int(found.other[c])
            anchor[c] = self._colliders.get(k, len(motion.anchors))
            if k not in self._colliders:  # it deforms: this place of it moves by its own displacement
                side = float(np.where(found.body[c] < 0, found.pairs.weights[c], 0.0).sum())
                motion.anchors.append(Anchor(np.zeros(3), found.given[c] / (side or 1.0), np.eye(3)))
        return ZonePairs(
            node, found.pairs.weights, found.pairs.normals, found.pairs.gaps, found.given, found.keep, anchor,
            np.full(len(anchor), -1, np.int64),
        )  # fmt: skip

    def _without_tangled(self, start: Sequence[NDArray[np.float64]], pairs: ZonePairs) -> ZonePairs:
        """Return the pairs without those of surfaces that pierce each other already: they may come apart."""
        if self._tangled is None:
            nodes, found, _ = self.stepper.surface_contacts.tangled_nodes(start, self.time)
            self._was_tangled = len(found)
            self._tangled = np.concatenate([nodes[adapter.index] for adapter in self.soft])
        if not self._was_tangled:
            return pairs
        inside = (pairs.nodes < 0) | self._tangled[pairs.nodes]
        return pairs.take(np.flatnonzero(~inside.all(axis=1)))

    def _collider_pairs(self, motion: StepMotion, end: Sequence[NDArray[np.float64]]) -> list[ZonePairs]:
        """Return nodes that pass into or through colliders."""
        parts, shapes = [], self.stepper.shapes
        for i, adapter in enumerate(self.soft):
            nodes = adapter.body.contact_nodes
            collide = self.stepper.pair_table.collide[adapter.number, self.stepper.first_collider :]
            x0, x1 = self.start[i][nodes], end[i][nodes]
            for k, anchor in self._colliders.items():
                if not collide[k]:
                    continue
                shape = shapes[k]
                hits = find_collider_impacts(shape, x0, x1, self.time, self.dt)
                if not len(hits.points):
                    continue
                stays = shape.distances_at(x1[hits.points], self.time + self.dt, 0.0)[0]
                before = np.minimum(shape.distances_at(x0[hits.points], self.time, 0.0)[0], 0.0)
                deep = stays < before - np.where(
                    before < 0.0, INSIDE_FRACTION * adapter.size, self._accepted(i)
                )
                through = np.flatnonzero(~deep & (stays > 0.0))
                if len(through):
                    at = hits.points[through]
                    back = find_collider_impacts(shape, x1[at], x0[at], self.time + self.dt, -self.dt)
                    facing = np.einsum("ci,ci->c", hits.normals[through[back.points]], back.normals)
                    deep[through[back.points[facing < 0.0]]] = True
                which = np.flatnonzero(deep)
                point = self.first[i] + nodes[hits.points[which]].astype(np.int64)
                given = -motion.anchors[anchor].displacements(motion.x[point])
                parts.append(
                    _single_nodes(
                        point, hits.normals[which], hits.gaps[which], given, anchor, -1, self._accepted(i)
                    )
                )
        return parts

    def _accepted(self, i: int) -> float:
        """Return the depth of a node of body i that does not count as passing [m]."""
        adapter = self.soft[i]
        return 0.0 if adapter.radius > 0.0 else DEPTH_FRACTION * adapter.size

    def _rigid_pairs(self, motion: StepMotion, end: Sequence[NDArray[np.float64]]) -> list[ZonePairs]:
        """Return what passes into or through rigid bodies."""
        surfaces = self.stepper.rigid_surfaces
        assert surfaces is not None
        state, start = surfaces.system.rigid_state, self._start_poses
        poses = Poses(state.X.copy(), state.R.reshape(-1, 3, 3).copy())
        for i in self._instances.tolist():
            member = motion.rigid[self._member[i]]
            poses.X[i] = member.position + member.displacement
            poses.R[i] = member.rotation @ start.R[i]
        parts = []
        for i, adapter in enumerate(self.soft):
            nodes = adapter.body.contact_nodes
            x0, x1 = self.start[i][nodes], end[i][nodes]
            low, high = np.minimum(x0, x1).min(axis=0), np.maximum(x0, x1).max(axis=0)
            for k in range(state.count):
                owner = state.owner[k]
                near = (np.minimum(start.X[k], poses.X[k]) - state.radius[k] <= high).all() and (
                    np.maximum(start.X[k], poses.X[k]) + state.radius[k] >= low
                ).all()
                if not near or not self.stepper.pair_table.collide[adapter.number, surfaces.numbers[owner]]:
                    continue
                if self._member[k] < 0 and k not in self._kinematic:
                    continue
                shape = surfaces.shapes[owner]
                a, b = (x0 - start.X[k]) @ start.R[k], (x1 - poses.X[k]) @ poses.R[k]
                hits = find_collider_impacts(shape, a, b, 0.0, 0.0)
                if not len(hits.points):
                    continue
                stays = shape.distances(b[hits.points])[0]
                before = np.minimum(shape.distances(a[hits.points])[0], 0.0)
                deep = stays < before - np.where(
                    before < 0.0, INSIDE_FRACTION * adapter.size, self._accepted(i)
                )
                through = np.flatnonzero(~deep & (stays > 0.0))
                if len(through):
                    at = hits.points[through]
                    back = find_collider_impacts(shape, b[at], a[at], 0.0, 0.0)
                    facing = np.einsum("ci,ci->c", hits.normals[through[back.points]], back.normals)
                    deep[through[back.points[facing < 0.0]]] = True
                which = np.flatnonzero(deep)
                point = self.first[i] + nodes[hits.points[which]].astype(np.int64)
                moved = a[hits.points[which]] @ poses.R[k].T + poses.X[k] - motion.x[point]
                parts.append(
                    _single_nodes(
                        point, hits.normals[which] @ start.R[k].T, hits.gaps[which], -moved,
                        self._kinematic.get(k, -1), int(self._member[k]), self._accepted(i),
                    )
                )  # fmt: skip
        parts += self._rigid_surface_pairs(end, poses)
        return parts

    def _rigid_surface_pairs(self, end: Sequence[NDArray[np.float64]], poses: Poses) -> list[ZonePairs]:
        """Return edges and corners of rigid bodies that pass through soft surfaces."""
        surfaces = self.stepper.rigid_surfaces
        assert surfaces is not None
        starts = [adapter.positions for adapter in surfaces.soft]
        ends, which = list(starts), []
        for i, adapter in enumerate(self.soft):
            k = surfaces.soft.index(adapter)
            which.append(k)
            starts[k], ends[k] = self.start[i], end[i]
        surfaces.restrict_to(which)
        if not surfaces.mesh.vertex_face_pairs.any():
            return []
        x0, x1 = surfaces.points(starts, self._start_poses), surfaces.points(ends, poses)
        pairs = find_passages(surfaces.mesh, x0, x1, CROSSED_MARGIN * surfaces.min_distance)
        if not len(pairs):
            return []
        first, count = surfaces.mesh.first, len(surfaces.soft)
        of_soft = pairs.nodes < first[count]
        soft, rigid = np.minimum(pairs.a, pairs.b), np.maximum(pairs.a, pairs.b).astype(np.int64)
        at = np.argmax(~of_soft, axis=1)
        point = np.take_along_axis(pairs.nodes.astype(np.int64), at[:, None], axis=1)[:, 0] - first[rigid]
        instance = surfaces.instance_of(rigid, point)
        place = np.full(count, -1, np.int64)
        place[which] = np.arange(len(which))
        node = np.where(of_soft, self.first[place[soft]][:, None] + pairs.nodes - first[soft][:, None], -1)
        given = np.einsum("ck,cki->ci", np.where(of_soft, 0.0, pairs.weights), (x1 - x0)[pairs.nodes])
        anchor = np.array([self._kinematic.get(int(k), -1) for k in instance], np.int64)
        keep = CROSSED_MARGIN * surfaces.min_distance[pairs.a, pairs.b]
        found = ZonePairs(
            node, pairs.weights, pairs.normals, pairs.gaps, given, keep, anchor, self._member[instance]
        )
        return [found.take((found.anchor >= 0) | (found.rigid >= 0))]

    # --- the results --------------------------------------------------------------------------------------

    def _correct_rigid(self, motion: StepMotion, poses: Sequence[NDArray[np.float64]]) -> None:
        """Move rigid bodies of zones with these."""
        if not any(member.changed for member in motion.rigid):
            return
        assert self.stepper.rigid_surfaces is not None
        state = self.stepper.rigid_surfaces.system.rigid_state
        for i in self._instances.tolist():
            member = motion.rigid[self._member[i]]
            if not member.changed:
                continue
            before = poses[self._member[i]]
            state.X[i] = member.position + member.displacement
            rotation = member.rotation @ self._start_poses.R[i]
            state.Q[i] = quaternion_from_matrix(rotation)
            state.V[i, :3] += (member.displacement - before) / self.dt
            state.V[i, 3:] = member.turn / self.dt
        state.update_derived()

    def _describe(self, motion: StepMotion, report: ZoneReport) -> str:
        where = ""
        if report.left is not None and len(report.left):
            nodes = report.left.nodes[0]
            at = (motion.x + motion.u)[nodes[nodes >= 0]].mean(axis=0)
            where = f"near ({at[0]:.3g}, {at[1]:.3g}, {at[2]:.3g})"
            names = ", ".join(f"'{adapter.name}'" for adapter in self.soft)
            return (
                f"{len(report.left)} pairs of {names} pass through each other {where}: what is pinned, driven or "
                "prescribed on their two sides moves through each other"
            )
        zones = ""
        if report.nodes:
            zones = f", {report.nodes} nodes in {report.zones} rigid zone{'s' * (report.zones > 1)}"
        return f"contact left {report.pairs} pairs that would pass; the fail-safe stopped them{zones}"


_NO_PAIRS = ZonePairs(
    np.zeros((0, 4), np.int64),
    np.zeros((0, 4)),
    np.zeros((0, 3)),
    np.zeros(0),
    np.zeros((0, 3)),
    np.zeros(0),
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
)


def _single_nodes(
    nodes: NDArray[np.int64],
    normals: NDArray[np.float64],
    gaps: NDArray[np.float64],
    given: NDArray[np.float64],
    anchor: int,
    rigid: int,
    keep: float,
) -> ZonePairs:
    """Return pairs of nodes and one collider or rigid body."""
    count = len(nodes)
    four = np.full((count, 4), -1, np.int64)
    four[:, 0] = nodes
    weights = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    return ZonePairs(
        four, weights, normals, gaps, given, np.full(count, keep), np.full(count, anchor, np.int64),
        np.full(count, rigid, np.int64),
    )  # fmt: skip
