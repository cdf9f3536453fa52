"""The domain of a flow: the grid, its boundary conditions, and the obstacles inside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.geometry.cut_cells import CutCells, Window
from continua.grid_fluids.geometry.domain_boundary import (
    DomainSide,
    SideSpec,
    check_flux_balance,
    make_sides,
)
from continua.grid_fluids.geometry.grid import Grid

__all__ = ["FlowDomain"]


class FlowDomain:
    """The domain of a flow: grid, sides, and cut cells around obstacles that may move.

    Args:
        grid: The grid.
        sides: Boundary conditions by side: "slip", "no-slip", "open", or a velocity [m/s]; "slip" by default.
        obstacles: Shapes or closed meshes in the flow.
        dtype: `numpy.float32` or `numpy.float64`.
        voxels: Close whole cells instead of cutting them, for comparison.

    Attributes:
        grid: The grid.
        sides: The sides of the grid.
        cut_cells: The cut cells.
    """

    def __init__(
        self,
        grid: Grid,
        sides: Mapping[str, SideSpec] | None,
        obstacles: Iterable[Any],
        dtype: Any,
        *,
        voxels: bool = False,
    ) -> None:
        self.grid = grid
        self.cut_cells = CutCells(grid, obstacles, dtype, voxels=voxels)
        self.sides: tuple[DomainSide, ...] = make_sides(grid, {} if sides is None else sides)
        check_flux_balance(self.sides, self.cut_cells.face_fractions)
        self._obstacle_time: float | None = None

    @property
    def has_moving_obstacles(self) -> bool:
        """Whether any obstacle moves."""
        return self.cut_cells.has_moving_obstacles

    @property
    def obstacle_time(self) -> float:
        """The time for which moving obstacles were placed last [s]."""
        return 0.0 if self._obstacle_time is None else self._obstacle_time

    def is_placed(self, time: float) -> bool:
        """Return whether obstacles are placed for `time` [s]."""
        return not self.has_moving_obstacles or self._obstacle_time == time

    def place_obstacles(self, time: float) -> Window | None:
        """Place moving obstacles for `time` [s]; return the cells that may have changed."""
        if not self.has_moving_obstacles:
            return None
        window = self.cut_cells.update(time)
        self._obstacle_time = time
        return window

    def invalidate_obstacles(self) -> None:
        """Have moving obstacles placed again at the next step."""
        self._obstacle_time = None

    def wall_velocity(self, time: float, dt: float) -> list[NDArray]:
        """Return the mean velocity of moving obstacles over `dt` [s] on all faces [m/s]; empty arrays if none moves."""
        if not self.has_moving_obstacles:
            return self.no_wall_velocity()
        return self.cut_cells.wall_velocity(time, dt)

    def no_wall_velocity(self) -> list[NDArray]:
        """Return empty arrays, which stand for walls at rest."""
        return [np.zeros((0, 0, 0), self.cut_cells.dtype)] * 3

    def apply_boundary_conditions(self, velocity: Sequence[NDArray]) -> None:
        """Set the normal velocity at walls and inlets of the domain."""
        for side in self.sides:
            if side.kind != "open":
                value = side.velocity[side.axis] if side.kind == "velocity" else 0.0
                velocity[side.axis][side.layer()] = value
