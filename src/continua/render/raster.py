"""The software renderer: no graphics card, no display, the same bits on every run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.render import kernels
from continua.render.colors import color_map, srgb_to_linear
from continua.render.composition import Composition
from continua.render.fog import draw_fogs
from continua.render.lighting import backdrop, light_up
from continua.render.splats import draw_clouds

__all__ = ["draw"]

# Places in a pixel, none above or beside another, so that near-horizontal and near-vertical edges both get
# as many steps as there are places.
_OFFSETS = (np.array([[0, 3], [1, 6], [2, 1], [3, 4], [4, 7], [5, 2], [6, 5], [7, 0]]) + 0.5) / 8.0


def draw(composition: Composition) -> NDArray[np.uint8]:
    """Draw a composition without legend and text; returns sRGB bytes, shape [height, width, 3]."""
    look, lit = composition.look, light_up(composition)
    width, height = look.size
    camera = look.camera
    focal = camera.focal(height)
    seen = camera.view(lit.positions)
    depth = seen[:, 2]
    clip = np.stack(
        [seen[:, 0] * focal + 0.5 * width * depth, -seen[:, 1] * focal + 0.5 * height * depth, depth], axis=1
    )
    near = 1e-3 * camera.distance
    edges = np.empty((len(lit.triangles), 3, 3))
    boxes = np.empty((len(lit.triangles), 4), np.int32)
    kernels.setup_triangles(clip, lit.triangles, width, height, near, edges, boxes)
    view = np.concatenate([camera.position, camera.axes.ravel(), [focal, near, 1.5 / lit.scale]])
    ramp = srgb_to_linear(color_map(look.legend is not None and look.legend.signed))
    picture = np.empty((height, width, 3), np.uint8)
    kernels.draw(
        view, lit.lamp, _OFFSETS, lit.positions, lit.normals, lit.colors, lit.values, ramp, lit.sky, lit.triangles,
        edges, boxes, lit.axes, lit.center, lit.scale, lit.maps, lit.planes, lit.tables, backdrop(height), picture,
    )  # fmt: skip
    hidden = (edges, boxes, lit.planes, view)
    if composition.clouds:
        picture = draw_clouds(picture, look, composition.clouds, lit.lamp, hidden)
    if composition.fogs:
        picture = draw_fogs(picture, look, composition.fogs, lit.lamp, hidden)
    return picture
