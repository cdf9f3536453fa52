"""The interior of a body for volume rendering in the page: elements, their boundary, and the voxel image.

It is sent once; frames then have only nodal positions. The page samples the deformed elements on its own grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame
from continua.render.iso import tets_of
from continua.studio.encoding.clip_plane import ClipPlane, boundary_triangles
from continua.voxels import Voxels

__all__ = ["downsample", "encode_volume"]

_MAX_SIDE = 256  # texels along a side that every browser supports
_MAX_VOXELS = 8_000_000  # of an image that is sent


def encode_volume(
    number: int, body: BodyFrame, nodes: NDArray[np.integer], clip: ClipPlane | None, coordinate: float
) -> tuple[dict[str, NDArray], dict[str, Any] | None]:
    """Return arrays of a body's elements for the page, and the header of its voxel image, or None.

    Args:
        number: Number of the body.
        body: The body.
        nodes: Sorted node numbers that the page has.
        clip: The clip plane, or None.
        coordinate: Coordinate of that plane [m].
    """
    tets: NDArray[np.integer] = tets_of(body)
    if not len(tets):
        return {}, None
    if clip is not None:
        tets = clip.select_cells(body, tets, coordinate)
    arrays: dict[str, NDArray] = {
        f"{number}/interior/tets": np.searchsorted(nodes, tets).astype(np.uint32),
        f"{number}/interior/faces": np.searchsorted(nodes, boundary_triangles(tets)).astype(np.uint32),
    }
    if body.voxels is None:
        return arrays, None
    image = downsample(body.voxels)
    low, high = float(image.values.min()), float(image.values.max())
    part = (image.values - low) / max(high - low, 1e-30)
    arrays[f"{number}/interior/image"] = part.astype(np.float16).transpose(2, 1, 0).ravel().view(np.uint16)
    image_header = {
        "cells": image.values.shape,
        "origin": image.origin,
        "spacing": image.spacing,
        "valueRange": (low, high),
    }
    return arrays, image_header


def downsample(image: Voxels) -> Voxels:
    """Return an image averaged over blocks of voxels, if it is too large for a page."""
    shape = np.array(image.values.shape)
    block = np.maximum(-(-shape // _MAX_SIDE), 1)
    while np.prod(-(-shape // block)) > _MAX_VOXELS:
        block[np.argmax(shape / block)] += 1
    if block.max() == 1:
        return image
    missing = -shape % block
    padded = np.pad(image.values, [(0, n) for n in missing], mode="edge")
    a, b, c = block
    x, y, z = np.array(padded.shape) // block
    values = padded.reshape(x, a, y, b, z, c).mean(axis=(1, 3, 5), dtype=np.float64)
    spacing = np.array(image.spacing) * block
    return Voxels(values, image.origin, tuple(spacing.tolist()))
