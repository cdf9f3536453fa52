"""Points on surfaces and in volumes: samples of boundaries, and the initial particles of a fluid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.geometry import Box, Shape
from continua.sph.neighbour_search import CellGrid, NeighbourLists
from continua.sph.sampling_kernels import thin_points

__all__ = ["block_points", "fill_points", "offset_inward", "poisson_sample", "sample_shape", "sample_surface"]

_MAX_SAMPLES = 2e7


def sample_shape(shape: Shape, spacing: float, depth: float) -> NDArray[np.float64]:
    """Return points `depth` [m] below the surface of a shape at rest, about `spacing` [m] apart, shape [n, 3].

    The sides of a plain box get square lattices; other surfaces are sampled evenly and reproducibly.
    """
    offset = depth if getattr(shape, "inside", False) else -depth
    if isinstance(shape, Box) and shape.rounding == 0.0:
        local = _box_lattice(np.maximum(np.asarray(shape.size) + 2.0 * offset, 1e-3 * spacing), spacing)
        return local @ shape.axes + shape.origin
    description: Any = shape.description()
    if description["kind"] == "sphere":
        radius = max(float(description["radius"]) + offset, 1e-3 * spacing)
        return np.asarray(description["center"]) + _fibonacci_sphere(radius, spacing)
    return sample_surface(
        np.asarray(description["points"]), np.asarray(description["triangles"]), spacing, depth
    )


def sample_surface(
    points: NDArray[np.float64], triangles: NDArray[np.int32], spacing: float, depth: float = 0.0
) -> NDArray[np.float64]:
    """Return points `depth` [m] below triangles, no two closer than about `spacing` [m]; shape [n, 3]."""
    which, weights = poisson_sample(points, triangles, spacing, depth)
    return offset_inward(points, triangles, which, weights, depth)


def offset_inward(
    points: NDArray[np.float64],
    triangles: NDArray[np.int32],
    which: NDArray[np.intp],
    weights: NDArray[np.float64],
    depth: float,
) -> NDArray[np.float64]:
    """Return points [k, 3] at barycentric coordinates `weights` of triangles `which`, `depth` [m] below them."""
    a, b, c = (points[triangles[which, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    return weights[:, :1] * a + weights[:, 1:2] * b + weights[:, 2:] * c - depth * normals


def poisson_sample(
    points: NDArray[np.float64], triangles: NDArray[np.int32], spacing: float, depth: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return Poisson-disk samples: triangles [k] and barycentric coordinates [k, 3].

    Random points are accepted in random order unless an accepted one is near (dart throwing).
    """
    a, b, c = (points[triangles[:, k]] for k in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    total = float(areas.sum())
    random = np.random.default_rng(2012)
    _check_count(0.5 * total, spacing)
    count = int(np.ceil(6.0 * total / spacing**2)) + 16
    which = np.searchsorted(np.cumsum(areas) / total, random.random(count)).clip(max=len(areas) - 1)
    u, v = random.random((2, count))
    fold = u + v > 1.0
    u, v = np.where(fold, 1.0 - u, u), np.where(fold, 1.0 - v, v)
    weights = np.stack([1.0 - u - v, u, v], axis=1)
    kept = _thin(offset_inward(points, triangles, which, weights, depth), 0.9 * spacing)
    return which[kept], weights[kept]


def _check_count(area: float, spacing: float) -> None:
    """Raise InputError if a surface needs more samples than fit into memory."""
    count = area / spacing**2
    if not count <= _MAX_SAMPLES:
        raise InputError(
            f"a boundary of {area:.3g} m² would need {count:.3g} particles; use larger particles or a smaller boundary"
        )


def _thin(points: NDArray[np.float64], distance: float) -> NDArray[np.intp]:
    """Return a maximal set of points, accepted in order, no two closer than `distance`."""
    center = points.mean(axis=0)
    xyzw = np.zeros((len(points), 4), np.float32)
    xyzw[:, :3] = points - center
    grid, lists = CellGrid(distance), NeighbourLists()
    order = grid.sort(xyzw.ravel()).copy()
    lists.update(grid, np.ascontiguousarray(xyzw[order]).ravel())
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=np.int32)
    kept = np.zeros(len(points), np.uint8)
    thin_points(rank, lists.begin, lists.end, lists.neighbours, kept)
    return np.flatnonzero(kept[rank])


def _box_lattice(size: NDArray[np.float64], spacing: float) -> NDArray[np.float64]:
    """Return lattice points on all sides of a box around the origin, without duplicates."""
    _check_count(2.0 * float(size[0] * size[1] + size[1] * size[2] + size[2] * size[0]), spacing)
    counts = np.maximum(np.round(size / spacing).astype(int), 1)
    axes = [np.linspace(-0.5 * s, 0.5 * s, n + 1) for s, n in zip(size, counts)]
    parts = []
    for axis in range(3):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        # the sides of earlier axes include the edges already
        first = axes[one] if one > axis else axes[one][1:-1]
        second = axes[two] if two > axis else axes[two][1:-1]
        for end in (-0.5, 0.5):
            grid = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
            side = np.empty((len(grid), 3))
            side[:, axis], side[:, one], side[:, two] = end * size[axis], grid[:, 0], grid[:, 1]
            parts.append(side)
    return np.concatenate(parts)


def _fibonacci_sphere(radius: float, spacing: float) -> NDArray[np.float64]:
    """Return evenly distributed points on a sphere around the origin (Fibonacci spiral)."""
    _check_count(4.0 * np.pi * radius**2, spacing)
    count = max(12, int(np.ceil(4.0 * np.pi * radius**2 / spacing**2)))
    height = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.arange(count) * np.pi * (3.0 - np.sqrt(5.0))
    ring = np.sqrt(1.0 - height**2)
    return radius * np.stack([ring * np.cos(angle), height, ring * np.sin(angle)], axis=1)


def block_points(low: NDArray[np.float64], high: NDArray[np.float64], spacing: float) -> NDArray[np.float64]:
    """Return the points of a cubic lattice that fills a block evenly, half a spacing from its sides; shape [n, 3]."""
    counts = np.maximum(np.round((high - low) / spacing).astype(int), 1)
    margin = 0.5 * ((high - low) - counts * spacing)
    axes = [low[k] + margin[k] + (np.arange(counts[k]) + 0.5) * spacing for k in range(3)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def fill_points(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    spacing: float,
    distance: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return the points of a cubic lattice that are at least half a spacing inside a closed surface, shape [n, 3].

    Args:
        low: Smallest coordinates of the surface [m].
        high: Largest coordinates [m].
        spacing: Of the lattice [m].
        distance: Signed distance of points [n, 3] to the surface, negative inside.
    """
    points = block_points(low, high, spacing)
    return points[distance(points) <= -0.5 * spacing * (1.0 - 1e-6)]
