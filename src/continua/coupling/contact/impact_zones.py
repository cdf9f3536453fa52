"""Stops what contact could not keep apart: impulses between the pairs that would pass, and rigid impact zones.

The motion of a step is given by the displacements u of nodes from positions x that do not intersect. Where pairs would
pass on the straight paths from x to x + u, inelastic impulses along their normals change u, as in Bridson et al.
(2002). What still passes moves as a rigid body: all nodes of connected pairs form a zone with their common momentum and
angular momentum (Provot 1997). Zones only grow, so this ends, at the latest with all nodes in one zone.

A zone that turns about its centre takes each point from r to r', with r' - r = h x (r + r') / 2 and the same h for all
(Cayley's form of a rotation). On straight paths its points are at ((1 - t) I + t Q) r at time t, and for a rotation Q
of less than half a turn this matrix is never singular: nothing within a zone passes through anything else. With the
moment of inertia J about the centre at the middle of the paths, the angular momentum is J h / dt exactly.

What is prescribed does not give way. A zone with nodes that are held, or with a collider, moves with these. If they
move differently, no rigid motion fits: the nodes between follow the nearest ones, and what then passes is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from continua.coupling.contact.impact_zone_kernels import apply_impulses

__all__ = [
    "Anchor",
    "RigidMember",
    "StepMotion",
    "ZonePairs",
    "ZoneReport",
    "keep_apart",
    "rigid_displacement",
]

IMPULSE_ROUNDS = 6
"""Rounds of impulses, each followed by a search, before zones are formed."""

SWEEPS = 40
"""Sweeps over all pairs in a round of impulses."""

KEPT_DISTANCE = 2.0
"""Distance that impulses keep, in distances from which a pair counts, if it is as far apart at the start."""

MAX_ITERATIONS = 200
"""Iterations for the rotation of a zone."""

SAME_MOTION = 1e-9
"""Difference of prescribed displacements, relative to their size and that of the zone, that counts as none."""


@dataclass(eq=False)
class Anchor:
    """Something whose motion is prescribed: points go from x to rotation (x - start) + end [m]."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    rotation: NDArray[np.float64]

    def displacements(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the displacements of points [n, 3] that move along."""
        if (self.rotation == np.eye(3)).all():  # to the last digit: what does not move does not move
            return np.broadcast_to(self.end - self.start, x.shape)
        return (x - self.start) @ self.rotation.T + self.end - x


@dataclass(eq=False)
class RigidMember:
    """A rigid body that takes part: its momentum counts, and it moves with its zone.

    Attributes:
        position: Its centre of mass at the start [m].
        mass: Its mass [kg].
        inertia: Its inertia in world axes at the start [kg m2], shape [3, 3].
        displacement: Displacement of the centre [m]; changed.
        turn: Vector of its rotation in the step: angular velocity times dt [rad]; changed.
        rotation: Rotation of the step, shape [3, 3]; changed.
        changed: Whether a zone has changed its motion.
    """

    position: NDArray[np.float64]
    mass: float
    inertia: NDArray[np.float64]
    displacement: NDArray[np.float64]
    turn: NDArray[np.float64]
    rotation: NDArray[np.float64]
    changed: bool = False


@dataclass(eq=False)
class ZonePairs:
    """Pairs that pass on their paths.

    Attributes:
        nodes: Up to four nodes of each, -1 is none, shape [c, 4].
        weights: Their weights [c, 4]: the relative displacement is the sum of weights times displacements, and `given`.
        normals: Unit normals, to the side from which the pairs come, shape [c, 3].
        gaps: Distances along them at the start [m], shape [c].
        given: Displacement that colliders and rigid bodies add [m], shape [c, 3].
        keep: Distance that counts as passing [m], shape [c].
        anchor: The anchor of each, or -1, shape [c].
        rigid: The rigid member of each, or -1, shape [c].
    """

    nodes: NDArray[np.int64]
    weights: NDArray[np.float64]
    normals: NDArray[np.float64]
    gaps: NDArray[np.float64]
    given: NDArray[np.float64]
    keep: NDArray[np.float64]
    anchor: NDArray[np.int64]
    rigid: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.gaps)

    def take(self, which: NDArray) -> ZonePairs:
        """Return some of the pairs, by a mask or by index."""
        return ZonePairs(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    @classmethod
    def join(cls, parts: Sequence[ZonePairs]) -> ZonePairs:
        """Return several in one."""
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in cls.__dataclass_fields__))


@dataclass(eq=False)
class StepMotion:
    """The motion of a step.

    Attributes:
        x: Positions of the nodes at the start [m], shape [n, 3].
        u: Their displacements [m], shape [n, 3]; changed.
        rate: Their velocities after the step times its length [m], shape [n, 3]; those of zones follow u, others
            change with it.
        mass: Their masses [kg], shape [n].
        held: Whether their motion is prescribed, shape [n].
        anchors: What moves in a prescribed way.
        rigid: The rigid bodies.
    """

    x: NDArray[np.float64]
    u: NDArray[np.float64]
    rate: NDArray[np.float64]
    mass: NDArray[np.float64]
    held: NDArray[np.bool_]
    anchors: list[Anchor] = field(default_factory=list)
    rigid: list[RigidMember] = field(default_factory=list)


@dataclass
class ZoneReport:
    """What was done: pairs found, nodes and zones that move rigidly, rounds, and pairs that pass nevertheless."""

    pairs: int = 0
    nodes: int = 0
    zones: int = 0
    rounds: int = 0
    left: ZonePairs | None = None


def keep_apart(motion: StepMotion, find: Callable[[], ZonePairs]) -> ZoneReport:
    """Change the displacements of a step so that nothing passes; `find` returns what passes with them now."""
    report = ZoneReport()

    def search() -> ZonePairs:
        """Return what passes and can be stopped; pairs of which both sides are prescribed are only counted."""
        found = find()
        nodes = np.where(found.weights != 0.0, found.nodes, -1)
        stoppable = ((nodes >= 0) & ~motion.held[nodes]).any(axis=1) | (found.rigid >= 0)
        report.left = found.take(~stoppable)
        return found.take(stoppable)

    pairs = search()
    assert report.left is not None
    report.pairs = len(pairs) + len(report.left)
    known: ZonePairs | None = None
    while len(pairs) and report.rounds < IMPULSE_ROUNDS:
        report.rounds += 1
        some = pairs.take(pairs.rigid < 0)
        known = some if known is None else ZonePairs.join([known, some])
        if not len(known):
            break
        _apply_impulses(motion, known)
        pairs = search()
    if not len(pairs):
        return report
    zones = _Zones(motion)
    while len(pairs):
        report.rounds += 1
        inner = zones.holds(pairs)
        grew = zones.add(pairs.take(~inner))
        if not grew:
            report.left = ZonePairs.join([report.left, pairs.take(~inner)])
            break
        zones.move()
        pairs = search()
    report.zones, report.nodes = zones.count, int(zones.inside.sum())
    return report


def _apply_impulses(motion: StepMotion, pairs: ZonePairs) -> None:
    inverse = np.where(motion.held, 0.0, 1.0 / motion.mass)
    before = motion.u.copy()
    wanted = np.minimum(KEPT_DISTANCE * pairs.keep, pairs.gaps)
    apply_impulses(
        pairs.nodes, pairs.weights, pairs.normals, pairs.gaps, pairs.given, wanted, inverse, SWEEPS, motion.u
    )
    motion.rate += motion.u - before


class _Zones:
    """Nodes and rigid bodies that move together."""

    def __init__(self, motion: StepMotion) -> None:
        self.motion = motion
        n, k = len(motion.x), len(motion.rigid)
        self.label = np.arange(
            n + k
        )  # of nodes, and then of rigid bodies; a zone has the smallest of its members
        self.inside = np.zeros(n + k, np.bool_)
        self._held: dict[int, set[int]] = {}  # held nodes of zones
        self._anchors: dict[int, set[int]] = {}  # anchors of zones, with the nodes that touch them
        self._touching: dict[int, list[set[int]]] = {}
        self._conflicts: set[int] = set()
        self.initial = motion.u.copy()
        self._initial_rigid = [(m.displacement.copy(), m.turn.copy()) for m in motion.rigid]

    @property
    def count(self) -> int:
        """Number of zones."""
        return len(np.unique(self.label[self.inside]))

    def _members(self, pairs: ZonePairs, c: int) -> tuple[list[int], list[int]]:
        """Return what moves freely, and the held nodes of a pair."""
        nodes = pairs.nodes[c][(pairs.nodes[c] >= 0) & (pairs.weights[c] != 0.0)]
        held = self.motion.held[nodes]
        free = nodes[~held].tolist()
        if pairs.rigid[c] >= 0:
            free.append(len(self.motion.x) + int(pairs.rigid[c]))
        return free, nodes[held].tolist()

    def holds(self, pairs: ZonePairs) -> NDArray[np.bool_]:
        """Return which pairs are within one zone that moves rigidly."""
        inner = np.zeros(len(pairs), np.bool_)
        for c in range(len(pairs)):
            free, held = self._members(pairs, c)
            if not free or not self.inside[free].all():
                continue
            zones = set(self.label[free].tolist())
            zone = zones.pop()
            attached = pairs.anchor[c] < 0 or int(pairs.anchor[c]) in self._anchors.get(zone, ())
            inner[c] = (
                not zones
                and zone not in self._conflicts
                and attached
                and self._held.get(zone, set()).issuperset(held)
            )
        return inner

    def add(self, pairs: ZonePairs) -> bool:
        """Join what the pairs connect; return whether anything is new."""
        n = len(self.label)
        before = self.label.copy(), self.inside.copy()
        sizes = {
            zone: (len(self._held.get(zone, ())), len(self._anchors.get(zone, ()))) for zone in self._zones()
        }
        one, other, fixed = [], [], []
        for c in range(len(pairs)):
            free, held = self._members(pairs, c)
            if not free:
                continue
            self.inside[free] = True
            one += free[:-1]
            other += free[1:]
            fixed.append((free, held, int(pairs.anchor[c])))
        graph = sparse.coo_array(
            (
                np.ones(n + len(one)),
                (np.concatenate([np.arange(n), one]), np.concatenate([self.label, other])),
            ),
            (n, n),
        )
        _, component = csgraph.connected_components(graph, directed=False)
        smallest = np.full(component.max() + 1, n)
        np.minimum.at(smallest, component, np.arange(n))
        self.label = smallest[component]
        for table in (self._held, self._anchors):
            for zone in list(table):
                now = int(self.label[zone])
                if now != zone:
                    table.setdefault(now, set()).update(table.pop(zone))
        for free, held, anchor in fixed:
            zone = int(self.label[free[0]])
            self._held.setdefault(zone, set()).update(held)
            if anchor >= 0:
                self._anchors.setdefault(zone, set()).add(anchor)
                self._touching.setdefault(anchor, []).append({i for i in free if i < len(self.motion.x)})
        after = {
            zone: (len(self._held.get(zone, ())), len(self._anchors.get(zone, ()))) for zone in self._zones()
        }
        return bool((before[0] != self.label).any() or (before[1] != self.inside).any() or sizes != after)

    def _zones(self) -> list[int]:
        return np.unique(self.label[self.inside]).tolist()

    def move(self) -> None:
        """Give every zone its motion."""
        motion, n = self.motion, len(self.motion.x)
        order = np.flatnonzero(self.inside)
        order = order[np.argsort(self.label[order], kind="stable")]
        starts = np.flatnonzero(np.diff(self.label[order], prepend=-1))
        self._conflicts.clear()
        for members in np.split(order, starts[1:]):
            zone = int(self.label[members[0]])
            nodes, rigid = members[members < n], (members[members >= n] - n).tolist()
            held = np.array(sorted(self._held.get(zone, ())), np.int64)
            anchors = sorted(self._anchors.get(zone, ()))
            if not len(held) and not anchors:
                self._move_freely(nodes, rigid)
                continue
            prescribed = self._prescribed_motion(nodes, held, anchors)
            if prescribed is None:
                self._conflicts.add(zone)
                self._blend(nodes, held, anchors)
                motion.rate[nodes] = motion.u[nodes]
                for k in rigid:
                    _follow(motion.rigid[k], np.zeros(3), np.zeros(3))
                continue
            motion.u[nodes] = motion.rate[nodes] = prescribed.displacements(motion.x[nodes])
            for k in rigid:
                member = motion.rigid[k]
                turn = _rotation_vector(prescribed.rotation)
                _follow(member, prescribed.displacements(member.position[None])[0], turn, prescribed.rotation)

    def _move_freely(self, nodes: NDArray[np.int64], rigid: list[int]) -> None:
        """Move a zone rigidly with its momentum and angular momentum."""
        motion = self.motion
        members = [motion.rigid[k] for k in rigid]
        initial = [self._initial_rigid[k] for k in rigid]
        x = np.concatenate([motion.x[nodes], *(m.position[None] for m in members)])
        u = np.concatenate([self.initial[nodes], *(d[None] for d, _ in initial)])
        mass = np.concatenate([motion.mass[nodes], [m.mass for m in members]])
        spin = np.zeros(3)
        inertia = np.zeros((3, 3))
        for member, (_, turn) in zip(members, initial, strict=True):
            spin += member.inertia @ turn
            inertia += member.inertia
        moved, h, rate = rigid_displacement(x, u, mass, spin, inertia)
        motion.u[nodes], motion.rate[nodes] = moved[: len(nodes)], rate[: len(nodes)]
        for member, displacement in zip(members, moved[len(nodes) :], strict=True):
            _follow(member, displacement, h, _cayley(h))

    def _prescribed_motion(
        self, nodes: NDArray[np.int64], held: NDArray[np.int64], anchors: list[int]
    ) -> Anchor | None:
        """Return the rigid motion of what is prescribed in a zone, or None if there is none."""
        motion = self.motion
        x, u = motion.x[held], motion.u[held]
        rigid = motion.anchors[anchors[0]] if anchors else _fitted_motion(x, u)
        points = motion.x[nodes] if len(nodes) else x
        size = float(np.ptp(np.concatenate([points, x]), axis=0).max(initial=0.0))
        far = float(np.abs(u).max(initial=0.0))
        for k in anchors[1:]:
            other = motion.anchors[k].displacements(points)
            far = max(far, float(np.abs(other).max(initial=0.0)))
            if np.abs(other - rigid.displacements(points)).max(initial=0.0) > SAME_MOTION * (size + far):
                return None
        if np.abs(rigid.displacements(x) - u).max(initial=0.0) > SAME_MOTION * (size + far):
            return None
        return rigid

    def _blend(self, nodes: NDArray[np.int64], held: NDArray[np.int64], anchors: list[int]) -> None:
        """Let nodes between things that move differently follow the nearest ones."""
        motion = self.motion
        points, moves = [motion.x[held]], [motion.u[held]]
        for k in anchors:
            touching = set().union(*self._touching.get(k, [set()]))
            near = np.array(sorted(touching.intersection(nodes.tolist())), np.int64)
            points.append(motion.x[near])
            moves.append(motion.anchors[k].displacements(motion.x[near]))
        source, move = np.concatenate(points), np.concatenate(moves)
        if not len(source):
            return
        away = motion.x[nodes][:, None] - source[None]
        distance2 = np.einsum("nsi,nsi->ns", away, away)
        scale = max(float(np.ptp(motion.x[nodes], axis=0).max(initial=0.0)), 1e-300)
        weight = 1.0 / (distance2 + (1e-6 * scale) ** 2)
        weight /= weight.sum(axis=1, keepdims=True)
        motion.u[nodes] = weight @ move


def rigid_displacement(
    x: NDArray[np.float64],
    u: NDArray[np.float64],
    mass: NDArray[np.float64],
    spin: NDArray[np.float64] | None = None,
    inertia: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return displacements of a rigid motion with the same momentum and angular momentum.

    Args:
        x: Positions at the start [m], shape [n, 3].
        u: Displacements [m], shape [n, 3].
        mass: Masses [kg], shape [n].
        spin: Further angular momentum times the time [kg m2], shape [3].
        inertia: Further moment of inertia [kg m2], shape [3, 3].

    Returns:
        The displacements [n, 3], the vector h of the rotation [3], and the velocities at the end times the length of
        the step [n, 3]. These are the displacements unless a zone turns fast: straight paths of more than about a
        radian cannot have its angular momentum (it then turns by a right angle), or have it with more energy. The
        velocities then are those of a rigid motion at the end, slower if even they would add energy.
    """
    mean = mass @ u / mass.sum()
    r = x - mass @ x / mass.sum()
    wanted = np.einsum("n,ni->i", mass, np.cross(r, u - mean)) + (0.0 if spin is None else spin)
    added = np.zeros((3, 3)) if inertia is None else inertia
    h, middle = np.zeros(3), r
    for _ in range(MAX_ITERATIONS):
        before, h = h, _solve_moment(middle, mass, added, wanted)
        middle = _middle(h, r)
        size = float(np.linalg.norm(h))
        if np.abs(h - before).max() <= 4e-16 * size:
            break
        if size > 2.0:
            break
    else:
        size = np.inf
    if size > 2.0:
        h *= 2.0 / max(float(np.linalg.norm(h)), 2.0)
    turned = np.cross(h, _middle(h, r))
    energy = float(mass @ ((u - mean) ** 2).sum(axis=1))
    if inertia is not None or (size <= 2.0 and float(mass @ (turned**2).sum(axis=1)) <= energy):
        return mean + turned, h, mean + turned
    rate = np.cross(_solve_moment(r + turned, mass, added, wanted), r + turned)
    rate *= min(1.0, np.sqrt(energy / max(float(mass @ (rate**2).sum(axis=1)), 1e-300)))
    return mean + turned, h, mean + rate


def _solve_moment(
    r: NDArray[np.float64], mass: NDArray[np.float64], added: NDArray[np.float64], wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the h for which points at r about their centre have an angular momentum; about an axis of them all 0."""
    moment = np.eye(3) * np.einsum("n,ni,ni->", mass, r, r) - (mass * r.T) @ r + added
    values, vectors = np.linalg.eigh(moment)
    inverse = np.where(values > 1e-12 * max(float(values[-1]), 1e-300), 1.0 / np.maximum(values, 1e-300), 0.0)
    return np.asarray(vectors @ (inverse * (vectors.T @ wanted)))


def _middle(h: NDArray[np.float64], r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (r + r') / 2 for r' - r = h x (r + r') / 2, that is the m with m - h x m / 2 = r."""
    a = 0.5 * h
    return (r + np.cross(a, r) + np.outer(r @ a, a)) / (1.0 + a @ a)


def _cayley(h: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation r -> r' with r' - r = h x (r + r') / 2, shape [3, 3]."""
    return 2.0 * _middle(h, np.eye(3)).T - np.eye(3)


def _rotation_vector(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the vector h of a rotation of less than half a turn, see `_cayley`."""
    skew = 0.5 * (rotation - rotation.T)
    return 4.0 * np.array([skew[2, 1], skew[0, 2], skew[1, 0]]) / max(1.0 + float(np.trace(rotation)), 1e-12)


def _fitted_motion(x: NDArray[np.float64], u: NDArray[np.float64]) -> Anchor:
    """Return the rigid motion closest to displacements u of points x (Kabsch 1976)."""
    start, end = x.mean(axis=0), (x + u).mean(axis=0)
    if (u == u[0]).all():
        return Anchor(start, start + u[0], np.eye(3))
    a, _, b = np.linalg.svd((x - start).T @ (x + u - end))
    turn = np.diag([1.0, 1.0, np.sign(np.linalg.det(a @ b))])
    return Anchor(start, end, (a @ turn @ b).T)


def _follow(
    member: RigidMember,
    displacement: NDArray[np.float64],
    turn: NDArray[np.float64],
    rotation: NDArray[np.float64] | None = None,
) -> None:
    member.displacement, member.turn = displacement, turn
    member.rotation = np.eye(3) if rotation is None else rotation
    member.changed = True
