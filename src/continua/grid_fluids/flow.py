"""One incompressible flow on a grid: its state and its step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import DivergedError, InputError
from continua.grid_fluids import flow_kernels
from continua.grid_fluids.advection import advection_kernels
from continua.grid_fluids.advection import extrapolation_kernels as wall_fill_kernels
from continua.grid_fluids.advection.advection import Advection
from continua.grid_fluids.advection.cut_face_centroids import CutFaces, cut_faces
from continua.grid_fluids.geometry import cut_cell_kernels as cut_kernels
from continua.grid_fluids.geometry.cut_cells import CutCells, Window
from continua.grid_fluids.geometry.domain_boundary import Side, SideWish, check_balance, make_sides, shut_off
from continua.grid_fluids.geometry.grid import Grid, padded
from continua.grid_fluids.pressure.multigrid import Multigrid, Solve
from continua.grid_fluids.viscosity import NARROW, Viscosity
from continua.numerics.stages import timed

__all__ = ["Flow", "FlowStep"]

_PARALLEL_FROM = 16384
_LAYERS = 3  # of samples behind walls that get a velocity
_SQUEEZED = 0.01  # part of all that flows into cells by which moving walls change a closed region, to be said
_MOST_PARTS = 1000  # sub-steps of a step; speeds that need more are those of an explosion


@dataclass
class FlowStep:
    """What a sub-step did: its length [s], the pressure solve, and the viscosity solves."""

    dt: float
    pressure: Solve
    viscous: list[Solve] = field(default_factory=list)


class Flow:
    """Velocity and pressure of an incompressible fluid on a staggered grid with cut cells.

    A step carries the velocity along itself, adds forces, spreads momentum by viscosity, and takes off the gradient of
    the pressure that makes it free of divergence.

    Args:
        grid: The grid.
        sides: What the sides do: "slip", "no-slip", "open", or a velocity [m/s], by name; "slip" by default.
        obstacles: Shapes or closed meshes in the flow.
        density: Density [kg/m3].
        viscosity: Dynamic viscosity [Pa s].
        advection: How quantities are carried along.
        slip: Whether obstacles let the fluid glide along; by default they do if it has no viscosity.
        rtol: Residual of the pressure, relative to the divergence before.
        smoothing: Sweeps of the multigrid before and after each coarse correction.
        dtype: `numpy.float32` or `numpy.float64`.
        voxels: Close whole cells instead of cutting them, for comparison.
        centred: Whether viscosity and pressure act half before and half after the velocity is carried along, which is
            of second order for a steady flow; by default they do if there is viscosity.
    """

    def __init__(
        self,
        grid: Grid,
        sides: Mapping[str, SideWish] | None = None,
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
        centred: bool | None = None,
    ) -> None:
        self.grid, self.density, self.viscosity = grid, density, viscosity
        self.advection = Advection() if advection is None else advection
        self.slip = viscosity == 0.0 if slip is None else slip
        self.centred = viscosity > 0.0 if centred is None else centred
        self.rtol, self.smoothing = rtol, smoothing
        self.dtype = np.dtype(dtype)
        self.cut = CutCells(grid, obstacles, self.dtype, voxels=voxels)
        self.sides: tuple[Side, ...] = make_sides(grid, sides or {})
        check_balance(self.sides, self.cut.parts)
        self.velocity = [np.zeros(grid.faces_shape(a), self.dtype) for a in range(3)]
        self._spare = [np.zeros_like(u) for u in self.velocity]
        self.squeezed = False
        self.impulse: list[NDArray] = []
        self.impulse_dt = 0.0
        self.potential = np.zeros(grid.shape)
        self.pressure_unit = 0.0
        self.cells: dict[str, NDArray] = {}
        self._b = np.zeros(grid.shape, self.dtype)
        self._viscosity: tuple[float, Viscosity] | None = None
        self._placed: float | None = None
        self.closed = np.zeros(grid.shape, bool)
        self._states = [np.zeros(grid.faces_shape(a), np.uint8) for a in range(3)]
        self._cell_state = np.zeros(grid.shape, np.uint8)
        weights = [padded(grid.faces_shape(a), self.dtype) for a in range(3)]
        self.solver = Multigrid(weights, np.zeros(grid.shape, self.dtype), smoothing=self.smoothing)
        self.recut()
        if names := self.shut_off():
            raise InputError(
                f"an obstacle shuts off the side {' and '.join(names)} from every open one: no incompressible flow "
                "goes through it; leave a way between them"
            )
        self.hold_sides()

    # geometry

    def shut_off(self) -> list[str]:
        """Return the names of sides with a given flow that obstacles shut off from every open side."""
        return shut_off(self.sides, self.cut.parts, self.solver.regions) if self.cut.obstacles else []

    def recut(self, window: Window | None = None) -> None:
        """Make the equations of pressure anew, after the cut cells changed in `window`, or anywhere."""
        low, high = (np.zeros(3, np.int64), np.array(self.grid.shape)) if window is None else window
        weights, fixed = self.solver.levels[0].weights, self.solver.levels[0].fixed
        for axis in self.grid.axes:
            faces = tuple(slice(int(a), int(b) + (n == axis)) for n, (a, b) in enumerate(zip(low, high)))
            weights[axis][faces] = self.cut.parts[axis][faces]
        for side in self.sides:
            weights[side.axis][side.layer()] = 0
            fixed[side.layer()] = 0
        for side in self.sides:
            if side.kind == "open":
                fixed[side.layer()] += 2 * self.cut.parts[side.axis][side.layer()]
        self.solver.refresh(low, high)
        self._number_layers(low, high)
        self._walls: tuple[NDArray, NDArray] | None = None
        self._cut: dict[int, CutFaces] = {}
        self._viscosity = None

    def _number_layers(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """Number the samples behind walls by layers, 0 for known ones, where cells changed."""
        shape = np.array(self.grid.shape)
        near = np.maximum(low - _LAYERS, 0), np.minimum(high + _LAYERS, shape)
        for axis in self.grid.axes:
            one = np.arange(3) == axis
            part, state = self.cut.parts[axis], self._states[axis]
            cut_kernels.known_faces.pick(state.size >= _PARALLEL_FROM)(
                part, part.dtype.type(NARROW), state, near[0], near[1] + one
            )
            self._spread(state, near[0], near[1] + one)
        cut_kernels.known_cells.pick(self._b.size >= _PARALLEL_FROM)(
            *self.cut.parts, self._cell_state, self.closed, *near
        )
        self._spread(self._cell_state, *near)

    def _spread(self, state: NDArray[np.uint8], low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        for number in range(1, _LAYERS + 1):
            cut_kernels.layers_within.pick(state.size >= _PARALLEL_FROM)(state, number, low, high)

    def change_obstacles(self, obstacles: Sequence[Any], time: float = 0.0) -> None:
        """Put other obstacles into the running flow."""
        window = self.cut.replace(obstacles, time)
        if window is not None:
            self.recut(window)

    # parts of a step

    def hold_sides(self) -> None:
        """Give the faces of walls and inlets their velocity."""
        for side in self.sides:
            if side.kind != "open":
                value = side.velocity[side.axis] if side.kind == "velocity" else 0.0
                self.velocity[side.axis][side.layer()] = value

    @timed("advection")
    def carry(self, s: float) -> None:
        """Carry velocity and quantities of cells along the flow; `s` is the time over the spacing [s/m]."""
        old, new = self.velocity, self._spare
        for axis in self.grid.axes:
            offset = [0.0 if a == axis else 0.5 for a in range(3)]
            moved = self._cut_faces(axis) if self.slip else None  # where it sticks, samples are in the middle
            self.advection(self._carried(axis, s), offset, old, s, new[axis], moved)
        for name, q in self.cells.items():
            self.cells[name] = self.advection(q, (0.5, 0.5, 0.5), old, s)
        self.velocity, self._spare = new, old
        self.hold_sides()

    def _cut_faces(self, axis: int) -> CutFaces:
        """Return the faces across an array axis that obstacles cut."""
        if axis not in self._cut:
            self._cut[axis] = cut_faces(self.cut, axis)
        return self._cut[axis]

    def _carried(self, axis: int, s: float) -> NDArray:
        """Return what is carried along: the velocity, and the half of viscosity and pressure that acts before."""
        u = self.velocity[axis]
        if not self.impulse:
            return u
        dt, real = s * self.grid.spacing, self.dtype.type
        q = u + real(dt / self.impulse_dt) * self.impulse[axis]
        if self.slip:
            self._continue(q, axis)
        else:
            low, high = self.cut.reach()
            near = tuple(slice(int(a), int(b) + (n == axis)) for n, (a, b) in enumerate(zip(low, high)))
            behind = self._states[axis][near] > 0
            q[near][behind] = u[near][behind]
        return q

    def wall_velocities(self, time: float, dt: float) -> list[NDArray]:
        """Return the velocity of moving obstacles at all faces, along the array axes, or empty arrays."""
        grid = self.grid
        if not self.cut.moves:
            return [np.zeros((0, 0, 0), self.dtype)] * 3
        result = [np.zeros(grid.faces_shape(a), self.dtype) for a in range(3)]
        for axis in grid.axes:
            points = None
            for obstacle in self.cut.obstacles:
                if not obstacle.moves or not obstacle.distances.size:
                    continue
                low = obstacle.low
                high = low + np.array(obstacle.distances.shape)
                window = tuple(
                    slice(int(a), int(max(b, a + 1)))
                    for a, b in zip(low, np.minimum(high, result[axis].shape))
                )
                shape = [s.stop - s.start for s in window]
                offset = [w.start + (0.0 if a == axis else 0.5) for a, w in enumerate(window)]
                points = grid.points(shape, offset)
                speed = obstacle.velocity(points, time, dt)[:, axis - grid.first].reshape(shape)
                touched = self.cut.parts[axis][window] < 1
                result[axis][window] = np.where(touched, speed, result[axis][window])
        return result

    @timed("viscosity")
    def diffuse(self, dt: float) -> list[Solve]:
        """Spread momentum by viscosity over `dt` [s]."""
        if self.viscosity == 0.0:
            return []
        number = self.viscosity / self.density * dt / self.grid.spacing**2
        if self._viscosity is None or self._viscosity[0] != number:
            self._viscosity = (number, Viscosity(self.cut, self.sides, number, slip=self.slip))
        return self._viscosity[1].solve(self.velocity)

    @timed("pressure")
    def project(self, dt: float, walls: Sequence[NDArray] | None = None) -> Solve:
        """Take off the gradient of the pressure that makes the velocity free of divergence."""
        if walls is None:
            walls = [np.zeros((0, 0, 0), self.dtype)] * 3
        u, parts = self.velocity, self.cut.parts
        parallel = self._b.size >= _PARALLEL_FROM
        low, high = self.cut.reach()
        for axis in self.grid.axes:
            near = tuple(slice(int(a), int(b) + (n == axis)) for n, (a, b) in enumerate(zip(low, high)))
            shut = parts[axis][near] == 0
            u[axis][near][shut] = walls[axis][near][shut] if walls[axis].size else 0
        flow_kernels.sources_of_pressure.pick(parallel)(*u, *parts, *walls, self._b)
        self.squeezed = self.cut.moves and self.solver.regions.unbalanced(self._b, _SQUEEZED)
        unit = self.density * self.grid.spacing / dt
        if self.pressure_unit not in (0.0, unit):
            self.potential *= self.pressure_unit / unit  # the last pressure is the first guess
        self.pressure_unit = unit
        solve = self.solver.solve(self._b, self.potential, rtol=self.rtol)
        for axis in self.grid.axes:
            flow_kernels.subtract_gradient.pick(parallel)(u[axis], self.potential, parts[axis], axis)
        for side in self.sides:
            if side.kind == "open":
                gradient = 2.0 * side.inward * self.potential[side.layer()]
                u[side.axis][side.layer()] -= np.where(parts[side.axis][side.layer()] > 0, gradient, 0.0)
        return solve

    def confine(self, strength: float, dt: float) -> None:
        """Push vortices to keep them alive (vorticity confinement) for `dt` [s]."""
        v = np.empty((*self.grid.shape, 3), self.dtype)
        parallel = self._b.size >= _PARALLEL_FROM
        flow_kernels.at_centers.pick(parallel)(*self.velocity, v)
        w = np.empty_like(v)
        flow_kernels.vorticity.pick(parallel)(v, 0.5 / self.grid.spacing, w)
        w[self.closed] = 0
        force = [np.empty(self.grid.shape, self.dtype) for _ in range(3)]
        real = self.dtype.type
        flow_kernels.confine.pick(parallel)(w, real(strength * self.grid.spacing), *force)
        for axis in self.grid.axes:
            flow_kernels.push_faces.pick(parallel)(
                self.velocity[axis], axis, force[axis], real(0.5 * dt), force[axis], real(0.0)
            )

    @timed("extrapolation")
    def extrapolate(self, walls: Sequence[NDArray] | None = None) -> None:
        """Continue the flow behind walls; where it sticks to them it has their velocity there."""
        low, high = self.cut.reach()
        for axis in self.grid.axes:
            u = self.velocity[axis]
            if self.slip:
                self._continue(u, axis)
                continue
            near = tuple(slice(int(a), int(b) + (n == axis)) for n, (a, b) in enumerate(zip(low, high)))
            behind = self._states[axis][near] > 0
            u[near][behind] = walls[axis][near][behind] if walls is not None and walls[axis].size else 0
        for q in self.cells.values():
            _fill(q, self._cell_state, low, high)

    def _continue(self, u: NDArray, axis: int) -> None:
        """Continue a velocity component linearly behind walls, layer by layer."""
        low, high = self.cut.reach()
        high = high + (np.arange(3) == axis)
        fill = wall_fill_kernels.fill_linear.pick(bool(np.prod(high - low) >= _PARALLEL_FROM))
        for number in range(1, _LAYERS + 1):
            fill(u, self._states[axis], number, low, high)

    def step(self, dt: float, time: float = 0.0, forces: Callable[[float], None] | None = None) -> FlowStep:
        """Advance by `dt` [s] in one piece; `forces(dt)` may change the velocity after it was carried along."""
        if self.cut.moves and self._placed != time:
            self._move(time)
        walls = self.wall_velocities(time, dt)
        self.extrapolate(walls)
        self.carry(dt / self.grid.spacing)
        if self.cut.moves:
            self._move(time + dt)
        if forces is not None:
            forces(dt)
        before = [u.copy() for u in self.velocity] if self.centred else []
        part = 0.5 * dt if self.impulse else dt
        viscous = self.diffuse(part)
        solve = self.project(part, walls)
        self._remember(before, dt)
        return FlowStep(dt, solve, viscous)

    def _remember(self, before: Sequence[NDArray], dt: float) -> None:
        """Keep what viscosity and pressure did in half a step, as the mean with what was kept: that does not swing."""
        if not before:
            return
        done = [u - old for u, old in zip(self.velocity, before, strict=True)]
        real = self.dtype.type
        if self.impulse:
            share = real(dt / self.impulse_dt)
            self.impulse = [real(0.5) * (share * m + d) for m, d in zip(self.impulse, done, strict=True)]
        else:
            self.impulse = [real(0.5) * d for d in done]
        self.impulse_dt = dt

    @timed("cut cells")
    def _move(self, time: float) -> None:
        window = self.cut.move(time)
        if window is not None:
            self.recut(window)
        self._placed = time

    def parts_of(self, dt: float, cfl: float) -> int:
        """Return in how many sub-steps the fastest fluid moves at most `cfl` cells each."""
        speed = self.top_speed()
        if not isfinite(speed):
            raise DivergedError("the velocity of the grid fluid is not finite")
        count = max(1, ceil(speed * dt / (cfl * self.grid.spacing) - 1e-9))
        if count > _MOST_PARTS:
            raise DivergedError(f"the grid fluid reached {speed:g} m/s; use a smaller dt")
        return count

    def forget_time(self) -> None:
        """Forget what was made for a time: obstacles are placed anew at the next step."""
        self._placed = None

    # what it tells

    def wall_force(self) -> tuple[float, float, float]:
        """Return the force on all obstacles by pressure and friction [N]; per metre of depth in a plane."""
        if self._walls is None:
            place = (*self.cut.parts, *self.cut.reach())
            count = cut_kernels.wall_cells(*place, np.zeros(0, np.int64), np.zeros((0, 3)))
            self._walls = (np.zeros(count, np.int64), np.zeros((count, 3)))
            if count:
                cut_kernels.wall_cells(*place, *self._walls)
        cells, areas = self._walls
        unit = self.pressure_unit * self.grid.spacing ** (self.grid.dim - 1)
        force = np.roll(unit * (self.potential.ravel()[cells] @ areas), -self.grid.first)
        if self.friction is not None and not self.slip:
            force += self.friction.wall_force(self.viscosity)
        return float(force[0]), float(force[1]), float(force[2])

    @property
    def friction(self) -> Viscosity | None:
        """The viscous solve of the last step, if there is viscosity."""
        return None if self._viscosity is None else self._viscosity[1]

    @property
    def placed(self) -> float:
        """The time for which obstacles were placed last [s]."""
        return 0.0 if self._placed is None else self._placed

    def top_speed(self) -> float:
        """Return the largest velocity component on any face [m/s]."""
        tops = []
        for u in (self.velocity[axis] for axis in self.grid.axes):
            rows = np.empty(u.shape[0] * u.shape[1])
            flow_kernels.largest.pick(u.size >= _PARALLEL_FROM)(u, rows)
            tops.append(float(rows.max()))
        return max(tops) if np.isfinite(tops).all() else float("nan")

    def divergence(self) -> NDArray:
        """Return the volume that leaves each cell per time, over that of the cell [1/s]."""
        none = [np.zeros((0, 0, 0), self.dtype)] * 3
        b = np.empty_like(self._b)
        flow_kernels.sources_of_pressure.pick(b.size >= _PARALLEL_FROM)(
            *self.velocity, *self.cut.parts, *none, b
        )
        return -b / self.grid.spacing

    @property
    def pressure(self) -> NDArray[np.float64]:
        """Pressure in the cells [Pa], of the last step."""
        return self.potential * self.pressure_unit

    def center_velocity(self) -> NDArray:
        """Return the velocity in the middles of the cells along x, y and z [m/s], shape [..., 3]."""
        v = np.empty((*self.grid.shape, 3), self.dtype)
        flow_kernels.at_centers.pick(self._b.size >= _PARALLEL_FROM)(*self.velocity, v)
        v[self.closed] = 0
        return v if self.grid.dim == 3 else v[..., [1, 2, 0]]

    def vorticity(self) -> NDArray:
        """Return the curl of the velocity along the array axes [1/s], shape [..., 3]; in a plane the first is z."""
        v = np.empty((*self.grid.shape, 3), self.dtype)
        parallel = self._b.size >= _PARALLEL_FROM
        flow_kernels.at_centers.pick(parallel)(*self.velocity, v)
        w = np.empty_like(v)
        flow_kernels.vorticity.pick(parallel)(v, 0.5 / self.grid.spacing, w)
        w[self.closed] = 0
        return w


def _fill(q: NDArray, state: NDArray[np.uint8], low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
    """Continue a quantity behind walls, layer by layer, in the part of the grid where there are any."""
    parallel = bool(np.prod(high - low) >= _PARALLEL_FROM)
    for number in range(1, _LAYERS + 1):
        advection_kernels.fill_layer_within.pick(parallel)(q, state, number, low, high)
