"""Pairs of vertices and triangles, and of edges, that are near each other or will be within a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.contact import proximity_kernels as kernels
from continua.contact.broad import Surfaces

__all__ = ["Pairs", "find_pairs"]

_FLAT = 0.035  # sine of 2 degrees: edges that are hardly bent leave the work to vertices
_FAINT = 0.005  # and these always; between the two, pairs of edges that pressed before stay
_SLACK = 0.5
_PARALLEL_FROM = 1024  # vertices or edges


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a vertex and a triangle, or of two edges.

    Side a is the vertex or the first edge. The relative position of a pair is sum of weights[k] x[nodes[k]].

    Attributes:
        nodes: The four points of each pair, shape [c, 4]: vertex and corners, or the ends of the two edges.
        weights: Their weights [c, 4]: (1, -w0, -w1, -w2), or (1 - s, s, t - 1, -t).
        normals: Unit normals from side b to side a, shape [c, 3].
        gaps: Signed distances of the surfaces [m], negative where they overlap, shape [c].
        a: Member on side a, shape [c].
        b: Member on side b, shape [c].
        keys: Numbers by which the same pair is known again later, shape [c].
        times: For pairs that cross on a way, the part of the way at which they do; else 0, shape [c].
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

    def take(self, which: NDArray) -> Pairs:
        """Return some of the pairs, by a mask or by their numbers."""
        return Pairs(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


def chunked(
    run: Callable[..., None], count: int, room: int = 64
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Call `run(counts, ids, values)` with enough room for what every chunk of `count` items finds, and join that."""
    chunks = -(-count // kernels.CHUNK)
    counts = np.zeros(chunks, np.int64)
    ids, values = np.empty((chunks, room, 7), np.int32), np.empty((chunks, room, 8))
    run(counts, ids, values)
    most = int(counts.max(initial=0))
    if most > room:
        ids, values = np.empty((chunks, most, 7), np.int32), np.empty((chunks, most, 8))
        run(counts, ids, values)
    total = int(counts.sum())
    all_ids, all_values = np.empty((total, 7), np.int32), np.empty((total, 8))
    kernels.gather(counts, ids, values, all_ids, all_values)
    return all_ids, all_values


def as_pairs(
    faces: tuple[NDArray[np.int32], NDArray[np.float64]], edges: tuple[NDArray[np.int32], NDArray[np.float64]]
) -> Pairs:
    """Join what the kernels found on triangles and on edges; each place counts once."""
    (ids, values), (edge_ids, edge_values) = faces, edges
    s, t = edge_values[:, 0], edge_values[:, 1]
    weights = np.concatenate(
        [
            np.column_stack([np.ones(len(ids)), -values[:, :3]]),
            np.column_stack([1.0 - s, s, t - 1.0, -t]),
        ]
    )
    both, rest = np.concatenate([ids, edge_ids]), np.concatenate([values, edge_values])
    keys = _keys(both, weights)
    _, first = np.unique(keys, return_index=True)
    first.sort()
    both, rest = both[first], rest[first]
    columns = (
        both[:, :4],
        weights[first],
        rest[:, 3:6],
        rest[:, 6],
        both[:, 5],
        both[:, 6],
        keys[first],
        rest[:, 7],
    )
    return Pairs(*(np.ascontiguousarray(column) for column in columns))


def _keys(ids: NDArray[np.int32], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a number for each pair that depends on its points alone; that of two vertices on both alike."""
    nodes = ids[:, :4].astype(np.int64)
    corner = ids[:, 4] == 2
    if corner.any():
        other = nodes[np.arange(len(nodes)), 1 + np.argmin(weights[:, 1:], axis=1)]
        low, high = np.minimum(nodes[:, 0], other), np.maximum(nodes[:, 0], other)
        nodes = np.where(corner[:, None], np.column_stack([low, high, high, high]), nodes)
    mixed = np.where(ids[:, 4] >= 3, 1, 2).astype(np.uint64)
    for k in range(4):  # Fowler-Noll-Vo, on whole numbers instead of bytes, with a final stir
        mixed = (mixed ^ nodes[:, k].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed >> np.uint64(2)).astype(np.int64)


def find_pairs(
    surfaces: Surfaces,
    x: NDArray[np.float64],
    way: NDArray[np.float64],
    keep: NDArray[np.float64],
    *,
    limit: NDArray[np.float64] | None = None,
    edges: bool = True,
    flat: float = _FLAT,
    known: NDArray[np.int64] | None = None,
) -> Pairs:
    """Return the pairs that are nearer than they should be, or will be if every point moves on along its `way`.

    Args:
        surfaces: The surfaces.
        x: Positions of all points [m], shape [n, 3].
        way: Displacements expected in the step [m], shape [n, 3].
        keep: Distance that two members keep from each other [m], shape [m, m].
        limit: Largest distance of a pair of two members [m], shape [m, m]; None is no limit.
        edges: Whether pairs of edges are looked for.
        flat: Sine of the angle below which edges are hardly bent and left out.
        known: Keys of the pairs that pressed in the last step. Two edges that are nearly flat count only if they are
            among them; so bodies at rest do not lose and find the same contact in turns.
    """
    x = np.ascontiguousarray(x)
    way = np.ascontiguousarray(way)
    limit = np.full_like(keep, np.inf) if limit is None else np.ascontiguousarray(limit)
    surfaces.fit(x, x + way, (1.0 + _SLACK) * keep.max(axis=1, initial=0.0))
    table, tree = surfaces.table, surfaces.faces
    normals = np.zeros_like(x)
    if any(member.own for member in surfaces.members):
        kernels.vertex_normals(tree.cells, x, normals)
    ptr, partner = surfaces.partners(tree, surfaces.face_pairs)
    look = kernels.near_faces.pick(len(table.points) >= _PARALLEL_FROM)
    faces = chunked(
        lambda *out: look(tree, table, x, way, ptr, partner, keep, _SLACK, limit, normals, *out),
        len(table.points) if ptr[-1] else 0,
    )
    return as_pairs(faces, _edge_pairs(surfaces, x, way, keep, limit, flat, known) if edges else NONE)


NONE = (np.zeros((0, 7), np.int32), np.zeros((0, 8)))


def _edge_pairs(
    surfaces: Surfaces,
    x: NDArray[np.float64],
    way: NDArray[np.float64],
    keep: NDArray[np.float64],
    limit: NDArray[np.float64],
    flat: float,
    known: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    table, tree = surfaces.table, surfaces.edges
    count = len(tree.cells)
    ptr, partner = surfaces.partners(tree, surfaces.edge_pairs)
    if not ptr[-1]:
        return NONE
    outward, sharp = np.empty((count, 3)), np.empty(count, np.uint8)
    faint = flat if known is None or not len(known) else min(flat, _FAINT)
    kernels.edge_frames.pick(count >= 4 * _PARALLEL_FROM)(
        tree.cells, surfaces.faces.cells, table.edge_triangles, x, flat, faint, outward, sharp
    )
    look = kernels.near_edges.pick(count >= _PARALLEL_FROM)
    ids, values = chunked(
        lambda *out: look(tree, table, x, way, ptr, partner, keep, _SLACK, limit, outward, sharp, *out), count
    )
    weak = np.flatnonzero(ids[:, 4] == 4)
    if known is None or not len(weak):
        return ids, values
    stay = np.ones(len(ids), bool)
    stay[weak] = np.isin(_keys(ids[weak], values[weak, :4]), known)
    return ids[stay], values[stay]
