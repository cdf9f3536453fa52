"""Tetrahedra inside an implicit surface, by cutting a lattice of tetrahedra (after Labelle and Shewchuk 2007).

A lattice of cube corners and centres (BCC), whose tetrahedra are congruent and well shaped, covers the body. Lattice
nodes very close to the surface are snapped to it, so that no slivers arise; the tetrahedra that still cross the surface
are cut, and their inner part is split into tetrahedra again. Neighbours agree on their common faces, because
quadrilaterals are always split at the node with the smallest index. The result is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.checks import compact
from continua.mesh.curved_boundary import ImplicitSurface, ProjectedBoundary
from continua.mesh.structured import BYTES_PER_ELEMENT, MAX_ELEMENTS, checked_lengths
from continua.mesh.tet_mesh import TetMesh
from continua.validation import LARGEST, array, check_memory, flag, function, mapping, shortened

__all__ = ["fill"]

Distance = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_SNAP = {
    "long": 0.25,
    "short": 0.41,
}  # fractions of the two kinds of lattice edges within which nodes are snapped
_ROOT_STEPS = 13


def fill(
    distance: Distance,
    bounds: ArrayLike,
    size: float,
    regions: Mapping[str, Distance] | None = None,
    *,
    curved: bool = False,
) -> TetMesh:
    """Return a mesh of the interior of the zero level set of a function.

    Args:
        distance: Function of points [n, 3] that returns [n] values, negative inside. It should be near to a
            distance at the surface; further away the sign is enough.
        bounds: Smallest and largest coordinates of a box around the body [m], shape [2, 3].
        size: Length of the cubes of the lattice [m]; edges are 0.87 and 1 times as long.
        regions: Names of parts and functions like `distance`; each element belongs to the region whose function is
            smallest at its centre.
        curved: Whether elements of order 2 and 3 follow the surface between the corners; the function should be smooth
            there.

    Raises:
        InputError: Nothing lies inside, the body leaves the bounds, or the lattice would be too fine.
    """
    low, high = _checked_bounds(bounds)
    function(distance, "the distance of a surface", "a function of points")
    for inside in mapping({} if regions is None else regions, "regions").values():
        function(inside, "the function of a region", "a function of points")
    step = float(checked_lengths([size], "size", 1)[0])
    cubes = np.maximum(np.ceil((high - low) / step), 1.0) + 2.0
    check_memory(
        12.0 * float(cubes.prod()),
        BYTES_PER_ELEMENT,
        "a lattice",
        "elements",
        "use a larger size",
        MAX_ELEMENTS,
    )
    counts = cubes.astype(np.int64)
    start = 0.5 * (low + high - step * counts)
    points, lattice = _bcc_lattice(start, counts, step)
    values = _evaluate(distance, points)
    kept = (values[lattice] < 0.0).any(axis=1)
    if not kept.any():
        raise InputError("the interior is empty: the function is nowhere negative on the lattice")
    points, near, nodes = compact(points, lattice[kept])
    points, values = _snap(distance, points, values[nodes], near, step)
    if not (values < 0.0).any():
        raise InputError(f"a size of {size:g} m is too large for the body; use a smaller one")
    points, tets, _ = compact(*_cut(distance, points, values, near))
    slack = 1e-9 * step
    if (points < low - slack).any() or (points > high + slack).any():
        raise InputError("the surface leaves the bounds; make them larger")
    mesh = TetMesh(points, tets, _regions(regions or {}, points[tets].mean(axis=1)))
    if flag(curved, "'curved' of fill"):
        mesh.curved_boundary = ProjectedBoundary((ImplicitSurface(distance, step), None))
    return mesh


def _checked_bounds(bounds: ArrayLike) -> NDArray[np.float64]:
    box = array(bounds, "bounds", (2, 3))
    if (box[1] <= box[0]).any():
        raise InputError(
            f"bounds must be the smallest and the largest coordinates of a box, not {shortened(bounds)}"
        )
    return box


def _evaluate(distance: Distance, points: NDArray[np.float64]) -> NDArray[np.float64]:
    values = array(distance(points), "what the function of a surface returns", (len(points),), finite=False)
    if np.isnan(values).any():
        raise InputError("the function of a surface must return numbers, and some are NaN")
    return np.clip(values, -LARGEST, LARGEST)


def _bcc_lattice(
    start: NDArray[np.float64], counts: NDArray[np.int64], step: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return nodes and tetrahedra of the lattice: two neighbouring centres and an edge of the face between them."""
    nx, ny, nz = counts
    corner = np.arange((nx + 1) * (ny + 1) * (nz + 1)).reshape(nx + 1, ny + 1, nz + 1)
    center = corner.size + np.arange(nx * ny * nz).reshape(nx, ny, nz)
    axes = [start[a] + step * np.arange(n + 1) for a, n in enumerate(counts)]
    corners = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    middles = np.stack(np.meshgrid(*[x[:-1] + 0.5 * step for x in axes], indexing="ij"), axis=-1).reshape(
        -1, 3
    )
    tets = []
    for axis in range(3):
        lower = np.moveaxis(center, axis, 0)[:-1]
        upper = np.moveaxis(center, axis, 0)[1:]
        face = np.moveaxis(corner, axis, 0)[1:-1]
        ring = [face[:, :-1, :-1], face[:, 1:, :-1], face[:, 1:, 1:], face[:, :-1, 1:]]
        for i in range(4):
            tet = np.stack([lower, upper, ring[i], ring[(i + 1) % 4]], axis=-1).reshape(-1, 4)
            tets.append(tet if axis != 1 else tet[:, [1, 0, 2, 3]])
    return np.concatenate([corners, middles]), np.concatenate(tets)


def _edges(tets: NDArray[np.integer]) -> NDArray[np.int64]:
    pairs = tets[:, TetMesh.EDGES].reshape(-1, 2)
    return np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int64)


def _crossings(
    distance: Distance, points: NDArray[np.float64], values: NDArray[np.float64], edges: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the crossings of the surface with edges whose ends are on both sides, as edge parameters, shape [k]."""
    a, b = points[edges[:, 0]], points[edges[:, 1]]
    low, high = np.zeros(len(edges)), np.ones(len(edges))
    inside_first = values[edges[:, 0]] < 0.0
    f_low, f_high = values[edges[:, 0]].copy(), values[edges[:, 1]].copy()
    t = f_low / (f_low - f_high)
    for step in range(_ROOT_STEPS):  # regula falsi, every third time halving
        f = _evaluate(distance, a + t[:, None] * (b - a))
        left = (f < 0.0) == inside_first
        low, f_low = np.where(left, t, low), np.where(left, f, f_low)
        high, f_high = np.where(left, high, t), np.where(left, f_high, f)
        gap = np.where(f_low == f_high, 1.0, f_low - f_high)
        t = 0.5 * (low + high) if step % 3 == 2 else low + (high - low) * np.clip(f_low / gap, 0.0, 1.0)
    return t


def _snap(
    distance: Distance,
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    tets: NDArray[np.integer],
    step: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Snap nodes that are very close to a crossing to it; their value becomes zero."""
    edges = _edges(tets)
    crossed = (values[edges[:, 0]] < 0.0) != (values[edges[:, 1]] < 0.0)
    edges = edges[crossed]
    t = _crossings(distance, points, values, edges)
    where = points[edges[:, 0]] + t[:, None] * (points[edges[:, 1]] - points[edges[:, 0]])
    length = np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1)
    limit = np.where(length > 0.95 * step, _SNAP["long"], _SNAP["short"])
    part = np.concatenate([t, 1.0 - t])
    near = part < np.concatenate([limit, limit])
    node = edges.T.ravel()[near]
    target, part = np.concatenate([where, where])[near], part[near]
    order = np.lexsort((part, node))  # the closest of several crossings near a node
    first = np.unique(node[order], return_index=True)[1]
    chosen = order[first]
    points, values = points.copy(), values.copy()
    points[node[chosen]] = target[chosen]
    values[node[chosen]] = 0.0
    return points, values


def _cut(
    distance: Distance, points: NDArray[np.float64], values: NDArray[np.float64], tets: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
    """Return nodes and tetrahedra of the interior."""
    sign = np.sign(values).astype(np.int64)
    edges = _edges(tets)
    edges = edges[sign[edges[:, 0]] * sign[edges[:, 1]] < 0]
    t = _crossings(distance, points, values, edges)
    new = points[edges[:, 0]] + t[:, None] * (points[edges[:, 1]] - points[edges[:, 0]])
    count = len(points)
    keys = edges[:, 0] * count + edges[:, 1]

    def crossing(a: NDArray, b: NDArray) -> NDArray[np.int64]:
        wanted = np.minimum(a, b).astype(np.int64) * count + np.maximum(a, b)
        return count + np.searchsorted(keys, wanted)

    # nodes of each tetrahedron from the inside out: negative first, then those on the surface
    tets = np.take_along_axis(tets, np.argsort(sign[tets], axis=1, kind="stable"), axis=1).astype(np.int64)
    inside, outside = (sign[tets] < 0).sum(axis=1), (sign[tets] > 0).sum(axis=1)
    parts = [tets[(inside > 0) & (outside == 0)]]
    for n in (1, 2, 3):
        for p in range(1, 5 - n):
            chosen = tets[(inside == n) & (outside == p)]
            if len(chosen):
                parts += _inner_part(chosen, n, p, crossing)
    every = np.concatenate([points, new])
    result = np.concatenate(parts)
    corners = every[result]
    volume = np.linalg.det(corners[:, 1:] - corners[:, :1])
    result[volume < 0.0] = result[volume < 0.0][:, [0, 1, 3, 2]]
    return every, result[np.abs(volume) > 1e-9 * np.abs(volume).max()]


def _inner_part(
    tets: NDArray[np.int64], n: int, p: int, crossing: Callable[[NDArray, NDArray], NDArray[np.int64]]
) -> list[NDArray[np.int64]]:
    """Return tetrahedra that fill the inner part of tets with n nodes inside (the first) and p outside (the last)."""
    a, b, c, d = tets.T
    if n == 1:
        ends = [crossing(a, node) if i > 3 - p else node for i, node in ((1, b), (2, c), (3, d))]
        return [np.stack([a, *ends], axis=1)]
    if n == 2 and p == 1:  # a pyramid over the quadrilateral (a, b, bd, ad) with the tip c on the surface
        ad, bd = crossing(a, d), crossing(b, d)
        first = np.minimum(a, bd) < np.minimum(b, ad)
        one = [np.stack([a, b, bd, c], axis=1), np.stack([a, bd, ad, c], axis=1)]
        other = [np.stack([a, b, ad, c], axis=1), np.stack([b, bd, ad, c], axis=1)]
        return [np.where(first[:, None], x, y) for x, y in zip(one, other, strict=True)]
    if n == 2:
        return _prism((a, crossing(a, c), crossing(a, d)), (b, crossing(b, c), crossing(b, d)))
    return _prism((a, b, c), (crossing(a, d), crossing(b, d), crossing(c, d)))


def _prism(bottom: tuple[NDArray, ...], top: tuple[NDArray, ...]) -> list[NDArray[np.int64]]:
    """Split prisms into three tetrahedra, every side at its node with the smallest index."""
    nodes = np.stack([*bottom, *top], axis=1)
    # rotate the prism so that its smallest index comes first; then only the far side is undecided
    lowest = nodes.argmin(axis=1)
    turns = np.array([[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3], [2, 0, 1, 5, 3, 4],
                      [3, 5, 4, 0, 2, 1], [4, 3, 5, 1, 0, 2], [5, 4, 3, 2, 1, 0]])  # fmt: skip
    v = np.take_along_axis(nodes, turns[lowest], axis=1).T
    first = (np.minimum(v[1], v[5]) < np.minimum(v[2], v[4]))[:, None]
    one = [(0, 1, 2, 5), (0, 1, 5, 4), (0, 4, 5, 3)]
    other = [(0, 1, 2, 4), (0, 4, 2, 5), (0, 4, 5, 3)]
    return [
        np.where(first, np.stack([v[i] for i in x], axis=1), np.stack([v[i] for i in y], axis=1))
        for x, y in zip(one, other, strict=True)
    ]


def _regions(regions: Mapping[str, Distance], centers: NDArray[np.float64]) -> dict[str, NDArray[np.intp]]:
    if not regions:
        return {}
    nearest = np.stack([_evaluate(function, centers) for function in regions.values()]).argmin(axis=0)
    return {name: np.flatnonzero(nearest == i) for i, name in enumerate(regions) if (nearest == i).any()}
