"""Bodies that float in a liquid: they and the pressure are found together.

A body under pressure q takes on the velocity V = V0 - c W J^T q, with its inverse mass W (6 x 6) and the rows J of the
cells at its walls: what a unit of its velocity lets flow into each. As it flows in with V, the equations of pressure
become (L + c J W J^T) q = b + J V0, still symmetric and positive (Batty, Bertails and Bridson 2007). However light a
body is, it and the liquid then move as one, without steps in which one waits for the other.

The pressure is that in the middles of cells, and walls are up to a cell away from these. The weight of the liquid in
between is added as a force of its own: else a box would float half a cell too high or too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.eulerian.flow import Flow
from continua.eulerian.obstacles import Obstacle
from continua.eulerian.wall_forces import friction_on, middles_of, walls_of
from continua.geometry import Shape

__all__ = ["Added", "Rider", "Riders", "lift", "rub"]

_STICKS = (
    1.5  # mass of the liquid that sticks to a body in a step, over its own, from which on friction is less
)


@dataclass(eq=False)
class Rider:
    """A body that is free to move, for one sub-step.

    Attributes:
        shape: Its shape among the obstacles of the flow.
        center: Its centre of mass [m].
        inverse: Its inverse mass, of velocity and angular velocity in world axes, shape [6, 6].
        depth: How deep it is [m], for a flow in a plane; else 1.
        lift: Receives impulse and moment by the weight of liquid between walls and middles of cells [N s, N m s], [6].
        impulse: Receives those of friction and pressure, likewise.
    """

    shape: Shape
    center: NDArray[np.float64]
    inverse: NDArray[np.float64]
    depth: float = 1.0
    lift: NDArray[np.float64] = field(default_factory=lambda: np.zeros(6))
    impulse: NDArray[np.float64] = field(default_factory=lambda: np.zeros(6))


class Riders(Protocol):
    """The bodies that float in a liquid, and how they go on."""

    def set_out(self, dt: float) -> Sequence[Rider]:
        """Return the bodies for a sub-step of `dt` [s]."""

    def depart(self) -> None:
        """Let them go on as if there were no pressure, but what lifts them."""

    def arrive(self) -> None:
        """Let them go on with the impulses they received."""


@dataclass(eq=False)
class _Walls:
    """A body at its walls: the cells in flat order, their rows J [n, 6], and c W."""

    rider: Rider
    cells: NDArray[np.int64]
    rows: NDArray[np.float64]
    pull: NDArray[np.float64]
    mass: float


class Added:
    """What bodies add to the equations of pressure in a part of the grid.

    Args:
        flow: The flow; its obstacles are where the walls are.
        riders: The bodies.
        wet: Which cells are liquid.
        box: The part of the grid that the equations are made for.
    """

    def __init__(
        self, flow: Flow, riders: Sequence[Rider], wet: NDArray[np.bool_], box: tuple[slice, ...]
    ) -> None:
        obstacles = {id(obstacle.shape): obstacle for obstacle in flow.cut.obstacles}
        low = np.array([s.start for s in box])
        shape = [s.stop - s.start for s in box]
        self._walls: list[_Walls] = []
        for rider in riders:
            obstacle = obstacles.get(id(rider.shape))
            if obstacle is None:
                continue
            index, rows = _rows(flow, obstacle, rider.center)
            keep = wet[tuple(index.T)]
            if not keep.any():
                continue
            cells = np.ravel_multi_index(tuple((index[keep] - low).T), shape)
            mass = flow.density * flow.grid.spacing**flow.grid.dim * rider.depth
            self._walls.append(_Walls(rider, cells, rows[keep], mass * rider.inverse, mass))

    def __bool__(self) -> bool:
        return bool(self._walls)

    def add(self, x: NDArray, y: NDArray) -> float:
        """Add c J W J^T x to y; return x times that."""
        total = 0.0
        flat, out = x.reshape(-1), y.reshape(-1)
        for walls in self._walls:
            flow = np.einsum("ij,i->j", walls.rows, flat[walls.cells].astype(np.float64))
            pull = walls.pull @ flow
            np.add.at(out, walls.cells, np.einsum("ij,j->i", walls.rows, pull).astype(out.dtype))
            total += float(flow @ pull)
        return total

    def push(self, q: NDArray[np.float64]) -> None:
        """Add the impulses of the pressure q to those of the bodies."""
        flat = q.reshape(-1)
        for walls in self._walls:
            walls.rider.impulse[:] += -walls.mass * np.einsum("ij,i->j", walls.rows, flat[walls.cells])


def lift(flow: Flow, rider: Rider, gravity: NDArray[np.float64], dt: float) -> None:
    """Set the lift of a body: what the pressure at its walls differs from that in the middles of cells.

    It differs by the weight of the liquid between them, but never by more than the pressure of the step before: in
    liquid that falls freely there is none.

    Args:
        flow: The flow, with obstacles in place and the pressure of the step before.
        rider: The body.
        gravity: Gravity [m/s2].
        dt: Length of the sub-step [s].
    """
    rider.lift[:] = 0.0
    obstacles = [obstacle for obstacle in flow.cut.obstacles if obstacle.shape is rider.shape]
    if not obstacles:
        return
    grid = flow.grid
    index, areas = walls_of(flow, obstacles[0])
    pressure = abs(flow.potential[tuple(index.T)]) * flow.pressure_unit
    wet = pressure > 0.0
    index, areas, pressure = index[wet], areas[wet], pressure[wet]
    if not len(index):
        return
    middles = middles_of(flow, index, (0.5, 0.5, 0.5))
    gaps, normals, _ = rider.shape.distances_at(middles, flow.placed, 0.0)
    way = -np.asarray(gaps)[:, None] * normals
    more = np.clip(flow.density * np.einsum("ij,j->i", way, gravity), -pressure, pressure)
    area = grid.spacing ** (grid.dim - 1) * rider.depth
    forces = np.roll((area * more)[:, None] * areas, -grid.first, axis=1)
    rider.lift[:3] = dt * forces.sum(axis=0)
    rider.lift[3:] = dt * np.cross(middles + way - rider.center, forces).sum(axis=0)
    if grid.dim == 2:
        rider.lift[[2, 3, 4]] = 0.0


def rub(flow: Flow, rider: Rider, dt: float) -> None:
    """Add the friction of the viscous solve over `dt` [s] to the impulse of a body.

    It was found for a body that keeps its velocity. A body that is light against the liquid that sticks to it in the
    step would overshoot, so never more is given than that, about.
    """
    obstacles = [obstacle for obstacle in flow.cut.obstacles if obstacle.shape is rider.shape]
    if flow.viscosity == 0.0 or flow.slip or not obstacles:
        return
    push = np.zeros(6)
    for places, forces in friction_on(flow, obstacles[0]):
        push[:3] += forces.sum(axis=0)
        push[3:] += np.cross(places - rider.center, forces).sum(axis=0)
    area = float(np.linalg.norm(walls_of(flow, obstacles[0])[1], axis=1).sum())
    area *= flow.grid.spacing ** (flow.grid.dim - 1)
    layer = (flow.viscosity / flow.density * dt) ** 0.5 + 0.5 * flow.grid.spacing
    rate = flow.viscosity * area / layer * rider.depth * float(rider.inverse[0, 0])
    push *= rider.depth * dt * min(1.0, _STICKS / max(rate * dt, 1e-300))
    if flow.grid.dim == 2:
        push[[2, 3, 4]] = 0.0
    rider.impulse += push


def _rows(
    flow: Flow, obstacle: Obstacle, center: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the cells at the walls of an obstacle [n, 3], and what its velocities let flow into them [n, 6]."""
    grid = flow.grid
    index, _ = walls_of(flow, obstacle)
    rows = np.zeros((len(index), 6))
    arms = np.zeros((len(index), 3))
    for d in range(grid.dim):
        axis = grid.first + d
        arms[:, d] = grid.origin[d] + grid.spacing * (index[:, axis] + 0.5) - center[d]
    if grid.dim == 2:
        arms[:, 2] = 0.0
    for d in range(grid.dim):
        axis = grid.first + d
        way = np.eye(3)[d]
        for end, sign in ((0, 1.0), (1, -1.0)):
            at = index + end * (np.arange(3) == axis)
            shut = sign * (1.0 - flow.cut.parts[axis][tuple(at.T)].astype(np.float64))
            rows[:, d] += shut
            rows[:, 3:] += shut[:, None] * np.cross(arms + (end - 0.5) * grid.spacing * way, way)
    if grid.dim == 2:
        rows[:, [2, 3, 4]] = 0.0
    return index, rows
