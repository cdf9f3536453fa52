"""Where the open parts of cut faces have their middles, and what the flow carries to these faces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.advection import cut_face_kernels as kernels
from continua.grid_fluids.geometry.cut_cells import CutCells

__all__ = ["CutFaces", "cut_faces"]

_PARALLEL_FROM = 32768
_FEW = 4096  # cut faces that one thread does alone


@dataclass(frozen=True)
class CutFaces:
    """The faces across one array axis of which a part is open.

    Attributes:
        index: Places in the flat array of faces, in order, shape [n].
        shift: From the middle of each face to the middle of its open part along the array axes, in cells, shape [n, 3].
    """

    index: NDArray[np.int64]
    shift: NDArray[np.float64]

    def follow(self, q: NDArray, path: tuple[Any, ...], there: bool) -> tuple[NDArray, NDArray, NDArray]:
        """Return what the flow carries to these faces, and the smallest and largest sample it comes from, shape [n].

        Args:
            q: What is carried along.
            path: Offsets of the samples, velocity components, time over spacing, and order of the paths.
            there: Whether the samples are taken to be where their paths begin.
        """
        value, low, high = (np.empty(len(self.index), q.dtype) for _ in range(3))
        run = kernels.follow.pick(len(self.index) >= _FEW)
        run(q, self.index, self.shift, *path, there, value, low, high)
        return value, low, high


def cut_faces(cut: CutCells, axis: int) -> CutFaces:
    """Return the cut faces across an array axis."""
    part = cut.parts[axis]
    low, high = cut.reach()
    high = high + (np.arange(3) == axis)
    size = np.maximum(high - low, 0)
    parallel = bool(np.prod(size) >= _PARALLEL_FROM)
    counts = np.zeros(int(size[0] * size[1]) if size[2] else 0, np.int64)
    kernels.count_cut.pick(parallel)(part, low, high, counts)
    begin = np.cumsum(counts) - counts
    total = int(counts.sum())
    index, shift = np.empty(total, np.int64), np.empty((total, 3))
    kernels.list_cut.pick(parallel)(part, cut.corners, axis, low, high, begin, index, shift)
    return CutFaces(index, shift)
