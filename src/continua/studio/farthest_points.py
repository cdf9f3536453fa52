"""A few points that stand for many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["spread"]


def spread(
    points: NDArray[np.float64], count: int, gaps: NDArray[np.float64] | None = None
) -> NDArray[np.intp]:
    """Return the numbers of at most `count` of the points [n, 3], each the farthest from those chosen before.

    `gaps` [n] are the distances from what is chosen already; without them the first one is chosen first.
    """
    chosen: list[int] = []
    gaps = np.full(len(points), np.inf) if gaps is None else gaps
    while len(chosen) < min(count, len(points)):
        pick = int(np.argmax(gaps))
        chosen.append(pick)
        gaps = np.minimum(gaps, np.linalg.norm(points - points[pick], axis=1))
    return np.array(chosen, dtype=np.intp)
