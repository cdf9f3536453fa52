"""The surface of a liquid as triangles: its level set on finer samples, with single drops around particles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.eulerian import marching_kernels as kernels
from continua.eulerian.liquid_flow import LiquidFlow
from continua.eulerian.marching import marching_cubes

__all__ = ["drawn_surface"]

_PARALLEL_FROM = 16384
_ABOVE = 0.3  # cells above the surface from which on particles are drawn as drops
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
    fine = np.empty([1 if a < grid.first else n * detail for a, n in enumerate(grid.shape)], phi.dtype)
    corners = flow.cut.corners if flow.cut.obstacles else np.zeros((0, 0, 0))
    kernels.refine.pick(parallel)(phi, detail, corners, grid.spacing, fine)
    spare = np.empty_like(fine)
    if detail > 1:
        for axis in grid.axes:
            kernels.smooth.pick(parallel)(fine, axis, spare)
            fine, spare = spare, fine
    if flow.particles.aside.any():
        spare[:] = 0
        kernels.add_drops(flow.particles.rows, phi, _ABOVE, detail, _REACH, spare)
        kernels.unite(fine, spare, _LEVEL, _SLOPE)
    closed = np.empty([n + 2 for n in fine.shape], phi.dtype)
    kernels.pad.pick(parallel)(fine, closed)
    points, triangles = marching_cubes(closed)
    points = (points - 0.5) / detail
    if flat:
        points[:, 0] = 0.5 + (points[:, 0] - 0.5 / detail) * detail  # one layer, a cell deep
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
