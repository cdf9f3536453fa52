"""Contacts of meshes, and with obstacles of any shape: points of one surface against the distance to the other.

Every body has points on its surface (a ball and a rod: of their core, met with their radius). Points of one that lie
within reach of the other are looked up in the other's signed distance, all points of one target together; of those
that come near, up to eight far apart are kept for each pair (Koschier 2018, K27).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.contact import MeshShape, Shape
from continua.contact.rigid_pairs import SLOTS
from continua.contact.rigid_probes import (
    FIELD,
    OUT,
    PLAIN,
    SAME,
    TREE,
    WALLS,
    join_tasks,
    probe_tasks,
    spread_found,
)
from continua.contact.rigid_shapes import BALL, BOX, MESH, OTHER, ROD
from continua.rigid.pieces import Pieces
from continua.sdf import DistanceField, ExactDistance, FieldTable, MeshTree, PlacedField

__all__ = ["Prober"]

_EVERYWHERE = np.array([[-1e300] * 3, [1e300] * 3])
_NO_TREE = MeshTree(
    np.zeros((0, 12)), np.zeros((0, 2), np.int32), np.zeros((0, 12)), np.zeros(0, np.int32),
    np.zeros((0, 7), np.int32), np.zeros((0, 3)),
)  # fmt: skip
_NO_TABLE = FieldTable(
    np.zeros(4), np.zeros(3, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint8),
    np.zeros(0, np.float32),
)  # fmt: skip
_PARALLEL_FROM = 16  # tasks


@dataclass(eq=False)
class _Target:
    """How the distance to a body or an obstacle is found.

    Attributes:
        mode: See `contact.rigid_probes`; None asks `shape` in Python.
        tree: Its triangles, if it has.
        table: Its fitted field, if it has.
        sign: -1 for what is hollow.
        grow: By how much its surface is moved outwards [m].
        box: What holds it in the axes of tree or table, shape [2, 3].
        slack: By how much distances may be wrong [m].
        turn: How those axes stand in its own, shape [3, 3].
        shift: Where their origin is in its own axes, shape [3].
        shape: An obstacle that compiled code does not know.
    """

    mode: int | None = PLAIN
    tree: MeshTree = _NO_TREE
    table: FieldTable = _NO_TABLE
    sign: float = 1.0
    grow: float = 0.0
    box: Any = None
    slack: float = 0.0
    turn: Any = None
    shift: Any = None
    shape: Any = None


class Prober:
    """Finds the touching points of pairs of which at least one side is a mesh or another obstacle.

    Args:
        pieces: The pieces.
    """

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        targets = [_target_of_solid(body.solid) for body in pieces.bodies]
        other = set(pieces.group[pieces.kind == OTHER].tolist())
        self._targets = targets + [
            _target_of_shape(shape) if number in other else _Target()
            for number, shape in enumerate(pieces.colliders, len(pieces.bodies))
        ]
        self._thick = np.array(
            [body.solid.size[0] if body.solid.kind in (BALL, ROD) else 0.0 for body in pieces.bodies]
        )
        trees = [body.solid.samples for body in pieces.bodies]
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

    def run(
        self,
        pairs: NDArray[np.int32],
        reach: NDArray[np.float64],
        numbers: NDArray[np.intp],
        found: tuple[NDArray, NDArray, NDArray, NDArray, NDArray],
    ) -> None:
        """Find the touching points of the pairs `numbers`, and write them as `meet_pairs` does."""
        s = self._pieces
        found[0][numbers] = 0
        kind = s.kind[pairs[numbers]]
        body = pairs[numbers] < s.count
        first = np.flatnonzero((kind[:, 0] < OTHER) & body[:, 0])
        second = np.flatnonzero(body[:, 1] & (kind == MESH).any(axis=1))
        which = np.concatenate([first, second])
        side = np.repeat(np.array([0, 1], np.int32), [len(first), len(second)])
        order = np.lexsort((side, which))
        pair, side = numbers[which[order]], side[order]
        prober, target = pairs[pair, side], pairs[pair, 1 - side]
        counts, result = np.zeros(len(pair), np.int32), np.empty((len(pair), SLOTS, 8))
        groups = s.group[target]
        for group in np.unique(groups):
            own = np.flatnonzero(groups == group)
            tasks = np.stack([prober[own], side[own]], axis=1).astype(np.int32)
            look = self._look if self._targets[group].mode is not None else self._ask
            counts[own], result[own] = look(self._targets[group], tasks, target[own], reach[pair[own]])
        join_tasks(pair, counts, result, *found)

    def _look(
        self, how: _Target, tasks: NDArray[np.int32], target: NDArray[np.int32], reach: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Do tasks that have one target or copies of one, compiled."""
        s = self._pieces
        places, turns = s.X[target], s.R[target].reshape(-1, 3, 3)
        if how.turn is not None:
            places, turns = places + turns @ how.shift, turns @ how.turn
        one = target[0]
        counts, result = np.empty(len(tasks), np.int32), np.empty((len(tasks), SLOTS, 8))
        probe_tasks.pick(len(tasks) >= _PARALLEL_FROM)(
            how.mode, how.tree, how.table, s.kind[one], s.size[one], how.sign, how.grow,
            _EVERYWHERE if how.box is None else how.box, how.slack, tasks, reach, s.X, s.R,
            np.ascontiguousarray(places), np.ascontiguousarray(turns).reshape(-1, 9),
            self._points, self._spheres, self._links, self._start, self._end, self._thick, s.group,
            counts, result,
        )  # fmt: skip
        return counts, result

    def _ask(
        self, how: _Target, tasks: NDArray[np.int32], target: NDArray[np.int32], reach: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Do tasks with an obstacle that only Python knows: all points at once."""
        s = self._pieces
        body = s.group[tasks[:, 0]]
        sizes = self._count[body]
        task = np.repeat(np.arange(len(tasks)), sizes)
        number = np.arange(len(task)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        point = self._points[self._first[body][task] + number]
        prober = tasks[task, 0]
        world = np.einsum("kij,kj->ki", s.R[prober].reshape(-1, 3, 3), point) + s.X[prober]
        turn = s.R[target].reshape(-1, 3, 3)
        local = np.einsum("kji,kj->ki", turn[task], world - s.X[target[task]])
        thick, within = self._thick[body][task], reach[task]
        box = getattr(how.shape, "bounds", lambda: None)()
        if box is not None:
            far = (thick + within)[:, None]
            some = np.flatnonzero(((local > box[0] - far) & (local < box[1] + far)).all(axis=1))
            task, number, world, local = task[some], number[some], world[some], local[some]
            thick, within = thick[some], within[some]
        near, gaps, directions, wall = _walls(how.shape, local, thick, within)
        task, number = task[near], number[near] + len(self._points) * wall
        normals = np.einsum("kij,kj->ki", turn[task], directions)
        places = world[near] - (thick[near] + 0.5 * gaps)[:, None] * normals
        second = tasks[task, 1]
        rows = np.column_stack([places, (1.0 - 2.0 * second)[:, None] * normals, gaps, 2.0 * number + second])
        first = np.searchsorted(task, np.arange(len(tasks) + 1))
        counts, result = np.empty(len(tasks), np.int32), np.empty((len(tasks), SLOTS, 8))
        spread_found(rows, first, counts, result)
        return counts, result


def _walls(
    shape: Any, points: NDArray[np.float64], thick: NDArray[np.float64], reach: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Return which points touch a shape, with the gaps, normals and numbers of the walls; see `contact.rigid_probes`.

    A point appears once for each wall that it touches, and points stay in order.
    """
    distances, directions = (np.asarray(column) for column in shape.distances(points))
    some = np.flatnonzero(distances - thick < reach)
    found = [(some, distances[some], directions[some])]
    away = np.zeros_like(points)
    for _ in range(1, WALLS):
        some, _, normal = found[-1]
        some, normal = some[thick[some] > 0.0], normal[thick[some] > 0.0]
        if not len(some):
            break
        away[some] += (OUT[0] * thick[some] + OUT[1] * reach[some])[:, None] * normal
        there = points[some] + away[some]
        distance, direction = (np.asarray(column) for column in shape.distances(there))
        gap = distance - np.einsum("ki,ki->k", direction, away[some])
        on_surface = shape.distances(there - distance[:, None] * direction)[0]
        new = (gap - thick[some] < reach[some]) & (np.abs(on_surface) <= 1e-6 * thick[some])
        for which, _, known in found:
            at = np.searchsorted(which, some)
            new &= np.einsum("ki,ki->k", known[at], direction) <= SAME
        found.append((some[new], gap[new], direction[new]))
    which = np.concatenate([one for one, _, _ in found])
    wall = np.repeat(np.arange(len(found)), [len(one) for one, _, _ in found])
    gaps = np.concatenate([one for _, one, _ in found])
    normals = np.concatenate([one for _, _, one in found])
    order = np.lexsort((wall, which))
    return which[order], gaps[order] - thick[which[order]], normals[order], wall[order]


def _target_of_solid(solid: Any) -> _Target:
    if solid.kind != MESH:
        half = np.array(solid.size)
        if solid.kind != BOX:
            half = np.full(3, solid.size[0])
            half[2] += solid.size[1]
        return _Target(box=np.stack([-half, half]))
    return _target_of_field(solid.field) or _Target(mode=None, shape=solid)


def _target_of_shape(shape: Shape) -> _Target:
    target = _target_of_field(shape.field) if isinstance(shape, MeshShape) else None
    if target is None or not isinstance(shape, MeshShape):
        return _Target(mode=None, shape=shape)
    target.grow = shape.rounding
    if shape.inside:
        target.sign, target.box = -1.0, None
    return target


def _target_of_field(field: Any) -> _Target | None:
    """Return how compiled code finds the distance that a field tells, or None if it cannot."""
    if isinstance(field, ExactDistance) and field.sign == "normals":
        return _Target(TREE, tree=field.tree, box=np.array(field.bounds))
    if isinstance(field, DistanceField):
        return _Target(FIELD, table=field.table, box=field.bounds, slack=field.report.max_error)
    if isinstance(field, PlacedField):
        own = field.field
        return _Target(
            FIELD,
            table=own.table,
            box=own.bounds,
            slack=own.report.max_error,
            turn=field.turn,
            shift=field.shift,
        )
    return None
