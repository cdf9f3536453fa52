"""Coarser unknowns for a cloud of points: interpolation matrices with one number for each pair of nodes.

Three ways, the first that fits is taken. Points on a lattice get the lattice of twice the spacing, in six tetrahedra a
cell (Freudenthal 1942), which for a box or a refined lattice is the nested hierarchy. Any other points keep a maximal
set of which no two are neighbours; the others are interpolated linearly in the Delaunay tetrahedra of those that
stay, so graded meshes stay graded. Without positions, neighbours are put together and the steps between the groups
are smoothed (smoothed aggregation, Vanek, Mandel and Brezina 1996). The rows of the first two add up to 1 and carry
linear fields, and with them all rigid motions, exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.spatial import Delaunay, QhullError, cKDTree

from continua.linalg.graphs import groups_of_neighbours, independent_set

__all__ = ["Coarse", "aggregate", "coarsen", "from_lattice", "from_neighbours"]

_TINY = 1e-9  # weights below are dropped
_FAR = 2.0  # largest weight of an extrapolation; farther out, near points are averaged
_STEPS = (0.95, 0.8, 0.6, 0.3, 0.0)  # how much of a point outside the hull is kept on its way in


class Coarse(NamedTuple):
    """Coarser nodes.

    Attributes:
        interpolation: From the coarser nodes, shape [n, coarse].
        points: Their positions [m], shape [coarse, 3], or None.
        edges: Pairs of them that are neighbours in their own mesh, shape [e, 2], or None where the matrix tells.
    """

    interpolation: sparse.csr_array
    points: NDArray[np.float64] | None = None
    edges: NDArray[np.int32] | None = None


def coarsen(
    points: NDArray[np.float64] | None,
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    edges: NDArray[np.int32] | None = None,
) -> Coarse:
    """Return coarser nodes and the interpolation from them.

    Args:
        points: Positions [m], shape [n, 3], or None.
        indptr: Starts of the rows of the matrix.
        indices: Nodes that every node couples with.
        edges: Pairs of nodes that are neighbours, where the matrix couples more than that, shape [e, 2].
    """
    if points is None:
        return Coarse(aggregate(indptr, indices))
    spacing = lattice_spacing(points)
    if spacing is not None:
        return from_lattice(points, 2.0 * spacing)
    if edges is not None:
        indptr, indices = _narrowed(indptr, indices, edges)
    return from_neighbours(points, indptr, indices)


def _narrowed(
    indptr: NDArray[np.int32], indices: NDArray[np.int32], edges: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the couplings of a matrix that are edges as well: a Galerkin matrix couples far more than neighbours."""
    n = len(indptr) - 1
    coupled = sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(n, n))
    both = np.concatenate([edges, edges[:, ::-1], np.repeat(np.arange(n)[:, None], 2, axis=1)])
    near = sparse.csr_array((np.ones(len(both), np.int8), (both[:, 0], both[:, 1])), shape=(n, n))
    kept = sparse.csr_array(coupled.multiply(near > 0))
    return kept.indptr.astype(np.int32), kept.indices.astype(np.int32)


def lattice_spacing(points: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the spacing of the lattice the points lie on along x, y, z (0 where they lie in a plane), or None."""
    size = float(np.ptp(points, axis=0).max())
    spacing = np.zeros(3)
    cells = 1.0
    for axis in range(3):
        values = np.unique(np.round((points[:, axis] - points[:, axis].min()) / (1e-9 * size + 1e-300)))
        steps = np.diff(values)
        steps = steps[steps > 100.0]  # rounding makes two of one
        if len(steps) == 0:
            continue
        step = float(np.median(steps))
        if np.abs(steps - step).max() > 1e-4 * step:
            return None
        spacing[axis] = step * 1e-9 * size
        cells *= len(steps) + 1
    return spacing if cells < 64.0 * len(points) else None


def from_lattice(points: NDArray[np.float64], spacing: NDArray[np.float64]) -> Coarse:
    """Interpolate linearly in the tetrahedra of a lattice with the given spacing, from its nodes that matter."""
    low = points.min(axis=0)
    width = np.where(spacing > 0.0, spacing, 1.0)
    place = (points - low) / width
    nearest = np.round(place)
    place = np.where(np.abs(place - nearest) < 1e-6, nearest, place)
    half = np.floor(place) + 0.5
    place = np.where(np.abs(place - half) < 1e-6, half, place)
    base = np.floor(place)
    part = place - base
    order = np.argsort(-part, axis=1, kind="stable")
    sorted_part = np.take_along_axis(part, order, axis=1)
    corner = np.repeat(base[:, None, :], 4, axis=1)
    for step in range(3):
        ahead = np.eye(3)[order[:, step]]
        corner[:, step + 1 :] += ahead[:, None, :]
    weights = np.empty((len(points), 4))
    weights[:, 0] = 1.0 - sorted_part[:, 0]
    weights[:, 1:3] = sorted_part[:, :2] - sorted_part[:, 1:]
    weights[:, 3] = sorted_part[:, 2]
    used = weights > _TINY
    counts = corner.max(axis=(0, 1)).astype(np.int64) + 1
    slow = np.argsort(
        -counts, kind="stable"
    )  # the longest axis runs slowest, so neighbours have near numbers
    number = corner.astype(np.int64) @ _strides(counts, slow)
    nodes, columns = np.unique(number[used], return_inverse=True)
    grid = np.empty((len(nodes), 3))
    rest = nodes.copy()
    for axis in slow[::-1]:
        rest, grid[:, axis] = np.divmod(rest, counts[axis])
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    matrix = sparse.csr_array((weights[used], columns, starts), shape=(len(points), len(nodes)))
    return Coarse(_unit_rows(matrix), low + grid * width)


def _strides(counts: NDArray[np.int64], slow: NDArray[np.intp]) -> NDArray[np.int64]:
    strides = np.ones(3, np.int64)
    strides[slow[1]] = counts[slow[2]]
    strides[slow[0]] = counts[slow[2]] * counts[slow[1]]
    return strides


def from_neighbours(
    points: NDArray[np.float64], indptr: NDArray[np.int32], indices: NDArray[np.int32]
) -> Coarse:
    """Keep a maximal set of nodes of which no two are neighbours, and interpolate in its Delaunay tetrahedra."""
    kept = np.flatnonzero(independent_set(indptr, indices))
    coarse = points[kept]
    center = coarse.mean(axis=0)
    _, sizes, axes = np.linalg.svd(coarse - center, full_matrices=False)
    flat = axes[sizes > 1e-8 * max(sizes[0], 1e-300)].T
    if flat.shape[1] < 2 or len(kept) < flat.shape[1] + 2:
        return Coarse(_from_near(points, coarse), coarse)
    try:
        tets = Delaunay((coarse - center) @ flat)
    except QhullError:
        return Coarse(_from_near(points, coarse), coarse)
    nodes, weights = _locate(tets, (points - center) @ flat)
    rows = np.repeat(np.arange(len(points)), nodes.shape[1])
    some = np.abs(weights.ravel()) > _TINY
    matrix = sparse.csr_array(
        (weights.ravel()[some], (rows[some], nodes.ravel()[some])), shape=(len(points), len(kept))
    )
    matrix.sum_duplicates()
    used = np.bincount(matrix.indices, minlength=len(kept)) > 0  # coarse nodes that no fine node refers to go
    number = np.cumsum(used) - 1
    pairs = np.unique(np.sort(tets.simplices[:, _pairs(flat.shape[1] + 1)].reshape(-1, 2), axis=1), axis=0)
    pairs = number[pairs[used[pairs].all(axis=1)]].astype(np.int32)
    return Coarse(_unit_rows(matrix[:, np.flatnonzero(used)]), coarse[used], pairs)


def _pairs(count: int) -> NDArray[np.intp]:
    """Return all pairs of `count` corners."""
    return np.array([(a, b) for a in range(count) for b in range(a)])


def _locate(tets: Delaunay, points: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the corners of the tetrahedron of each point and its weights; points outside are extrapolated a little."""
    found = tets.find_simplex(points)
    outside = np.flatnonzero(found < 0)
    far = np.zeros(len(points), bool)
    near = None
    if len(outside):
        tree = cKDTree(tets.points)
        count = min(tets.points.shape[1] + 1, len(tets.points))
        _, near = tree.query(points[outside], k=count)
        inner = tets.points[near].mean(axis=1)
        for keep in _STEPS:
            todo = found[outside] < 0
            if todo.any():
                trial = keep * points[outside[todo]] + (1.0 - keep) * inner[todo]
                found[outside[todo]] = tets.find_simplex(trial)
        far[outside[found[outside] < 0]] = True
    dim = tets.points.shape[1]
    transform = tets.transform[np.maximum(found, 0)]
    first = np.einsum("nij,nj->ni", transform[:, :dim], points - transform[:, dim])
    weights = np.concatenate([first, 1.0 - first.sum(axis=1, keepdims=True)], axis=1)
    nodes = tets.simplices[np.maximum(found, 0)].copy()
    far |= ~(np.abs(weights).max(axis=1) <= _FAR)
    if near is not None and far[outside].any():
        which = far[outside]
        rows = outside[which]
        nodes[rows, :count] = near[which]
        weights[rows] = 0.0
        distance = np.linalg.norm(tets.points[near[which]] - points[rows][:, None], axis=2)
        inverse = 1.0 / (distance + 1e-12 * distance.max())
        weights[rows, :count] = inverse / inverse.sum(axis=1, keepdims=True)
    inside = np.flatnonzero(far & (np.isin(np.arange(len(points)), outside, invert=True)))
    if len(inside):  # a flat tetrahedron: the nearest corner
        tree = cKDTree(tets.points)
        weights[inside] = 0.0
        weights[inside, 0] = 1.0
        nodes[inside, 0] = tree.query(points[inside])[1]
    return nodes, weights


def _from_near(points: NDArray[np.float64], coarse: NDArray[np.float64]) -> sparse.csr_array:
    """Take the value of the nearest coarse node: for points that no tetrahedra can be made of."""
    nearest = cKDTree(coarse).query(points)[1]
    ones = np.ones(len(points))
    return sparse.csr_array((ones, nearest, np.arange(len(points) + 1)), shape=(len(points), len(coarse)))


def aggregate(indptr: NDArray[np.int32], indices: NDArray[np.int32]) -> sparse.csr_array:
    """Put neighbours together around nodes two steps apart, and smooth the steps between the groups."""
    n = len(indptr) - 1
    group = groups_of_neighbours(indptr, indices)
    count = int(group.max()) + 1
    tentative = sparse.csr_array((np.ones(n), group, np.arange(n + 1)), shape=(n, count))
    ones = np.ones(len(indices))
    graph = sparse.csr_array((ones, indices, indptr), shape=(n, n))
    mean = sparse.diags_array(1.0 / graph.sum(axis=1)) @ graph
    return _unit_rows(sparse.csr_array((tentative + 2.0 * (mean @ tentative)) / 3.0))


def _unit_rows(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix with sorted columns and rows that add up to 1."""
    matrix = sparse.csr_array(matrix)
    matrix.sort_indices()
    sums = matrix.sum(axis=1)
    matrix.data /= np.repeat(sums, np.diff(matrix.indptr))
    matrix.indptr = matrix.indptr.astype(np.int32)
    matrix.indices = matrix.indices.astype(np.int32)
    return matrix
