"""Particles drawn as round spots over a picture, darker in hollows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from continua.render import splat_kernels
from continua.render.colors import color_map, linear_to_srgb, srgb_to_linear
from continua.render.composition import Cloud, Look

__all__ = ["draw_clouds"]

_FINE = 2  # places a pixel along each axis
_OVERLAP = 1.25  # spots are a little larger than particles, so that a body of fluid has no holes


def draw_clouds(
    picture: NDArray[np.uint8],
    look: Look,
    clouds: tuple[Cloud, ...],
    lamp: NDArray[np.float64],
    hidden: tuple[NDArray, NDArray, NDArray, NDArray],
) -> NDArray[np.uint8]:
    """Return `picture` with clouds of particles, hidden by what is nearer.

    Args:
        picture: The picture of everything else, sRGB bytes, shape [height, width, 3].
        look: Camera and size.
        clouds: The particles.
        lamp: Unit vector to the lamp.
        hidden: Edges and boxes of triangles, planes and the view, as `kernels.draw` takes them.
    """
    width, height = look.size
    edges, boxes, planes, view = hidden
    inverse = np.empty((height * _FINE, width * _FINE))
    splat_kernels.scene_depths(edges, boxes, planes, view, width, height, _FINE, inverse)
    fine = np.repeat(np.repeat(srgb_to_linear(picture / 255.0), _FINE, axis=0), _FINE, axis=1)
    for cloud in clouds:
        _draw(fine, inverse, look, cloud, lamp)
    coarse = fine.reshape(height, _FINE, width, _FINE, 3).mean(axis=(1, 3))
    return np.rint(255.0 * linear_to_srgb(np.clip(coarse, 0.0, 1.0))).astype(np.uint8)


def _draw(fine: NDArray, inverse: NDArray, look: Look, cloud: Cloud, lamp: NDArray) -> None:
    width, height = look.size
    camera = look.camera
    owner = np.full(inverse.shape, -1, np.int32)
    across, upward = np.zeros(inverse.shape, np.float32), np.zeros(inverse.shape, np.float32)
    splat_kernels.splat(
        camera.view(cloud.positions), _OVERLAP * cloud.radius, camera.focal(height), 1e-3 * camera.distance,
        width, height, _FINE, inverse, owner, across, upward,
    )  # fmt: skip
    seen = owner >= 0
    if not seen.any():
        return
    right, up, forward = camera.axes
    u, v = across[seen].astype(np.float64), upward[seen].astype(np.float64)
    normals = (
        u[:, None] * right + v[:, None] * up - np.sqrt(np.maximum(1.0 - u**2 - v**2, 0.0))[:, None] * forward
    )
    facing = np.maximum(normals @ lamp, 0.0)
    light = 0.52 + 0.16 * normals[:, 1] + 0.42 * facing
    light *= _hollows(inverse, seen, cloud.radius)[seen]
    who = owner[seen]
    color = np.broadcast_to(cloud.color, (len(who), 3))
    if cloud.values is not None:
        color = srgb_to_linear(color_map())[np.rint(255.0 * cloud.values[who]).astype(int)]
    half = lamp - forward
    half = half / np.linalg.norm(half)
    gloss = 0.18 * np.maximum(normals @ half, 0.0) ** 30
    fine[seen] = np.minimum(color * light[:, None] + gloss[:, None], 1.0)


def _hollows(inverse: NDArray, seen: NDArray, radius: float) -> NDArray[np.float64]:
    """Return how much light is left at places that lie deeper than what is around them."""
    depth = np.where(seen, 1.0 / np.maximum(inverse, 1e-12), 0.0)
    share = seen.astype(np.float64)
    left = np.ones(inverse.shape)
    for width in (3.0, 10.0):
        around = gaussian_filter(depth, width) / np.maximum(gaussian_filter(share, width), 1e-6)
        left *= 1.0 - 0.38 * np.clip((depth - around) / (4.0 * radius), 0.0, 1.0)
    return left
