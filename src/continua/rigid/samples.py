"""Points on the surface of a solid for distances of other shapes, in a hierarchy of spheres (Koschier 2018, K27)."""

from __future__ import annotations

from math import pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.contact.rigid_shapes import BALL, BOX, ROD
from continua.mesh import SurfaceMesh

__all__ = ["Samples", "primitive_points", "sample_tree", "surface_points"]

_LEAF = 8  # points that a sphere without parts holds


class Samples(NamedTuple):
    """Points and the spheres that hold them, parts after their wholes.

    Attributes:
        points: In the order of the spheres [m], shape [s, 3].
        spheres: Middle and radius [m], shape [k, 4].
        links: For each sphere its first point, how many it holds if it has no parts (else 0), and the sphere to go on
            with when this one is passed over, shape [k, 3].
    """

    points: NDArray[np.float64]
    spheres: NDArray[np.float64]
    links: NDArray[np.int32]


def sample_tree(points: NDArray[np.float64]) -> Samples:
    """Return points [s, 3] in a hierarchy of spheres: halved along the longest side of their box, time and again."""
    order = np.arange(len(points))
    spheres: list[tuple[float, ...]] = []
    links: list[list[int]] = []
    todo = [(0, len(points), False)]
    open_: list[int] = []
    while todo:
        first, end, leave = todo.pop()
        if leave:  # all parts are there: whoever passes this sphere over goes on behind them
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
    """Return points of a primitive's surface; a ball and a rod are their core, to be met with their radius."""
    if kind == BALL:
        return np.zeros((1, 3))
    if kind == ROD:
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
