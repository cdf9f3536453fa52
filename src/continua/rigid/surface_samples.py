"""Sample points on surfaces for contact with signed distances, in a hierarchy of spheres (Koschier 2018, K27)."""

from __future__ import annotations

from math import pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.geometry.primitive_kernels import BOX, CAPSULE, SPHERE
from continua.mesh import SurfaceMesh

__all__ = ["Samples", "primitive_points", "sample_tree", "surface_points"]

_LEAF = 8  # points of a leaf


class Samples(NamedTuple):
    """Points and a hierarchy of bounding spheres, children after their parents.

    Attributes:
        points: In the order of the spheres [m], shape [s, 3].
        spheres: Centre and radius [m], shape [k, 4].
        links: For each sphere its first point, the number of its points if it is a leaf (else 0), and the sphere to
            continue with when this one is skipped, shape [k, 3].
    """

    points: NDArray[np.float64]
    spheres: NDArray[np.float64]
    links: NDArray[np.int32]


def sample_tree(points: NDArray[np.float64]) -> Samples:
    """Return points [s, 3] in a hierarchy of spheres, by recursive bisection along the longest side of their box."""
    order = np.arange(len(points))
    spheres: list[tuple[float, ...]] = []
    links: list[list[int]] = []
    todo = [(0, len(points), False)]
    open_: list[int] = []
    while todo:
        first, end, leave = todo.pop()
        if leave:  # all children are done: skipping this sphere continues after them
            links[open_.pop()][2] = len(links)
            continue
        own = points[order[first:end]]
        low, high = own.min(axis=0), own.max(axis=0)
        middle = 0.5 * (low + high)
        radius = float(np.sqrt(((own - middle) ** 2).sum(axis=1).max()))
        spheres.append((*(float(c) for c in middle), radius))
        whole = end - first <= _LEAF
        links.append([first, end - first if whole else 0, len(links) + 1])
        if whole:
            continue
        open_.append(len(links) - 1)
        half = (end - first) // 2
        axis = int((high - low).argmax())
        order[first:end] = order[first:end][np.argpartition(own[:, axis], half)]
        todo += [(first, end, True), (first + half, end, False), (first, first + half, False)]
    return Samples(
        np.ascontiguousarray(points[order]), np.array(spheres).reshape(-1, 4), np.array(links, np.int32)
    )


def surface_points(surface: SurfaceMesh, radius: float) -> NDArray[np.float64]:
    """Return the nodes of a surface, and points on its triangles where they are coarse against its size."""
    corners = surface.points[surface.triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    parts = np.minimum(np.ceil(longest / (radius / 5.0)).astype(int), 12)
    points = [surface.points]
    for n in np.unique(parts[parts > 1]):
        i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        inside = (i + j <= n) & ~((i == n) | (j == n) | (i + j == 0))
        weights = np.stack([i[inside], j[inside], n - i[inside] - j[inside]], axis=1) / n
        points.append(np.einsum("sw,twd->tsd", weights, corners[parts == n]).reshape(-1, 3))
    everything = np.concatenate(points)
    _, first = np.unique(np.round(everything / (1e-9 * radius)), axis=0, return_index=True)
    return everything[np.sort(first)]


def primitive_points(kind: int, size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points of a primitive's surface; a sphere and a capsule are sampled on their core and have a radius."""
    if kind == SPHERE:
        return np.zeros((1, 3))
    if kind == CAPSULE:
        return np.linspace(-1.0, 1.0, 9)[:, None] * np.array([0.0, 0.0, size[1]])
    if kind == BOX:
        grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 5)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        return grid[(np.abs(grid) == 1.0).any(axis=1)] * size
    angle = 2.0 * pi * np.arange(24) / 24
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(24)], axis=1)
    side = np.concatenate([ring * [size[0], size[0], 0] + [0, 0, z * size[1]] for z in np.linspace(-1, 1, 5)])
    ends = np.concatenate(
        [0.5 * ring[::3] * [size[0], size[0], 0] + [0, 0, z * size[1]] for z in (-1.0, 1.0)]
    )
    return np.concatenate([side, ends, [[0, 0, -size[1]], [0, 0, size[1]]]])
