"""Connected regions of a flow. In closed ones the pressure is defined up to a constant, and net inflow must be zero."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.geometry import region_kernels as kernels

__all__ = ["Regions"]

_PARALLEL_FROM = 32768
_MAX_PARTIAL_SUMS = 1 << 20  # largest number of partial sums


class Regions:
    """The connected regions of open cells.

    Attributes:
        count: Number of regions.
        closed: Number of regions without a Dirichlet term: their equations are singular.
        labels: Region of each cell, -1 for solid cells; None if no region is closed.
        sizes: Cells of each closed region, 0 for others.
    """

    labels: NDArray[np.int32] | None

    def __init__(self, weights: Sequence[NDArray], dirichlet: NDArray) -> None:
        rows = dirichlet.shape[0] * dirichlet.shape[1]
        start = np.empty(rows + 1, np.int64)
        runs = np.empty((2 * rows, 2), np.int32)
        count = kernels.list_runs(*weights, dirichlet, runs, start)
        if count > len(runs):
            runs = np.empty((count, 2), np.int32)
            kernels.list_runs(*weights, dirichlet, runs, start)
        runs = runs[:count]
        number = np.empty(count, np.int32)
        self.sizes = kernels.label_runs(weights[0], weights[1], dirichlet, runs, start, number)
        self.count = len(self.sizes)
        self.closed = int((self.sizes > 0).sum())
        self.labels = None
        if self.closed:
            self.labels = np.empty(dirichlet.shape, np.int32)
            kernels.fill_labels(runs, start, number, self.labels)

    def unbalanced(self, values: NDArray, tolerance: float) -> bool:
        """Return whether the sum over a closed region exceeds `tolerance` times the sum of absolute values."""
        if self.labels is None:
            return False
        inside = self.labels >= 0
        labels, v = self.labels[inside], values[inside].astype(np.float64)
        net = np.abs(np.bincount(labels, weights=v, minlength=self.count))
        gross = np.bincount(labels, weights=np.abs(v), minlength=self.count)
        return bool(((self.sizes > 0) & (net > tolerance * gross)).any())

    def remove_mean(self, values: NDArray) -> NDArray[np.float64]:
        """Subtract its mean from each closed region; return the means, shape [count]."""
        if self.labels is None:
            return np.zeros(self.count)
        chunks = -(-values.shape[0] * values.shape[1] // kernels.CHUNK)
        parallel = values.size >= _PARALLEL_FROM and chunks * self.count <= _MAX_PARTIAL_SUMS
        if parallel:
            parts = np.empty((chunks, self.count))
            kernels.region_sums.variant(True)(values, self.labels, parts)
            sums = parts.cumsum(axis=0)[-1]
        else:
            sums = np.zeros(self.count)
            kernels.region_sums_serial(values, self.labels, sums)
        means = np.where(self.sizes > 0, sums / np.maximum(self.sizes, 1), 0.0)
        kernels.subtract_means.variant(values.size >= _PARALLEL_FROM)(values, self.labels, means)
        return means
