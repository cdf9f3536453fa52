"""An incompressible flow that fills its grid: state and time step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import DivergedError, InputError
from continua.grid_fluids import flow_kernels
from continua.grid_fluids.advection import extrapolation_kernels
from continua.grid_fluids.advection.advection import Advection
from continua.grid_fluids.advection.cut_face_centroids import CutFaces, find_cut_faces
from continua.grid_fluids.geometry import cut_cell_kernels
from continua.grid_fluids.geometry.cut_cells import CutCells, Window
from continua.grid_fluids.geometry.domain_boundary import (
    DomainSide,
    SideSpec,
    blocked_inlets,
    check_flux_balance,
    make_sides,
)
from continua.grid_fluids.geometry.grid import Grid, padded_zeros
from continua.grid_fluids.pressure import projection_kernels
from continua.grid_fluids.pressure.multigrid import MultigridReport, PoissonMultigrid
from continua.grid_fluids.viscosity import MIN_OPEN_FRACTION, Viscosity
from continua.numerics.stages import timed

__all__ = ["Flow", "SubstepReport"]

_PARALLEL_FROM = 16384
_LAYERS = 3  # of samples behind walls that are extrapolated
_COMPRESSED = (
    0.01  # net over gross inflow of a closed region above which moving walls are reported to compress it
)
_MAX_SUBSTEPS = 1000  # sub-steps of a step; a speed that needs more is taken as divergence


@dataclass
class SubstepReport:
    """Report of a sub-step: its length [s], the pressure solve, and the viscous solves."""

    dt: float
    pressure: MultigridReport
    viscous: list[MultigridReport] = field(default_factory=list)


class Flow:
    """Velocity and pressure of an incompressible fluid on a staggered grid with cut cells.

    A step advects velocity and scalars, adds forces, diffuses momentum by viscosity, and subtracts the pressure
    gradient that makes the velocity divergence-free.

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
        trapezoidal: Whether viscosity and pressure act half before and half after advection, which is second order for
            a steady flow; by default they do if there is viscosity.
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
        self.grid, self.density, self.viscosity = grid, density, viscosity
        self.advection = Advection() if advection is None else advection
        self.slip = viscosity == 0.0 if slip is None else slip
        self.trapezoidal = viscosity > 0.0 if trapezoidal is None else trapezoidal
        self.rtol, self.smoothing = rtol, smoothing
        self.dtype = np.dtype(dtype)
        self.cut_cells = CutCells(grid, obstacles, self.dtype, voxels=voxels)
        self.sides: tuple[DomainSide, ...] = make_sides(grid, sides or {})
        check_flux_balance(self.sides, self.cut_cells.face_fractions)
        self.velocity = [np.zeros(grid.faces_shape(a), self.dtype) for a in range(3)]
        self._previous_velocity = [np.zeros_like(u) for u in self.velocity]
        self.compressed_region = False
        self.half_step_increment: list[NDArray] = []
        self.half_step_dt = 0.0
        self.potential = np.zeros(grid.shape)
        self.pressure_unit = 0.0
        self.scalars: dict[str, NDArray] = {}
        self._rhs = np.zeros(grid.shape, self.dtype)
        self._viscosity: tuple[float, Viscosity] | None = None
        self._obstacle_time: float | None = None
        self.solid_cells = np.zeros(grid.shape, bool)
        self._face_layers = [np.zeros(grid.faces_shape(a), np.uint8) for a in range(3)]
        self._cell_layers = np.zeros(grid.shape, np.uint8)
        weights = [padded_zeros(grid.faces_shape(a), self.dtype) for a in range(3)]
        self.solver = PoissonMultigrid(weights, np.zeros(grid.shape, self.dtype), smoothing=self.smoothing)
        self.rebuild_operators()
        if names := self.blocked_inlets():
            raise InputError(
                f"an obstacle blocks the side {' and '.join(names)} from every open side, so its inflow or outflow is "
                "impossible; leave a gap between them"
            )
        self.apply_boundary_conditions()

    # geometry

    def blocked_inlets(self) -> list[str]:
        """Return the names of sides with a prescribed flow that obstacles block from every open side."""
        return (
            blocked_inlets(self.sides, self.cut_cells.face_fractions, self.solver.regions)
            if self.cut_cells.obstacles
            else []
        )

    def rebuild_operators(self, window: Window | None = None) -> None:
        """Update the pressure equations after the cut cells changed in `window`, or anywhere."""
        low, high = (np.zeros(3, np.int64), np.array(self.grid.shape)) if window is None else window
        weights, dirichlet = self.solver.levels[0].weights, self.solver.levels[0].dirichlet
        for axis in self.grid.axes:
            faces = tuple(slice(int(a), int(b) + (n == axis)) for n, (a, b) in enumerate(zip(low, high)))
            weights[axis][faces] = self.cut_cells.face_fractions[axis][faces]
        for side in self.sides:
            weights[side.axis][side.layer()] = 0
            dirichlet[side.layer()] = 0
        for side in self.sides:
            if side.kind == "open":
                dirichlet[side.layer()] += 2 * self.cut_cells.face_fractions[side.axis][side.layer()]
        self.solver.update(low, high)
        self._number_layers(low, high)
        self._wall_cells: tuple[NDArray, NDArray] | None = None
        self._cut_face_cache: dict[int, CutFaces] = {}
        self._viscosity = None

    def _number_layers(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """Number the layers of samples behind walls, 0 for valid samples, around changed cells."""
        shape = np.array(self.grid.shape)
        near = np.maximum(low - _LAYERS, 0), np.minimum(high + _LAYERS, shape)
        for axis in self.grid.axes:
            one = np.arange(3) == axis
            fraction, state = self.cut_cells.face_fractions[axis], self._face_layers[axis]
            cut_cell_kernels.mark_valid_faces.pick(state.size >= _PARALLEL_FROM)(
                fraction, fraction.dtype.type(MIN_OPEN_FRACTION), state, near[0], near[1] + one
            )
            self._mark_layers(state, near[0], near[1] + one)
        cut_cell_kernels.mark_valid_cells.pick(self._rhs.size >= _PARALLEL_FROM)(
            *self.cut_cells.face_fractions, self._cell_layers, self.solid_cells, *near
        )
        self._mark_layers(self._cell_layers, *near)

    def _mark_layers(self, state: NDArray[np.uint8], low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        for number in range(1, _LAYERS + 1):
            extrapolation_kernels.mark_layer_within.pick(state.size >= _PARALLEL_FROM)(
                state, number, low, high
            )

    def change_obstacles(self, obstacles: Sequence[Any], time: float = 0.0) -> None:
        """Replace the obstacles of the running flow."""
        window = self.cut_cells.replace(obstacles, time)
        if window is not None:
            self.rebuild_operators(window)

    # parts of a step

    def apply_boundary_conditions(self) -> None:
        """Set the normal velocity at walls and inlets of the domain."""
        for side in self.sides:
            if side.kind != "open":
                value = side.velocity[side.axis] if side.kind == "velocity" else 0.0
                self.velocity[side.axis][side.layer()] = value

    @timed("advection")
    def advect(self, s: float) -> None:
        """Advect velocity and scalars; `s` is the time step over the spacing [s/m]."""
        old, new = self.velocity, self._previous_velocity
        for axis in self.grid.axes:
            offset = [0.0 if a == axis else 0.5 for a in range(3)]
            moved = (
                self._cut_faces(axis) if self.slip else None
            )  # at no-slip walls, samples are at face centres
            self.advection(self._advected_velocity(axis, s), offset, old, s, new[axis], moved)
        for name, q in self.scalars.items():
            self.scalars[name] = self.advection(q, (0.5, 0.5, 0.5), old, s)
        self.velocity, self._previous_velocity = new, old
        self.apply_boundary_conditions()

    def _cut_faces(self, axis: int) -> CutFaces:
        """Return the faces across an array axis that obstacles cut."""
        if axis not in self._cut_face_cache:
            self._cut_face_cache[axis] = find_cut_faces(self.cut_cells, axis)
        return self._cut_face_cache[axis]

    def _advected_velocity(self, axis: int, s: float) -> NDArray:
        """Return the velocity to advect, including the half of viscosity and pressure that acts before advection."""
        u = self.velocity[axis]
        if not self.half_step_increment:
            return u
        dt, real = s * self.grid.spacing, self.dtype.type
        q = u + real(dt / self.half_step_dt) * self.half_step_increment[axis]
        if self.slip:
            self._extrapolate_component(q, axis)
        else:
            low, high = self.cut_cells.obstacle_window()
            near = tuple(slice(int(a), int(b) + (n == axis)) for n, (a, b) in enumerate(zip(low, high)))
            behind = self._face_layers[axis][near] > 0
            q[near][behind] = u[near][behind]
        return q

    def wall_velocities(self, time: float, dt: float) -> list[NDArray]:
        """Return the velocity of moving obstacles on all faces, along the array axes, or empty arrays."""
        grid = self.grid
        if not self.cut_cells.has_moving_obstacles:
            return [np.zeros((0, 0, 0), self.dtype)] * 3
        result = [np.zeros(grid.faces_shape(a), self.dtype) for a in range(3)]
        for axis in grid.axes:
            points = None
            for obstacle in self.cut_cells.obstacles:
                if not obstacle.is_moving or not obstacle.distances.size:
                    continue
                low = obstacle.first_corner
                high = low + np.array(obstacle.distances.shape)
                window = tuple(
                    slice(int(a), int(max(b, a + 1)))
                    for a, b in zip(low, np.minimum(high, result[axis].shape))
                )
                shape = [s.stop - s.start for s in window]
                offset = [w.start + (0.0 if a == axis else 0.5) for a, w in enumerate(window)]
                points = grid.points(shape, offset)
                speed = obstacle.velocity(points, time, dt)[:, axis - grid.x_axis].reshape(shape)
                touched = self.cut_cells.face_fractions[axis][window] < 1
                result[axis][window] = np.where(touched, speed, result[axis][window])
        return result

    @timed("viscosity")
    def diffuse(self, dt: float) -> list[MultigridReport]:
        """Diffuse momentum by viscosity over `dt` [s]."""
        if self.viscosity == 0.0:
            return []
        number = self.viscosity / self.density * dt / self.grid.spacing**2
        if self._viscosity is None or self._viscosity[0] != number:
            self._viscosity = (number, Viscosity(self.cut_cells, self.sides, number, slip=self.slip))
        return self._viscosity[1].solve(self.velocity)

    @timed("pressure")
    def project(self, dt: float, wall_velocity: Sequence[NDArray] | None = None) -> MultigridReport:
        """Subtract the pressure gradient that makes the velocity divergence-free."""
        if wall_velocity is None:
            wall_velocity = [np.zeros((0, 0, 0), self.dtype)] * 3
        u, face_fractions = self.velocity, self.cut_cells.face_fractions
        parallel = self._rhs.size >= _PARALLEL_FROM
        low, high = self.cut_cells.obstacle_window()
        for axis in self.grid.axes:
            near = tuple(slice(int(a), int(b) + (n == axis)) for n, (a, b) in enumerate(zip(low, high)))
            shut = face_fractions[axis][near] == 0
            u[axis][near][shut] = wall_velocity[axis][near][shut] if wall_velocity[axis].size else 0
        projection_kernels.divergence_rhs.pick(parallel)(*u, *face_fractions, *wall_velocity, self._rhs)
        self.compressed_region = self.cut_cells.has_moving_obstacles and self.solver.regions.unbalanced(
            self._rhs, _COMPRESSED
        )
        unit = self.density * self.grid.spacing / dt
        if self.pressure_unit not in (0.0, unit):
            self.potential *= self.pressure_unit / unit  # the last pressure is the initial guess
        self.pressure_unit = unit
        solve = self.solver.solve(self._rhs, self.potential, rtol=self.rtol)
        for axis in self.grid.axes:
            projection_kernels.subtract_gradient.pick(parallel)(
                u[axis], self.potential, face_fractions[axis], axis
            )
        for side in self.sides:
            if side.kind == "open":
                gradient = 2.0 * side.inward * self.potential[side.layer()]
                u[side.axis][side.layer()] -= np.where(
                    face_fractions[side.axis][side.layer()] > 0, gradient, 0.0
                )
        return solve

    def apply_vorticity_confinement(self, strength: float, dt: float) -> None:
        """Add vorticity confinement over `dt` [s]."""
        v = np.empty((*self.grid.shape, 3), self.dtype)
        parallel = self._rhs.size >= _PARALLEL_FROM
        flow_kernels.cell_velocities.pick(parallel)(*self.velocity, v)
        w = np.empty_like(v)
        flow_kernels.vorticity.pick(parallel)(v, 0.5 / self.grid.spacing, w)
        w[self.solid_cells] = 0
        force = [np.empty(self.grid.shape, self.dtype) for _ in range(3)]
        real = self.dtype.type
        flow_kernels.confinement_forces.pick(parallel)(w, real(strength * self.grid.spacing), *force)
        for axis in self.grid.axes:
            flow_kernels.add_cell_forces.pick(parallel)(
                self.velocity[axis], axis, force[axis], real(0.5 * dt), force[axis], real(0.0)
            )

    @timed("extrapolation")
    def extrapolate(self, wall_velocity: Sequence[NDArray] | None = None) -> None:
        """Extrapolate the flow behind walls; at no-slip walls it gets their velocity there."""
        low, high = self.cut_cells.obstacle_window()
        for axis in self.grid.axes:
            u = self.velocity[axis]
            if self.slip:
                self._extrapolate_component(u, axis)
                continue
            near = tuple(slice(int(a), int(b) + (n == axis)) for n, (a, b) in enumerate(zip(low, high)))
            behind = self._face_layers[axis][near] > 0
            u[near][behind] = (
                wall_velocity[axis][near][behind]
                if wall_velocity is not None and wall_velocity[axis].size
                else 0
            )
        for q in self.scalars.values():
            _extrapolate_scalar(q, self._cell_layers, low, high)

    def _extrapolate_component(self, u: NDArray, axis: int) -> None:
        """Extrapolate a velocity component linearly behind walls, layer by layer."""
        low, high = self.cut_cells.obstacle_window()
        high = high + (np.arange(3) == axis)
        fill = extrapolation_kernels.extrapolate_layer_linear.pick(
            bool(np.prod(high - low) >= _PARALLEL_FROM)
        )
        for number in range(1, _LAYERS + 1):
            fill(u, self._face_layers[axis], number, low, high)

    def step(
        self, dt: float, time: float = 0.0, forces: Callable[[float], None] | None = None
    ) -> SubstepReport:
        """Advance by `dt` [s] in one step; `forces(dt)` may change the velocity after advection."""
        if self.cut_cells.has_moving_obstacles and self._obstacle_time != time:
            self._move_obstacles(time)
        wall_velocity = self.wall_velocities(time, dt)
        self.extrapolate(wall_velocity)
        self.advect(dt / self.grid.spacing)
        if self.cut_cells.has_moving_obstacles:
            self._move_obstacles(time + dt)
        if forces is not None:
            forces(dt)
        before = [u.copy() for u in self.velocity] if self.trapezoidal else []
        duration = 0.5 * dt if self.half_step_increment else dt
        viscous = self.diffuse(duration)
        solve = self.project(duration, wall_velocity)
        self._store_half_step(before, dt)
        return SubstepReport(dt, solve, viscous)

    def _store_half_step(self, before: Sequence[NDArray], dt: float) -> None:
        """Store the half-step increment by viscosity and pressure, averaged with the last one to damp oscillations."""
        if not before:
            return
        done = [u - old for u, old in zip(self.velocity, before, strict=True)]
        real = self.dtype.type
        if self.half_step_increment:
            share = real(dt / self.half_step_dt)
            self.half_step_increment = [
                real(0.5) * (share * m + d) for m, d in zip(self.half_step_increment, done, strict=True)
            ]
        else:
            self.half_step_increment = [real(0.5) * d for d in done]
        self.half_step_dt = dt

    @timed("cut cells")
    def _move_obstacles(self, time: float) -> None:
        window = self.cut_cells.update(time)
        if window is not None:
            self.rebuild_operators(window)
        self._obstacle_time = time

    def substep_count(self, dt: float, cfl: float) -> int:
        """Return the number of sub-steps in which the fastest fluid moves at most `cfl` cells each."""
        speed = self.top_speed()
        if not isfinite(speed):
            raise DivergedError("the velocity of the grid fluid is not finite")
        count = max(1, ceil(speed * dt / (cfl * self.grid.spacing) - 1e-9))
        if count > _MAX_SUBSTEPS:
            raise DivergedError(f"the grid fluid reached {speed:g} m/s; use a smaller dt")
        return count

    def invalidate_obstacles(self) -> None:
        """Have moving obstacles placed again at the next step."""
        self._obstacle_time = None

    # queries

    def wall_force(self) -> tuple[float, float, float]:
        """Return the force on all obstacles by pressure and friction [N]; per metre of depth in a plane."""
        if self._wall_cells is None:
            place = (*self.cut_cells.face_fractions, *self.cut_cells.obstacle_window())
            count = cut_cell_kernels.list_wall_cells(*place, np.zeros(0, np.int64), np.zeros((0, 3)))
            self._wall_cells = (np.zeros(count, np.int64), np.zeros((count, 3)))
            if count:
                cut_cell_kernels.list_wall_cells(*place, *self._wall_cells)
        scalars, areas = self._wall_cells
        unit = self.pressure_unit * self.grid.spacing ** (self.grid.dim - 1)
        force = np.roll(unit * (self.potential.ravel()[scalars] @ areas), -self.grid.x_axis)
        if self.viscous_solver is not None and not self.slip:
            force += self.viscous_solver.wall_force(self.viscosity)
        return float(force[0]), float(force[1]), float(force[2])

    @property
    def viscous_solver(self) -> Viscosity | None:
        """The viscous solver of the last step, or None without viscosity."""
        return None if self._viscosity is None else self._viscosity[1]

    @property
    def obstacle_time(self) -> float:
        """The time for which moving obstacles were placed last [s]."""
        return 0.0 if self._obstacle_time is None else self._obstacle_time

    def top_speed(self) -> float:
        """Return the largest velocity component on any face [m/s]."""
        tops = []
        for u in (self.velocity[axis] for axis in self.grid.axes):
            rows = np.empty(u.shape[0] * u.shape[1])
            flow_kernels.max_abs_rows.pick(u.size >= _PARALLEL_FROM)(u, rows)
            tops.append(float(rows.max()))
        return max(tops) if np.isfinite(tops).all() else float("nan")

    def divergence(self) -> NDArray:
        """Return the divergence of the velocity in each cell [1/s]."""
        none = [np.zeros((0, 0, 0), self.dtype)] * 3
        b = np.empty_like(self._rhs)
        projection_kernels.divergence_rhs.pick(b.size >= _PARALLEL_FROM)(
            *self.velocity, *self.cut_cells.face_fractions, *none, b
        )
        return -b / self.grid.spacing

    @property
    def pressure(self) -> NDArray[np.float64]:
        """Pressure in the cells [Pa], of the last step."""
        return self.potential * self.pressure_unit

    def center_velocity(self) -> NDArray:
        """Return the velocity at cell centres along x, y and z [m/s], shape [..., 3]."""
        v = np.empty((*self.grid.shape, 3), self.dtype)
        flow_kernels.cell_velocities.pick(self._rhs.size >= _PARALLEL_FROM)(*self.velocity, v)
        v[self.solid_cells] = 0
        return v if self.grid.dim == 3 else v[..., [1, 2, 0]]

    def vorticity(self) -> NDArray:
        """Return the curl of the velocity along the array axes [1/s], shape [..., 3]; in a plane the first is z."""
        v = np.empty((*self.grid.shape, 3), self.dtype)
        parallel = self._rhs.size >= _PARALLEL_FROM
        flow_kernels.cell_velocities.pick(parallel)(*self.velocity, v)
        w = np.empty_like(v)
        flow_kernels.vorticity.pick(parallel)(v, 0.5 / self.grid.spacing, w)
        w[self.solid_cells] = 0
        return w


def _extrapolate_scalar(
    q: NDArray, state: NDArray[np.uint8], low: NDArray[np.int64], high: NDArray[np.int64]
) -> None:
    """Extrapolate a quantity behind walls, layer by layer, in the range of cells with obstacles."""
    parallel = bool(np.prod(high - low) >= _PARALLEL_FROM)
    for number in range(1, _LAYERS + 1):
        extrapolation_kernels.extrapolate_layer_within.pick(parallel)(q, state, number, low, high)
