"""Contacts of meshes, and with obstacles of any shape: points of one surface against the distance to the other.

Every body has points on its surface (a ball and a rod: of their core, met with their radius). Points of one that lie
within reach of the other are looked up in the other's signed distance, all points of one target together; of those
that come near, up to eight far apart are kept for each pair (Koschier 2018, K27).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.contact.rigid_pairs import SLOTS, spread_points
from continua.contact.rigid_shapes import BALL, MESH, OTHER, ROD, distance_points
from continua.rigid.pieces import Pieces

__all__ = ["probe_pairs"]

_Found = tuple[NDArray, NDArray, NDArray, NDArray, NDArray]


def probe_pairs(
    pieces: Pieces,
    pairs: NDArray[np.int32],
    reach: NDArray[np.float64],
    numbers: NDArray[np.intp],
    found: _Found,
) -> None:
    """Find the touching points of the pairs `numbers`, at least one side of which is a mesh or another obstacle."""
    balls = (pieces.kind[pairs[numbers, 0]] == BALL) & (pieces.kind[pairs[numbers, 1]] == OTHER)
    _balls(pieces, pairs, reach, numbers[balls], found)
    numbers = numbers[~balls]
    tasks = _Tasks(pieces)
    for p in numbers:
        a, b = (int(i) for i in pairs[p])
        if pieces.kind[a] < OTHER and pieces.solid(a) is not None:
            tasks.add(int(p), a, b, 1.0, float(reach[p]))
        if pieces.kind[b] == MESH or (pieces.kind[a] == MESH and pieces.solid(b) is not None):
            tasks.add(int(p), b, a, -1.0, float(reach[p]))
    pair, points, normals, gaps, features = tasks.run()
    counts, places, out_normals, out_gaps, out_features = found
    counts[numbers] = 0
    order = np.argsort(pair, kind="stable")
    starts = np.flatnonzero(np.diff(pair[order], prepend=-1))
    ends = np.append(starts[1:], len(order))[: len(starts)]
    for start, end in zip(starts, ends, strict=True):
        rows = order[start:end]
        p = pair[rows[0]]
        table = np.column_stack([points[rows], normals[rows], gaps[rows], features[rows].astype(np.float64)])
        slots = np.empty(SLOTS, np.int64)
        count = spread_points(table, slots)
        kept = rows[slots[:count]]
        counts[p] = count
        places[p, :count], out_normals[p, :count] = points[kept], normals[kept]
        out_gaps[p, :count], out_features[p, :count] = gaps[kept], features[kept]


def _balls(pieces: Pieces, pairs: NDArray, reach: NDArray, numbers: NDArray[np.intp], found: _Found) -> None:
    """Meet balls with obstacles of any shape: one point each, all of an obstacle together."""
    counts, places, normals, gaps, features = found
    for target in np.unique(pairs[numbers, 1]):
        own = numbers[pairs[numbers, 1] == target]
        ball = pairs[own, 0]
        turn = pieces.R[target].reshape(3, 3)
        local = (pieces.X[ball] - pieces.X[target]) @ turn
        distances, directions = pieces.colliders[target - pieces.count].distances(np.ascontiguousarray(local))
        gap, normal = np.asarray(distances) - pieces.size[ball, 0], np.asarray(directions) @ turn.T
        counts[own] = gap < reach[own]
        places[own, 0] = pieces.X[ball] - (pieces.size[ball, 0] + 0.5 * gap)[:, None] * normal
        normals[own, 0], gaps[own, 0], features[own, 0] = normal, gap, 0


class _Tasks:
    """Points to look up, gathered by the target whose distance they need."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._targets: dict[int, list[tuple]] = {}

    def add(self, p: int, prober: int, target: int, turn: float, reach: float) -> None:
        """Note the points of piece `prober` that may be near piece `target`; `turn` is the sign of the normal."""
        s = self._pieces
        solid = s.solid(prober)
        assert solid is not None
        radius = float(solid.size[0]) if solid.kind in (BALL, ROD) else 0.0
        world = solid.samples @ s.R[prober].reshape(3, 3).T + s.X[prober]
        local = (world - s.X[target]) @ s.R[target].reshape(3, 3)
        box = s.bounds(target)
        if box is not None:
            near = ((local > box[0] - radius - reach) & (local < box[1] + radius + reach)).all(axis=1)
            which = np.flatnonzero(near)
        else:
            which = np.arange(len(local))
        if len(which):
            key = target if s.kind[target] != MESH else -1 - int(s.group[target])
            entry = (p, target, turn, reach, radius, which, world[which], local[which], prober)
            self._targets.setdefault(key, []).append(entry)

    def run(self) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
        """Return pair, place, normal, gap and number of all near points."""
        parts = [self._look_up(entries) for entries in self._targets.values()]
        if not parts:
            return np.zeros(0, int), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.int64)
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return columns[0], columns[1], columns[2], columns[3], columns[4]

    def _look_up(self, entries: list[tuple]) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
        s = self._pieces
        local = np.concatenate([entry[7] for entry in entries])
        gaps, normals = self._distances(entries[0][1], local)
        sizes = [len(entry[5]) for entry in entries]
        radius, reach, turn = (np.repeat([entry[k] for entry in entries], sizes) for k in (4, 3, 2))
        gaps = gaps - radius
        turns = np.repeat(np.stack([s.R[entry[1]].reshape(3, 3) for entry in entries]), sizes, axis=0)
        normals = np.einsum("kij,kj->ki", turns, normals)
        world = np.concatenate([entry[6] for entry in entries])
        points = world - (radius + 0.5 * gaps)[:, None] * normals
        pair = np.repeat([entry[0] for entry in entries], sizes)
        side = np.repeat([entry[8] != min(entry[8], entry[1]) for entry in entries], sizes)
        number = 2 * np.concatenate([entry[5] for entry in entries]) + side
        near = gaps < reach
        return pair[near], points[near], (turn[:, None] * normals)[near], gaps[near], number[near]

    def _distances(self, target: int, local: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
        s = self._pieces
        if s.kind[target] == OTHER:
            gaps, normals = s.colliders[target - s.count].distances(local)
            return np.asarray(gaps), np.asarray(normals)
        if s.kind[target] == MESH:
            solid = s.solid(target)
            assert solid is not None
            assert solid.field is not None
            closest = solid.field.closest(local)
            return closest.distances, closest.gradients
        gaps, normals = np.empty(len(local)), np.empty((len(local), 3))
        distance_points(int(s.kind[target]), s.size[target], np.ascontiguousarray(local), gaps, normals)
        return gaps, normals
