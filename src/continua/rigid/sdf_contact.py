"""Contacts of meshes, and with colliders of any shape: sample points of one surface against the distance of the other.

Every body has sample points on its surface (a sphere and a capsule: on their core, with their radius). Points of one
body near the other are evaluated in the other's signed distance, all points of one target together; of those in
contact, up to eight that are far apart are kept for each pair (Koschier 2018, K27).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.collision.rigid.narrow_phase import MAX_CONTACTS_PER_PAIR
from continua.collision.rigid.sdf_sampling import (
    EXACT_MESH,
    FITTED_FIELD,
    MAX_WALLS,
    PRIMITIVE,
    SAME_WALL_COSINE,
    WALL_SEARCH_OFFSET,
    merge_tasks,
    reduce_points,
    sample_sdf_contacts,
)
from continua.geometry import MeshShape, Shape
from continua.geometry.primitive_kernels import BOX, CAPSULE, GENERIC_SHAPE, MESH, SPHERE
from continua.rigid.rigid_state import RigidState
from continua.sdf import DistanceField, ExactDistance, FieldTable, TransformedField, TriangleBvh

__all__ = ["SdfContactSampler"]

_EVERYWHERE = np.array([[-1e300] * 3, [1e300] * 3])
_NO_TREE = TriangleBvh(
    np.zeros((0, 12)), np.zeros((0, 2), np.int32), np.zeros((0, 12)), np.zeros(0, np.int32),
    np.zeros((0, 7), np.int32), np.zeros((0, 3)),
)  # fmt: skip
_NO_TABLE = FieldTable(
    np.zeros(4), np.zeros(3, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint8),
    np.zeros(0, np.float32),
)  # fmt: skip
_PARALLEL_FROM = 16  # tasks


@dataclass(eq=False)
class _DistanceSource:
    """The signed distance of a body or collider.

    Attributes:
        mode: See `collision.rigid.sdf_sampling`; None evaluates `shape` in Python.
        tree: The tree of its triangles, if any.
        table: Its fitted field, if any.
        sign: -1 if it is hollow.
        offset: Outward offset of the surface [m].
        box: Bounding box in the axes of tree or table, shape [2, 3].
        error: Largest error of the distances [m].
        rotation: Rotation of those axes in its own, shape [3, 3].
        translation: Their origin in its own axes, shape [3].
        shape: A collider that compiled code does not support.
    """

    mode: int | None = PRIMITIVE
    tree: TriangleBvh = _NO_TREE
    table: FieldTable = _NO_TABLE
    sign: float = 1.0
    offset: float = 0.0
    box: Any = None
    error: float = 0.0
    rotation: Any = None
    translation: Any = None
    shape: Any = None


class SdfContactSampler:
    """Finds the contact points of pairs with a mesh or a generic collider.

    Args:
        state: All instances.
    """

    def __init__(self, state: RigidState) -> None:
        self._state = state
        sources = [_source_of_geometry(body.geometry) for body in state.bodies]
        other = set(state.owner[state.kind == GENERIC_SHAPE].tolist())
        self._sources = sources + [
            _source_of_shape(shape) if number in other else _DistanceSource()
            for number, shape in enumerate(state.colliders, len(state.bodies))
        ]
        self._point_radius = np.array(
            [
                body.geometry.size[0] if body.geometry.kind in (SPHERE, CAPSULE) else 0.0
                for body in state.bodies
            ]
        )
        trees = [body.geometry.samples for body in state.bodies]
        counts = np.array([len(tree.points) for tree in trees], int)
        nodes = np.array([len(tree.links) for tree in trees], int)
        self._end = np.cumsum(nodes).astype(np.int32)
        self._start = (self._end - nodes).astype(np.int32)
        offsets = np.cumsum(counts) - counts
        if trees:
            self._points = np.concatenate([tree.points for tree in trees])
            self._spheres = np.concatenate([tree.spheres for tree in trees])
            shifts = [
                np.array([offset, 0, start], np.int32)
                for offset, start in zip(offsets, self._start, strict=True)
            ]
            self._links = np.concatenate([t.links + s for t, s in zip(trees, shifts, strict=True)])
        self._first, self._count = offsets, counts

    def detect(
        self,
        pairs: NDArray[np.int32],
        max_gap: NDArray[np.float64],
        numbers: NDArray[np.intp],
        found: tuple[NDArray, NDArray, NDArray, NDArray, NDArray],
    ) -> None:
        """Find the contact points of the pairs `numbers`, and write them as `collide_pairs` does."""
        s = self._state
        found[0][numbers] = 0
        kind = s.kind[pairs[numbers]]
        body = pairs[numbers] < s.count
        first = np.flatnonzero((kind[:, 0] < GENERIC_SHAPE) & body[:, 0])
        second = np.flatnonzero(body[:, 1] & (kind == MESH).any(axis=1))
        which = np.concatenate([first, second])
        side = np.repeat(np.array([0, 1], np.int32), [len(first), len(second)])
        order = np.lexsort((side, which))
        pair, side = numbers[which[order]], side[order]
        sampled, target = pairs[pair, side], pairs[pair, 1 - side]
        counts, result = np.zeros(len(pair), np.int32), np.empty((len(pair), MAX_CONTACTS_PER_PAIR, 8))
        groups = s.owner[target]
        for group in np.unique(groups):
            own = np.flatnonzero(groups == group)
            tasks = np.stack([sampled[own], side[own]], axis=1).astype(np.int32)
            sample = self._sample_compiled if self._sources[group].mode is not None else self._sample_python
            counts[own], result[own] = sample(self._sources[group], tasks, target[own], max_gap[pair[own]])
        merge_tasks(pair, counts, result, *found)

    def _sample_compiled(
        self,
        source: _DistanceSource,
        tasks: NDArray[np.int32],
        target: NDArray[np.int32],
        max_gap: NDArray[np.float64],
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Sample targets that are instances of one geometry, compiled."""
        s = self._state
        positions, rotations = s.X[target], s.R[target].reshape(-1, 3, 3)
        if source.rotation is not None:
            positions, rotations = positions + rotations @ source.translation, rotations @ source.rotation
        one = target[0]
        counts, result = np.empty(len(tasks), np.int32), np.empty((len(tasks), MAX_CONTACTS_PER_PAIR, 8))
        sample_sdf_contacts.variant(len(tasks) >= _PARALLEL_FROM)(
            source.mode, source.tree, source.table, s.kind[one], s.size[one], source.sign, source.offset,
            _EVERYWHERE if source.box is None else source.box, source.error, tasks, max_gap, s.X, s.R,
            np.ascontiguousarray(positions), np.ascontiguousarray(rotations).reshape(-1, 9),
            self._points, self._spheres, self._links, self._start, self._end, self._point_radius, s.owner,
            counts, result,
        )  # fmt: skip
        return counts, result

    def _sample_python(
        self,
        source: _DistanceSource,
        tasks: NDArray[np.int32],
        target: NDArray[np.int32],
        max_gap: NDArray[np.float64],
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Sample a collider whose distance is a Python function: all points at once."""
        s = self._state
        body = s.owner[tasks[:, 0]]
        sizes = self._count[body]
        task = np.repeat(np.arange(len(tasks)), sizes)
        number = np.arange(len(task)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        point = self._points[self._first[body][task] + number]
        sampled = tasks[task, 0]
        world = np.einsum("kij,kj->ki", s.R[sampled].reshape(-1, 3, 3), point) + s.X[sampled]
        rotation = s.R[target].reshape(-1, 3, 3)
        local = np.einsum("kji,kj->ki", rotation[task], world - s.X[target[task]])
        radius, within = self._point_radius[body][task], max_gap[task]
        box = getattr(source.shape, "bounds", lambda: None)()
        if box is not None:
            far = (radius + within)[:, None]
            some = np.flatnonzero(((local > box[0] - far) & (local < box[1] + far)).all(axis=1))
            task, number, world, local = task[some], number[some], world[some], local[some]
            radius, within = radius[some], within[some]
        near, gaps, directions, wall = _find_walls(source.shape, local, radius, within)
        task, number = task[near], number[near] + len(self._points) * wall
        normals = np.einsum("kij,kj->ki", rotation[task], directions)
        positions = world[near] - (radius[near] + 0.5 * gaps)[:, None] * normals
        second = tasks[task, 1]
        rows = np.column_stack(
            [positions, (1.0 - 2.0 * second)[:, None] * normals, gaps, 2.0 * number + second]
        )
        first = np.searchsorted(task, np.arange(len(tasks) + 1))
        counts, result = np.empty(len(tasks), np.int32), np.empty((len(tasks), MAX_CONTACTS_PER_PAIR, 8))
        reduce_points(rows, first, counts, result)
        return counts, result


def _find_walls(
    shape: Any, points: NDArray[np.float64], radius: NDArray[np.float64], max_gap: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Return which points touch a shape, with gaps, normals and wall numbers; see `collision.rigid.sdf_sampling`.

    A point appears once for each wall that it touches, and points stay in order.
    """
    distances, directions = (np.asarray(column) for column in shape.distances(points))
    some = np.flatnonzero(distances - radius < max_gap)
    found = [(some, distances[some], directions[some])]
    away = np.zeros_like(points)
    for _ in range(1, MAX_WALLS):
        some, _, normal = found[-1]
        some, normal = some[radius[some] > 0.0], normal[radius[some] > 0.0]
        if not len(some):
            break
        away[some] += (WALL_SEARCH_OFFSET[0] * radius[some] + WALL_SEARCH_OFFSET[1] * max_gap[some])[
            :, None
        ] * normal
        shifted = points[some] + away[some]
        distance, direction = (np.asarray(column) for column in shape.distances(shifted))
        gap = distance - np.einsum("ki,ki->k", direction, away[some])
        on_surface = shape.distances(shifted - distance[:, None] * direction)[0]
        new = (gap - radius[some] < max_gap[some]) & (np.abs(on_surface) <= 1e-6 * radius[some])
        for which, _, known in found:
            at = np.searchsorted(which, some)
            new &= np.einsum("ki,ki->k", known[at], direction) <= SAME_WALL_COSINE
        found.append((some[new], gap[new], direction[new]))
    which = np.concatenate([one for one, _, _ in found])
    wall = np.repeat(np.arange(len(found)), [len(one) for one, _, _ in found])
    gaps = np.concatenate([one for _, one, _ in found])
    normals = np.concatenate([one for _, _, one in found])
    order = np.lexsort((wall, which))
    return which[order], gaps[order] - radius[which[order]], normals[order], wall[order]


def _source_of_geometry(geometry: Any) -> _DistanceSource:
    if geometry.kind != MESH:
        half = np.array(geometry.size)
        if geometry.kind != BOX:
            half = np.full(3, geometry.size[0])
            half[2] += geometry.size[1]
        return _DistanceSource(box=np.stack([-half, half]))
    return _source_of_field(geometry.field) or _DistanceSource(mode=None, shape=geometry)


def _source_of_shape(shape: Shape) -> _DistanceSource:
    source = _source_of_field(shape.field) if isinstance(shape, MeshShape) else None
    if source is None or not isinstance(shape, MeshShape):
        return _DistanceSource(mode=None, shape=shape)
    source.offset = shape.rounding
    if shape.inside:
        source.sign, source.box = -1.0, None
    return source


def _source_of_field(field: Any) -> _DistanceSource | None:
    """Return a field as a distance source for compiled code, or None if that does not support it."""
    if isinstance(field, ExactDistance) and field.sign == "normals":
        return _DistanceSource(EXACT_MESH, tree=field.tree, box=np.array(field.bounds))
    if isinstance(field, DistanceField):
        return _DistanceSource(
            FITTED_FIELD, table=field.table, box=field.bounds, error=field.report.max_error
        )
    if isinstance(field, TransformedField):
        own = field.field
        return _DistanceSource(
            FITTED_FIELD,
            table=own.table,
            box=own.bounds,
            error=own.report.max_error,
            rotation=field.turn,
            translation=field.shift,
        )
    return None
