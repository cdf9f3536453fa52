"""Closed regions of a flow: pressure is only known there up to a constant, and what flows in must flow out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.eulerian.region_kernels import label_regions, region_sums, take_means

__all__ = ["Regions"]


class Regions:
    """The connected regions of open cells.

    Attributes:
        count: Number of regions.
        closed: How many of them have no open side: their equations are singular.
        labels: Region of each cell, -1 for closed cells; None if no region is closed.
    """

    labels: NDArray[np.int32] | None

    def __init__(self, weights: Sequence[NDArray], fixed: NDArray) -> None:
        labels = np.empty(fixed.shape, np.int32)
        self.sizes = label_regions(*weights, fixed, labels)
        self.count = len(self.sizes)
        self.closed = int((self.sizes > 0).sum())
        self.labels = labels if self.closed else None

    def level_out(self, values: NDArray) -> NDArray[np.float64]:
        """Subtract the mean from the values of each closed region, and return these means, shape [count]."""
        if self.labels is None:
            return np.zeros(self.count)
        sums = np.zeros(self.count)
        region_sums(values, self.labels, sums)
        means = np.where(self.sizes > 0, sums / np.maximum(self.sizes, 1), 0.0)
        take_means(values, self.labels, means)
        return means
