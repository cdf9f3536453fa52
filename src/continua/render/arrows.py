"""Arrows drawn over a picture, with a thin bright border that keeps them visible on any background."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

__all__ = ["draw_arrows"]

_FINE = 3  # samples per pixel along each axis
_INK, _BORDER = (190, 22, 66), (255, 255, 255)
_MIN_UNIT = 0.6  # in small pictures arrows would become too thin
_MIN_LENGTH = 2.5  # pixels; shorter arrows are left out


def draw_arrows(image: Image.Image, lines: NDArray[np.float64], unit: float) -> None:
    """Draw arrows onto an image.

    Args:
        image: The picture, changed in place.
        lines: Start and end of each arrow in pixels, shape [k, 2, 2]; later ones are drawn over earlier ones.
        unit: Size of a pixel relative to a picture 720 pixels high.
    """
    unit = max(unit, _MIN_UNIT)
    length = np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1)
    width, height = image.size
    inside = ((lines > -2.0 * max(image.size)) & (lines < 3.0 * max(image.size))).all(axis=(1, 2))
    lines = lines[inside & (length > _MIN_LENGTH * unit)]
    if not len(lines):
        return
    fine = image.resize((width * _FINE, height * _FINE), Image.Resampling.NEAREST)
    cover = Image.new("L", fine.size, 0)
    paint, mask = ImageDraw.Draw(fine), ImageDraw.Draw(cover)
    for start, end in lines * _FINE:
        shape = _outline(start, end, unit * _FINE)
        border = round(1.6 * unit * _FINE)
        for draw, colors in ((paint, (_BORDER, _INK)), (mask, (255, 255))):
            draw.line([*shape, shape[0], shape[1]], colors[0], border, joint="curve")
            draw.polygon(shape, colors[1])
    small = (width, height)
    image.paste(fine.resize(small, Image.Resampling.BOX), (0, 0), cover.resize(small, Image.Resampling.BOX))


def _outline(start: NDArray[np.float64], end: NDArray[np.float64], unit: float) -> list[tuple[float, float]]:
    """Return the corners of an arrow; its head takes at most two thirds of its length."""
    vector = end - start
    length = float(np.linalg.norm(vector))
    along = vector / length
    across = np.array([-along[1], along[0]])
    head = min(10.0 * unit, 0.67 * length)
    half, thin = 0.45 * head, min(1.3 * unit, 0.16 * head)
    neck = end - head * along
    corners = [
        start + thin * across, neck + thin * across, neck + half * across, end,
        neck - half * across, neck - thin * across, start - thin * across,
    ]  # fmt: skip
    return [(float(x), float(y)) for x, y in corners]
