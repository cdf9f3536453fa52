"""Coarser unknowns for points on a lattice: prolongations with one scalar per pair of nodes.

The coarser unknowns are on the lattice of twice the spacing, with six tetrahedra per cell (Freudenthal 1942), which for
a box or a refined lattice is the nested hierarchy. Rows sum to 1 and reproduce linear fields, hence all rigid motions,
exactly.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

__all__ = ["lattice_prolongation", "lattice_spacing"]

_TINY = 1e-9  # weights below are dropped


def lattice_spacing(points: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the spacing of the lattice the points lie on along x, y, z (0 where they lie in a plane), or None."""
    size = float(np.ptp(points, axis=0).max())
    spacing = np.zeros(3)
    cells = 1.0
    for axis in range(3):
        values = np.unique(np.round((points[:, axis] - points[:, axis].min()) / (1e-9 * size + 1e-300)))
        steps = np.diff(values)
        steps = steps[steps > 100.0]  # smaller steps are rounding
        if len(steps) == 0:
            continue
        step = float(np.median(steps))
        if np.abs(steps - step).max() > 1e-4 * step:
            return None
        spacing[axis] = step * 1e-9 * size
        cells *= len(steps) + 1
    return spacing if cells < 64.0 * len(points) else None


def lattice_prolongation(
    points: NDArray[np.float64], spacing: NDArray[np.float64]
) -> tuple[sparse.csr_array, NDArray[np.float64]]:
    """Interpolate linearly in the tetrahedra of a lattice with the given spacing.

    Returns the prolongation from the lattice nodes that contribute, shape [n, coarse], and their positions [m].
    """
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
    return _unit_rows(matrix), low + grid * width


def _strides(counts: NDArray[np.int64], slow: NDArray[np.intp]) -> NDArray[np.int64]:
    strides = np.ones(3, np.int64)
    strides[slow[1]] = counts[slow[2]]
    strides[slow[0]] = counts[slow[2]] * counts[slow[1]]
    return strides


def _unit_rows(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix with sorted columns and rows that sum to 1."""
    matrix = sparse.csr_array(matrix)
    matrix.sort_indices()
    sums = matrix.sum(axis=1)
    matrix.data /= np.repeat(sums, np.diff(matrix.indptr))
    matrix.indptr = matrix.indptr.astype(np.int32)
    matrix.indices = matrix.indices.astype(np.int32)
    return matrix
