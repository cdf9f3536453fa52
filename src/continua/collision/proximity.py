"""Candidates of contact: vertices near triangles and edges near edges, now or by the end of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.collision import proximity_kernels as kernels
from continua.collision.broad_phase import CollisionMesh
from continua.short_repr import ShortRepr

__all__ = ["ContactCandidates", "find_candidates"]

_ALWAYS_FLAT_SINE = 0.005  # the same for all edges; between the two, edges that were in contact before stay
_SLACK = 0.5
_PARALLEL_FROM = 1024  # vertices or edges
_COLUMNS = 8  # of the kernels' numbers for a pair: four points, kind of feature, two surfaces, side


@dataclass(frozen=True, eq=False, repr=False)
class ContactCandidates(ShortRepr):
    """Pairs of a vertex and a triangle, or of two edges.

    Side a is the vertex or the first edge. The relative position of a pair is the sum of weights[k] x[nodes[k]].

    Attributes:
        nodes: The four points of each pair, shape [c, 4]: vertex and corners, or the ends of the two edges.
        weights: Their weights [c, 4]: (1, -w0, -w1, -w2), or (1 - s, s, t - 1, -t).
        normals: Unit normals from side b to side a, shape [c, 3].
        gaps: Signed distances of the surfaces [m], negative where they overlap, shape [c].
        a: Surface on side a, shape [c].
        b: Surface on side b, shape [c].
        keys: Keys that identify the same pair in later steps, shape [c].
        times: Time of impact as a fraction of the step, for pairs found by continuous detection; else 0, shape [c].
    """

    nodes: NDArray[np.int32]
    weights: NDArray[np.float64]
    normals: NDArray[np.float64]
    gaps: NDArray[np.float64]
    a: NDArray[np.int32]
    b: NDArray[np.int32]
    keys: NDArray[np.int64]
    times: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.gaps)

    def take(self, which: NDArray) -> ContactCandidates:
        """Return some of the pairs, by a mask or by index."""
        return ContactCandidates(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


NO_RESULTS = (np.zeros((0, _COLUMNS), np.int32), np.zeros((0, 8)))
NO_CANDIDATES = ContactCandidates(
    np.zeros((0, 4), np.int32),
    np.zeros((0, 4)),
    np.zeros((0, 3)),
    np.zeros(0),
    np.zeros(0, np.int32),
    np.zeros(0, np.int32),
    np.zeros(0, np.int64),
    np.zeros(0),
)


def collect_chunks(
    run: Callable[..., None], count: int, capacity: int = 64
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Call `run(counts, ids, values)` with enough capacity for the results of every chunk of items; join them."""
    if not count:
        return NO_RESULTS
    chunks = -(-count // kernels.CHUNK)
    counts = np.zeros(chunks, np.int64)
    ids, values = np.empty((chunks, capacity, _COLUMNS), np.int32), np.empty((chunks, capacity, 8))
    run(counts, ids, values)
    most = int(counts.max(initial=0))
    if most > capacity:
        ids, values = np.empty((chunks, most, _COLUMNS), np.int32), np.empty((chunks, most, 8))
        run(counts, ids, values)
    total = int(counts.sum())
    all_ids, all_values = np.empty((total, _COLUMNS), np.int32), np.empty((total, 8))
    kernels.gather_chunks(counts, ids, values, all_ids, all_values)
    return all_ids, all_values


def to_candidates(
    mesh: CollisionMesh,
    faces: tuple[NDArray[np.int32], NDArray[np.float64]],
    edges: tuple[NDArray[np.int32], NDArray[np.float64]],
) -> ContactCandidates:
    """Join the results of the kernels for triangles and edges; each key counts once."""
    count = len(faces[0]) + len(edges[0])
    if not count:
        return NO_CANDIDATES
    both, rest, weights = np.empty((count, _COLUMNS), np.int32), np.empty((count, 8)), np.empty((count, 4))
    kernels.join_pairs(*faces, *edges, both, rest, weights)
    keys = _keys(mesh, both, weights)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    repeated = order[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        first = np.delete(np.arange(count), repeated)
        both, rest, weights, keys = both[first], rest[first], weights[first], keys[first]
    columns: tuple[NDArray[Any], ...] = (
        both[:, :4],
        weights,
        rest[:, 3:6],
        rest[:, 6],
        both[:, 5],
        both[:, 6],
        keys,
        rest[:, 7],
    )
    return ContactCandidates(*(np.ascontiguousarray(column) for column in columns))


def _keys(mesh: CollisionMesh, ids: NDArray[np.int32], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a hash of each pair's points and side; that of two vertices does not depend on their order."""
    keys = np.empty(len(ids), np.int64)
    kernels.pair_keys(mesh.point_ids, ids, np.ascontiguousarray(weights), keys)
    return keys


def track_sides(
    mesh: CollisionMesh,
    ids: NDArray[np.int32],
    values: NDArray[np.float64],
    previous_keys: NDArray[np.int64],
    flip: bool,
) -> None:
    """Keep points in contact with a two-sided surface on the side on which they were, in place.

    A point that was active in the last step on the other side of a triangle than that on which it is now has come
    through it by less than the accepted error: the side stays, and its distance is negative.

    Args:
        mesh: The surfaces.
        ids: Points and triangles from the kernels.
        values: The same, with normals and distances.
        previous_keys: Keys of the pairs that were active in the last step.
        flip: Whether normals and distances follow the side.
    """
    sided = np.flatnonzero(ids[:, 7])
    if not len(sided) or not len(previous_keys):
        return
    other = ids[sided].copy()
    other[:, 7] *= -1
    weights = np.column_stack([np.ones(len(sided)), -values[sided, :3]])
    changed = np.isin(_keys(mesh, other, weights), previous_keys)
    changed &= ~np.isin(_keys(mesh, ids[sided], weights), previous_keys)
    rows = sided[changed]
    ids[rows, 7] *= -1
    if flip:
        radius = mesh.topology.radius[ids[rows, 5]] + mesh.topology.radius[ids[rows, 6]]
        values[rows, 3:6] *= -1.0
        values[rows, 6] = -(values[rows, 6] + radius) - radius


def find_candidates(
    mesh: CollisionMesh,
    x: NDArray[np.float64],
    displacements: NDArray[np.float64],
    min_distance: NDArray[np.float64],
    *,
    max_distance: NDArray[np.float64] | None = None,
    edges: bool = True,
    flat_sine: float = kernels.FLAT_SINE,
    previous_keys: NDArray[np.int64] | None = None,
) -> ContactCandidates:
    """Return the pairs that are closer than `min_distance`, or will be if every point moves by its displacement.

    Args:
        mesh: The surfaces.
        x: Positions of all points [m], shape [n, 3].
        displacements: Displacements expected in the step [m], shape [n, 3].
        min_distance: Distance that two surfaces keep from each other [m], shape [m, m].
        max_distance: Largest distance of a pair of two surfaces [m], shape [m, m]; None is no limit.
        edges: Whether pairs of edges are found.
        flat_sine: Sine of the angle below which edges count as flat and are left out.
        previous_keys: Keys of the pairs that were active in the last step. Two nearly flat edges count only if they
            are among them, so that bodies at rest do not lose and regain the same contact; and points in contact with
            a two-sided surface stay on their side of it.
    """
    x = np.ascontiguousarray(x)
    w = np.ascontiguousarray(displacements)
    limit = np.full_like(min_distance, np.inf) if max_distance is None else np.ascontiguousarray(max_distance)
    margin = (1.0 + _SLACK) * min_distance.max(axis=1, initial=0.0)
    mesh.follow(x, x + w)
    topology, tree = mesh.topology, mesh.triangle_bvh
    near = mesh.near_vertices(margin)
    normals = np.zeros((0, 3))
    if len(near.cells) and mesh.vertex_face_pairs.diagonal().any():
        normals = np.zeros_like(x)
        if any(surface.self_collision for surface in mesh.surfaces):
            kernels.vertex_normals(tree.cells, x, normals)
    search = kernels.vertex_face_candidates.variant(len(near.cells) >= _PARALLEL_FROM)
    faces = collect_chunks(
        lambda *out: search(
            tree, topology, mesh.kinds, x, w, near, min_distance, _SLACK, limit, normals, *out
        ),
        len(near.cells),
    )
    if previous_keys is not None:
        track_sides(mesh, *faces, previous_keys, flip=True)
    if not edges:
        return to_candidates(mesh, faces, NO_RESULTS)
    return to_candidates(
        mesh, faces, _edge_candidates(mesh, x, w, margin, min_distance, limit, flat_sine, previous_keys)
    )


def _edge_candidates(
    mesh: CollisionMesh,
    x: NDArray[np.float64],
    w: NDArray[np.float64],
    margin: NDArray[np.float64],
    min_distance: NDArray[np.float64],
    max_distance: NDArray[np.float64],
    flat_sine: float,
    previous_keys: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    topology, tree = mesh.topology, mesh.edge_bvh
    near = mesh.near_edges(margin)
    if not len(near.cells):
        return NO_RESULTS
    has_previous = previous_keys is not None and len(previous_keys) > 0
    always_flat = min(flat_sine, _ALWAYS_FLAT_SINE) if has_previous else flat_sine
    outward, edge_kind = mesh.classify_edges(near, margin, flat_sine, always_flat)
    search = kernels.edge_edge_candidates.variant(len(near.cells) >= _PARALLEL_FROM)
    ids, values = collect_chunks(
        lambda *out: search(
            tree,
            topology,
            mesh.kinds,
            x,
            w,
            near,
            min_distance,
            _SLACK,
            max_distance,
            outward,
            edge_kind,
            *out,
        ),
        len(near.cells),
    )
    nearly_flat = np.flatnonzero(ids[:, 4] == 4)
    if previous_keys is None or not len(nearly_flat):
        return ids, values
    stay = np.ones(len(ids), bool)
    stay[nearly_flat] = np.isin(_keys(mesh, ids[nearly_flat], values[nearly_flat, :4]), previous_keys)
    return ids[stay], values[stay]
