"""The common base of all grid fluids as bodies of a world."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.contact import Shape
from continua.errors import DivergedError, InputError
from continua.frames import BodyFields, BodyFrame, Field, StepReport, Volume, frozen
from continua.grid_fluids.advection.advection import Advection
from continua.grid_fluids.bodies.slice_mesh import SliceMesh
from continua.grid_fluids.flow import Flow, SubstepReport
from continua.grid_fluids.geometry.domain_boundary import SideSpec
from continua.grid_fluids.geometry.grid import Grid
from continua.grid_fluids.geometry.obstacles import as_obstacle
from continua.surroundings import Surroundings
from continua.values import isfinite

__all__ = ["GridFluid", "ObstacleForces"]

_UNITS = {"velocity": "m/s", "pressure": "Pa", "vorticity": "1/s", "smoke": "1", "temperature": "K"}


class ObstacleForces(Protocol):
    """Forces of a fluid on the bodies of the world among its obstacles."""

    def begin_step(self, dt: float) -> None:
        """Begin a step of `dt` [s]."""

    def accumulate(self, duration: float, dt: float) -> None:
        """Accumulate the impulses of a sub-step of `duration` [s] in a step of `dt` [s]."""

    def apply(self, dt: float) -> None:
        """Apply the forces to the bodies for a step of `dt` [s]."""

    def clear(self) -> None:
        """Clear all state that is kept between steps."""

    def state(self) -> dict[str, NDArray]:
        """Return the state that is kept between steps."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state."""


class GridFluid:
    """A fluid on a grid as a body of a world: the base of `Smoke`, `Liquid` and `WindTunnel`.

    Attributes:
        flow: Velocity and pressure on the grid, and their time step.
        substeps: Reports of the sub-steps of the last step.
        obstacle_forces: Forces on bodies of the world among the obstacles, or None.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        sides: Mapping[str, SideSpec],
        obstacles: Iterable[Any],
        density: float,
        viscosity: float,
        scheme: str,
        rtol: float,
        cfl: float,
        precision: str,
        color: tuple[float, float, float] | None,
        name: str,
        slip: bool | None = None,
        make_flow: Callable[..., Any] = Flow,
    ) -> None:
        if precision not in ("single", "double"):
            raise InputError(f"a grid fluid's precision is 'single' or 'double', not '{precision}'")
        if slip not in (None, True, False):
            raise InputError(f"a grid fluid's slip is True, False or None, not {slip!r}")
        self.name, self.color = name, color
        self.cfl = check_positive(cfl, "cfl")
        self.flow: Any = make_flow(
            grid,
            sides,
            obstacles,
            density=check_positive(density, "density"),
            viscosity=check_nonnegative(viscosity, "viscosity"),
            advection=Advection(scheme),
            rtol=check_positive(rtol, "rtol"),
            dtype=np.float32 if precision == "single" else np.float64,
            slip=slip,
        )
        self.substeps: list[SubstepReport] = []
        self._world_obstacles: tuple[Shape, ...] = ()
        self.obstacle_forces: ObstacleForces | None = None
        self._slice = SliceMesh(grid)
        self._surroundings = Surroundings()
        self.notes: tuple[str, ...] = tuple(
            f"the obstacle '{o.shape.name or o.shape.kind}' was thickened, it has walls thinner than a cell"
            for o in self.flow.cut_cells.obstacles
            if o.thickened
        )

    # hooks of the kinds of fluid

    def initialise(self) -> None:
        """Set the initial velocity and scalars."""

    def apply_sources(self, dt: float) -> None:
        """Apply forces and sources to the flow after advection over `dt` [s]."""

    # the body interface

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self.flow.grid

    @property
    def obstacles(self) -> tuple[Shape, ...]:
        """Its own obstacles, without rigid bodies and colliders of the world; assign to change them."""
        shapes = (obstacle.shape for obstacle in self.flow.cut_cells.obstacles)
        return tuple(
            shape for shape in shapes if not any(shape is obstacle for obstacle in self._world_obstacles)
        )

    @obstacles.setter
    def obstacles(self, shapes: Sequence[Any]) -> None:
        self.flow.change_obstacles((*shapes, *self._world_obstacles), self._surroundings.time)

    def set_world_obstacles(self, shapes: Sequence[Shape]) -> None:
        """Add rigid bodies and colliders of the world as obstacles; those at rest outside of the grid are left out."""
        own_obstacles, kept = self.obstacles, []
        for shape in shapes:
            obstacle = as_obstacle(shape, self.grid)
            obstacle.place(0.0)
            if obstacle.is_moving or obstacle.contains_corner:
                kept.append(shape)
        self._world_obstacles = tuple(kept)
        self.flow.change_obstacles((*own_obstacles, *kept), self._surroundings.time)
        if kept and not self.substeps:
            self.initialise()

    @property
    def node_count(self) -> int:
        """Number of cells."""
        return self.grid.cell_count

    @property
    def mass_total(self) -> float:
        """Mass of the fluid [kg]; a plane grid is taken one metre deep."""
        volume = float((~self.flow.solid_cells).sum()) * self.grid.spacing**self.grid.dim
        return self.flow.density * volume

    @property
    def positions(self) -> NDArray[np.float64]:
        """Corners of the central slice [m], shape [n, 3]."""
        return self._slice.positions.copy()

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """The same corners; they do not move."""
        return self._slice.positions.copy()

    @property
    def triangles(self) -> NDArray[np.int32]:
        """Triangles of the central slice, shape [k, 3]."""
        return self._slice.triangles

    def prepare(self, surroundings: Surroundings) -> None:
        """Attach the fluid to the surroundings of a world."""
        self._surroundings = surroundings

    def step(self, dt: float) -> StepReport:
        """Advance by `dt` [s], in as many sub-steps as the speed of the fluid requires.

        If it fails, DivergedError is raised and the state before the step is restored.
        """
        start, flow = clock.perf_counter(), self.flow
        if self._world_obstacles:
            flow.invalidate_obstacles()  # their positions are set by the world
        before = self.state()
        time = self._surroundings.time
        self.substeps = []
        if self.obstacle_forces is not None:
            self.obstacle_forces.begin_step(dt)
        try:
            done = 0.0
            while done < dt * (1.0 - 1e-9):
                duration = (dt - done) / flow.substep_count(dt - done, self.cfl)
                self.substeps.append(flow.step(duration, time + done, self.apply_sources))
                done += duration
                if self.obstacle_forces is not None:
                    self.obstacle_forces.accumulate(duration, dt)
            flow.substep_count(dt, self.cfl)
            if self.obstacle_forces is not None:
                self.obstacle_forces.apply(dt)
        except DivergedError as error:
            self.restore(before)
            raise DivergedError(
                f"{self.name}: {error}", body=self.name, step=self._surroundings.step
            ) from None
        reports = [substep.pressure for substep in self.substeps]
        messages = [] if all(s.converged for s in reports) else ["the pressure did not reach its tolerance"]
        messages += [
            f"obstacles block the side {name}: its inflow or outflow is impossible"
            for name in flow.blocked_inlets()
        ]
        if flow.compressed_region:
            messages.append(
                "moving obstacles change the volume of a region without an open side, which is impossible for an "
                "incompressible fluid; make a side of the grid 'open'"
            )
        return StepReport(
            body=self.name,
            step=self._surroundings.step,
            time=time,
            dt=dt,
            substeps=len(self.substeps),
            iterations=sum(s.iterations for s in reports),
            residual=max(s.residual for s in reports),
            converged=all(s.converged for s in reports),
            contact_force=self.force(),
            seconds=clock.perf_counter() - start,
            warnings=tuple(messages),
            solver="cut-cell multigrid",
        )

    def force(self) -> tuple[float, float, float]:
        """Return the force of the fluid on all obstacles [N], of the last sub-step; per metre of depth in a plane."""
        return self.flow.wall_force()

    def field(self, name: str) -> NDArray:
        """Return a quantity at cell centres: "velocity", "pressure", "vorticity" or an advected scalar."""
        flow = self.flow
        if name == "velocity":
            return flow.center_velocity()
        if name == "pressure":
            return flow.pressure.astype(flow.dtype)
        if name == "vorticity":
            w = flow.vorticity()
            return w if self.grid.dim == 3 else w[..., 0]
        if name in flow.scalars:
            return flow.scalars[name]
        known = ["velocity", "pressure", "vorticity", *flow.scalars]
        raise InputError(f"the fluid '{self.name}' has no field '{name}'; it has {', '.join(known)}")

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot: the central slice, and all quantities on the grid."""
        grid, slice_mesh, solid = self.grid, self._slice, self.flow.solid_cells
        names = ["velocity", "pressure", "vorticity", *self.flow.scalars]
        on_grid = {name: self.field(name) for name in names}
        on_slice = {
            name: Field(frozen(slice_mesh.values(q, solid)), _UNITS[name]) for name, q in on_grid.items()
        }
        volume_fields = {}
        for name, q in on_grid.items():
            values = np.where(solid if q.ndim == 3 else solid[..., None], 0, q).astype(np.float32)
            if grid.dim == 2:
                values = np.moveaxis(values, 0, 2)
            volume_fields[name] = Field(frozen(values), _UNITS[name])
        low = (*grid.origin, -0.5 * grid.spacing)[:3]
        return BodyFrame(
            name=self.name,
            kind="grid",
            positions=slice_mesh.positions,
            rest_positions=slice_mesh.positions,
            cells={},
            triangles=slice_mesh.triangles,
            fields=BodyFields(on_slice),
            color=self.color,
            energy=self.energy(),
            volume=Volume((low[0], low[1], low[2]), grid.spacing, volume_fields),
        )

    def energy(self) -> dict[str, float]:
        """Return the kinetic energy [J]."""
        v = self.flow.center_velocity().astype(np.float64)
        volume = self.grid.spacing**self.grid.dim
        return {"kinetic": float(0.5 * self.flow.density * volume * (v * v).sum())}

    def state(self) -> dict[str, NDArray]:
        """Return everything that a bitwise identical restart needs."""
        flow = self.flow
        state = {f"velocity{a}": flow.velocity[a].copy() for a in self.grid.axes}
        state |= {f"scalar_{name}": q.copy() for name, q in flow.scalars.items()}
        if flow.trapezoidal:
            state |= {
                f"half_step_increment{a}": q.copy()
                for a, q in enumerate(flow.half_step_increment)
                if a in self.grid.axes
            }
            state["half_step_dt"] = np.array([flow.half_step_dt])
        if self.obstacle_forces is not None:
            state |= {f"obstacle_forces/{key}": value for key, value in self.obstacle_forces.state().items()}
        return state | {"potential": flow.potential.copy(), "pressure_unit": np.array([flow.pressure_unit])}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`; moving obstacles are placed for the time of the world."""
        flow = self.flow
        wanted = [f"velocity{a}" for a in self.grid.axes] + [f"scalar_{name}" for name in flow.scalars]
        for key in (*wanted, "potential", "pressure_unit"):
            if key not in state:
                raise InputError(f"the state of '{self.name}' lacks '{key}'")
        for axis in self.grid.axes:
            flow.velocity[axis][:] = state[f"velocity{axis}"]
        for name in flow.scalars:
            flow.scalars[name] = np.array(state[f"scalar_{name}"], dtype=flow.dtype)
        if self.obstacle_forces is not None:
            start = "obstacle_forces/"
            self.obstacle_forces.restore(
                {k[len(start) :]: v for k, v in state.items() if k.startswith(start)}
            )
        flow.half_step_increment, flow.half_step_dt = [], 0.0
        if f"half_step_increment{self.grid.x_axis}" in state:
            flow.half_step_increment = [np.zeros_like(u) for u in flow.velocity]
            for axis in self.grid.axes:
                flow.half_step_increment[axis][:] = state[f"half_step_increment{axis}"]
            flow.half_step_dt = float(np.asarray(state["half_step_dt"]).reshape(-1)[0])
        flow.potential[:] = state["potential"]
        flow.pressure_unit = float(np.asarray(state["pressure_unit"]).reshape(-1)[0])
        self.substeps = []
        flow.invalidate_obstacles()

    def reset(self) -> None:
        """Return to the initial state."""
        flow = self.flow
        for u in flow.velocity:
            u[:] = 0
        for q in flow.scalars.values():
            q[:] = 0
        flow.potential[:] = 0.0
        flow.pressure_unit = 0.0
        flow.half_step_increment, flow.half_step_dt = [], 0.0
        if self.obstacle_forces is not None:
            self.obstacle_forces.clear()
        self.substeps = []
        flow.invalidate_obstacles()
        flow.apply_boundary_conditions()
        self.initialise()

    def facts(self) -> dict[str, int | str]:
        """Return the number of cells, and the advection scheme."""
        return {"cells": self.node_count, "advection": self.flow.advection.scheme}

    def shape_bytes(self) -> bytes:
        """Return the grid as bytes."""
        numbers = np.array([*self.grid.cells, self.grid.spacing, *self.grid.origin], dtype=np.float64)
        return numbers.tobytes()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {'x'.join(str(n) for n in self.grid.cells)} cells)"


def check_positive(value: float, what: str) -> float:
    """Return a positive number, or raise InputError."""
    if not (isfinite(value) and value > 0.0):
        raise InputError(f"a grid fluid's {what} must be a finite number greater than 0, not {value}")
    return float(value)


def check_nonnegative(value: float, what: str) -> float:
    """Return a non-negative number, or raise InputError."""
    if not (isfinite(value) and value >= 0.0):
        raise InputError(f"a grid fluid's {what} must be a finite number of at least 0, not {value}")
    return float(value)
