"""Rigid bodies in a liquid, solved monolithically with the pressure (Batty, Bertails and Bridson 2007).

A body under pressure q gets the velocity V = V0 - c W J^T q, with its inverse mass W (6 x 6) and the rows J of the
cells at its walls: the inflow of each cell per unit of body velocity. With this V at the walls the pressure equations
become (L + c J W J^T) q = b + J V0, still symmetric and positive definite. The coupling is stable for bodies of any
density.

The pressure is sampled at cell centres, and walls are up to a cell away from these. The weight of the liquid in between
is added as a hydrostatic correction: without it a box would float half a cell too high or too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.geometry import Shape
from continua.grid_fluids.geometry.cut_cells import CutCells
from continua.grid_fluids.geometry.obstacles import Obstacle
from continua.grid_fluids.interface import GridFlow
from continua.grid_fluids.pressure.wall_forces import sample_positions, viscous_forces, wall_cells

__all__ = [
    "FloatingBodies",
    "FloatingBody",
    "RigidPressureTerm",
    "apply_viscous_drag",
    "hydrostatic_correction",
]

_MAX_DRAG_RATIO = 1.5  # viscous drag rate times dt above which the drag is limited, for stability


@dataclass(eq=False)
class FloatingBody:
    """A free rigid body during one sub-step.

    Attributes:
        shape: Its shape among the obstacles of the flow.
        center: Centre of mass [m].
        inverse_mass: Inverse mass matrix of velocity and angular velocity in world axes, shape [6, 6].
        depth: Extent along z [m] in a plane flow, else 1.
        hydrostatic_impulse: Receives linear and angular impulse of the hydrostatic correction [N s, N m s], shape [6].
        impulse: Receives those of friction and pressure, likewise.
    """

    shape: Shape
    center: NDArray[np.float64]
    inverse_mass: NDArray[np.float64]
    depth: float = 1.0
    hydrostatic_impulse: NDArray[np.float64] = field(default_factory=lambda: np.zeros(6))
    impulse: NDArray[np.float64] = field(default_factory=lambda: np.zeros(6))


class FloatingBodies(Protocol):
    """The rigid bodies in a liquid, and their motion during its sub-steps."""

    def begin_substep(self, dt: float) -> Sequence[FloatingBody]:
        """Return the bodies for a sub-step of `dt` [s]."""

    def predict(self) -> None:
        """Predict their velocities without the pressure, but with the hydrostatic correction."""

    def correct(self) -> None:
        """Correct their velocities by the impulses they received."""


@dataclass(eq=False)
class _Walls:
    """The walls of a body: flat indices of cells, their rows J [n, 6], and c W."""

    body: FloatingBody
    cells: NDArray[np.int64]
    rows: NDArray[np.float64]
    scaled_inverse_mass: NDArray[np.float64]
    mass: float


class RigidPressureTerm:
    """The term c J W J^T that rigid bodies add to the pressure equations in a box of cells.

    Args:
        cut_cells: The cut cells, with the bodies among their obstacles.
        density: Density of the liquid [kg/m3].
        bodies: The bodies.
        liquid: Mask of liquid cells.
        box: The range of cells of the equations.
    """

    def __init__(
        self,
        cut_cells: CutCells,
        density: float,
        bodies: Sequence[FloatingBody],
        liquid: NDArray[np.bool_],
        box: tuple[slice, ...],
    ) -> None:
        grid = cut_cells.grid
        obstacles = {id(obstacle.shape): obstacle for obstacle in cut_cells.obstacles}
        low = np.array([s.start for s in box])
        shape = [s.stop - s.start for s in box]
        self._walls: list[_Walls] = []
        for body in bodies:
            obstacle = obstacles.get(id(body.shape))
            if obstacle is None:
                continue
            index, rows = _inflow_rows(cut_cells, obstacle, body.center)
            keep = liquid[tuple(index.T)]
            if not keep.any():
                continue
            cells = np.ravel_multi_index(tuple((index[keep] - low).T), shape)
            mass = density * grid.spacing**grid.dim * body.depth
            self._walls.append(_Walls(body, cells, rows[keep], mass * body.inverse_mass, mass))

    def __bool__(self) -> bool:
        return bool(self._walls)

    def add_product(self, x: NDArray, y: NDArray) -> float:
        """Add c J W J^T x to y; return the dot product of x with it."""
        total = 0.0
        flat, out = x.reshape(-1), y.reshape(-1)
        for walls in self._walls:
            moment = np.einsum("ij,i->j", walls.rows, flat[walls.cells].astype(np.float64))
            velocity = walls.scaled_inverse_mass @ moment
            np.add.at(out, walls.cells, np.einsum("ij,j->i", walls.rows, velocity).astype(out.dtype))
            total += float(moment @ velocity)
        return total

    def apply_impulses(self, q: NDArray[np.float64]) -> None:
        """Add the impulses of the pressure q to the bodies."""
        flat = q.reshape(-1)
        for walls in self._walls:
            walls.body.impulse[:] += -walls.mass * np.einsum("ij,i->j", walls.rows, flat[walls.cells])


def hydrostatic_correction(
    flow: GridFlow, body: FloatingBody, gravity: NDArray[np.float64], dt: float
) -> None:
    """Set the hydrostatic impulse of a body, from the difference between the pressure at its walls and at cell centres.

    It is the weight of the liquid between them, limited by the pressure of the previous step: in free fall it vanishes.

    Args:
        flow: The flow, with obstacles in place and the pressure of the previous step.
        body: The body.
        gravity: Gravity [m/s2].
        dt: Length of the sub-step [s].
    """
    domain, fields = flow.domain, flow.fields
    body.hydrostatic_impulse[:] = 0.0
    obstacles = [obstacle for obstacle in domain.cut_cells.obstacles if obstacle.shape is body.shape]
    if not obstacles:
        return
    grid = domain.grid
    index, areas = wall_cells(domain.cut_cells, obstacles[0])
    pressure = abs(fields.potential[tuple(index.T)]) * fields.pressure_unit
    liquid = pressure > 0.0
    index, areas, pressure = index[liquid], areas[liquid], pressure[liquid]
    if not len(index):
        return
    centers = sample_positions(grid, index, (0.5, 0.5, 0.5))
    gaps, normals, _ = body.shape.distances_at(centers, domain.obstacle_time, 0.0)
    offset = -np.asarray(gaps)[:, None] * normals
    extra = np.clip(flow.density * np.einsum("ij,j->i", offset, gravity), -pressure, pressure)
    area = grid.spacing ** (grid.dim - 1) * body.depth
    forces = np.roll((area * extra)[:, None] * areas, -grid.x_axis, axis=1)
    body.hydrostatic_impulse[:3] = dt * forces.sum(axis=0)
    body.hydrostatic_impulse[3:] = dt * np.cross(centers + offset - body.center, forces).sum(axis=0)
    if grid.dim == 2:
        body.hydrostatic_impulse[[2, 3, 4]] = 0.0


def apply_viscous_drag(flow: GridFlow, body: FloatingBody, dt: float) -> None:
    """Add the friction of the viscous solve over `dt` [s] to the impulse of a body.

    The viscous solve assumes that the body keeps its velocity. A body that is light compared with its boundary layer
    would overshoot, so the impulse is limited.
    """
    domain = flow.domain
    obstacles = [obstacle for obstacle in domain.cut_cells.obstacles if obstacle.shape is body.shape]
    if flow.viscosity == 0.0 or flow.slip or not obstacles:
        return
    drag = np.zeros(6)
    for positions, forces in viscous_forces(flow, obstacles[0]):
        drag[:3] += forces.sum(axis=0)
        drag[3:] += np.cross(positions - body.center, forces).sum(axis=0)
    area = float(np.linalg.norm(wall_cells(domain.cut_cells, obstacles[0])[1], axis=1).sum())
    area *= domain.grid.spacing ** (domain.grid.dim - 1)
    boundary_layer = (flow.viscosity / flow.density * dt) ** 0.5 + 0.5 * domain.grid.spacing
    rate = flow.viscosity * area / boundary_layer * body.depth * float(body.inverse_mass[0, 0])
    drag *= body.depth * dt * min(1.0, _MAX_DRAG_RATIO / max(rate * dt, 1e-300))
    if domain.grid.dim == 2:
        drag[[2, 3, 4]] = 0.0
    body.impulse += drag


def _inflow_rows(
    cut_cells: CutCells, obstacle: Obstacle, center: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the cells at the walls of an obstacle [n, 3], and their inflow per unit of its velocities [n, 6]."""
    grid = cut_cells.grid
    index, _ = wall_cells(cut_cells, obstacle)
    rows = np.zeros((len(index), 6))
    arms = np.zeros((len(index), 3))
    for d in range(grid.dim):
        axis = grid.x_axis + d
        arms[:, d] = grid.origin[d] + grid.spacing * (index[:, axis] + 0.5) - center[d]
    if grid.dim == 2:
        arms[:, 2] = 0.0
    for d in range(grid.dim):
        axis = grid.x_axis + d
        direction = np.eye(3)[d]
        for end, sign in ((0, 1.0), (1, -1.0)):
            at = index + end * (np.arange(3) == axis)
            closed = sign * (1.0 - cut_cells.face_fractions[axis][tuple(at.T)].astype(np.float64))
            rows[:, d] += closed
            rows[:, 3:] += closed[:, None] * np.cross(
                arms + (end - 0.5) * grid.spacing * direction, direction
            )
    if grid.dim == 2:
        rows[:, [2, 3, 4]] = 0.0
    return index, rows
