"""Continuous collision detection: pairs that collide on the straight path of a step, and existing intersections."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.collision import ccd_kernels as kernels
from continua.collision.broad_phase import CollisionMesh, SurfaceTopology
from continua.collision.passage_kernels import confirm_passages
from continua.collision.proximity import ContactCandidates, collect_chunks, to_candidates, track_sides
from continua.geometry import Shape

__all__ = [
    "ColliderHits",
    "Intersections",
    "find_collider_impacts",
    "find_impacts",
    "find_intersections",
    "find_passages",
]

_PARALLEL_FROM = 1024  # vertices or edges
_MAX_ADVANCES = 200


class Intersections(NamedTuple):
    """Edges that pierce triangles.

    Attributes:
        edges: Indices of the edges in `CollisionMesh.edge_bvh`, shape [c].
        triangles: Indices of the triangles in `CollisionMesh.triangle_bvh`, shape [c].
        a: Surfaces of the edges, shape [c].
        b: Surfaces of the triangles, shape [c].
    """

    edges: NDArray[np.int32]
    triangles: NDArray[np.int32]
    a: NDArray[np.int32]
    b: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.edges)


class ColliderHits(NamedTuple):
    """Points that enter a collider on their path, whether they end inside or beyond it.

    Attributes:
        points: Indices of the points, shape [c].
        normals: Normals of the shape at the points of entry, at the start of the step, shape [c, 3].
        gaps: Distances at the start from the plane through the point of entry [m], shape [c].
        times: Times of impact as fractions of the step, shape [c].
    """

    points: NDArray[np.int64]
    normals: NDArray[np.float64]
    gaps: NDArray[np.float64]
    times: NDArray[np.float64]


def find_impacts(
    mesh: CollisionMesh,
    x0: NDArray[np.float64],
    x1: NDArray[np.float64],
    separation: NDArray[np.float64],
    previous_keys: NDArray[np.int64] | None = None,
) -> ContactCandidates:
    """Return the pairs that come within `separation` of each other on the straight path from x0 to x1.

    None is missed, whatever the rounding; a pair that comes within 1.5 to 2 separations may be reported too. The
    normals point to the side from which the pairs came, the gaps are distances along them at the start, and `times`
    are the times of impact, from 0 to 1.

    Args:
        mesh: The surfaces.
        x0: Positions of all points at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
        separation: Distance of two surfaces that counts as an impact [m], shape [m, m].
        previous_keys: Keys of the pairs that were active in the last step; see `find_candidates`.
    """
    x0, x1 = np.ascontiguousarray(x0), np.ascontiguousarray(x1)
    radius = mesh.topology.radius
    within = separation + 0.5 * (radius[:, None] + radius[None, :])
    faces, edges = _search(mesh, x0, x1, separation, within, mesh.topology)
    if previous_keys is not None:
        track_sides(mesh, *faces, previous_keys, flip=False)
    return to_candidates(mesh, faces, edges)


def find_passages(
    mesh: CollisionMesh, x0: NDArray[np.float64], x1: NDArray[np.float64], separation: NDArray[np.float64]
) -> ContactCandidates:
    """Return the pairs whose middle surfaces pass through each other on the straight path, or nearly do.

    Radii do not count. A pair is found if it comes within `separation`, or if it starts closer than two separations,
    within half of its distance at the start: so pairs that stay apart are never found, however close they are, and of
    those that pass none is missed.

    Args:
        mesh: The surfaces, which do not intersect at the start.
        x0: Positions of all points at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
        separation: Distance that counts [m], shape [m, m].
    """
    x0, x1 = np.ascontiguousarray(x0), np.ascontiguousarray(x1)
    radius = mesh.topology.radius
    thin = mesh.topology._replace(radius=np.zeros_like(radius))
    faces, edges = _search(mesh, x0, x1, separation, separation, thin)
    return to_candidates(
        mesh, _confirm(x0, x1, *faces, True, separation), _confirm(x0, x1, *edges, False, separation)
    )


def _confirm(
    x0: NDArray[np.float64],
    x1: NDArray[np.float64],
    ids: NDArray[np.int32],
    values: NDArray[np.float64],
    is_triangle: bool,
    separation: NDArray[np.float64],
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return those of the kernels' pairs that also lose half of the distance that they have at the start."""
    if not len(ids):
        return ids, values
    times = np.empty(len(ids))
    confirm = confirm_passages.variant(len(ids) >= _PARALLEL_FROM)
    confirm(x0, x1, np.ascontiguousarray(ids[:, :4]), is_triangle, separation[ids[:, 5], ids[:, 6]], times)
    which = np.flatnonzero(times <= 1.0)
    ids, values = ids[which], values[which]
    values[:, 7] = times[which]
    return ids, values


def _search(
    mesh: CollisionMesh,
    x0: NDArray[np.float64],
    x1: NDArray[np.float64],
    gap: NDArray[np.float64],
    separation: NDArray[np.float64],
    topology: SurfaceTopology,
) -> tuple[tuple[NDArray[np.int32], NDArray[np.float64]], tuple[NDArray[np.int32], NDArray[np.float64]]]:
    """Return the vertices that come within `separation` of triangles, and the edges of edges, from the kernels.

    `gap` [m, m] is the same without the radii of `topology`, by which boxes are widened anyway.
    """
    margin = gap.max(axis=1, initial=0.0) + 1e-13 * mesh.follow(x0, x1)
    widening = margin + topology.radius
    near = mesh.near_vertices(margin)
    search_faces = kernels.ccd_vertex_face.variant(len(near.cells) >= _PARALLEL_FROM)
    faces = collect_chunks(
        lambda *out: search_faces(
            mesh.triangle_bvh, topology, mesh.kinds, x0, x1, near, separation, widening, *out
        ),
        len(near.cells),
    )
    near_edges = mesh.near_edges(margin)
    search_edges = kernels.ccd_edge_edge.variant(len(near_edges.cells) >= _PARALLEL_FROM)
    edges = collect_chunks(
        lambda *out: search_edges(
            mesh.edge_bvh, topology, mesh.kinds, x0, x1, near_edges, separation, widening, *out
        ),
        len(near_edges.cells),
    )
    return faces, edges


def find_intersections(mesh: CollisionMesh, x: NDArray[np.float64]) -> Intersections:
    """Return all edges that pierce triangles at positions x [n, 3]; empty if contact has kept the surfaces apart."""
    x = np.ascontiguousarray(x)
    mesh.follow(x, x)
    near = mesh.near_edges(np.zeros(len(mesh.surfaces)), triangles=True)
    search = kernels.edge_face_intersections.variant(len(near.cells) >= _PARALLEL_FROM)
    ids, _ = collect_chunks(
        lambda *out: search(mesh.edge_bvh, mesh.triangle_bvh, x, near, *out), len(near.cells)
    )
    return Intersections(*(np.ascontiguousarray(ids[:, k]) for k in (0, 1, 5, 6)))


def find_collider_impacts(
    shape: Shape, x0: NDArray[np.float64], x1: NDArray[np.float64], time: float, dt: float
) -> ColliderHits:
    """Return the points that hit a shape on the path from x0 to x1 [n, 3], even where it is thin.

    Paths are taken relative to the shape, so that it may move. A distance changes by no more than the length of the
    path, so a point with distances d0 and d1 at the ends of a path longer than d0 + d1 may have hit the shape; it is
    followed by conservative advancement in steps of its distance (Mirtich 1996).

    Args:
        shape: The shape.
        x0: Positions at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
        time: Time at the start [s].
        dt: Time from start to end [s].
    """
    now, then = shape.pose(time), shape.pose(time + dt)
    a = x0 if now is None else (x0 - now.translation) @ now.rotation
    b = x1 if then is None else (x1 - then.translation) @ then.rotation
    path = b - a
    length = np.linalg.norm(path, axis=1)
    d0, d1 = shape.distances(a)[0], shape.distances(b)[0]
    inside = d1 < 0.0
    live = np.flatnonzero((d0 > 0.0) & (inside | (d0 + d1 < length)))
    touch = 1e-9 * (length + np.abs(a).max(initial=0.0))
    at = np.zeros(len(a))
    found = np.zeros(len(a), bool)
    gap = d0.copy()
    for _ in range(_MAX_ADVANCES):
        if not len(live):
            break
        at[live] += gap[live] / length[live]
        live = live[at[live] <= 1.0]
        gap[live] = shape.distances(a[live] + at[live, None] * path[live])[0]
        hit = gap[live] <= touch[live]
        found[live[hit]] = True
        live = live[~hit]
    found[live] = True  # still very close after many steps: counts as a hit
    points = np.flatnonzero(found | ((d0 <= 0.0) & inside))
    times = np.where(found[points], np.minimum(at[points], 1.0), 0.0)
    normals = shape.distances(a[points] + times[:, None] * path[points])[1]
    gaps = np.where(found[points], -times * np.einsum("ij,ij->i", normals, path[points]), d0[points])
    if now is not None:
        normals = normals @ now.rotation.T
    return ColliderHits(points, np.ascontiguousarray(normals), gaps, times)


def describe_overlaps(
    overlaps: Collection[tuple[int, int]],
    names: Sequence[str],
    depth: Callable[[int, int], float],
    place: Callable[[int, int], str] = lambda a, b: "",
) -> str:
    """Return a warning that names the surfaces which intersect, with `depth` [m] and `place`, or an empty string."""
    if not overlaps:
        return ""
    pairs = sorted({(min(a, b), max(a, b)) for a, b in overlaps})
    a, b = pairs[0]
    who = f"'{names[a]}' intersects itself" if a == b else f"'{names[a]}' and '{names[b]}' overlap"
    more = f" (and {len(pairs) - 1} more pairs)" if len(pairs) > 1 else ""
    deep = 0.0 if a == b else depth(a, b)
    said = f", {deep:.3g} m deep," if deep > 0.0 else place(a, b)
    return f"{who}{more} at the start{said} and will not touch each other; move them apart"
