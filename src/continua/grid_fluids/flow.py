"""An incompressible flow that fills its domain: composition of fields, advection, viscosity and projection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.grid_fluids.advection.advection import Advection
from continua.grid_fluids.advection.cfl import cfl_substeps
from continua.grid_fluids.advection.field_advection import FieldAdvection
from continua.grid_fluids.advection.transport import Transport
from continua.grid_fluids.fields import StaggeredFields
from continua.grid_fluids.geometry.cut_cells import Window
from continua.grid_fluids.geometry.domain import FlowDomain
from continua.grid_fluids.geometry.domain_boundary import SideSpec
from continua.grid_fluids.geometry.grid import Grid
from continua.grid_fluids.interface import SubstepReport
from continua.grid_fluids.pressure.multigrid import MultigridReport
from continua.grid_fluids.pressure.projection import CutCellProjection
from continua.grid_fluids.viscosity import Viscosity
from continua.numerics.timers import timed
from continua.validation import state_arrays

__all__ = ["Flow"]


class Flow:
    """An incompressible fluid that fills a staggered grid with cut cells.

    A step advects the velocity, adds forces, diffuses momentum by viscosity, subtracts the pressure gradient that makes
    the velocity divergence-free, and moves the scalars with that velocity.

    Args:
        grid: The grid.
        sides: Boundary conditions by side: "slip", "no-slip", "open", or a velocity [m/s]; "slip" by default.
        obstacles: Shapes or closed meshes in the flow.
        density: Density [kg/m3].
        viscosity: Dynamic viscosity [Pa s].
        advection: The advection scheme.
        slip: Whether obstacles are free-slip; by default they are if the fluid has no viscosity.
        rtol: Tolerance of the pressure solve, relative to the divergence before.
        smoothing: Multigrid sweeps before and after each coarse correction.
        dtype: `numpy.float32` or `numpy.float64`.
        voxels: Close whole cells instead of cutting them, for comparison.
        trapezoidal: Whether viscosity and pressure act half before and half after advection, which is second order
            for a steady flow; by default they do if there is viscosity.

    Attributes:
        domain: Grid, boundary conditions and obstacles.
        fields: Velocity, scalars and pressure.
        advection: Advection of the velocity.
        transport: Transport of the scalars.
        projection: The pressure operator.
        viscous_solver: The viscous solver of the last step, or None without viscosity.
        half_step_increment: Velocity increment by viscosity and pressure in half a step, if `trapezoidal` [m/s].
        half_step_dt: The step it belongs to [s].
    """

    def __init__(
        self,
        grid: Grid,
        sides: Mapping[str, SideSpec] | None = None,
        obstacles: Iterable[Any] = (),
        *,
        density: float = 1.2,
        viscosity: float = 0.0,
        advection: Advection | None = None,
        slip: bool | None = None,
        rtol: float = 1e-4,
        smoothing: int = 2,
        dtype: Any = np.float32,
        voxels: bool = False,
        trapezoidal: bool | None = None,
    ) -> None:
        self.density, self.viscosity = density, viscosity
        self.slip = viscosity == 0.0 if slip is None else slip
        self.trapezoidal = viscosity > 0.0 if trapezoidal is None else trapezoidal
        self.domain = FlowDomain(grid, sides, obstacles, dtype, voxels=voxels)
        self.fields = StaggeredFields(grid, dtype)
        self.advection = FieldAdvection(
            self.domain, Advection() if advection is None else advection, slip=self.slip
        )
        self.transport = Transport(self.domain, self.fields.dtype)
        self.projection = CutCellProjection(self.domain, dtype, rtol=rtol, smoothing=smoothing)
        self.viscous_solver: Viscosity | None = None
        self.half_step_increment: list[NDArray] = []
        self.half_step_dt = 0.0
        self._update_operators((np.zeros(3, np.int64), np.array(grid.shape)))
        if names := self.projection.blocked_inlets():
            raise InputError(
                f"an obstacle blocks the side {' and '.join(names)} from every open side, so its inflow or outflow is "
                "impossible; leave a gap between them"
            )
        self.domain.apply_boundary_conditions(self.fields.velocity)

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self.domain.grid

    # obstacles

    def change_obstacles(self, obstacles: Sequence[Any], time: float = 0.0) -> None:
        """Replace the obstacles of the running flow."""
        window = self.domain.cut_cells.replace(obstacles, time)
        if window is not None:
            self._update_operators(window)
        self.transport.forget_volumes()

    @timed("cut cells")
    def _place_obstacles(self, time: float) -> None:
        window = self.domain.place_obstacles(time)
        if window is not None:
            self._update_operators(window)

    def _update_operators(self, window: Window) -> None:
        """Update all operators after the cut cells changed in `window`."""
        self.projection.update(window)
        self.advection.update(window)
        self.transport.update(window)
        self.viscous_solver = None

    # stages of a step

    @timed("viscosity")
    def diffuse(self, dt: float) -> list[MultigridReport]:
        """Diffuse momentum by viscosity over `dt` [s]."""
        if self.viscosity == 0.0:
            return []
        number = self.viscosity / self.density * dt / self.grid.spacing**2
        if self.viscous_solver is None or self.viscous_solver.number != number:
            self.viscous_solver = Viscosity(self.domain.cut_cells, self.domain.sides, number, slip=self.slip)
        return self.viscous_solver.solve(self.fields.velocity)

    def project(self, dt: float, wall_velocity: Sequence[NDArray] | None = None) -> MultigridReport:
        """Subtract the pressure gradient over `dt` [s] that makes the velocity divergence-free."""
        return self.projection.project(self.fields, dt, self.density, wall_velocity)

    def step(
        self, dt: float, time: float = 0.0, forces: Callable[[float], None] | None = None
    ) -> SubstepReport:
        """Advance by `dt` [s] in one step; `forces(dt)` may change the velocity after advection."""
        domain, fields = self.domain, self.fields
        if not domain.is_placed(time):
            self._place_obstacles(time)
        if domain.has_moving_obstacles and fields.scalars:
            self.transport.begin_step()
        wall_velocity = domain.wall_velocity(time, dt)
        self.advection.extrapolate(fields, wall_velocity)
        s = dt / self.grid.spacing
        self.advection.advect(fields, s, self._scaled_increment(s * self.grid.spacing))
        if domain.has_moving_obstacles:
            self._place_obstacles(time + dt)
        if forces is not None:
            forces(dt)
        before = [u.copy() for u in fields.velocity] if self.trapezoidal else []
        duration = 0.5 * dt if self.half_step_increment else dt
        viscous = self.diffuse(duration)
        pressure = self.project(duration, wall_velocity)
        if self.trapezoidal:
            self._store_half_step(before, dt)
        self.transport.advect(fields.scalars, fields.velocity, s, self.projection.solver)
        return SubstepReport(dt, pressure, viscous)

    def _scaled_increment(self, dt: float) -> list[NDArray]:
        """Return the increment of half a step of `dt` [s], or nothing."""
        if not self.half_step_increment:
            return []
        factor = self.fields.dtype.type(dt / self.half_step_dt)
        return [factor * m for m in self.half_step_increment]

    def _store_half_step(self, before: Sequence[NDArray], dt: float) -> None:
        """Store the half-step increment by viscosity and pressure, averaged with the last to damp oscillations."""
        done = [u - old for u, old in zip(self.fields.velocity, before, strict=True)]
        half = self.fields.dtype.type(0.5)
        if self.half_step_increment:
            last = self._scaled_increment(dt)
            self.half_step_increment = [half * (m + d) for m, d in zip(last, done, strict=True)]
        else:
            self.half_step_increment = [half * d for d in done]
        self.half_step_dt = dt

    def amount(self, name: str) -> float:
        """Return the integral of a scalar over the open volume [m3 times its unit]; per metre of depth in a plane."""
        held = self.fields.scalars[name].astype(np.float64) * self.transport.volume
        return float(held.sum()) * self.grid.spacing**self.grid.dim

    def substep_count(self, dt: float, cfl: float) -> int:
        """Return the number of sub-steps in which the fastest fluid moves at most `cfl` cells each."""
        return cfl_substeps(self.fields.max_speed(), dt, cfl, self.grid.spacing)

    def warnings(self) -> list[str]:
        """Return warnings about the last step."""
        found = [
            f"obstacles block the side {name}: its inflow or outflow is impossible"
            for name in self.projection.blocked_inlets()
        ]
        if self.projection.compressed_region:
            found.append(
                "moving obstacles change the volume of a region without an open side, which is impossible for an "
                "incompressible fluid; make a side of the grid 'open'"
            )
        return found

    def summary(self) -> dict[str, int | str]:
        """Return the advection scheme."""
        return {"advection": self.advection.scheme.scheme}

    # state

    def state_shapes(self) -> dict[str, tuple[int | None, ...]]:
        """Return the shapes of the arrays that a state must have, by key."""
        shapes = self.fields.state_shapes()
        if self.domain.has_moving_obstacles and self.fields.scalars:
            shapes["open_volume"] = self.grid.shape
        return shapes

    def state(self) -> dict[str, NDArray]:
        """Return everything that a bitwise identical restart needs."""
        state = self.fields.state()
        if self.domain.has_moving_obstacles and self.fields.scalars:
            state["open_volume"] = self.transport.held_volume()
        if self.trapezoidal:
            axes = self.grid.axes
            state |= {
                f"half_step_increment{a}": q.copy()
                for a, q in enumerate(self.half_step_increment)
                if a in axes
            }
            state["half_step_dt"] = np.array([self.half_step_dt])
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`."""
        half_step: dict[str, NDArray] = {}
        if f"half_step_increment{self.grid.x_axis}" in state:
            shapes = {f"half_step_increment{a}": self.fields.velocity[a].shape for a in self.grid.axes}
            half_step = state_arrays(state, {**shapes, "half_step_dt": None}, "a flow")
        self.fields.restore(state)
        self.half_step_increment, self.half_step_dt = [], 0.0
        if half_step:
            self.half_step_increment = [np.zeros_like(u) for u in self.fields.velocity]
            for axis in self.grid.axes:
                self.half_step_increment[axis][:] = half_step[f"half_step_increment{axis}"]
            self.half_step_dt = float(half_step["half_step_dt"].reshape(-1)[0])
        self.transport.restore_volume(state.get("open_volume"))
        self.domain.invalidate_obstacles()

    def reset(self) -> None:
        """Set all fields to zero, and apply the boundary conditions."""
        self.fields.clear()
        self.half_step_increment, self.half_step_dt = [], 0.0
        self.transport.forget_volumes()
        self.domain.invalidate_obstacles()
        self.domain.apply_boundary_conditions(self.fields.velocity)
