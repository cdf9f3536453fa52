"""What is inside of a body, for a page that sends rays through it: elements, what bounds them, and the carried image.

The page has all of it once and then only the places of nodes: it samples the deformed elements on a grid of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame
from continua.render.iso import tets_of
from continua.studio.encoding.clip_plane import Cut, outside_of
from continua.voxels import Voxels

__all__ = ["coarsened", "matter_of"]

_SIDE = 256  # texels along a side that every browser has room for
_MOST = 8_000_000  # voxels that are sent


def matter_of(
    number: int, body: BodyFrame, nodes: NDArray[np.integer], cut: Cut | None, height: float
) -> tuple[dict[str, NDArray], dict[str, Any] | None]:
    """Return arrays of a body's elements for the page, and facts about the image that it carries, or None.

    Args:
        number: Number of the body.
        body: The body.
        nodes: Numbers of the nodes that the page has, in order.
        cut: A plane that hides what lies beyond it.
        height: Where that is [m].
    """
    tets: NDArray[np.integer] = tets_of(body)
    if body.kind != "soft" or not len(tets):
        return {}, None
    if cut is not None:
        tets = cut.kept(body, tets, height)
    arrays: dict[str, NDArray] = {
        f"{number}/matter/tets": np.searchsorted(nodes, tets).astype(np.uint32),
        f"{number}/matter/faces": np.searchsorted(nodes, outside_of(tets)).astype(np.uint32),
    }
    if body.voxels is None:
        return arrays, None
    image = coarsened(body.voxels)
    low, high = float(image.values.min()), float(image.values.max())
    part = (image.values - low) / max(high - low, 1e-30)
    arrays[f"{number}/matter/image"] = part.astype(np.float16).transpose(2, 1, 0).ravel().view(np.uint16)
    facts = {
        "cells": image.values.shape,
        "origin": image.origin,
        "spacing": image.spacing,
        "ends": (low, high),
    }
    return arrays, facts


def coarsened(image: Voxels) -> Voxels:
    """Return an image with means over blocks of voxels, if it has more than a page takes."""
    shape = np.array(image.values.shape)
    block = np.maximum(-(-shape // _SIDE), 1)
    while np.prod(-(-shape // block)) > _MOST:
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
