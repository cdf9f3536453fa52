"""Colours: perceptually uniform colour maps, a palette for plain bodies, and sRGB conversion."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from continua.textures import linear_to_srgb, srgb_to_linear

__all__ = ["PALETTE", "color_map", "linear_to_srgb", "map_colors", "srgb_to_linear"]

# Colours of plain bodies, in turn (sRGB).
PALETTE = (
    (0.29, 0.53, 0.78),
    (0.93, 0.55, 0.30),
    (0.36, 0.66, 0.52),
    (0.80, 0.41, 0.49),
    (0.55, 0.49, 0.76),
    (0.80, 0.68, 0.31),
)

# Knots of the map in Oklch (lightness, chroma, hue in degrees): deep blue over violet and coral to pale
# yellow. Lightness climbs evenly, so that equal steps of a value look equal.
_KNOTS = np.array(
    [
        [0.400, 0.130, 272.0],
        [0.503, 0.185, 303.0],
        [0.606, 0.205, 350.0],
        [0.709, 0.175, 392.0],
        [0.812, 0.145, 428.0],
        [0.915, 0.120, 463.0],
    ]
)

# The diverging map: blue below zero, red above it, and almost white at zero.
_SIGNED_KNOTS = np.array(
    [
        [0.390, 0.135, 262.0],
        [0.560, 0.140, 257.0],
        [0.760, 0.090, 250.0],
        [0.960, 0.005, 245.0],
        [0.960, 0.005, 45.0],
        [0.760, 0.105, 42.0],
        [0.570, 0.165, 34.0],
        [0.410, 0.145, 26.0],
    ]
)


def _oklch_to_linear(lch: NDArray) -> NDArray:
    """Return linear sRGB for Oklch colours (Ottosson 2020)."""
    hue = np.radians(lch[:, 2])
    lab = np.stack([lch[:, 0], lch[:, 1] * np.cos(hue), lch[:, 1] * np.sin(hue)])
    roots = np.array(
        [
            [1, 0.3963377774, 0.2158037573],
            [1, -0.1055613458, -0.0638541728],
            [1, -0.0894841775, -1.2914855480],
        ]
    )
    lms = (roots @ lab) ** 3
    rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    return (rgb @ lms).T


def _monotone(knots: NDArray, count: int) -> NDArray:
    """Interpolate rows at equal distances by monotone cubics (Fritsch and Butland 1984), shape [count, k].

    `scipy.interpolate` has them too, but takes longer to import than a start should wait.
    """
    slopes = np.diff(knots, axis=0)
    left, right = slopes[:-1], slopes[1:]
    rising = left * right > 0.0
    inner = np.where(rising, 2.0 * left * right / np.where(rising, left + right, 1.0), 0.0)
    ends = []
    for near, far in ((slopes[0], slopes[1]), (slopes[-1], slopes[-2])):
        end = 0.5 * (3.0 * near - far)
        end = np.where((near * far <= 0.0) & (np.abs(end) > 3.0 * np.abs(near)), 3.0 * near, end)
        ends.append(np.where(end * near > 0.0, end, 0.0))
    tangents = np.vstack([ends[0], inner, ends[1]])
    place = np.linspace(0.0, len(knots) - 1.0, count)
    k = np.minimum(place.astype(int), len(knots) - 2)
    t = (place - k)[:, None]
    return (
        (1.0 + 2.0 * t) * (1.0 - t) ** 2 * knots[k]
        + t * (1.0 - t) ** 2 * tangents[k]
        + t * t * (3.0 - 2.0 * t) * knots[k + 1]
        - t * t * (1.0 - t) * tangents[k + 1]
    )


@cache
def color_map(signed: bool = False) -> NDArray[np.float64]:
    """Return the colour map as 256 sRGB colours from the lowest value to the highest, shape [256, 3].

    Args:
        signed: Use the diverging map, whose middle is zero.
    """
    if signed:
        half = len(_SIGNED_KNOTS) // 2
        lch = np.concatenate(
            [_monotone(knots, 128) for knots in (_SIGNED_KNOTS[:half], _SIGNED_KNOTS[half:])]
        )
    else:
        lch = _monotone(_KNOTS, 256)
    table = linear_to_srgb(_oklch_to_linear(lch))
    table.flags.writeable = False
    return table


def map_colors(values: NDArray, low: float, high: float) -> NDArray[np.float64]:
    """Return sRGB colours for `values`, clipped to the range from `low` to `high`, shape [n, 3].

    A range symmetric about zero uses the diverging map.
    """
    table = color_map(low == -high)
    place = np.clip((np.asarray(values, dtype=float) - low) / (high - low), 0.0, 1.0) * (len(table) - 1)
    lower = np.minimum(place.astype(int), len(table) - 2)
    part = (place - lower)[:, None]
    return table[lower] * (1 - part) + table[lower + 1] * part
