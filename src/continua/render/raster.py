"""The software renderer: no graphics card, no display, bitwise reproducible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.render import kernels
from continua.render.colors import color_map, srgb_to_linear
from continua.render.composition import Composition
from continua.render.lighting import background, compute_lighting
from continua.render.smoke_volume import draw_smoke_volumes
from continua.render.splats import draw_clouds

__all__ = ["draw"]

# Sample positions in a pixel (eight rooks): no two share a row or column, so that near-horizontal and
# near-vertical edges both get eight levels of coverage.
_SAMPLE_OFFSETS = (np.array([[0, 3], [1, 6], [2, 1], [3, 4], [4, 7], [5, 2], [6, 5], [7, 0]]) + 0.5) / 8.0


def draw(composition: Composition) -> NDArray[np.uint8]:
    """Draw a composition without legend and text; returns sRGB bytes, shape [height, width, 3]."""
    view, lit = composition.view, compute_lighting(composition)
    width, height = view.size
    camera = view.camera
    focal = camera.focal(height)
    seen = camera.to_camera_space(lit.positions)
    depth = seen[:, 2]
    clip = np.stack(
        [seen[:, 0] * focal + 0.5 * width * depth, -seen[:, 1] * focal + 0.5 * height * depth, depth], axis=1
    )
    near = 1e-3 * camera.distance
    edges = np.empty((len(lit.triangles), 3, 3))
    boxes = np.empty((len(lit.triangles), 4), np.int32)
    kernels.setup_triangles(clip, lit.triangles, width, height, near, edges, boxes)
    camera_data = np.concatenate([camera.position, camera.axes.ravel(), [focal, near, 1.5 / lit.scale]])
    ramp = srgb_to_linear(color_map(view.legend is not None and view.legend.signed))
    picture = np.empty((height, width, 3), np.uint8)
    kernels.draw(
        camera_data, lit.lamp, _SAMPLE_OFFSETS, lit.positions, lit.normals, lit.colors, lit.values, ramp, lit.sky,
        lit.triangles, lit.uv, lit.image_of, lit.images, lit.texels, edges, boxes, lit.axes, lit.center, lit.scale,
        lit.maps, lit.planes, lit.tables, background(height), picture,
    )  # fmt: skip
    occluders = (edges, boxes, lit.planes, camera_data)
    if composition.clouds:
        picture = draw_clouds(picture, view, composition.clouds, lit.lamp, occluders)
    if composition.smoke_volumes:
        picture = draw_smoke_volumes(picture, view, composition.smoke_volumes, lit.lamp, occluders)
    return picture
