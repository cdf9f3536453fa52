"""Volume rendering of smoke with self-shadowing, composited over a picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.render import smoke_volume_kernels, splat_kernels
from continua.render.colors import linear_to_srgb, srgb_to_linear
from continua.render.composition import SmokeVolume, View

__all__ = ["draw_smoke_volumes", "extinction_per_cell"]

_OPTICAL_DEPTH = 45.0  # of smoke of density 1 over the diagonal of its box


def extinction_per_cell(smoke: SmokeVolume) -> float:
    """Return the optical depth of one cell of smoke of density 1."""
    return _OPTICAL_DEPTH / float(np.linalg.norm(smoke.density.shape))


def draw_smoke_volumes(
    picture: NDArray[np.uint8],
    view: View,
    smoke_volumes: tuple[SmokeVolume, ...],
    lamp: NDArray[np.float64],
    occluders: tuple[NDArray, NDArray, NDArray, NDArray],
) -> NDArray[np.uint8]:
    """Return `picture` with smoke composited over what lies behind it.

    Args:
        picture: The picture of everything else, sRGB bytes, shape [height, width, 3].
        view: Camera and size.
        smoke_volumes: The smoke.
        lamp: Unit vector to the lamp.
        occluders: Edges and boxes of triangles, planes and camera data, as passed to `kernels.draw`.
    """
    width, height = view.size
    edges, boxes, planes, camera_data = occluders
    inverse = np.empty((height, width))
    splat_kernels.scene_depths(edges, boxes, planes, camera_data, width, height, 1, inverse)
    linear = srgb_to_linear(picture / 255.0)
    for smoke in smoke_volumes:
        density = np.ascontiguousarray(smoke.density, dtype=np.float32)
        extinction = extinction_per_cell(smoke)
        light = np.empty([-(-n // 2) for n in density.shape], np.float32)
        smoke_volume_kernels.light_transmittance(density, lamp, extinction, light)
        smoke_volume_kernels.raymarch(
            density,
            light,
            np.array(smoke.origin),
            smoke.spacing,
            extinction,
            camera_data,
            inverse,
            smoke.color,
            linear,
        )
    return np.rint(255.0 * linear_to_srgb(np.clip(linear, 0.0, 1.0))).astype(np.uint8)
