"""The common base of all grid fluids as bodies of a world."""

from __future__ import annotations

import time as clock
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.environment import Environment
from continua.errors import DivergedError
from continua.frames import BodyFields, BodyFrame, Field, StepReport, Volume, readonly_copy
from continua.geometry import Shape
from continua.grid_fluids.bodies.slice_mesh import SliceMesh
from continua.grid_fluids.geometry.grid import Grid
from continua.grid_fluids.geometry.obstacles import as_obstacle
from continua.grid_fluids.interface import GridFlow, SubstepReport
from continua.grid_fluids.pressure.wall_forces import total_force
from continua.pickling import KeepsReadOnlyArrays
from continua.validation import (
    choice,
    flag,
    instance_of,
    instances_of,
    number,
    sequence,
    state_arrays,
)
from continua.validation import color as check_color
from continua.validation import name as check_name

__all__ = ["GridFluid", "ObstacleForces"]

_UNITS = {"velocity": "m/s", "pressure": "Pa", "vorticity": "1/s", "smoke": "", "temperature": "K"}


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

    def follow(self, before: Any) -> None:
        """Take over what is kept between steps from the forces before bodies were added or removed."""


class GridFluid(KeepsReadOnlyArrays):
    """A fluid on a grid as a body of a world: the base of `Smoke`, `Liquid` and `WindTunnel`.

    Args:
        flow: The flow that the fluid is composed with.
        cfl: Largest number of cells the fastest fluid moves in a sub-step.
        color: RGB in 0..1 for plain pictures, or None.
        name: Name of the body.

    Attributes:
        flow: Domain, fields and operators of the flow.
        substeps: Reports of the sub-steps of the last step.
        obstacle_forces: Forces on bodies of the world among the obstacles, or None.
    """

    def __init__(
        self, flow: GridFlow, *, cfl: float, color: tuple[float, float, float] | None, name: str
    ) -> None:
        self.name = check_name(name, "the name of a grid fluid")
        self.color = check_color(color, "the color of a grid fluid")
        self.cfl = check_positive(cfl, "cfl")
        self.flow = flow
        self.substeps: list[SubstepReport] = []
        self._world_obstacles: tuple[Shape, ...] = ()
        self.obstacle_forces: ObstacleForces | None = None
        self._slice = SliceMesh(flow.domain.grid)
        self._environment = Environment()
        self.notes: tuple[str, ...] = tuple(
            f"the obstacle '{o.shape.name or o.shape.kind}' was thickened, it has walls thinner than a cell"
            for o in flow.domain.cut_cells.obstacles
            if o.thickened
        )

    # hooks of the kinds of fluid

    def initialise(self) -> None:
        """Set the initial velocity and scalars."""

    def apply_sources(self, dt: float) -> None:
        """Apply forces and sources to the flow after advection over `dt` [s]."""

    def _check_added_obstacle(self, shape: Shape) -> None:
        """Raise InputError if an obstacle cannot be added at its present place while the fluid moves."""

    # the body interface

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self.flow.domain.grid

    @property
    def obstacles(self) -> tuple[Shape, ...]:
        """Its own obstacles, without rigid bodies and colliders of the world; assign to change them."""
        shapes = (obstacle.shape for obstacle in self.flow.domain.cut_cells.obstacles)
        return tuple(
            shape for shape in shapes if not any(shape is obstacle for obstacle in self._world_obstacles)
        )

    @obstacles.setter
    def obstacles(self, shapes: Sequence[Any]) -> None:
        given = sequence(shapes, "obstacles")
        self.flow.change_obstacles((*given, *self._world_obstacles), self._environment.time)

    @property
    def world_obstacles(self) -> tuple[Shape, ...]:
        """Rigid bodies and colliders of the world that are obstacles."""
        return self._world_obstacles

    def set_world_obstacles(self, shapes: Sequence[Shape], running: bool = False) -> None:
        """Make rigid bodies and colliders of the world obstacles; those at rest outside of the grid are left out.

        The fluid returns to its initial state if it has not moved yet, but stays as it is if it is `running`.
        """
        flag(running, "whether a fluid is running")
        own_obstacles, kept = self.obstacles, []
        for shape in instances_of(shapes, Shape, "obstacles"):
            obstacle = as_obstacle(shape, self.grid)
            obstacle.place(0.0)
            if obstacle.is_moving or obstacle.contains_corner:
                kept.append(shape)
                if running and not any(shape is other for other in self._world_obstacles):
                    self._check_added_obstacle(shape)
        self._world_obstacles = tuple(kept)
        self.flow.change_obstacles((*own_obstacles, *kept), self._environment.time)
        if kept and not self.substeps and not running:
            self.initialise()

    @property
    def node_count(self) -> int:
        """Number of cells."""
        return self.grid.cell_count

    @property
    def mass_total(self) -> float:
        """Mass of the fluid [kg]; a plane grid is taken one metre deep."""
        volume = float((~self.flow.domain.cut_cells.solid_cells).sum()) * self.grid.spacing**self.grid.dim
        return self.flow.density * volume

    @property
    def positions(self) -> NDArray[np.float64]:
        """Corners of the central slice [m], shape [n, 3]; read-only."""
        return self._slice.positions

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """The same corners; they do not move."""
        return self._slice.positions

    @property
    def triangles(self) -> NDArray[np.int32]:
        """Triangles of the central slice, shape [k, 3]."""
        return self._slice.triangles

    def prepare(self, environment: Environment) -> None:
        """Attach the fluid to the environment of a world."""
        self._environment = instance_of(environment, Environment, "the environment of a body")

    def step(self, dt: float) -> StepReport:
        """Advance by `dt` [s], in as many sub-steps as the speed of the fluid requires.

        If it fails, DivergedError is raised and the state before the step is restored.
        """
        start, flow, dt = clock.perf_counter(), self.flow, number(dt, "dt", above=0.0, unit="s")
        if self._world_obstacles:
            flow.domain.invalidate_obstacles()  # their positions are set by the world
        before = self.state()
        time = self._environment.time
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
                f"{self.name}: {error}", body=self.name, step=self._environment.step + 1
            ) from None
        reports = [substep.pressure for substep in self.substeps]
        messages = [] if all(s.converged for s in reports) else ["the pressure did not reach its tolerance"]
        messages += flow.warnings()
        return StepReport(
            body=self.name,
            step=self._environment.step + 1,
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
        return total_force(self.flow)

    def field(self, name: str) -> NDArray:
        """Return a quantity at cell centres: "velocity", "pressure", "vorticity" or an advected scalar."""
        fields, solid = self.flow.fields, self.flow.domain.cut_cells.solid_cells
        choice(name, f"a field of '{self.name}'", ("velocity", "pressure", "vorticity", *fields.scalars))
        if name == "velocity":
            return fields.cell_velocity(solid)
        if name == "pressure":
            return fields.pressure.astype(fields.dtype)
        if name == "vorticity":
            w = fields.vorticity(solid)
            return w if self.grid.dim == 3 else w[..., 0]
        return fields.scalars[name]

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot: the central slice, and all quantities on the grid."""
        grid, slice_mesh, solid = self.grid, self._slice, self.flow.domain.cut_cells.solid_cells
        names = ["velocity", "pressure", "vorticity", *self.flow.fields.scalars]
        on_grid = {name: self.field(name) for name in names}
        on_slice = {
            name: Field(readonly_copy(slice_mesh.values(q, solid)), _UNITS[name])
            for name, q in on_grid.items()
        }
        volume_fields = {}
        for name, q in on_grid.items():
            values = np.where(solid if q.ndim == 3 else solid[..., None], 0, q).astype(np.float32)
            if grid.dim == 2:
                values = np.moveaxis(values, 0, 2)
            volume_fields[name] = Field(readonly_copy(values), _UNITS[name])
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
        v = self.field("velocity").astype(np.float64)
        volume = self.grid.spacing**self.grid.dim
        return {"kinetic": float(0.5 * self.flow.density * volume * (v * v).sum())}

    def state(self) -> dict[str, NDArray]:
        """Return everything that a bitwise identical restart needs."""
        state = self.flow.state()
        if self.obstacle_forces is not None:
            state |= {f"obstacle_forces/{key}": value for key, value in self.obstacle_forces.state().items()}
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`; moving obstacles are placed for the time of the world."""
        state_arrays(state, self.flow.state_shapes(), f"body '{self.name}'")
        if self.obstacle_forces is not None:
            start = "obstacle_forces/"
            self.obstacle_forces.restore(
                {k[len(start) :]: v for k, v in state.items() if k.startswith(start)}
            )
        self.flow.restore(state)
        self.substeps = []

    def reset(self) -> None:
        """Return to the initial state."""
        self.flow.reset()
        if self.obstacle_forces is not None:
            self.obstacle_forces.clear()
        self.substeps = []
        self.initialise()

    def summary(self) -> dict[str, int | str]:
        """Return the number of cells, and what is particular to the flow."""
        return {"cells": self.node_count, **self.flow.summary()}

    def geometry_bytes(self) -> bytes:
        """Return the grid as bytes."""
        numbers = np.array([*self.grid.cells, self.grid.spacing, *self.grid.origin], dtype=np.float64)
        return numbers.tobytes()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {'x'.join(str(n) for n in self.grid.cells)} cells)"


def flow_options(*, density: float, viscosity: float, rtol: float, precision: str) -> dict[str, Any]:
    """Return the options that all flows share, after checking them."""
    choice(precision, "a grid fluid's precision", ("single", "double"))
    return {
        "density": check_positive(density, "density"),
        "viscosity": check_nonnegative(viscosity, "viscosity"),
        "rtol": check_positive(rtol, "rtol"),
        "dtype": np.float32 if precision == "single" else np.float64,
    }


def check_slip(slip: bool | None) -> bool | None:
    """Return True, False or None, or raise InputError."""
    return None if slip is None else flag(slip, "a grid fluid's slip")


def check_positive(value: float, what: str) -> float:
    """Return a positive number, or raise InputError."""
    return number(value, f"a grid fluid's {what}", above=0.0)


def check_nonnegative(value: float, what: str) -> float:
    """Return a non-negative number, or raise InputError."""
    return number(value, f"a grid fluid's {what}", low=0.0)
