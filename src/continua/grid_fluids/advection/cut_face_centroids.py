"""Centroids of the open parts of cut faces, and advection to these faces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.advection import cut_face_kernels as kernels
from continua.grid_fluids.geometry.cut_cells import CutCells

__all__ = ["CutFaces", "find_cut_faces"]

_PARALLEL_FROM = 32768
_PARALLEL_FACES = 4096  # faces; below this one thread is faster


@dataclass(frozen=True)
class CutFaces:
    """The partly open faces across one array axis.

    Attributes:
        index: Flat indices into the array of faces, sorted, shape [n].
        offset: Centroid of the open part of each face relative to the face centre, along the array axes, in cells,
            shape [n, 3].
    """

    index: NDArray[np.int64]
    offset: NDArray[np.float64]

    def advect(self, q: NDArray, path: tuple[Any, ...], from_start: bool) -> tuple[NDArray, NDArray, NDArray]:
        """Return the values advected to these faces, and the smallest and largest sample used, shape [n].

        Args:
            q: The advected quantity.
            path: Offset of the samples, velocity components, time step over spacing, and order of the paths.
            from_start: Whether the samples are assumed to be at the starts of their paths.
        """
        value, low, high = (np.empty(len(self.index), q.dtype) for _ in range(3))
        run = kernels.advect_cut_faces.variant(len(self.index) >= _PARALLEL_FACES)
        run(q, self.index, self.offset, *path, from_start, value, low, high)
        return value, low, high


def find_cut_faces(cut_cells: CutCells, axis: int) -> CutFaces:
    """Return the cut faces across an array axis."""
    fraction = cut_cells.face_fractions[axis]
    low, high = cut_cells.obstacle_window()
    high = high + (np.arange(3) == axis)
    size = np.maximum(high - low, 0)
    parallel = bool(np.prod(size) >= _PARALLEL_FROM)
    counts = np.zeros(int(size[0] * size[1]) if size[2] else 0, np.int64)
    kernels.count_cut_faces.variant(parallel)(fraction, low, high, counts)
    begin = np.cumsum(counts) - counts
    total = int(counts.sum())
    index, offset = np.empty(total, np.int64), np.empty((total, 3))
    kernels.list_cut_faces.variant(parallel)(
        fraction, cut_cells.corner_distances, axis, low, high, begin, index, offset
    )
    return CutFaces(index, offset)
