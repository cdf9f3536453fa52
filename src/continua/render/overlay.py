"""2D overlay of a picture: colour legend, scale bar, contact forces, and time."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from continua.render.arrows import draw_arrows
from continua.render.colors import color_map
from continua.render.composition import Composition, Legend, View, round_nice

__all__ = ["annotate", "format_length", "scale_bar"]

_INK = (52, 60, 72)
_FAINT = (112, 121, 134)
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))


@lru_cache(maxsize=8)
def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _prefix(value: float) -> tuple[float, str]:
    """Return the SI prefix that gives `value` one to three digits before the point: factor and letter."""
    for factor, letter in _PREFIXES:
        if abs(value) >= factor * (1 - 1e-9):
            return factor, letter
    return _PREFIXES[-1]


def _scaled_unit(size: float, unit: str) -> tuple[float, str]:
    """Return the factor and the text of a unit for values up to `size`; units such as "" and "1/s" get no prefix."""
    if not unit[:1].isalpha():
        return 1.0, unit
    factor, letter = _prefix(size)
    return factor, letter + unit


def format_length(metres: float) -> str:
    """Return a round length in a common unit: "5 mm", "20 cm", "2 m"."""
    for factor, unit in ((1e3, "km"), (1.0, "m"), (1e-2, "cm"), (1e-3, "mm")):
        if metres >= factor * (1 - 1e-9):
            return f"{metres / factor:g} {unit}"
    return f"{metres * 1e6:g} µm"


def scale_bar(view: View) -> tuple[float, float]:
    """Return a round length [m] and its pixels at the distance of the camera's target."""
    per_metre = view.camera.focal(view.size[1]) / view.camera.distance
    length = round_nice(0.16 * view.size[0] / per_metre, up=False)
    return length, length * per_metre


def _ticks(low: float, high: float) -> list[str]:
    """Return labels of evenly spaced values from `low` to `high`, with the count that gives the shortest ones."""
    choices = [[f"{low + (high - low) * i / n:.6g}" for i in range(n + 1)] for n in (4, 5, 3, 2)]
    return min(choices, key=lambda labels: max(map(len, labels)))


def _draw_legend(image: Image.Image, draw: ImageDraw.ImageDraw, legend: Legend, unit: float) -> None:
    """Draw the colour bar at the right: title above, a few round values beside it."""
    width, height = image.size
    bar_width, bar_height = round(14 * unit), round(0.42 * height)
    left = round(width - 96 * unit)
    top = round(0.29 * height)
    ramp = np.rint(255 * color_map(legend.signed)[::-1]).astype(np.uint8)
    rows = (np.arange(bar_height) * len(ramp) // bar_height).clip(0, len(ramp) - 1)
    bar = np.repeat(ramp[rows][:, None], bar_width, axis=1)
    mask = Image.new("L", (4 * bar_width, 4 * bar_height), 0)
    ImageDraw.Draw(mask).rounded_rectangle(
        (0, 0, 4 * bar_width - 1, 4 * bar_height - 1), 4 * 4 * unit, fill=255
    )
    image.paste(
        Image.fromarray(bar), (left, top), mask.resize((bar_width, bar_height), Image.Resampling.LANCZOS)
    )
    factor, unit_text = _scaled_unit(max(abs(legend.low), abs(legend.high)), legend.unit)
    low, high = legend.low / factor, legend.high / factor
    font = _font(15 * unit)
    ticks = _ticks(low, high)
    for i, label in enumerate(ticks):
        y = top + (1 - i / (len(ticks) - 1)) * (bar_height - 1)
        sign = "> " if legend.exceeded and i == len(ticks) - 1 else ""
        draw.text((left + bar_width + 8 * unit, y), sign + label, _INK, font, anchor="lm")
    right = width - 30 * unit
    draw.text((right, top - 40 * unit), legend.title, _INK, _font(15.5 * unit), anchor="rm")
    draw.text((right, top - 20 * unit), unit_text, _FAINT, _font(14 * unit), anchor="rm")


def _draw_scale(draw: ImageDraw.ImageDraw, view: View, unit: float) -> None:
    length, pixels = scale_bar(view)
    left, bottom = 36 * unit, view.size[1] - 34 * unit
    thick = max(round(2 * unit), 1)
    tick = 5 * unit
    draw.line((left, bottom, left + pixels, bottom), _INK, thick)
    for x in (left, left + pixels):
        draw.line((x, bottom - tick, x, bottom + tick), _INK, thick)
    draw.text(
        (left + pixels / 2, bottom - 14 * unit), format_length(length), _INK, _font(15 * unit), anchor="mm"
    )


def force_key(view: View) -> tuple[float, float]:
    """Return a round force [N] and the pixels of its arrow at the distance of the camera's target."""
    per_newton = view.arrow_scale * view.camera.focal(view.size[1]) / view.camera.distance
    force = round_nice(0.09 * view.size[0] / per_newton, up=False)
    return force, force * per_newton


def _draw_forces(
    image: Image.Image, draw: ImageDraw.ImageDraw, composition: Composition, unit: float
) -> None:
    """Draw arrows of contact forces, the nearest last, and their scale."""
    view, arrows = composition.view, composition.arrows
    assert arrows is not None
    seen = view.camera.project(arrows.reshape(-1, 3), view.size).reshape(-1, 2, 3)
    ahead = seen[(seen[:, :, 2] > 1e-3 * view.camera.distance).all(axis=1)]
    far_first = ahead[np.argsort(-ahead[:, 0, 2], kind="stable")]
    force, pixels = force_key(view)
    left, bottom = 36 * unit + scale_bar(view)[1] + 48 * unit, view.size[1] - 34 * unit
    key = np.array([[[left, bottom], [left + pixels, bottom]]])
    draw_arrows(image, np.concatenate([far_first[:, :, :2], key]), unit)
    factor, letter = _prefix(force)
    text = f"{force / factor:g} {letter}N"
    draw.text((left + pixels / 2, bottom - 14 * unit), text, _INK, _font(15 * unit), anchor="mm")


def annotate(picture: NDArray[np.uint8], composition: Composition) -> NDArray[np.uint8]:
    """Return the picture with legend, scale bar and time drawn over it, shape [height, width, 3]."""
    view = composition.view
    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    unit = min(view.size[1] / 720, view.size[0] / 960)
    if view.legend is not None:
        _draw_legend(image, draw, view.legend, unit)
    if composition.arrows is not None:
        _draw_forces(image, draw, composition, unit)
    if composition.shapes:
        _draw_scale(draw, view, unit)
    if view.show_time:
        spot = (view.size[0] - 30 * unit, view.size[1] - 34 * unit)
        draw.text(spot, f"t = {composition.time:.2f} s", _FAINT, _font(15 * unit), anchor="rm")
    return np.asarray(image)
