"""Which bodies may touch in a step: bounding boxes of their motion, and connected groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from continua.coupling.contact.island_kernels import widen_bounds
from continua.geometry import Box, Capsule, Cylinder, MeshShape, Plane, Shape, Sphere

__all__ = ["AABBs", "ContactGroups", "aabb_overlaps_collider", "collider_aabb", "connected_components"]


@dataclass(frozen=True, eq=False)
class AABBs:
    """Axis-aligned bounding boxes: lower and upper ends [m], shape [n, 3] each."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.low)

    @classmethod
    def around(cls, points: Sequence[Sequence[NDArray[np.float64]]], margin: NDArray[np.float64]) -> AABBs:
        """Return boxes around sets of points, each given in several arrays, widened by `margin` [n]."""
        ends = np.empty((len(points), 6))
        for k, sets in enumerate(points):
            ends[k, :3], ends[k, 3:] = np.inf, -np.inf
            for some in sets:
                widen_bounds(some, ends[k])
        low, high = ends[:, :3], ends[:, 3:]
        return cls(low - margin[:, None], high + margin[:, None])

    def overlaps(self, other: AABBs) -> NDArray[np.bool_]:
        """Return which boxes overlap which of the others, shape [n, m]."""
        apart = (self.low[:, None] > other.high[None]) | (self.high[:, None] < other.low[None])
        return np.asarray(~apart.any(axis=2))


@dataclass(frozen=True, eq=False)
class ContactGroups:
    """Groups of bodies that are connected by possible contacts in a step.

    Attributes:
        label: The group of every soft body, and then of every rigid instance, shape [s + n].
        isolated: Soft bodies that can touch nothing at all, shape [s].
    """

    label: NDArray[np.int32]
    isolated: NDArray[np.bool_]

    @property
    def is_one(self) -> bool:
        """Whether all soft bodies and instances are in one group, or there are no soft bodies."""
        if not len(self.isolated):
            return True
        return bool((self.label == self.label[0]).all()) and not bool(self.isolated.any())


def connected_components(count: int, links: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the component of each of `count` nodes that are linked by pairs [k, 2]."""
    if len(links) == 0:
        return np.arange(count, dtype=np.int32)
    graph = sparse.coo_array((np.ones(len(links), np.int32), (links[:, 0], links[:, 1])), (count, count))
    return np.asarray(csgraph.connected_components(graph, directed=False)[1], np.int32)


def collider_aabb(shape: Shape) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return lower and upper ends of the box around a collider [m], or None if it moves or is unbounded."""
    if shape.motion is not None or getattr(shape, "inside", False):
        return None
    match shape:
        case Sphere():
            center, half = np.array(shape.center), np.full(3, shape.radius)
        case Box():
            center = np.array(shape.center)
            half = np.abs(shape.axes).T @ (0.5 * np.array(shape.size))
        case Cylinder():
            center, axis = np.array(shape.center), np.abs(np.array(shape.axis))
            half = shape.radius + 0.5 * shape.height * axis
        case Capsule():
            ends = np.array([shape.start, shape.end])
            center, half = ends.mean(axis=0), 0.5 * np.abs(ends[1] - ends[0]) + shape.radius
        case MeshShape():
            bounds = shape.bounds()
            assert bounds is not None
            return bounds[0], bounds[1]
        case _:
            return None
    return center - half, center + half


def aabb_overlaps_collider(shape: Shape, boxes: AABBs) -> NDArray[np.bool_]:
    """Return which boxes may contain points that touch a collider, shape [n]."""
    if isinstance(shape, Plane) and shape.motion is None:
        normal = np.array(shape.normal)
        lowest = np.where(normal > 0.0, boxes.low, boxes.high)
        return np.asarray((lowest - np.array(shape.point)) @ normal <= 0.0)
    box = collider_aabb(shape)
    if box is None:
        return np.ones(len(boxes), np.bool_)
    return np.asarray(~((boxes.low > box[1]) | (boxes.high < box[0])).any(axis=1))
