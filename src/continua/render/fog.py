"""Smoke drawn over a picture, lit by the lamp through itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.render import fog_kernels, splat_kernels
from continua.render.colors import linear_to_srgb, srgb_to_linear
from continua.render.composition import Fog, Look

__all__ = ["draw_fogs", "loss_a_cell"]

_THICK = 45.0  # lengths of light in smoke of amount 1 over the diagonal of its box


def loss_a_cell(fog: Fog) -> float:
    """Return the rate at which smoke of amount 1 takes light away, a cell: exp(-rate) is left behind one."""
    return _THICK / float(np.linalg.norm(fog.amounts.shape))


def draw_fogs(
    picture: NDArray[np.uint8],
    look: Look,
    fogs: tuple[Fog, ...],
    lamp: NDArray[np.float64],
    hidden: tuple[NDArray, NDArray, NDArray, NDArray],
) -> NDArray[np.uint8]:
    """Return `picture` with smoke in front of what is farther away.

    Args:
        picture: The picture of everything else, sRGB bytes, shape [height, width, 3].
        look: Camera and size.
        fogs: The smoke.
        lamp: Unit vector to the lamp.
        hidden: Edges and boxes of triangles, planes and the view, as `kernels.draw` takes them.
    """
    width, height = look.size
    edges, boxes, planes, view = hidden
    inverse = np.empty((height, width))
    splat_kernels.scene_depths(edges, boxes, planes, view, width, height, 1, inverse)
    linear = srgb_to_linear(picture / 255.0)
    for fog in fogs:
        amounts = np.ascontiguousarray(fog.amounts, dtype=np.float32)
        dim = loss_a_cell(fog)
        light = np.empty([-(-n // 2) for n in amounts.shape], np.float32)
        fog_kernels.lamp_light(amounts, lamp, dim, light)
        fog_kernels.look_through(
            amounts, light, np.array(fog.origin), fog.spacing, dim, view, inverse, fog.color, linear
        )
    return np.rint(255.0 * linear_to_srgb(np.clip(linear, 0.0, 1.0))).astype(np.uint8)
