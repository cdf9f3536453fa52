"""Pictures of distance fields: central slices with distance contours and octree cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from continua.sdf import DistanceField

__all__ = ["draw_slices"]

_INSIDE = np.array([[226.0, 120.0, 74.0], [255.0, 240.0, 228.0]])  # deep, at the surface
_OUTSIDE = np.array([[240.0, 246.0, 252.0], [62.0, 110.0, 168.0]])  # at the surface, far
_GAP = 12


def draw_slices(field: DistanceField, size: int = 480) -> NDArray[np.uint8]:
    """Draw three slices through the centre of a field's box side by side: normal to z, to x and to y.

    Warm colours are inside, cold ones outside; the surface is black, contours are dark, cells light.

    Args:
        field: The field.
        size: Pixels along the longest side of the box.

    Returns:
        The picture, shape [height, width, 3].
    """
    lower, upper = field.bounds
    step = float((upper - lower).max()) / size
    slices = [
        _slice(field, across, right, up, step) for across, right, up in ((2, 0, 1), (0, 2, 1), (1, 0, 2))
    ]
    height = max(len(one) for one in slices) + 2 * _GAP
    width = sum(one.shape[1] + _GAP for one in slices) + _GAP
    picture = np.full((height, width, 3), 255, np.uint8)
    left = _GAP
    for one in slices:
        top = (height - len(one)) // 2
        picture[top : top + len(one), left : left + one.shape[1]] = one
        left += one.shape[1] + _GAP
    return picture


def _slice(field: DistanceField, across: int, right: int, up: int, step: float) -> NDArray[np.uint8]:
    lower, upper = field.bounds
    columns = np.arange(lower[right] + 0.5 * step, upper[right], step)
    rows = np.arange(upper[up] - 0.5 * step, lower[up], -step)
    points = np.empty((len(rows), len(columns), 3))
    points[..., right], points[..., up] = columns[None, :], rows[:, None]
    points[..., across] = 0.5 * (lower[across] + upper[across]) + 1e-3 * step
    flat = points.reshape(-1, 3)
    values = field(flat).reshape(points.shape[:2])
    cells = field.cells(flat).reshape(points.shape[:2])
    reach = max(float(np.abs(values).max()), 1e-300)
    part = np.sqrt(np.abs(values) / reach)[..., None]
    colors = np.where(
        values[..., None] < 0.0,
        _INSIDE[1] + part * (_INSIDE[0] - _INSIDE[1]),
        _OUTSIDE[0] + part * (_OUTSIDE[1] - _OUTSIDE[0]),
    )
    colors[_changes(cells)] *= 0.82
    band = float(field.report.scale) / 8.0
    colors[_changes(np.floor(values / band).astype(np.int64))] *= 0.65
    colors[_changes((values < 0.0).astype(np.int64))] = 20.0
    return np.clip(np.rint(colors), 0, 255).astype(np.uint8)


def _changes(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return where a number differs from the one to the right or below."""
    edges = np.zeros(numbers.shape, bool)
    edges[:, :-1] |= numbers[:, :-1] != numbers[:, 1:]
    edges[:-1] |= numbers[:-1] != numbers[1:]
    return edges
