"""Farthest point sampling: a few well spread points of many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["farthest_points"]


def farthest_points(
    points: NDArray[np.float64], count: int, distances: NDArray[np.float64] | None = None
) -> NDArray[np.intp]:
    """Return the indices of at most `count` of the points [n, 3], each the farthest from those selected before.

    `distances` [n] are the distances to points selected already; without them the first point is selected first.
    """
    selected: list[int] = []
    distances = np.full(len(points), np.inf) if distances is None else distances
    while len(selected) < min(count, len(points)):
        farthest = int(np.argmax(distances))
        selected.append(farthest)
        distances = np.minimum(distances, np.linalg.norm(points - points[farthest], axis=1))
    return np.array(selected, dtype=np.intp)
