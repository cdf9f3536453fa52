"""Bodies that intersect each other, themselves or colliders at given positions, whatever contact does about it.

Edges of one surface that pierce triangles of another are found with the trees of continuous collision detection. A body
that is wholly inside another pierces nothing, and aligned faces may not: where boxes overlap, nodes are tested with the
signed distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from continua.collision.broad_phase import CollisionMesh, CollisionSurface
from continua.collision.ccd import find_intersections
from continua.coupling.contact.surface_contacts import BELOW_FRACTION, NOTE_FRACTION
from continua.errors import ContinuaError
from continua.frames import BodyFrame, Field, Overlap, readonly_copy
from continua.geometry import Shape
from continua.mesh import SurfaceMesh
from continua.sdf import ExactDistance

__all__ = ["OVERLAP_FIELD", "FrameOverlaps", "OverlapSearch", "SolidSurface"]

OVERLAP_FIELD = "overlap"
"""Name of the field that is 1 at nodes that overlap something, and 0 elsewhere."""


_ROUNDING = 1e-9  # of the length of an edge


@dataclass(frozen=True, eq=False)
class SolidSurface:
    """The surface of a body.

    Attributes:
        name: Name of the body.
        rest: Its nodes at rest [m], shape [n, 3].
        triangles: Outward oriented, shape [k, 3].
        instances: Number of rigid instances with as many nodes each; 0 for a soft body.
    """

    name: str
    rest: NDArray[np.float64]
    triangles: NDArray[np.int32]
    instances: int = 0

    @property
    def parts(self) -> NDArray[np.int64]:
        """The part of each node, shape [n]: an instance, or 0."""
        return np.arange(len(self.rest)) // max(1, len(self.rest) // max(1, self.instances))

    @property
    def pieces(self) -> NDArray[np.int64]:
        """Number of the connected piece of each node, shape [n]."""
        edges = np.concatenate([self.triangles[:, :2], self.triangles[:, 1:]])
        links = coo_array((np.ones(len(edges), np.int8), edges.T), shape=(len(self.rest),) * 2)
        return connected_components(links, directed=False)[1].astype(np.int64)


class OverlapSearch:
    """Finds overlaps of bodies; made for surfaces of a given topology, and called at any positions of their nodes.

    Args:
        surfaces: The surfaces.
        shapes: Colliders.
        collide: Which surfaces count with which surfaces and, after these, colliders, shape [s, s + c]. A soft body
            always counts with itself.
        excluded: Pairs of parts that may overlap, by their numbers among the parts of all surfaces: a soft body is one
            part, a rigid one has one for each instance.
    """

    def __init__(
        self,
        surfaces: Sequence[SolidSurface],
        shapes: Sequence[Shape],
        collide: NDArray[np.bool_],
        excluded: Sequence[tuple[int, int]] = (),
    ) -> None:
        self._surfaces, self._shapes, self._collide = tuple(surfaces), tuple(shapes), collide
        self._mesh = CollisionMesh(
            [CollisionSurface(one.rest, one.triangles, name=one.name) for one in self._surfaces]
        )
        count = len(self._surfaces)
        self._mesh.vertex_face_pairs = collide[:, :count].copy()
        np.fill_diagonal(self._mesh.vertex_face_pairs, [one.instances != 1 for one in self._surfaces])
        counts = [max(1, one.instances) for one in self._surfaces]
        self._first_part = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        parts = [one.parts + first for one, first in zip(self._surfaces, self._first_part, strict=False)]
        self._part = np.concatenate([np.zeros(0, np.int64), *parts])
        self._piece = np.concatenate([np.zeros(0, np.int64), *(one.pieces for one in self._surfaces)])
        self._body = np.repeat(np.arange(count), counts)
        self._excluded = {(min(pair), max(pair)) for pair in excluded}
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._surfaces, self._shapes, self._collide, tuple(self._excluded))

    def find(self, positions: Sequence[NDArray[np.float64]], time: float) -> tuple[Overlap, ...]:
        """Return the overlaps at node positions of each body [m], shape [n, 3], and `time` [s] for colliders."""
        with self._lock:  # the trees are refitted
            x = self._mesh.positions(positions)
            return (*self._between_surfaces(x), *self._with_colliders(positions, time))

    # --- surfaces ---------------------------------------------------------------------------------------

    def _between_surfaces(self, x: NDArray[np.float64]) -> Iterator[Overlap]:
        """Yield the overlaps of bodies with themselves and each other."""
        inside = _Inside(self, x)
        pairs: dict[tuple[int, int], list[_PartOverlap]] = {}
        for a, b, triangles in self._piercing_parts(x):
            one, other = int(self._body[a]), int(self._body[b])
            nodes = np.unique(self._mesh.triangle_bvh.cells[triangles.ravel()]).astype(np.int64)
            if a == b:
                yield Overlap("self", (self._surfaces[one].name,), len(triangles), (self._local(nodes, one),))
                continue
            inside.known.add((a, b))
            overlap = inside.overlap(a, b, nodes, len(triangles))
            soft = not (self._surfaces[one].instances or self._surfaces[other].instances)
            if soft or overlap.depth > NOTE_FRACTION * min(inside.size(a), inside.size(b)):
                pairs.setdefault((one, other), []).append(overlap)
        for a, b in inside.close_pairs():
            overlap = inside.overlap(a, b, np.zeros(0, np.int64), 0)
            if overlap.depth > NOTE_FRACTION * min(inside.size(a), inside.size(b)):
                pairs.setdefault((int(self._body[a]), int(self._body[b])), []).append(overlap)
        for (one, other), found in sorted(pairs.items()):
            nodes = np.unique(np.concatenate([overlap.nodes for overlap in found]))
            yield Overlap(
                "bodies",
                (self._surfaces[one].name, self._surfaces[other].name),
                sum(overlap.count for overlap in found),
                (self._local(nodes, one), self._local(nodes, other)),
                max(overlap.depth for overlap in found),
            )

    def _piercing_parts(self, x: NDArray[np.float64]) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
        """Yield pairs of parts whose surfaces intersect, with their pairs of triangles [k, 2]."""
        found = find_intersections(self._mesh, x)
        cells, edges = self._mesh.triangle_bvh.cells, self._mesh.edge_bvh.cells
        corners, segments = x[cells[found.triangles]], x[edges[found.edges]]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
        heights = np.abs(np.einsum("ki,kei->ke", normals, segments - corners[:, :1])).min(axis=1)
        lengths = np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1)
        deep = heights > _ROUNDING * lengths  # of coplanar triangles, rounding decides
        sides = self._mesh.topology.edge_triangles[found.edges[deep]]
        both = np.stack([sides, np.repeat(found.triangles[deep][:, None], 2, axis=1)], axis=2).reshape(-1, 2)
        both = np.unique(np.sort(both[(both >= 0).all(axis=1)].astype(np.int64), axis=1), axis=0)
        parts = np.sort(self._part[cells[both, 0]], axis=1)
        rigid = np.array([one.instances > 0 for one in self._surfaces], dtype=bool)[self._body[parts[:, 0]]]
        pieces = self._piece[cells[both, 0]]
        # a rigid instance does not intersect itself; pieces of one soft body may lie on each other
        keep = (parts[:, 0] != parts[:, 1]) | (~rigid & (pieces[:, 0] == pieces[:, 1]))
        both, parts = both[keep], parts[keep]
        order = np.lexsort((parts[:, 1], parts[:, 0]))
        both, parts = both[order], parts[order]
        ends = np.flatnonzero(np.r_[(parts[1:] != parts[:-1]).any(axis=1), True][: len(parts)]) + 1
        for group in np.split(np.arange(len(parts)), ends[:-1]) if len(parts) else ():
            a, b = parts[group[0]].tolist()
            if (a, b) not in self._excluded:
                yield a, b, both[group]

    def _local(self, nodes: NDArray[np.int64], body: int) -> NDArray[np.int32]:
        """Return those of the nodes that belong to a body, by their numbers in it."""
        first, end = self._mesh.first[body : body + 2]
        return readonly_copy((nodes[(nodes >= first) & (nodes < end)] - first).astype(np.int32))

    # --- colliders --------------------------------------------------------------------------------------

    def _with_colliders(self, positions: Sequence[NDArray[np.float64]], time: float) -> Iterator[Overlap]:
        """Yield the overlaps of bodies with colliders."""
        count = len(self._surfaces)
        for k, (surface, points) in enumerate(zip(self._surfaces, positions, strict=True)):
            nodes = np.unique(surface.triangles)
            for c, shape in enumerate(self._shapes):
                if not len(nodes) or not self._collide[k, count + c]:
                    continue
                depth = -shape.distances_at(points[nodes], time, 0.0)[0]
                deep = depth > NOTE_FRACTION * self._mesh.surfaces[k].edge_length
                if deep.any():
                    name = shape.name or f"collider {c + 1} ({shape.kind})"
                    yield Overlap(
                        "collider",
                        (surface.name, name),
                        int(deep.sum()),
                        (readonly_copy(nodes[deep].astype(np.int32)),),
                        float(depth.max()),
                    )


@dataclass(frozen=True, eq=False)
class _Groups:
    """Items grouped by part: those of part k are `order[starts[k]:starts[k + 1]]`."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, part: NDArray[np.int64], items: NDArray[np.int64], count: int) -> _Groups:
        """Group items by their `part`."""
        order = items[np.argsort(part[items], kind="stable")]
        return cls(order, np.searchsorted(part[order], np.arange(count + 1)))

    def __getitem__(self, part: int) -> NDArray[np.int64]:
        return self.order[self.starts[part] : self.starts[part + 1]]


@dataclass(frozen=True, eq=False)
class _PartOverlap:
    """The overlap of two parts: nodes of both, pairs of triangles, and depth [m]."""

    nodes: NDArray[np.int64]
    count: int
    depth: float


class _Inside:
    """Which points of parts are inside of other parts, at positions x [n, 3] of all nodes.

    Attributes:
        known: Pairs of parts whose overlap is known.
    """

    def __init__(self, search: OverlapSearch, x: NDArray[np.float64]) -> None:
        self._search, self._x = search, x
        self._distances: dict[int, ExactDistance | None] = {}
        self.known: set[tuple[int, int]] = set()
        self._cells = search._mesh.triangle_bvh.cells.astype(np.int64)
        count = int(search._first_part[-1])
        self._nodes = _Groups.of(search._part, np.unique(self._cells), count)
        self._triangles = _Groups.of(search._part[self._cells[:, 0]], np.arange(len(self._cells)), count)
        occupied = np.flatnonzero(np.diff(self._nodes.starts))
        self._boxes = np.full((count, 6), np.nan)
        if len(occupied):
            points, starts = x[self._nodes.order], self._nodes.starts[occupied]
            self._boxes[occupied, :3] = np.minimum.reduceat(points, starts)
            self._boxes[occupied, 3:] = np.maximum.reduceat(points, starts)

    def size(self, part: int) -> float:
        """Return the size that tolerances of a part refer to [m]: the edges of a soft one, the width of a rigid one."""
        body = int(self._search._body[part])
        if self._search._surfaces[body].instances:
            return float((self._boxes[part, 3:] - self._boxes[part, :3]).min())
        return self._search._mesh.surfaces[body].edge_length

    def overlap(self, a: int, b: int, nodes: NDArray[np.int64], count: int) -> _PartOverlap:
        """Return the overlap of two parts whose intersecting triangles have these nodes."""
        found, depth = [nodes], 0.0
        for inner, outer in ((a, b), (b, a)):
            inside, deepest = self._depth(inner, outer)
            found += inside
            depth = max(depth, deepest)
        return _PartOverlap(np.unique(np.concatenate(found)), count, depth)

    def _depth(self, inner: int, outer: int) -> tuple[list[NDArray[np.int64]], float]:
        """Return nodes of one part that are inside of another, and how deep it is inside [m].

        Besides the nodes, the centres of triangles are tested, a little below them: nodes of aligned bodies may lie
        on the surface of the other.
        """
        nodes, triangles = self._nodes[inner], self._cells[self._triangles[inner]]
        corners = self._x[triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
        below = BELOW_FRACTION * min(self.size(inner), self.size(outer))
        found, deepest = [], 0.0
        for points, owners in (
            (self._x[nodes], nodes[:, None]),
            (corners.mean(axis=1) - below * normals, triangles),
        ):
            box = self._boxes[outer]
            near = np.flatnonzero(((points > box[:3]) & (points < box[3:])).all(axis=1))
            distance = self._distance(outer) if len(near) else None
            if distance is None:
                continue
            depth = -distance(points[near])
            inside = depth > 0.5 * below
            found.append(np.unique(owners[near[inside]]))
            deepest = max(deepest, float(depth.max()))
        return found, deepest

    def _distance(self, part: int) -> ExactDistance | None:
        """Return the distance of a part, or None if it is not closed."""
        if part not in self._distances:
            nodes, triangles = np.unique(self._cells[self._triangles[part]], return_inverse=True)
            try:
                self._distances[part] = ExactDistance(
                    SurfaceMesh(self._x[nodes], triangles.reshape(-1, 3).astype(np.int32))
                )
            except ContinuaError:  # open, or so deformed that nothing is inside
                self._distances[part] = None
        return self._distances[part]

    def close_pairs(self) -> Iterator[tuple[int, int]]:
        """Yield pairs of parts whose boxes overlap, and that are not known."""
        search, boxes = self._search, self._boxes
        allowed = search._mesh.vertex_face_pairs
        for a in range(len(boxes)):
            near = (boxes[a + 1 :, :3] < boxes[a, 3:]).all(axis=1) & (boxes[a + 1 :, 3:] > boxes[a, :3]).all(
                axis=1
            )
            near &= allowed[search._body[a], search._body[a + 1 :]]
            for b in (a + 1 + np.flatnonzero(near)).tolist():
                if (a, b) not in self.known and (a, b) not in search._excluded:
                    yield a, b


class FrameOverlaps:
    """The field of overlapping nodes of the bodies of a frame, computed on first request.

    Args:
        frames: The frames of the bodies.
        search: Returns the search for their surfaces.
        time: Time of the frame [s].
    """

    def __init__(self, frames: Sequence[BodyFrame], search: Callable[[], OverlapSearch], time: float) -> None:
        self._frames, self._search, self._time = tuple(frames), search, time

    @cached_property
    def _overlaps(self) -> tuple[Overlap, ...]:
        return self._search().find([frame.positions for frame in self._frames], self._time)

    def field(self, number: int) -> Field:
        """Return the field of one of the bodies."""
        frame = self._frames[number]
        values = np.zeros(len(frame.positions))
        for overlap in self._overlaps:
            for name, nodes in zip(overlap.bodies, overlap.nodes, strict=False):
                if name == frame.name:
                    values[nodes] = 1.0
        return Field(readonly_copy(values), "")
