"""Particles drawn as sphere splats over a picture, with screen-space ambient occlusion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from continua.render import splat_kernels
from continua.render.colors import color_map, linear_to_srgb, srgb_to_linear
from continua.render.composition import Cloud, View

__all__ = ["draw_clouds"]

_FINE = 2  # samples per pixel along each axis
_OVERLAP = 1.25  # splats are slightly larger than particles, so that a fluid has no holes


def draw_clouds(
    picture: NDArray[np.uint8],
    view: View,
    clouds: tuple[Cloud, ...],
    lamp: NDArray[np.float64],
    occluders: tuple[NDArray, NDArray, NDArray, NDArray],
) -> NDArray[np.uint8]:
    """Return `picture` with clouds of particles, hidden by nearer objects.

    Args:
        picture: The picture of everything else, sRGB bytes, shape [height, width, 3].
        view: Camera and size.
        clouds: The particles.
        lamp: Unit vector to the lamp.
        occluders: Edges and boxes of triangles, planes and camera data, as passed to `kernels.draw`.
    """
    width, height = view.size
    edges, boxes, planes, camera_data = occluders
    inverse = np.empty((height * _FINE, width * _FINE))
    splat_kernels.scene_depths(edges, boxes, planes, camera_data, width, height, _FINE, inverse)
    fine = np.repeat(np.repeat(srgb_to_linear(picture / 255.0), _FINE, axis=0), _FINE, axis=1)
    for cloud in clouds:
        _draw(fine, inverse, view, cloud, lamp)
    coarse = fine.reshape(height, _FINE, width, _FINE, 3).mean(axis=(1, 3))
    return np.rint(255.0 * linear_to_srgb(np.clip(coarse, 0.0, 1.0))).astype(np.uint8)


def _draw(fine: NDArray, inverse: NDArray, view: View, cloud: Cloud, lamp: NDArray) -> None:
    width, height = view.size
    camera = view.camera
    owner = np.full(inverse.shape, -1, np.int32)
    across, upward = np.zeros(inverse.shape, np.float32), np.zeros(inverse.shape, np.float32)
    splat_kernels.splat(
        camera.to_camera_space(cloud.positions), _OVERLAP * cloud.radius, camera.focal(height), 1e-3 * camera.distance,
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
    light *= _ambient_occlusion(inverse, seen, cloud.radius)[seen]
    who = owner[seen]
    color = np.broadcast_to(cloud.color, (len(who), 3))
    if cloud.values is not None:
        color = srgb_to_linear(color_map())[np.rint(255.0 * cloud.values[who]).astype(int)]
    half = lamp - forward
    half = half / np.linalg.norm(half)
    gloss = 0.18 * np.maximum(normals @ half, 0.0) ** 30
    fine[seen] = np.minimum(color * light[:, None] + gloss[:, None], 1.0)


def _ambient_occlusion(inverse: NDArray, seen: NDArray, radius: float) -> NDArray[np.float64]:
    """Return the fraction of light at samples that lie deeper than their neighbourhood."""
    depth = np.where(seen, 1.0 / np.maximum(inverse, 1e-12), 0.0)
    share = seen.astype(np.float64)
    left = np.ones(inverse.shape)
    for width in (3.0, 10.0):
        around = gaussian_filter(depth, width) / np.maximum(gaussian_filter(share, width), 1e-6)
        left *= 1.0 - 0.38 * np.clip((depth - around) / (4.0 * radius), 0.0, 1.0)
    return left
