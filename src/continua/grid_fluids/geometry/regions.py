"""Closed regions of a flow: pressure is only known there up to a constant, and what flows in must flow out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.geometry import region_kernels as kernels

__all__ = ["Regions"]

_PARALLEL_FROM = 32768
_MOST_PARTS = 1 << 20  # sums of chunks that are kept at once


class Regions:
    """The connected regions of open cells.

    Attributes:
        count: Number of regions.
        closed: How many of them have no open side: their equations are singular.
        labels: Region of each cell, -1 for closed cells; None if no region is closed.
    """

    labels: NDArray[np.int32] | None

    def __init__(self, weights: Sequence[NDArray], fixed: NDArray) -> None:
        rows = fixed.shape[0] * fixed.shape[1]
        start = np.empty(rows + 1, np.int64)
        runs = np.empty((2 * rows, 2), np.int32)
        count = kernels.find_runs(*weights, fixed, runs, start)
        if count > len(runs):
            runs = np.empty((count, 2), np.int32)
            kernels.find_runs(*weights, fixed, runs, start)
        runs = runs[:count]
        number = np.empty(count, np.int32)
        self.sizes = kernels.join_runs(weights[0], weights[1], fixed, runs, start, number)
        self.count = len(self.sizes)
        self.closed = int((self.sizes > 0).sum())
        self.labels = None
        if self.closed:
            self.labels = np.empty(fixed.shape, np.int32)
            kernels.fill_labels(runs, start, number, self.labels)

    def unbalanced(self, values: NDArray, part: float) -> bool:
        """Tell whether the values of a closed region sum up to more than this part of the sum of their sizes."""
        if self.labels is None:
            return False
        inside = self.labels >= 0
        labels, v = self.labels[inside], values[inside].astype(np.float64)
        net = np.abs(np.bincount(labels, weights=v, minlength=self.count))
        gross = np.bincount(labels, weights=np.abs(v), minlength=self.count)
        return bool(((self.sizes > 0) & (net > part * gross)).any())

    def level_out(self, values: NDArray) -> NDArray[np.float64]:
        """Subtract the mean from the values of each closed region, and return these means, shape [count]."""
        if self.labels is None:
            return np.zeros(self.count)
        chunks = -(-values.shape[0] * values.shape[1] // kernels.CHUNK)
        parallel = values.size >= _PARALLEL_FROM and chunks * self.count <= _MOST_PARTS
        if parallel:
            parts = np.empty((chunks, self.count))
            kernels.region_sums.pick(True)(values, self.labels, parts)
            sums = parts.cumsum(axis=0)[-1]
        else:
            sums = np.zeros(self.count)
            kernels.all_sums(values, self.labels, sums)
        means = np.where(self.sizes > 0, sums / np.maximum(self.sizes, 1), 0.0)
        kernels.take_means.pick(values.size >= _PARALLEL_FROM)(values, self.labels, means)
        return means
