"""The lighting of a composition, computed once for every back end.

Sky light is gathered at the vertices from depth maps in many directions, which darkens corners and contact
areas (ambient occlusion). The lamp is a disc sampled at many points, so that shadows are sharp near contacts
and soften with distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from continua.render import kernels
from continua.render.colors import srgb_to_linear
from continua.render.composition import Composition, Ground, Shape, fibonacci_sphere

__all__ = ["Lighting", "background", "compute_lighting", "lamp_direction"]

_TOP, _BOTTOM = (0.975, 0.98, 0.988), (0.885, 0.90, 0.92)
_SKY_MAPS, _SKY_SIZE = 64, 224
_LAMPS, _LAMP_SIZE = 24, 448
_TABLE = 160  # cells per side of a ground's table of sky light


@dataclass(frozen=True, slots=True)
class Lighting:
    """All shapes of a composition in one set of arrays, with their lighting.

    Attributes:
        positions: Vertices of all shapes [m], shape [n, 3].
        normals: Shape [n, 3].
        colors: Linear RGB, shape [n, 3].
        values: Vertex values from 0 to 1 over the colour map; -1 for vertices with a plain colour.
        triangles: Shape [k, 3].
        uv: Texture coordinates of the corners of each triangle, shape [k, 3, 2]; 0 without an image.
        image_of: Number of the image of each triangle, -1 for none; shape [k].
        images: First texel, width and height of each image, shape [i, 3].
        texels: Texels of all images in linear RGB, rows from the top, shape [n, 3].
        sky: Sky light at the vertices, 1 for an unoccluded point that faces up, shape [n].
        center: Centre of the depth maps [m].
        lamp: Unit vector to the lamp.
        axes: Axes of the lamp's depth maps, shape [d, 3, 3].
        scale: Texels per metre of these maps.
        maps: The lamp's depth maps, shape [d, r, r].
        planes: One row per ground, as passed to `kernels.draw`, shape [p, 17].
        tables: Sky light on each ground around its centre, 1 if unoccluded, shape [p, g, g].
    """

    positions: NDArray[np.float64]
    normals: NDArray[np.float64]
    colors: NDArray[np.float64]
    values: NDArray[np.float64]
    triangles: NDArray[np.int32]
    uv: NDArray[np.float64]
    image_of: NDArray[np.int32]
    images: NDArray[np.int64]
    texels: NDArray[np.float32]
    sky: NDArray[np.float64]
    center: NDArray[np.float64]
    lamp: NDArray[np.float64]
    axes: NDArray[np.float64]
    scale: float
    maps: NDArray[np.float32]
    planes: NDArray[np.float64]
    tables: NDArray[np.float64]


def background(height: int) -> NDArray[np.float64]:
    """Return the linear RGB of each row of the background, from the top, shape [height, 3]."""
    part = ((np.arange(height) + 0.5) / height)[:, None]
    return srgb_to_linear(np.array(_TOP) * (1 - part) + np.array(_BOTTOM) * part)


def lamp_direction(composition: Composition) -> NDArray[np.float64]:
    """Return the unit vector to the lamp: above, to the left of the camera, slightly in front of the scene."""
    right, _, forward = composition.view.camera.axes
    up = np.array([0.0, 1.0, 0.0])
    level = forward - np.dot(forward, up) * up
    level /= max(float(np.linalg.norm(level)), 1e-9)
    lamp = 1.25 * up - 0.75 * right - 0.55 * level
    return lamp / np.linalg.norm(lamp)


def _axes_towards(directions: NDArray) -> NDArray[np.float64]:
    """Return right, up and direction as rows for each unit vector, shape [d, 3, 3]."""
    helper = np.where(np.abs(directions[:, 1:2]) < 0.9, [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])
    right = np.cross(helper, directions)
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    return np.ascontiguousarray(np.stack([right, np.cross(directions, right), directions], axis=1))


def _lamp_disc(lamp: NDArray, count: int, width: float) -> NDArray[np.float64]:
    """Return directions to points on a disc lamp of half-angle `width` [rad], shape [count, 3]."""
    right, up, _ = _axes_towards(lamp[None])[0]
    radius = width * np.sqrt((np.arange(count) + 0.5) / count)
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
    places = lamp + (radius * np.cos(turn))[:, None] * right + (radius * np.sin(turn))[:, None] * up
    return places / np.linalg.norm(places, axis=1, keepdims=True)


def _ground_row(ground: Ground, half: float) -> NDArray[np.float64]:
    """Return the row of one plane as passed to `kernels.draw`."""
    normal = np.array(ground.normal)
    across, along, _ = _axes_towards(normal[None])[0]
    center = np.array(ground.center)
    # The grid lines pass through the origin of the scene, not through the centre of the picture.
    shift = [np.dot(center, across), np.dot(center, along)]
    return np.array([*normal, *center, *across, *along, ground.fade, half, ground.spacing, *shift])


def compute_lighting(composition: Composition) -> Lighting:
    """Compute the lighting of all shapes and grounds of a composition."""
    view, shapes = composition.view, composition.shapes
    counts = np.cumsum([0, *(len(shape.positions) for shape in shapes)])

    def joined(parts: list[NDArray], dtype: type) -> NDArray:
        return np.ascontiguousarray(np.concatenate([np.empty((0, 3)), *parts]), dtype=dtype)

    positions = joined([shape.positions for shape in shapes], np.float64)
    normals = joined([shape.normals for shape in shapes], np.float64)
    colors = joined([np.tile(shape.color, (len(shape.positions), 1)) for shape in shapes], np.float64)
    values = np.full(len(positions), -1.0)
    for shape, start in zip(shapes, counts):
        if shape.values is not None:
            values[start : start + len(shape.values)] = shape.values
    triangles = joined([shape.triangles + n for shape, n in zip(shapes, counts)], np.int32)

    # All depth maps cover the bounds of the whole run, so that the light does not flicker between frames.
    center, radius = view.center, view.radius
    if len(positions):
        radius = max(radius, float(np.linalg.norm(positions - center, axis=1).max()))
    radius *= 1.02
    sky = _sky(positions, triangles, center, radius)
    light = np.empty(len(positions))
    kernels.sky_light(positions, normals, *sky, light)

    lamp = lamp_direction(composition)
    axes = _axes_towards(_lamp_disc(lamp, _LAMPS, 0.07))
    scale = _LAMP_SIZE / (2 * radius)
    maps = np.empty((_LAMPS, _LAMP_SIZE, _LAMP_SIZE), np.float32)
    kernels.depth_maps(positions, triangles, axes, center, scale, maps)

    rows = [_ground_row(ground, 2.2 * radius) for ground in composition.grounds]
    planes = np.array(rows).reshape(-1, 17)
    tables = np.array([_ground_table(row, sky) for row in rows]).reshape(-1, _TABLE, _TABLE)
    return Lighting(
        positions, normals, colors, values, triangles, *_images(shapes), light, center, lamp, axes, scale, maps, planes,
        tables,
    )  # fmt: skip


def _images(
    shapes: tuple[Shape, ...],
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64], NDArray[np.float32]]:
    """Return texture coordinates and image numbers of all triangles, and the images, each of them once."""
    uv, image_of = [np.zeros((0, 3, 2))], [np.zeros(0, np.int32)]
    images: list[tuple[int, int, int]] = []
    texels = [np.zeros((0, 3), np.float32)]
    known: dict[str, int] = {}
    for shape in shapes:
        texture, count = shape.texture, len(shape.triangles)
        if texture is None or shape.uv is None:
            uv.append(np.zeros((count, 3, 2)))
            image_of.append(np.full(count, -1, np.int32))
            continue
        if texture.digest not in known:
            known[texture.digest] = len(images)
            images.append((sum(map(len, texels)), texture.width, texture.height))
            light = srgb_to_linear(texture.pixels[:, :, :3] / 255.0) * np.array(texture.factor)
            texels.append(light.reshape(-1, 3).astype(np.float32))
        uv.append(np.asarray(shape.uv, np.float64))
        image_of.append(np.full(count, known[texture.digest], np.int32))
    table = np.array(images, np.int64).reshape(-1, 3)
    return np.concatenate(uv), np.concatenate(image_of), table, np.concatenate(texels)


def _sky(positions: NDArray, triangles: NDArray, center: NDArray, radius: float) -> tuple:
    """Return arguments of `kernels.sky_light`: axes, centre, scale, maps, radiance and offset."""
    directions = fibonacci_sphere(_SKY_MAPS)
    axes = _axes_towards(directions)
    radiance = 0.66 + 0.34 * directions[:, 1]
    radiance /= float(np.sum(radiance * np.maximum(directions[:, 1], 0.0)))
    scale = _SKY_SIZE / (2 * radius)
    maps = np.empty((_SKY_MAPS, _SKY_SIZE, _SKY_SIZE), np.float32)
    kernels.depth_maps(positions, triangles, axes, center, scale, maps)
    return axes, center, scale, maps, radiance, 1.5 / scale


def _ground_table(row: NDArray, sky: tuple) -> NDArray[np.float64]:
    """Return the sky light on a plane around its centre, 1 if unoccluded."""
    place = np.linspace(-row[13], row[13], _TABLE)
    spots = row[3:6] + place[:, None, None] * row[6:9] + place[None, :, None] * row[9:12]
    normals = np.broadcast_to(row[0:3], (_TABLE * _TABLE, 3)).copy()
    table = np.empty(_TABLE * _TABLE)
    kernels.sky_light(spots.reshape(-1, 3), normals, *sky, table)
    axes, radiance = sky[0], sky[4]
    table /= max(float(np.sum(radiance * np.maximum(axes[:, 2] @ row[0:3], 0.0))), 1e-9)
    # The blur hides the discrete directions.
    return gaussian_filter(table.reshape(_TABLE, _TABLE), 2.5, mode="nearest")
