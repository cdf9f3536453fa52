"""A wind tunnel: a uniform wind from the left, obstacles, and streaks of smoke that show the flow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from continua.grid_fluids.advection.advection import Advection
from continua.grid_fluids.bodies.grid_fluid import (
    GridFluid,
    check_positive,
    check_slip,
    flow_options,
)
from continua.grid_fluids.flow import Flow
from continua.grid_fluids.geometry.grid import make_grid
from continua.validation import choice, whole_number

__all__ = ["WindTunnel"]


class WindTunnel(GridFluid):
    """A uniform wind along x around obstacles, in a plane or in space.

    Air enters at the left with `speed` and leaves at the open right side; the other sides are walls.

    Args:
        size: Lengths along x, y (and z) [m].
        cells: Number of cells along x, y (and z); they must be squares or cubes.
        obstacles: Shapes or closed meshes in the wind; shapes may move. Assign `obstacles` to change them during a run.
        speed: Speed of the wind [m/s].
        density: Density of the air [kg/m3].
        viscosity: Dynamic viscosity [Pa s].
        slip: Whether obstacles are free-slip; by default they are if the air has no viscosity.
        walls: Boundary condition of the sides along the wind: "slip" or "no-slip".
        streaks: Number of streaks of smoke across the inlet.
        origin: Corner with the smallest coordinates [m]; zeros by default.
        scheme: Advection of the velocity: "maccormack", "bfecc" or "semi-lagrangian".
        rtol: Relative tolerance of the pressure solve.
        cfl: Largest number of cells the fastest air moves in a sub-step.
        precision: "single" or "double".
        color: RGB in 0..1 for plain pictures.
        name: Name of the body.
    """

    flow: Flow

    def __init__(
        self,
        size: Sequence[float] = (4.0, 2.0),
        cells: Sequence[int] = (256, 128),
        *,
        obstacles: Iterable[Any] = (),
        speed: float = 1.0,
        density: float = 1.2,
        viscosity: float = 0.0,
        slip: bool | None = None,
        walls: str = "slip",
        streaks: int = 0,
        origin: Sequence[float] | None = None,
        scheme: str = "maccormack",
        rtol: float = 2e-4,
        cfl: float = 1.0,
        precision: str = "single",
        color: tuple[float, float, float] | None = None,
        name: str = "",
    ) -> None:
        self.speed = check_positive(speed, "speed")
        grid = make_grid(size, cells, origin, what="wind tunnel")
        choice(walls, "the walls of a wind tunnel", ("slip", "no-slip"))
        along = dict.fromkeys(("bottom", "top", "back", "front")[: 2 * (grid.dim - 1)], walls)
        flow = Flow(
            grid,
            {"left": (self.speed, 0.0, 0.0), "right": "open", **along},
            obstacles,
            advection=Advection(scheme),
            slip=check_slip(slip),
            **flow_options(density=density, viscosity=viscosity, rtol=rtol, precision=precision),
        )
        super().__init__(flow, cfl=cfl, color=color, name=name)
        self.streaks = whole_number(streaks, "the number of streaks of a wind tunnel", low=0, high=10_000)
        if self.streaks:
            self.flow.fields.scalars["smoke"] = np.zeros(grid.shape, self.flow.fields.dtype)
            rows = (np.arange(grid.cells[1]) + 0.5) / grid.cells[1] * self.streaks
            self._streak_mask = np.abs(rows - np.floor(rows) - 0.5) < 0.17
        self.initialise()

    @property
    def reynolds(self) -> float:
        """Reynolds number of a length of 1 m; infinite without viscosity."""
        if self.flow.viscosity == 0.0:
            return float("inf")
        return self.flow.density * self.speed / self.flow.viscosity

    def initialise(self) -> None:
        """Set the uniform wind, projected to flow around the obstacles."""
        flow = self.flow
        flow.fields.velocity[self.grid.x_axis][:] = self.speed
        flow.domain.apply_boundary_conditions(flow.fields.velocity)
        flow.project(self.grid.spacing / self.speed)
        self._inject_streaks()

    def _inject_streaks(self) -> None:
        if self.streaks:
            first = [slice(None)] * 3
            first[self.grid.x_axis] = slice(0, 2)
            inlet = self.flow.fields.scalars["smoke"][tuple(first)]
            inlet[:] = self._streak_mask.reshape([-1 if a == self.grid.x_axis + 1 else 1 for a in range(3)])

    def apply_sources(self, dt: float) -> None:
        """Inject smoke at the inlet."""
        self._inject_streaks()

    def coefficients(self, width: float) -> tuple[float, float]:
        """Return drag and lift coefficients of all obstacles, for their `width` across the wind [m] (or area [m2])."""
        scale = 0.5 * self.flow.density * self.speed**2 * check_positive(width, "width")
        drag, lift, _ = self.force()
        return drag / scale, lift / scale
