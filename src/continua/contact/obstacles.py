"""Points against shapes: which are near at the start of a step, and which go through one on their way.

A point that is near a shape gets the plane through the shape's nearest point: gap + dt n.(v - s) >= 0, with s the mean
velocity of the shape there. Others are followed along their way, in the shape's own frame, by steps as long as the
distance (sphere tracing); where one meets the shape, it gets the plane there. A point that would end inside, because
the shape is hollow or has an edge, gets the plane at the place where it would end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.contact.shapes import Pose, Shape

__all__ = ["Look", "Obstacles", "Touching", "first_hit"]

_SAFE = 0.9  # part of the distance that a point may go without looking again
_FRESH = 1e-6  # part of the tolerance, for points that have no plane of a shape yet
_LOOKS = 200  # steps along the way after which a point counts as touching


class Touching(NamedTuple):
    """Points and the planes that they may not cross.

    Attributes:
        which: Number of the point, shape [k].
        shape: Number of the shape, shape [k].
        gap: Distance of the point at the start of the step from where the plane is then [m], shape [k].
        normal: Normal of the plane, away from the shape, shape [k, 3].
        surface: Mean velocity of the shape there [m/s], shape [k, 3].
        place: Where they touch at the start of the step [m], shape [k, 3].
    """

    which: NDArray[np.int32]
    shape: NDArray[np.int32]
    gap: NDArray[np.float64]
    normal: NDArray[np.float64]
    surface: NDArray[np.float64]
    place: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.which)


_NOTHING = Touching(
    np.zeros(0, np.int32),
    np.zeros(0, np.int32),
    np.zeros(0),
    np.zeros((0, 3)),
    np.zeros((0, 3)),
    np.zeros((0, 3)),
)


class Obstacles:
    """The shapes that points can touch."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        """Take over the shapes."""
        self.shapes = tuple(shapes)

    def look(
        self, points: NDArray[np.float64], time: float, dt: float, only: Sequence[int] | None = None
    ) -> Look:
        """Look at points [n, 3] that are about to move from `time` to `time + dt` [s]; `only` some of the shapes."""
        return Look(self.shapes, points, time, dt, range(len(self.shapes)) if only is None else only)


class Look:
    """The distances of some points from all shapes at the start of a step."""

    def __init__(
        self,
        shapes: Sequence[Shape],
        points: NDArray[np.float64],
        time: float,
        dt: float,
        numbers: Sequence[int],
    ) -> None:
        self._points, self._dt = points, dt
        self._met = []
        for number in numbers:
            shape = shapes[number]
            now, then = shape.pose(time), shape.pose(time + dt)
            local = points if now is None else (points - now.shift) @ now.turn
            gaps, normals = shape.distances(local)
            self._met.append((number, shape, now, then, local, gaps, normals))
        self._kept = {
            number: np.zeros(len(points), np.bool_) for number in numbers
        }  # have a plane of the shape

    def near(self, margin: float) -> Touching:
        """Return the points that are within `margin` [m] of a shape, or inside."""
        found = []
        for number, _, now, then, local, gaps, normals in self._met:
            which = np.flatnonzero(gaps <= margin)
            self._kept[number][which] = True
            if not len(which):
                continue
            normal = normals[which] if now is None else normals[which] @ now.turn.T
            x = self._points[which]
            surface = np.zeros_like(x)
            if then is not None and self._dt > 0.0:
                surface = (_placed(local[which], then) - x) / self._dt
            place = x - gaps[which, None] * normal
            found.append((which, np.full(len(which), number), gaps[which], normal, surface, place))
        return _joined(found)

    def crossed(self, ends: NDArray[np.float64], tolerance: float) -> Touching:
        """Return where points go through shapes on their way to `ends` [n, 3].

        Points that have a plane of a shape already are kept on its side by that; only their ends count.

        Args:
            ends: Where the points are at the end of the step [m].
            tolerance: Depth [m] that is none, for points that have a plane of the shape.
        """
        found = []
        for number, shape, now, then, local, gaps, _ in self._met:
            to = ends if then is None else (ends - then.shift) @ then.turn
            length = np.linalg.norm(to - local, axis=1)
            maybe = np.flatnonzero(gaps < length - np.where(self._kept[number], tolerance, 0.0))
            if not len(maybe):
                continue
            a, b = local[maybe], to[maybe]
            share = first_hit(shape, a, b, gaps[maybe], ~self._kept[number][maybe], tolerance)
            hits = np.flatnonzero(share <= 1.0)
            if not len(hits):
                continue
            met = a[hits] + share[hits, None] * (b[hits] - a[hits])
            depth, normal = shape.distances(met)
            met = met - depth[:, None] * normal  # on the surface
            end = met if then is None else _placed(met, then)
            start = met if now is None else _placed(met, now)
            normal = normal if then is None else normal @ then.turn.T
            surface = (end - start) / self._dt
            which = maybe[hits]
            self._kept[number][which] = True
            gap = np.einsum("ki,ki->k", normal, self._points[which] - start)
            found.append((which, np.full(len(which), number), gap, normal, surface, start))
        return _joined(found)


def _placed(local: NDArray[np.float64], pose: Pose) -> NDArray[np.float64]:
    return local @ pose.turn.T + pose.shift


def _joined(parts: list) -> Touching:
    if not parts:
        return _NOTHING
    which, shape, *rest = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Touching(which.astype(np.int32), shape.astype(np.int32), *rest)


def first_hit(
    shape: Shape,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    gaps: NDArray[np.float64],
    free: NDArray[np.bool_],
    tolerance: float,
) -> NDArray[np.float64]:
    """Return the part of the way from a to b at which points meet a shape, above 1 if they do not.

    Points that are not `free` at the start are looked at where they end only; those that start inside may stay so.
    """
    length = np.linalg.norm(b - a, axis=1)
    share = np.full(len(a), 2.0)
    deepest = np.minimum(gaps, 0.0) - np.where(free, _FRESH, 1.0) * tolerance
    at = np.where(free, _SAFE * np.maximum(gaps, 0.0) / np.maximum(length, 1e-300), 1.0)
    going = np.arange(len(a))
    least = 0.5 * tolerance
    for look in range(_LOOKS):
        at[going] = np.minimum(at[going], 1.0)
        depth, _ = shape.distances(a[going] + at[going, None] * (b[going] - a[going]))
        over = at[going] >= 1.0
        touching = np.where(over, depth < deepest[going], depth <= least)
        if look == _LOOKS - 1:
            touching |= ~over
        share[going[touching]] = at[going[touching]]
        on = ~(touching | over)
        going, depth = going[on], depth[on]
        if not len(going):
            break
        at[going] += np.maximum(_SAFE * depth, least) / length[going]
    return share
