"""What a flow does to one of its obstacles: force and torque by pressure and friction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.eulerian import cut_kernels
from continua.eulerian.cutcells import CutCells
from continua.eulerian.flow import Flow
from continua.eulerian.obstacles import Obstacle

__all__ = ["force_on", "friction_on", "middles_of", "walls_of"]

_SAME = 5e-3  # of the spacing: distances that differ by less are those of one obstacle


def force_on(flow: Flow, obstacle: Obstacle, center: NDArray[np.float64], time: float) -> NDArray[np.float64]:
    """Return force [N] and torque [N m] about `center` [m] of a flow on one of its obstacles, shape [6].

    Pressure acts on the walls of cut cells, at the place of the obstacle that is nearest to the middle of the cell.
    Friction is what the viscous solve gave to the wall. In a plane both are those of one metre of depth.

    Args:
        flow: The flow, after a step.
        obstacle: One of its obstacles.
        center: What the torque is taken about.
        time: When the obstacle was placed [s].
    """
    result = np.zeros(6)
    if not obstacle.distances.size or min(obstacle.distances.shape[flow.grid.first :]) < 2:
        return result
    for places, forces in (_pressure(flow, obstacle), *friction_on(flow, obstacle)):
        if len(places):
            gaps, normals, _ = obstacle.shape.distances_at(places, time, 0.0)
            arms = places - np.asarray(gaps)[:, None] * normals - center
            result[:3] += forces.sum(axis=0)
            result[3:] += np.cross(arms, forces).sum(axis=0)
    if flow.grid.dim == 2:
        result[[2, 3, 4]] = 0.0
    return result


def _pressure(flow: Flow, obstacle: Obstacle) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the middles of the cells with a wall of the obstacle [m] and the forces of pressure there [N]."""
    grid = flow.grid
    index, areas = walls_of(flow, obstacle)
    unit = flow.pressure_unit * grid.spacing ** (grid.dim - 1)
    forces = np.roll(unit * flow.potential[tuple(index.T)][:, None] * areas, -grid.first, axis=1)
    return middles_of(flow, index, (0.5, 0.5, 0.5)), forces


def walls_of(flow: Flow, obstacle: Obstacle) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the cells with a wall of the obstacle, and the areas along the array axes, in faces; [n, 3] each."""
    grid, cut = flow.grid, flow.cut
    if not obstacle.distances.size or min(obstacle.distances.shape[grid.first :]) < 2:
        return np.zeros((0, 3), np.int64), np.zeros((0, 3))
    low = np.maximum(obstacle.low, 0)
    high = np.minimum(obstacle.low + np.array(obstacle.distances.shape) - 1, grid.shape)
    if grid.dim == 2:
        low[0], high[0] = 0, 1
    own = _means(obstacle.distances, grid.axes)
    window = tuple(slice(int(a), int(b) + (n in grid.axes)) for n, (a, b) in enumerate(zip(low, high)))
    all_of = _means(np.minimum(cut.corners[window], 1e9), grid.axes)
    mine = own[: all_of.shape[0], : all_of.shape[1], : all_of.shape[2]] <= all_of + _SAME * grid.spacing
    count = cut_kernels.wall_cells(*cut.parts, low, high, np.zeros(0, np.int64), np.zeros((0, 3)))
    cells, areas = np.zeros(count, np.int64), np.zeros((count, 3))
    if count:
        cut_kernels.wall_cells(*cut.parts, low, high, cells, areas)
    index = np.stack(np.unravel_index(cells, grid.shape), axis=1)
    keep = mine[tuple((index - low).T)]
    return index[keep], areas[keep]


def friction_on(flow: Flow, obstacle: Obstacle) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return the places of samples beside a wall of the obstacle [m] and the friction there [N], for each component."""
    if flow.friction is None or flow.slip:
        return []
    grid, found = flow.grid, []
    for axis, (samples, forces) in flow.friction.wall_forces(flow.viscosity).items():
        index = np.stack(np.unravel_index(samples, grid.faces_shape(axis)), axis=1)
        keep = _is_nearest(flow.cut, obstacle, index)
        along = np.zeros((int(keep.sum()), 3))
        along[:, axis - grid.first] = forces[keep]
        offset = [0.0 if a == axis else 0.5 for a in range(3)]
        found.append((middles_of(flow, index[keep], offset), along))
    return found


def _is_nearest(cut: CutCells, obstacle: Obstacle, index: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell at which samples the obstacle is the nearest one, by the corners they lie at or just above."""
    inside = ((index >= obstacle.low) & (index < obstacle.low + obstacle.distances.shape)).all(axis=1)
    result = np.zeros(len(index), bool)
    at = index[inside]
    own = obstacle.distances[tuple((at - obstacle.low).T)]
    result[inside] = own <= cut.corners[tuple(at.T)] + _SAME * cut.grid.spacing
    return result


def _means(values: NDArray[np.float64], axes: range) -> NDArray[np.float64]:
    """Return the means of the corners of cells."""
    for axis in axes:
        values = np.moveaxis(values, axis, 0)
        values = np.moveaxis(0.5 * (values[:-1] + values[1:]), 0, axis)
    return values


def middles_of(
    flow: Flow, index: NDArray[np.int64], offset: tuple[float, ...] | list[float]
) -> NDArray[np.float64]:
    """Return the places of samples [m], shape [n, 3]."""
    grid = flow.grid
    places = np.zeros((len(index), 3))
    for d in range(grid.dim):
        a = grid.first + d
        places[:, d] = grid.origin[d] + grid.spacing * (index[:, a] + offset[a])
    return places
