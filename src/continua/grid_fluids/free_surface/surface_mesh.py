"""The surface of a liquid as triangles: its level set on finer samples, with drops around detached particles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.free_surface import surface_mesh_kernels as kernels
from continua.grid_fluids.free_surface.liquid_flow import LiquidFlow
from continua.grid_fluids.free_surface.marching_cubes import marching_cubes

__all__ = ["extract_surface"]

_PARALLEL_FROM = 16384
_DROP_HEIGHT = 0.5  # cells above the surface: beyond this particles are drawn as drops
_DROP_REACH = 1.0  # cells: distance up to which drops merge
_DROP_RADIUS = 0.35  # cells: radius of a drop of one particle
_DROP_LEVEL = (1.0 - (_DROP_RADIUS / _DROP_REACH) ** 2) ** 3
_DROP_SLOPE = 6.0 * _DROP_RADIUS / _DROP_REACH**2 * (1.0 - (_DROP_RADIUS / _DROP_REACH) ** 2) ** 2


def extract_surface(
    flow: LiquidFlow, detail: int
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float32]]:
    """Return points [m] of shape [n, 3], triangles [k, 3], and the velocity at the points [m/s], shape [n, 3].

    Args:
        flow: The liquid.
        detail: Samples per cell along each axis.
    """
    grid, phi = flow.grid, flow.level_set.phi
    parallel = phi.size >= _PARALLEL_FROM
    flat = grid.dim == 2
    samples = [1 if a < grid.x_axis else n * detail for a, n in enumerate(grid.shape)]
    fine = np.empty([n + 4 for n in samples], phi.dtype)
    stencils = [_refinement_weights(n, m, detail, phi.dtype) for n, m in zip(grid.shape, samples)]
    kernels.refine.variant(parallel)(phi, *[array for stencil in stencils for array in stencil], fine)
    if flow.domain.cut_cells.obstacles:
        kernels.clip_to_solid.variant(parallel)(
            fine, detail, flow.domain.cut_cells.corner_distances, grid.spacing
        )
    if flow.particles.phase.any():
        bumps = np.zeros(samples, phi.dtype)
        kernels.splat_particles(
            flow.particles.rows, flow.particles.phase, phi, _DROP_HEIGHT, detail, _DROP_REACH, bumps
        )
        kernels.union_bumps(fine, bumps, _DROP_LEVEL, _DROP_SLOPE)
    kernels.cap_boundary.variant(parallel)(fine)
    points, triangles = marching_cubes(fine)
    points -= 1.5
    for axis in range(3):
        # what extends beyond the sides is projected onto them, which leaves sharp edges there
        points[:, axis] = np.clip(points[:, axis], 0.0, samples[axis])
    points, triangles = _weld(points, triangles, samples)
    points /= [detail if axis in grid.axes else 1 for axis in range(3)]
    velocity = np.zeros((len(points), 3), np.float32)
    positions = np.zeros((len(points), 3))
    for axis in grid.axes:
        d = axis - grid.x_axis
        offset = [0.0 if a == axis else 0.5 for a in range(3)]
        value = np.empty(len(points), flow.fields.dtype)
        kernels.interpolate_at_points(flow.fields.velocity[axis], *offset, points, value)
        velocity[:, d] = value
        positions[:, d] = grid.origin[d] + grid.spacing * points[:, axis]
    if flat:
        positions[:, 2] = grid.spacing * (points[:, 0] - 0.5)
    return positions, triangles, velocity


def _weld(
    points: NDArray[np.float64], triangles: NDArray[np.int32], samples: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the surface with points on the edges of the box merged, and without the triangles that collapse."""
    sides = ((points == 0.0) | (points == np.asarray(samples, np.float64))).sum(axis=1)
    edge = np.flatnonzero(sides >= 2)
    if not len(edge):
        return points, triangles
    _, first, group = np.unique(points[edge], axis=0, return_index=True, return_inverse=True)
    representative = np.arange(len(points), dtype=np.int32)
    representative[edge] = edge[first[group.reshape(-1)]]
    triangles = representative[triangles]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    used = np.zeros(len(points), bool)
    used[triangles] = True
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return points[used], number[triangles]


def _refinement_weights(
    cells: int, samples: int, detail: int, dtype: Any
) -> tuple[NDArray[np.int64], NDArray]:
    """Return the first of three cells that each finer sample along an axis is interpolated from, and their weights.

    This is linear interpolation, smoothed over each sample and its neighbours with the weights 1/4, 1/2, 1/4.
    """
    low = np.zeros(samples, np.int64)
    weights = np.zeros((samples, 3))
    if cells == 1 or samples == cells:
        low[:] = np.clip(np.arange(samples) - 1, 0, max(cells - 3, 0))
        weights[np.arange(samples), np.arange(samples) - low] = 1.0
        return low, weights.astype(dtype)
    positions = np.clip((np.arange(-1, samples + 1) + 0.5) / detail - 0.5, 0.0, cells - 1.0)
    positions[0], positions[-1] = positions[1], positions[-2]
    low[:] = np.clip(positions[:-2].astype(np.int64), 0, max(cells - 3, 0))
    for shift, weight in ((0, 0.25), (1, 0.5), (2, 0.25)):
        offset = positions[shift : shift + samples] - low
        for cell in range(3):
            weights[:, cell] += weight * np.maximum(1.0 - abs(offset - cell), 0.0)
    return low, weights.astype(dtype)
