"""The surface of a liquid as triangles: its level set on finer samples, with single drops around particles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.free_surface import marching_cubes_kernels as kernels
from continua.grid_fluids.free_surface.liquid_flow import LiquidFlow
from continua.grid_fluids.free_surface.marching_cubes import marching_cubes

__all__ = ["drawn_surface"]

_PARALLEL_FROM = 16384
_ABOVE = 0.5  # cells above the surface from which on particles are drawn as drops
_REACH = 1.0  # cells up to which drops melt together
_RADIUS = 0.35  # cells, of a drop of one particle
_LEVEL = (1.0 - (_RADIUS / _REACH) ** 2) ** 3
_SLOPE = 6.0 * _RADIUS / _REACH**2 * (1.0 - (_RADIUS / _REACH) ** 2) ** 2


def drawn_surface(
    flow: LiquidFlow, detail: int
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float32]]:
    """Return points [m] of shape [n, 3], triangles [k, 3], and the velocity at the points [m/s], shape [n, 3].

    Args:
        flow: The liquid.
        detail: Samples a cell along each axis.
    """
    grid, phi = flow.grid, flow.level.phi
    parallel = phi.size >= _PARALLEL_FROM
    flat = grid.dim == 2
    samples = [1 if a < grid.first else n * detail for a, n in enumerate(grid.shape)]
    closed = np.empty([n + 4 for n in samples], phi.dtype)
    blends = [_blend(n, m, detail, phi.dtype) for n, m in zip(grid.shape, samples)]
    kernels.refine.pick(parallel)(phi, *[array for blend in blends for array in blend], closed)
    if flow.cut.obstacles:
        kernels.cut_off.pick(parallel)(closed, detail, flow.cut.corners, grid.spacing)
    if flow.particles.aside.any():
        bumps = np.zeros(samples, phi.dtype)
        kernels.add_drops(flow.particles.rows, flow.particles.aside, phi, _ABOVE, detail, _REACH, bumps)
        kernels.unite(closed, bumps, _LEVEL, _SLOPE)
    kernels.close.pick(parallel)(closed)
    points, triangles = marching_cubes(closed)
    points -= 1.5
    for axis in range(3):
        # what goes on beyond the sides is folded onto them, which leaves sharp edges there
        points[:, axis] = np.clip(points[:, axis], 0.0, samples[axis])
    points, triangles = _welded(points, triangles, samples)
    points /= [detail if axis in grid.axes else 1 for axis in range(3)]
    velocity = np.zeros((len(points), 3), np.float32)
    places = np.zeros((len(points), 3))
    for axis in grid.axes:
        d = axis - grid.first
        offset = [0.0 if a == axis else 0.5 for a in range(3)]
        value = np.empty(len(points), flow.dtype)
        kernels.at_points(flow.velocity[axis], *offset, points, value)
        velocity[:, d] = value
        places[:, d] = grid.origin[d] + grid.spacing * points[:, axis]
    if flat:
        places[:, 2] = grid.spacing * (points[:, 0] - 0.5)
    return places, triangles, velocity


def _welded(
    points: NDArray[np.float64], triangles: NDArray[np.int32], samples: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return a surface whose points on the edges of the box are there once, and without the triangles between them."""
    sides = ((points == 0.0) | (points == np.asarray(samples, np.float64))).sum(axis=1)
    edge = np.flatnonzero(sides >= 2)
    if not len(edge):
        return points, triangles
    _, first, group = np.unique(points[edge], axis=0, return_index=True, return_inverse=True)
    same = np.arange(len(points), dtype=np.int32)
    same[edge] = edge[first[group.reshape(-1)]]
    triangles = same[triangles]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    used = np.zeros(len(points), bool)
    used[triangles] = True
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return points[used], number[triangles]


def _blend(cells: int, samples: int, detail: int, dtype: Any) -> tuple[NDArray[np.int64], NDArray]:
    """Return the first of three cells that each finer sample along an axis is blended from, and their weights.

    That is a linear blend, of which each sample and its neighbours are then weighed by 1/4, 1/2, 1/4.
    """
    low = np.zeros(samples, np.int64)
    weights = np.zeros((samples, 3))
    if cells == 1 or samples == cells:
        low[:] = np.clip(np.arange(samples) - 1, 0, max(cells - 3, 0))
        weights[np.arange(samples), np.arange(samples) - low] = 1.0
        return low, weights.astype(dtype)
    places = np.clip((np.arange(-1, samples + 1) + 0.5) / detail - 0.5, 0.0, cells - 1.0)
    places[0], places[-1] = places[1], places[-2]
    low[:] = np.clip(places[:-2].astype(np.int64), 0, max(cells - 3, 0))
    for shift, share in ((0, 0.25), (1, 0.5), (2, 0.25)):
        way = places[shift : shift + samples] - low
        for cell in range(3):
            weights[:, cell] += share * np.maximum(1.0 - abs(way - cell), 0.0)
    return low, weights.astype(dtype)
