"""A balanced bounding volume hierarchy of elements, for point location."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoxTree", "box_tree"]

_LEAF = 6


class BoxTree(NamedTuple):
    """A complete binary tree; the children of box i are boxes 2 i + 1 and 2 i + 2.

    Attributes:
        lower: Smallest coordinates of each box [m], shape [2 leaves - 1, 3].
        upper: Largest coordinates of each box [m], same shape.
        order: Element indices, leaf after leaf.
        starts: Where each leaf's elements begin in `order`, shape [leaves + 1].
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    order: NDArray[np.int32]
    starts: NDArray[np.int32]


def box_tree(corners: NDArray[np.float64], margin: float = 0.0) -> BoxTree:
    """Build a tree over elements with `corners` [m, k, 3], halving the longest side of each box.

    Args:
        corners: Corner positions of each element [m].
        margin: Enlargement of every box [m].
    """
    lower, upper = corners.min(axis=1) - margin, corners.max(axis=1) + margin
    middle = 0.5 * (lower + upper)
    order = np.arange(len(corners))
    bounds = np.array([0, len(corners)])
    while len(corners) > _LEAF * (len(bounds) - 1):
        here = middle[order]
        extent = np.maximum.reduceat(here, bounds[:-1]) - np.minimum.reduceat(here, bounds[:-1])
        segment = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        along = here[np.arange(len(order)), extent.argmax(axis=1)[segment]]
        order = order[np.lexsort((along, segment))]
        halved = np.empty(2 * len(bounds) - 1, dtype=bounds.dtype)
        halved[::2] = bounds
        halved[1::2] = (bounds[:-1] + bounds[1:]) // 2
        bounds = halved
    levels = [
        (np.minimum.reduceat(lower[order], bounds[:-1]), np.maximum.reduceat(upper[order], bounds[:-1]))
    ]
    while len(levels[0][0]) > 1:
        low, high = levels[0]
        levels.insert(0, (np.minimum(low[::2], low[1::2]), np.maximum(high[::2], high[1::2])))
    return BoxTree(
        np.concatenate([low for low, _ in levels]),
        np.concatenate([high for _, high in levels]),
        order.astype(np.int32),
        bounds.astype(np.int32),
    )
