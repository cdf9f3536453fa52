"""Points against colliders: which are close at the start of a step, and which hit one on their path.

A point close to a collider gets the tangent plane at the closest point: gap + dt n.(v - s) >= 0, with s the mean
velocity of the collider there. Others are followed along their path, in the collider's own frame, by sphere tracing;
where one hits the collider, it gets the plane there. A point that would end inside, because the collider is hollow or
has an edge, gets the plane at its end position. Colliders that deform are not among them: their triangles are tested
like those of a body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.collision import collider_kernels as kernels
from continua.geometry import Box, Capsule, Cylinder, MeshShape, Pose, Shape, Sphere
from continua.sdf import ExactDistance
from continua.short_repr import tuple_repr

__all__ = ["ColliderContacts", "ColliderQuery", "ColliderSet", "PoseCache", "sphere_trace"]

_STEP_FRACTION = 0.9  # fraction of the distance that a point advances at once
_NEW_CONTACT_FRACTION = 1e-6  # fraction of the tolerance, for points that have no plane of a collider yet
_MANY_POINTS = 512  # from which bounds of distances cost less than the distances from a simple shape
_MAX_TRACE_STEPS = 200  # steps along the path after which a point counts as a hit


class ColliderContacts(NamedTuple):
    """Points and the planes that they may not cross.

    Attributes:
        point: Index of the point, shape [k].
        collider: Index of the collider, shape [k].
        gap: Distance of the point from the plane at the start of the step [m], shape [k].
        normal: Normal of the plane, away from the collider, shape [k, 3].
        surface_velocity: Mean velocity of the collider there [m/s], shape [k, 3].
        position: Contact point at the start of the step [m], shape [k, 3].
    """

    point: NDArray[np.int32]
    collider: NDArray[np.int32]
    gap: NDArray[np.float64]
    normal: NDArray[np.float64]
    surface_velocity: NDArray[np.float64]
    position: NDArray[np.float64]

    def __repr__(self) -> str:
        return tuple_repr(self)

    def __len__(self) -> int:
        return len(self.point)


_NO_CONTACTS = ColliderContacts(
    np.zeros(0, np.int32),
    np.zeros(0, np.int32),
    np.zeros(0),
    np.zeros((0, 3)),
    np.zeros((0, 3)),
    np.zeros((0, 3)),
)


class PoseCache:
    """The poses of shapes at the few times that a step asks for; each is found once."""

    def __init__(self) -> None:
        self._poses: dict[tuple[int, float], Pose | None] = {}

    def __getstate__(self) -> dict[str, object]:
        """Copies begin without poses: their shapes are other objects."""
        return {"_poses": {}}

    def clear(self) -> None:
        """Forget all poses: a motion may be another one from now on."""
        self._poses.clear()

    def at(self, shape: Shape, time: float) -> Pose | None:
        """Return the pose of a shape at `time` [s], or None if it never moves."""
        if shape.motion is None:
            return shape.pose(time)
        key = id(shape), time
        if key not in self._poses:
            self._poses[key] = shape.pose(time)
        return self._poses[key]


class ColliderSet:
    """The colliders that points can touch.

    Attributes:
        shapes: The colliders.
        poses: Their poses in the present step; clear them when a step begins.
    """

    def __init__(self, shapes: Sequence[Shape]) -> None:
        """Store the shapes."""
        self.shapes = tuple(shapes)
        self.poses = PoseCache()
        self._known: dict[tuple[int, int], _KnownDistances] = {}

    def query(
        self, points: NDArray[np.float64], time: float, dt: float, only: Sequence[int] | None = None
    ) -> ColliderQuery:
        """Query points [n, 3] that move from `time` to `time + dt` [s]; `only` restricts it to some colliders."""
        return ColliderQuery(self, points, time, dt, range(len(self.shapes)) if only is None else only)

    def distances(self, number: int, local: NDArray[np.float64]) -> _Distances:
        """Return the distances of points [n, 3] in the axes of a collider, as far as they are asked for."""
        shape = self.shapes[number]
        if not _is_expensive(shape, len(local)):
            return _Distances(shape, local, None)
        key = number, len(local)
        if key not in self._known:
            self._known[key] = _KnownDistances(len(local))
        return _Distances(shape, local, self._known[key])


def _is_expensive(shape: Shape, count: int) -> bool:
    """Return whether far points are worth being left out, which needs distances that differ by no more than points do.

    Distances from surfaces with holes or that go through themselves may jump.
    """
    if isinstance(shape, Box | Capsule | Cylinder | Sphere):
        return count >= _MANY_POINTS
    field = shape.field if isinstance(shape, MeshShape) else None
    return isinstance(field, ExactDistance) and field.sign == "normals" and not len(field.crossings)


class _KnownDistances:
    """Distances of points that were found before, which are bounds for those of points nearby."""

    def __init__(self, count: int) -> None:
        self.points, self.gaps = np.zeros((count, 3)), np.full(count, -np.inf)


class _Distances:
    """The distances and normals of points from a shape; of points that are far away only a lower bound.

    Args:
        shape: The shape.
        local: The points in its axes [m], shape [n, 3].
        known: Distances of the same points in the last step, or None if all are to be found. Any others are valid, but
            of no use.

    Attributes:
        gaps: Signed distances [m], or lower bounds of them, shape [n].
        normals: Unit normals where the distance is known, shape [n, 3].
    """

    def __init__(self, shape: Shape, local: NDArray[np.float64], known: _KnownDistances | None) -> None:
        self._shape, self._local, self._known = shape, local, known
        if known is None:
            self.gaps, self.normals = shape.distances(local)
        else:
            self.gaps, self.normals = np.empty(len(local)), np.zeros((len(local), 3))
            self._is_bound = np.ones(len(local), np.bool_)
            kernels.lower_bounds(local, known.points, known.gaps, self.gaps)

    def find_below(self, limit: NDArray[np.float64] | float) -> None:
        """Make sure that all distances that may be up to `limit` [m] are known."""
        known = self._known
        if known is None:
            return
        some = np.flatnonzero(self._is_bound & (self.gaps <= limit))
        if not len(some):
            return
        points = self._local[some]
        self.gaps[some], self.normals[some] = self._shape.distances(points)
        self._is_bound[some] = False
        known.points[some], known.gaps[some] = points, self.gaps[some]


class ColliderQuery:
    """The distances of some points from all colliders at the start of a step."""

    def __init__(
        self,
        colliders: ColliderSet,
        points: NDArray[np.float64],
        time: float,
        dt: float,
        numbers: Sequence[int],
    ) -> None:
        self._points, self._dt = points, dt
        self._distances = []
        shapes, poses = colliders.shapes, colliders.poses
        numbers = [number for number in numbers if not shapes[number].deforms]
        for number in numbers:
            shape = shapes[number]
            now, then = poses.at(shape, time), poses.at(shape, time + dt)
            local = points if now is None else (points - now.translation) @ now.rotation
            found = colliders.distances(number, local)
            self._distances.append((number, shape, now, then, local, found))
        self._has_plane = {number: np.zeros(len(points), np.bool_) for number in numbers}

    def find_close(self, margin: float) -> ColliderContacts:
        """Return the points that are within `margin` [m] of a collider, or inside."""
        found = []
        for number, _, now, then, local, distances in self._distances:
            distances.find_below(margin)
            gaps, normals = distances.gaps, distances.normals
            which = np.flatnonzero(gaps <= margin)
            self._has_plane[number][which] = True
            if not len(which):
                continue
            normal = normals[which] if now is None else normals[which] @ now.rotation.T
            x = self._points[which]
            surface_velocity = np.zeros_like(x)
            if then is not None and self._dt > 0.0:
                surface_velocity = (_to_world(local[which], then) - x) / self._dt
            position = x - gaps[which, None] * normal
            found.append(
                (which, np.full(len(which), number), gaps[which], normal, surface_velocity, position)
            )
        return _concatenate(found)

    def find_crossings(self, ends: NDArray[np.float64], tolerance: float) -> ColliderContacts:
        """Return where points penetrate colliders on their path to `ends` [n, 3].

        Points that have a plane of a collider already are kept on its side by that plane; only their ends count.

        Args:
            ends: Positions of the points at the end of the step [m].
            tolerance: Depth [m] that is accepted for points that have a plane of the collider.
        """
        found = []
        for number, shape, now, then, local, distances in self._distances:
            to = ends if then is None else (ends - then.translation) @ then.rotation
            limit = np.empty(len(local))
            if not kernels.reached_distances(
                local, to, self._has_plane[number], tolerance, distances.gaps, limit
            ):
                continue
            distances.find_below(limit)
            gaps = distances.gaps
            maybe = np.flatnonzero(gaps < limit)
            if not len(maybe):
                continue
            a, b = local[maybe], to[maybe]
            fraction = sphere_trace(shape, a, b, gaps[maybe], ~self._has_plane[number][maybe], tolerance)
            hits = np.flatnonzero(fraction <= 1.0)
            if not len(hits):
                continue
            hit = a[hits] + fraction[hits, None] * (b[hits] - a[hits])
            depth, normal = shape.distances(hit)
            hit = hit - depth[:, None] * normal  # on the surface
            end = hit if then is None else _to_world(hit, then)
            start = hit if now is None else _to_world(hit, now)
            normal = normal if then is None else normal @ then.rotation.T
            surface_velocity = (end - start) / self._dt
            which = maybe[hits]
            self._has_plane[number][which] = True
            gap = np.einsum("ki,ki->k", normal, self._points[which] - start)
            found.append((which, np.full(len(which), number), gap, normal, surface_velocity, start))
        return _concatenate(found)


def _to_world(local: NDArray[np.float64], pose: Pose) -> NDArray[np.float64]:
    return local @ pose.rotation.T + pose.translation


def _concatenate(parts: list) -> ColliderContacts:
    if not parts:
        return _NO_CONTACTS
    point, collider, *rest = (np.concatenate(column) for column in zip(*parts, strict=True))
    return ColliderContacts(point.astype(np.int32), collider.astype(np.int32), *rest)


def sphere_trace(
    shape: Shape,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    gaps: NDArray[np.float64],
    free: NDArray[np.bool_],
    tolerance: float,
) -> NDArray[np.float64]:
    """Return the fraction of the path from a to b at which points hit a shape, above 1 if they do not (Hart 1996).

    Points that are not `free` at the start are tested at their end only; those that start inside may stay there.
    """
    length = np.linalg.norm(b - a, axis=1)
    fraction = np.full(len(a), 2.0)
    deepest = np.minimum(gaps, 0.0) - np.where(free, _NEW_CONTACT_FRACTION, 1.0) * tolerance
    at = np.where(free, _STEP_FRACTION * np.maximum(gaps, 0.0) / np.maximum(length, 1e-300), 1.0)
    if not free.any():
        depth, _ = shape.distances(a + at[:, None] * (b - a))
        fraction[depth < deepest] = 1.0
        return fraction
    active = np.arange(len(a))
    min_step = 0.5 * tolerance
    for step in range(_MAX_TRACE_STEPS):
        at[active] = np.minimum(at[active], 1.0)
        depth, _ = shape.distances(a[active] + at[active, None] * (b[active] - a[active]))
        at_end = at[active] >= 1.0
        hit = np.where(at_end, depth < deepest[active], depth <= min_step)
        if step == _MAX_TRACE_STEPS - 1:
            hit |= ~at_end
        fraction[active[hit]] = at[active[hit]]
        on = ~(hit | at_end)
        active, depth = active[on], depth[on]
        if not len(active):
            break
        at[active] += np.maximum(_STEP_FRACTION * depth, min_step) / length[active]
    return fraction
