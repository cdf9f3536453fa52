"""Continuous collision: what crosses on the straight way of a step, and what has already crossed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.contact import continuous_kernels as kernels
from continua.contact.broad import Surfaces
from continua.contact.proximity import Pairs, as_pairs, chunked
from continua.contact.shapes import Shape

__all__ = ["Intersections", "ShapeHits", "find_crossings", "find_intersections", "find_shape_crossings"]

_PARALLEL_FROM = 1024  # vertices or edges
_ADVANCES = 200


class Intersections(NamedTuple):
    """Edges that go through triangles.

    Attributes:
        edges: Numbers of the edges in `Surfaces.edges`, shape [c].
        triangles: Numbers of the triangles in `Surfaces.faces`, shape [c].
        a: Members of the edges, shape [c].
        b: Members of the triangles, shape [c].
    """

    edges: NDArray[np.int32]
    triangles: NDArray[np.int32]
    a: NDArray[np.int32]
    b: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.edges)


class ShapeHits(NamedTuple):
    """Points that run into a shape on their way and would come out of it again, or stay in it.

    Attributes:
        points: Numbers of the points, shape [c].
        normals: Normals of the shape where they enter, at the start of the step, shape [c, 3].
        gaps: Distances at the start from the plane through the place of entry [m], shape [c].
        times: Parts of the way at which they enter, shape [c].
    """

    points: NDArray[np.int64]
    normals: NDArray[np.float64]
    gaps: NDArray[np.float64]
    times: NDArray[np.float64]


def find_crossings(
    surfaces: Surfaces,
    x0: NDArray[np.float64],
    x1: NDArray[np.float64],
    separation: NDArray[np.float64],
) -> Pairs:
    """Return the pairs that come within `separation` of each other on the straight way from x0 to x1.

    None is missed, whatever the rounding; a pair that comes within 1.5 to 2 separations may be reported too. The
    normals point to the side from which the pairs came, the gaps are distances along them at the start, and `times`
    tell when they meet, from 0 to 1.

    Args:
        surfaces: The surfaces.
        x0: Positions of all points at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
        separation: What counts as a meeting of two members [m], shape [m, m].
    """
    x0, x1 = np.ascontiguousarray(x0), np.ascontiguousarray(x1)
    scale = float(max(np.abs(x0).max(initial=0.0), np.abs(x1).max(initial=0.0)))
    table = surfaces.table
    margin = separation.max(axis=1, initial=0.0) + 1e-13 * scale
    surfaces.fit(x0, x1, margin)
    margin = margin + table.radius
    separation = separation + 0.5 * (table.radius[:, None] + table.radius[None, :])
    ptr, partner = surfaces.partners(surfaces.faces, surfaces.face_pairs)
    look = kernels.crossing_faces.pick(len(table.points) >= _PARALLEL_FROM)
    faces = chunked(
        lambda *out: look(surfaces.faces, table, x0, x1, ptr, partner, separation, margin, *out),
        len(table.points) if ptr[-1] else 0,
    )
    edge_ptr, edge_partner = surfaces.partners(surfaces.edges, surfaces.edge_pairs)
    count = len(surfaces.edges.cells)
    search = kernels.crossing_edges.pick(count >= _PARALLEL_FROM)
    edges = chunked(
        lambda *out: search(surfaces.edges, table, x0, x1, edge_ptr, edge_partner, separation, margin, *out),
        count if edge_ptr[-1] else 0,
    )
    return as_pairs(faces, edges)


def find_intersections(surfaces: Surfaces, x: NDArray[np.float64]) -> Intersections:
    """Return all edges that go through triangles at positions x [n, 3]: none, where contact has done its work."""
    x = np.ascontiguousarray(x)
    surfaces.fit(x, x, np.zeros(len(surfaces.members)))

    ptr, partner = surfaces.partners(surfaces.faces, surfaces.face_pairs)
    count = len(surfaces.edges.cells) if ptr[-1] else 0
    look = kernels.intersections.pick(count >= _PARALLEL_FROM)
    ids, _ = chunked(lambda *out: look(surfaces.edges, surfaces.faces, x, ptr, partner, *out), count)
    return Intersections(*(np.ascontiguousarray(ids[:, k]) for k in (0, 1, 5, 6)))


def find_shape_crossings(
    shape: Shape, x0: NDArray[np.float64], x1: NDArray[np.float64], time: float, dt: float
) -> ShapeHits:
    """Return the points that meet a shape on the way from x0 to x1 [n, 3], even where it is thin.

    The way is seen from the shape, so that it may move. A distance changes by no more than the way, so a point with
    distances d0 and d1 at the ends of a way longer than d0 + d1 may have met the shape; it is followed in steps of
    its distance (Mirtich 1996).

    Args:
        shape: The shape.
        x0: Positions at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
        time: Time at the start [s].
        dt: Time from start to end [s].
    """
    now, then = shape.pose(time), shape.pose(time + dt)
    a = x0 if now is None else (x0 - now.shift) @ now.turn
    b = x1 if then is None else (x1 - then.shift) @ then.turn
    move = b - a
    length = np.linalg.norm(move, axis=1)
    d0, d1 = shape.distances(a)[0], shape.distances(b)[0]
    inside = d1 < 0.0
    live = np.flatnonzero((d0 > 0.0) & (inside | (d0 + d1 < length)))
    touch = 1e-9 * (length + np.abs(a).max(initial=0.0))
    at = np.zeros(len(a))
    found = np.zeros(len(a), bool)
    gap = d0.copy()
    for _ in range(_ADVANCES):
        if not len(live):
            break
        at[live] += gap[live] / length[live]
        live = live[at[live] <= 1.0]
        gap[live] = shape.distances(a[live] + at[live, None] * move[live])[0]
        met = gap[live] <= touch[live]
        found[live[met]] = True
        live = live[~met]
    found[live] = True  # still very near after many steps: take it for met
    points = np.flatnonzero(found | ((d0 <= 0.0) & inside))
    times = np.where(found[points], np.minimum(at[points], 1.0), 0.0)
    normals = shape.distances(a[points] + times[:, None] * move[points])[1]
    gaps = np.where(found[points], -times * np.einsum("ij,ij->i", normals, move[points]), d0[points])
    if now is not None:
        normals = normals @ now.turn.T
    return ShapeHits(points, np.ascontiguousarray(normals), gaps, times)


def describe_overlaps(overlaps: Collection[tuple[int, int]], names: Sequence[str]) -> str:
    """Return a sentence that tells which members go through each other, or an empty one."""
    if not overlaps:
        return ""
    pairs = sorted({(min(a, b), max(a, b)) for a, b in overlaps})
    a, b = pairs[0]
    who = f"'{names[a]}' goes through itself" if a == b else f"'{names[a]}' and '{names[b]}' overlap"
    more = f" (and {len(pairs) - 1} more pairs)" if len(pairs) > 1 else ""
    return f"{who}{more} at the start and will not touch each other; move them apart"
