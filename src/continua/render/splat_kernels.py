"""Compiled sphere splatting of particles."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import kernel


@kernel(parallel=True)
def scene_depths(edges, boxes, planes, camera, width, height, fine, inverse):
    """Compute the inverse depth of the nearest triangle or plane for `fine` x `fine` samples per pixel."""
    band = 16
    for number in prange((height * fine + band - 1) // band):
        first, last = number * band, min((number + 1) * band, height * fine)
        for y in range(first, last):
            for x in range(width * fine):
                inverse[y, x] = 0.0
        for t in range(edges.shape[0]):
            e = edges[t]
            for y in range(max(boxes[t, 2] * fine, first), min((boxes[t, 3] + 1) * fine, last)):
                py = (y + 0.5) / fine
                for x in range(boxes[t, 0] * fine, (boxes[t, 1] + 1) * fine):
                    px = (x + 0.5) / fine
                    wa = e[0, 0] * px + e[0, 1] * py + e[0, 2]
                    wb = e[1, 0] * px + e[1, 1] * py + e[1, 2]
                    wc = e[2, 0] * px + e[2, 1] * py + e[2, 2]
                    w = wa + wb + wc
                    if wa >= 0.0 and wb >= 0.0 and wc >= 0.0 and w > inverse[y, x]:
                        inverse[y, x] = w
        for p in range(planes.shape[0]):
            plane = planes[p]
            over = 0.0
            ahead, right, up = 0.0, 0.0, 0.0
            for c in range(3):
                over += (plane[3 + c] - camera[c]) * plane[c]
                ahead += plane[c] * camera[9 + c]
                right += plane[c] * camera[3 + c] / camera[12]
                up += plane[c] * camera[6 + c] / camera[12]
            if over >= 0.0:
                continue
            for y in range(first, last):
                row = ahead + (0.5 * height - (y + 0.5) / fine) * up
                for x in range(width * fine):
                    w = (row + ((x + 0.5) / fine - 0.5 * width) * right) / over
                    inverse[y, x] = max(inverse[y, x], w)


@kernel
def splat(seen, radius, focal, near, width, height, fine, inverse, owner, across, upward):
    """Splat spheres with a depth test.

    Args:
        seen: Positions to the right, up and ahead of the camera [m], shape [n, 3].
        radius: Of the spheres [m].
        focal: Focal length in pixels.
        near: Depth of the near plane.
        width: Of the picture.
        height: Of the picture.
        fine: Samples per pixel along each axis.
        inverse: Inverse depth of each sample, shape [height fine, width fine]; updated by spheres in front.
        owner: Receives the index of the visible sphere; unchanged elsewhere.
        across: Receives the normal's component to the right.
        upward: Receives the normal's upward component.
    """
    for i in range(seen.shape[0]):
        depth = seen[i, 2]
        if depth <= near:
            continue
        size = radius * focal / depth * fine
        cx = (seen[i, 0] * focal / depth + 0.5 * width) * fine - 0.5
        cy = (0.5 * height - seen[i, 1] * focal / depth) * fine - 0.5
        for y in range(max(0, int(np.ceil(cy - size))), min(height * fine - 1, int(np.floor(cy + size))) + 1):
            for x in range(
                max(0, int(np.ceil(cx - size))), min(width * fine - 1, int(np.floor(cx + size))) + 1
            ):
                u, v = (x - cx) / size, (cy - y) / size
                rest = 1.0 - u * u - v * v
                if rest > 0.0:
                    w = 1.0 / (depth - radius * np.sqrt(rest))
                    if w > inverse[y, x]:
                        inverse[y, x] = w
                        owner[y, x] = i
                        across[y, x] = u
                        upward[y, x] = v
