"""Force and torque of a flow on its obstacles, by pressure and viscous friction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.geometry.cut_cells import CutCells, list_wall_cells
from continua.grid_fluids.geometry.grid import Grid
from continua.grid_fluids.geometry.obstacles import Obstacle
from continua.grid_fluids.interface import GridFlow

__all__ = ["obstacle_force", "sample_positions", "total_force", "viscous_forces", "wall_cells"]

_SAME_OBSTACLE = 5e-3  # spacings: distances that differ by less belong to the same obstacle


def total_force(flow: GridFlow) -> tuple[float, float, float]:
    """Return the force on all obstacles by pressure and friction [N]; per metre of depth in a plane."""
    grid, fields = flow.domain.grid, flow.fields
    cells, areas = flow.domain.cut_cells.wall_cells()
    unit = fields.pressure_unit * grid.spacing ** (grid.dim - 1)
    force = np.roll(unit * (fields.potential.ravel()[cells] @ areas), -grid.x_axis)
    if flow.viscous_solver is not None and not flow.slip:
        force += flow.viscous_solver.wall_force(flow.viscosity)
    return float(force[0]), float(force[1]), float(force[2])


def obstacle_force(
    flow: GridFlow, obstacle: Obstacle, center: NDArray[np.float64], time: float
) -> NDArray[np.float64]:
    """Return force [N] and torque [N m] about `center` [m] of a flow on one of its obstacles, shape [6].

    Pressure acts on the walls of cut cells, at the closest point of the obstacle to the cell centre. Friction is the
    wall flux of the viscous solve. In a plane both are per metre of depth.

    Args:
        flow: The flow, after a step.
        obstacle: One of its obstacles.
        center: Reference point of the torque [m].
        time: Time for which the obstacle was placed [s].
    """
    grid = flow.domain.grid
    result = np.zeros(6)
    if not obstacle.distances.size or min(obstacle.distances.shape[grid.x_axis :]) < 2:
        return result
    for positions, forces in (_pressure_forces(flow, obstacle), *viscous_forces(flow, obstacle)):
        if len(positions):
            gaps, normals, _ = obstacle.shape.distances_at(positions, time, 0.0)
            arms = positions - np.asarray(gaps)[:, None] * normals - center
            result[:3] += forces.sum(axis=0)
            result[3:] += np.cross(arms, forces).sum(axis=0)
    if grid.dim == 2:
        result[[2, 3, 4]] = 0.0
    return result


def _pressure_forces(flow: GridFlow, obstacle: Obstacle) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centres of the cells with a wall of the obstacle [m], and the pressure forces there [N]."""
    grid, fields = flow.domain.grid, flow.fields
    index, areas = wall_cells(flow.domain.cut_cells, obstacle)
    unit = fields.pressure_unit * grid.spacing ** (grid.dim - 1)
    forces = np.roll(unit * fields.potential[tuple(index.T)][:, None] * areas, -grid.x_axis, axis=1)
    return sample_positions(grid, index, (0.5, 0.5, 0.5)), forces


def wall_cells(cut_cells: CutCells, obstacle: Obstacle) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the cells with a wall of the obstacle, and the areas along the array axes, in faces; [n, 3] each."""
    grid = cut_cells.grid
    if not obstacle.distances.size or min(obstacle.distances.shape[grid.x_axis :]) < 2:
        return np.zeros((0, 3), np.int64), np.zeros((0, 3))
    low = np.maximum(obstacle.first_corner, 0)
    high = np.minimum(obstacle.first_corner + np.array(obstacle.distances.shape) - 1, grid.shape)
    if grid.dim == 2:
        low[0], high[0] = 0, 1
    own_distances = _corner_means(obstacle.distances, grid.axes)
    window = tuple(slice(int(a), int(b) + (n in grid.axes)) for n, (a, b) in enumerate(zip(low, high)))
    nearest_distances = _corner_means(np.minimum(cut_cells.corner_distances[window], 1e9), grid.axes)
    n0, n1, n2 = nearest_distances.shape
    is_nearest = own_distances[:n0, :n1, :n2] <= nearest_distances + _SAME_OBSTACLE * grid.spacing
    cells, areas = list_wall_cells(cut_cells.face_fractions, low, high)
    index = np.stack(np.unravel_index(cells, grid.shape), axis=1)
    keep = is_nearest[tuple((index - low).T)]
    return index[keep], areas[keep]


def viscous_forces(
    flow: GridFlow, obstacle: Obstacle
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return positions of samples beside a wall of the obstacle [m] and the friction there [N], per component."""
    if flow.viscous_solver is None or flow.slip:
        return []
    grid, found = flow.domain.grid, []
    for axis, (samples, forces) in flow.viscous_solver.wall_forces(flow.viscosity).items():
        index = np.stack(np.unravel_index(samples, grid.faces_shape(axis)), axis=1)
        keep = _is_nearest(flow.domain.cut_cells, obstacle, index)
        along = np.zeros((int(keep.sum()), 3))
        along[:, axis - grid.x_axis] = forces[keep]
        offset = [0.0 if a == axis else 0.5 for a in range(3)]
        found.append((sample_positions(grid, index[keep], offset), along))
    return found


def _is_nearest(cut_cells: CutCells, obstacle: Obstacle, index: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of samples to which the obstacle is the nearest, judged at the corner at or just below them."""
    inside = (
        (index >= obstacle.first_corner) & (index < obstacle.first_corner + obstacle.distances.shape)
    ).all(axis=1)
    result = np.zeros(len(index), bool)
    at = index[inside]
    own_distances = obstacle.distances[tuple((at - obstacle.first_corner).T)]
    result[inside] = (
        own_distances <= cut_cells.corner_distances[tuple(at.T)] + _SAME_OBSTACLE * cut_cells.grid.spacing
    )
    return result


def _corner_means(values: NDArray[np.float64], axes: range) -> NDArray[np.float64]:
    """Return the corner means of cells."""
    for axis in axes:
        values = np.moveaxis(values, axis, 0)
        values = np.moveaxis(0.5 * (values[:-1] + values[1:]), 0, axis)
    return values


def sample_positions(
    grid: Grid, index: NDArray[np.int64], offset: tuple[float, ...] | list[float]
) -> NDArray[np.float64]:
    """Return the positions of samples [m], shape [n, 3]."""
    positions = np.zeros((len(index), 3))
    for d in range(grid.dim):
        a = grid.x_axis + d
        positions[:, d] = grid.origin[d] + grid.spacing * (index[:, a] + offset[a])
    return positions
