"""What all fluids on grids share as bodies of a world."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.errors import DivergedError, InputError
from continua.eulerian.advection import Advection
from continua.eulerian.flow import Flow, FlowStep
from continua.eulerian.grid import Grid
from continua.eulerian.obstacles import as_obstacle
from continua.eulerian.sheet import Sheet
from continua.eulerian.sides import SideWish
from continua.frames import BodyFields, BodyFrame, Field, StepReport, Volume, frozen
from continua.geometry import Shape
from continua.surroundings import Surroundings
from continua.values import isfinite

__all__ = ["GridFluid", "Pushed"]

_UNITS = {"velocity": "m/s", "pressure": "Pa", "vorticity": "1/s", "smoke": "1", "temperature": "K"}


class Pushed(Protocol):
    """What a fluid pushes while it flows: bodies of the world among its obstacles."""

    def begin(self, dt: float) -> None:
        """Begin a step of `dt` [s]."""

    def gather(self, part: float, dt: float) -> None:
        """Hear of a sub-step of `part` [s] in a step of `dt` [s]."""

    def give(self, dt: float) -> None:
        """Push the bodies for a step of `dt` [s]."""

    def forget(self) -> None:
        """Drop what goes from step to step."""

    def state(self) -> dict[str, NDArray]:
        """Return what goes from step to step."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state."""


class GridFluid:
    """A fluid on a grid as a body of a world; `Smoke`, `Liquid` and `WindTunnel` are such fluids.

    Attributes:
        flow: Velocity and pressure on the grid, and how they are stepped.
        history: What the sub-steps of the last step did.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        sides: Mapping[str, SideWish],
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
        self.cfl = above_zero(cfl, "cfl")
        self.flow: Any = make_flow(
            grid,
            sides,
            obstacles,
            density=above_zero(density, "density"),
            viscosity=from_zero(viscosity, "viscosity"),
            advection=Advection(scheme),
            rtol=above_zero(rtol, "rtol"),
            dtype=np.float32 if precision == "single" else np.float64,
            slip=slip,
        )
        self.history: list[FlowStep] = []
        self._guests: tuple[Shape, ...] = ()
        self.pushed: Pushed | None = None
        self._sheet = Sheet(grid)
        self._surroundings = Surroundings()
        self.notes: tuple[str, ...] = tuple(
            f"the obstacle '{o.shape.name or o.shape.kind}' was made thicker, it has walls thinner than a cell"
            for o in self.flow.cut.obstacles
            if o.thickened
        )

    # what a kind of fluid adds

    def begin(self) -> None:
        """Set velocities and quantities of the start."""

    def push(self, dt: float) -> None:
        """Add forces and sources to the flow after it was carried along by `dt` [s]."""

    # what a world asks of a body

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self.flow.grid

    @property
    def obstacles(self) -> tuple[Shape, ...]:
        """The obstacles of its own, without rigid bodies and colliders of the world; set it to change them."""
        shapes = (obstacle.shape for obstacle in self.flow.cut.obstacles)
        return tuple(shape for shape in shapes if not any(shape is guest for guest in self._guests))

    @obstacles.setter
    def obstacles(self, shapes: Sequence[Any]) -> None:
        self.flow.change_obstacles((*shapes, *self._guests), self._surroundings.time)

    def flow_around(self, shapes: Sequence[Shape]) -> None:
        """Flow around rigid bodies and colliders of the world too; those at rest outside of the grid are left out."""
        own, kept = self.obstacles, []
        for shape in shapes:
            guest = as_obstacle(shape, self.grid)
            guest.place(0.0)
            if guest.moves or guest.is_inside:
                kept.append(shape)
        self._guests = tuple(kept)
        self.flow.change_obstacles((*own, *kept), self._surroundings.time)
        if kept and not self.history:
            self.begin()

    @property
    def node_count(self) -> int:
        """Number of cells."""
        return self.grid.cell_count

    @property
    def mass_total(self) -> float:
        """Mass of the fluid [kg]; a plane grid is taken one metre deep."""
        volume = float((~self.flow.closed).sum()) * self.grid.spacing**self.grid.dim
        return self.flow.density * volume

    @property
    def positions(self) -> NDArray[np.float64]:
        """Corners of the sheet through the middle [m], shape [n, 3]."""
        return self._sheet.positions.copy()

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """The same corners; they do not move."""
        return self._sheet.positions.copy()

    @property
    def triangles(self) -> NDArray[np.int32]:
        """The triangles of the sheet through the middle, shape [k, 3]."""
        return self._sheet.triangles

    def prepare(self, surroundings: Surroundings) -> None:
        """Enter a world."""
        self._surroundings = surroundings

    def step(self, dt: float) -> StepReport:
        """Advance by `dt` [s], in as many parts as the speed of the fluid asks for.

        If it fails, DivergedError is raised and the state is that before the step.
        """
        start, flow = clock.perf_counter(), self.flow
        if self._guests:
            flow.forget_time()  # others decide where these are
        before = self.state()
        time = self._surroundings.time
        self.history = []
        if self.pushed is not None:
            self.pushed.begin(dt)
        try:
            done = 0.0
            while done < dt * (1.0 - 1e-9):
                part = (dt - done) / flow.parts_of(dt - done, self.cfl)
                self.history.append(flow.step(part, time + done, self.push))
                done += part
                if self.pushed is not None:
                    self.pushed.gather(part, dt)
            flow.parts_of(dt, self.cfl)
            if self.pushed is not None:
                self.pushed.give(dt)
        except DivergedError as error:
            self.restore(before)
            raise DivergedError(
                f"{self.name}: {error}", body=self.name, step=self._surroundings.step
            ) from None
        solves = [part.pressure for part in self.history]
        found = [] if all(s.converged for s in solves) else ["the pressure did not reach its tolerance"]
        found += [
            f"obstacles shut off the side {name}: what it lets flow cannot go on" for name in flow.shut_off()
        ]
        if flow.squeezed:
            found.append(
                "obstacles change the volume of a region without an open side: no incompressible flow does that; make "
                "a side of the grid 'open'"
            )
        return StepReport(
            body=self.name,
            step=self._surroundings.step,
            time=time,
            dt=dt,
            substeps=len(self.history),
            iterations=sum(s.iterations for s in solves),
            residual=max(s.residual for s in solves),
            converged=all(s.converged for s in solves),
            contact_force=self.force(),
            seconds=clock.perf_counter() - start,
            warnings=tuple(found),
            solver="cut-cell multigrid",
        )

    def force(self) -> tuple[float, float, float]:
        """Return the force of the fluid on all obstacles [N], of the last sub-step; per metre of depth in a plane."""
        return self.flow.wall_force()

    def field(self, name: str) -> NDArray:
        """Return a quantity in the middles of the cells: "velocity", "pressure", "vorticity" or one that is carried."""
        flow = self.flow
        if name == "velocity":
            return flow.center_velocity()
        if name == "pressure":
            return flow.pressure.astype(flow.dtype)
        if name == "vorticity":
            w = flow.vorticity()
            return w if self.grid.dim == 3 else w[..., 0]
        if name in flow.cells:
            return flow.cells[name]
        known = ["velocity", "pressure", "vorticity", *flow.cells]
        raise InputError(f"the fluid '{self.name}' has no field '{name}'; it has {', '.join(known)}")

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot: a sheet through the middle, and all quantities on the grid."""
        grid, sheet, closed = self.grid, self._sheet, self.flow.closed
        names = ["velocity", "pressure", "vorticity", *self.flow.cells]
        inside = {name: self.field(name) for name in names}
        on_sheet = {name: Field(frozen(sheet.values(q, closed)), _UNITS[name]) for name, q in inside.items()}
        whole = {}
        for name, q in inside.items():
            values = np.where(closed if q.ndim == 3 else closed[..., None], 0, q).astype(np.float32)
            if grid.dim == 2:
                values = np.moveaxis(values, 0, 2)
            whole[name] = Field(frozen(values), _UNITS[name])
        low = (*grid.origin, -0.5 * grid.spacing)[:3]
        return BodyFrame(
            name=self.name,
            kind="grid",
            positions=sheet.positions,
            rest_positions=sheet.positions,
            cells={},
            triangles=sheet.triangles,
            fields=BodyFields(on_sheet),
            color=self.color,
            energy=self.energy(),
            volume=Volume((low[0], low[1], low[2]), grid.spacing, whole),
        )

    def energy(self) -> dict[str, float]:
        """Return the kinetic energy [J]."""
        v = self.flow.center_velocity().astype(np.float64)
        volume = self.grid.spacing**self.grid.dim
        return {"kinetic": float(0.5 * self.flow.density * volume * (v * v).sum())}

    def state(self) -> dict[str, NDArray]:
        """Return everything that a bit-equal restart needs."""
        flow = self.flow
        state = {f"velocity{a}": flow.velocity[a].copy() for a in self.grid.axes}
        state |= {f"cells_{name}": q.copy() for name, q in flow.cells.items()}
        if flow.centred:
            state |= {f"impulse{a}": q.copy() for a, q in enumerate(flow.impulse) if a in self.grid.axes}
            state["impulse_dt"] = np.array([flow.impulse_dt])
        if self.pushed is not None:
            state |= {f"pushed/{key}": value for key, value in self.pushed.state().items()}
        return state | {"potential": flow.potential.copy(), "unit": np.array([flow.pressure_unit])}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state from `state()`; obstacles that move are put where the world's time says."""
        flow = self.flow
        wanted = [f"velocity{a}" for a in self.grid.axes] + [f"cells_{name}" for name in flow.cells]
        for key in (*wanted, "potential", "unit"):
            if key not in state:
                raise InputError(f"the state of '{self.name}' lacks '{key}'")
        for axis in self.grid.axes:
            flow.velocity[axis][:] = state[f"velocity{axis}"]
        for name in flow.cells:
            flow.cells[name] = np.array(state[f"cells_{name}"], dtype=flow.dtype)
        if self.pushed is not None:
            start = "pushed/"
            self.pushed.restore({k[len(start) :]: v for k, v in state.items() if k.startswith(start)})
        flow.impulse, flow.impulse_dt = [], 0.0
        if f"impulse{self.grid.first}" in state:
            flow.impulse = [np.zeros_like(u) for u in flow.velocity]
            for axis in self.grid.axes:
                flow.impulse[axis][:] = state[f"impulse{axis}"]
            flow.impulse_dt = float(np.asarray(state["impulse_dt"]).reshape(-1)[0])
        flow.potential[:] = state["potential"]
        flow.pressure_unit = float(np.asarray(state["unit"]).reshape(-1)[0])
        self.history = []
        flow.forget_time()

    def reset(self) -> None:
        """Go back to the start."""
        flow = self.flow
        for u in flow.velocity:
            u[:] = 0
        for q in flow.cells.values():
            q[:] = 0
        flow.potential[:] = 0.0
        flow.pressure_unit = 0.0
        flow.impulse, flow.impulse_dt = [], 0.0
        if self.pushed is not None:
            self.pushed.forget()
        self.history = []
        flow.forget_time()
        flow.hold_sides()
        self.begin()

    def facts(self) -> dict[str, int | str]:
        """Return how many cells it has, and the scheme of advection."""
        return {"cells": self.node_count, "advection": self.flow.advection.scheme}

    def shape_bytes(self) -> bytes:
        """Return grid and obstacles at the start as bytes."""
        numbers = np.array([*self.grid.cells, self.grid.spacing, *self.grid.origin], dtype=np.float64)
        return numbers.tobytes()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {'x'.join(str(n) for n in self.grid.cells)} cells)"


def above_zero(value: float, what: str) -> float:
    """Return a number above zero, or raise InputError."""
    if not (isfinite(value) and value > 0.0):
        raise InputError(f"a grid fluid's {what} must be a finite number greater than 0, not {value}")
    return float(value)


def from_zero(value: float, what: str) -> float:
    """Return a number from zero on, or raise InputError."""
    if not (isfinite(value) and value >= 0.0):
        raise InputError(f"a grid fluid's {what} must be a finite number of at least 0, not {value}")
    return float(value)
