"""The flow of a liquid with a free surface: APIC particles carry its velocity, a level set is its surface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.grid_fluids.advection import extrapolation_kernels
from continua.grid_fluids.advection.cfl import cfl_substeps
from continua.grid_fluids.fields import StaggeredFields
from continua.grid_fluids.free_surface.free_surface_projection import FreeSurfaceProjection
from continua.grid_fluids.free_surface.level_set import LevelSet
from continua.grid_fluids.free_surface.particles import ApicParticles
from continua.grid_fluids.geometry.cut_cells import MIN_OPEN_FRACTION
from continua.grid_fluids.geometry.domain import FlowDomain
from continua.grid_fluids.geometry.domain_boundary import SideSpec
from continua.grid_fluids.geometry.grid import Grid
from continua.grid_fluids.interface import SubstepReport
from continua.grid_fluids.pressure.multigrid import MultigridReport
from continua.grid_fluids.pressure.rigid_coupling import (
    FloatingBodies,
    FloatingBody,
    apply_viscous_drag,
    hydrostatic_correction,
)
from continua.grid_fluids.viscosity import Viscosity
from continua.numerics.timers import timed

__all__ = ["InflowSource", "LiquidFlow"]

_PARALLEL_FROM = 16384
_MAX_MERGE_DEPTH = -2.5  # cells: below this particles do not correct the level set
_DRY_FRACTION, _WET_FRACTION = (
    0.2,
    0.7,
)  # filled fractions of a cell beyond which particles correct the level set
_RESEED_LEVEL = -1.0  # cells: level below which cells without particles are reseeded
_CORRECTION_SUBSTEPS = 1.5  # sub-steps in which a volume error is corrected, but ...
_MAX_GROWTH = 0.01  # ... never by more than this fraction per sub-step
_LARGE_VOLUME_ERROR = 0.01  # volume error that is corrected at once, but ...
_MAX_CORRECTION = 0.05  # ... never by more than this fraction
_CAPILLARY_CFL = 0.28  # capillary time step limit in units of sqrt(rho h^3 / sigma): 1 / sqrt(4 pi)
_MIN_FILLED = 0.1  # least filled fraction of the control volume around a wet face, for viscosity


@dataclass
class InflowSource:
    """A source of liquid: level set in cells, masks of faces inside, velocity [m/s], start and stop [s]."""

    phi: NDArray
    faces: list[NDArray[np.bool_]]
    velocity: tuple[float, ...]
    start: float
    stop: float


class LiquidFlow:
    """A liquid with a free surface on a staggered grid with cut cells.

    Args:
        grid: The grid.
        sides: Boundary conditions by side: "slip", "no-slip", "open", or a velocity [m/s]; "slip" by default.
        obstacles: Shapes or closed meshes in the flow.
        density: Density [kg/m3].
        viscosity: Dynamic viscosity [Pa s]; with it obstacles are no-slip.
        surface_tension: Surface tension [N/m].
        contact_angle: Angle in the liquid at which its surface meets walls, with surface tension [degrees].
        rtol: Tolerance of the pressure solve, relative to the divergence before.
        dtype: `numpy.float32` or `numpy.float64`.
        band_width: Number of cells the surface may move in a sub-step.
        flip: Fraction of their own velocity that particles keep in a step (FLIP); 0 is APIC.
        seed: Random seed of the positions of particles.

    Attributes:
        domain: Grid, boundary conditions and obstacles.
        fields: Velocity and pressure.
        level_set: The level set.
        particles: The particles.
        projection: The pressure operator.
        viscous_solver: The viscous solver of the last step, or None without viscosity.
        target_volume: The volume to be conserved, in cells.
        inflow_sources: Sources of liquid.
        drains: Masks of cells in which liquid is removed.
        floating_bodies: Rigid bodies coupled to the pressure, or None.
        gravity: Gravity along the array axes [m/s2].
    """

    def __init__(
        self,
        grid: Grid,
        sides: Mapping[str, SideSpec] | None = None,
        obstacles: Iterable[Any] = (),
        *,
        density: float = 1000.0,
        viscosity: float = 0.0,
        surface_tension: float = 0.0,
        contact_angle: float = 90.0,
        rtol: float = 1e-4,
        dtype: Any = np.float32,
        band_width: int = 4,
        flip: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.density, self.viscosity, self.surface_tension = density, viscosity, surface_tension
        self.slip = viscosity == 0.0
        self.band_width, self.flip = band_width, flip
        self.domain = FlowDomain(grid, sides, obstacles, dtype)
        self.fields = StaggeredFields(grid, dtype)
        self.level_set = LevelSet(
            grid,
            self.fields.dtype,
            band_width,
            contact_angle=contact_angle if surface_tension > 0.0 else None,
        )
        self.particles = ApicParticles(grid, self.fields.dtype, seed)
        self.projection = FreeSurfaceProjection(
            self.domain, self.level_set, dtype, density=density, surface_tension=surface_tension, rtol=rtol
        )
        self.viscous_solver: Viscosity | None = None
        self.target_volume = 0.0
        self.inflow_sources: list[InflowSource] = []
        self.drains: list[NDArray[np.bool_]] = []
        self.floating_bodies: FloatingBodies | None = None
        self.gravity: tuple[float, ...] = (0.0, 0.0, 0.0)
        self._open_ends = np.zeros((3, 2), bool)
        for side in self.domain.sides:
            self._open_ends[side.axis, side.end] = side.kind == "open"
        self.level_set.set_solid(self.domain.cut_cells)
        self.domain.apply_boundary_conditions(self.fields.velocity)

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self.domain.grid

    # obstacles

    def change_obstacles(self, obstacles: Sequence[Any], time: float = 0.0) -> None:
        """Replace the obstacles of the running flow."""
        if self.domain.cut_cells.replace(obstacles, time) is not None:
            self._update_operators()

    @timed("cut cells")
    def place_obstacles(self, time: float) -> None:
        """Place moving obstacles for `time` [s]."""
        if self.domain.place_obstacles(time) is not None:
            self._update_operators()

    def _update_operators(self) -> None:
        """Update all operators after the cut cells changed."""
        self.projection.update()
        self.level_set.set_solid(self.domain.cut_cells)
        self.viscous_solver = None

    @property
    def _solid_distances(self) -> NDArray[np.float64]:
        """Signed distances to obstacles at cell corners [m]; empty without obstacles."""
        cut_cells = self.domain.cut_cells
        return cut_cells.corner_distances if cut_cells.obstacles else np.zeros((0, 0, 0))

    # initial state

    def fill(self, phi: NDArray | None, points: NDArray[np.float64] | None) -> None:
        """Fill the box from a level set in cells, from positions of particles [m], or both."""
        level_set, particles, velocity = self.level_set, self.particles, self.fields.velocity
        dtype = self.fields.dtype
        level_set.phi = np.full(self.grid.shape, self.band_width + 3.0, dtype)
        particles.seeded = 0
        rows = np.zeros((0 if points is None else len(points), 15), dtype)
        if points is not None:
            rows[:, :3] = self.grid.to_cell_coordinates(points)
            inside = ((rows[:, :3] >= 0) & (rows[:, :3] <= self.grid.shape)).all(axis=1)
            if not inside.all():
                raise InputError(
                    f"{int((~inside).sum())} points of the liquid lie outside of its grid; move or remove them"
                )
            rows[:, 3:6] = [velocity[a].flat[0] for a in range(3)]
        particles.set_rows(rows)
        if points is not None:
            level_set.phi = (0.5 - particles.density() / particles.per_cell).astype(dtype)
        if phi is not None:
            level_set.phi = np.minimum(level_set.phi, phi)
        level_set.extrapolate_into_solid()
        level_set.reinitialise()
        counts = particles.cull(2 * particles.per_cell)
        if phi is not None:
            corners = self._solid_distances
            particles.reseed(phi, counts, corners, velocity, below=0.0, least=particles.per_cell)
            particles.resolve_penetration(self._solid_distances, self._open_ends)
        particles.sort()
        particles.classify(level_set.phi)
        self.target_volume = self.volume()

    # stages of a step

    @timed("viscosity")
    def diffuse(
        self, dt: float, wall_velocity: Sequence[NDArray] = (), *, balance: bool = True
    ) -> list[MultigridReport]:
        """Diffuse momentum by viscosity over `dt` [s]; walls move with `wall_velocity` [m/s].

        With `balance` the velocity is diffused in balance with the pressure. Friction at walls would otherwise hold
        liquid there against gravity, and the pressure, which balances gravity everywhere, would then drive it upwards.
        The predicted velocities of floating bodies are not in balance yet, and fall with the liquid.
        """
        if self.viscosity == 0.0:
            return []
        fields, cut_cells = self.fields, self.domain.cut_cells
        before = fields.velocity
        fields.velocity = [u.copy() for u in before]
        if balance:
            self.projection.project(fields, dt, wall_velocity if len(wall_velocity) else None)
        u, balanced = fields.velocity, [v.copy() for v in fields.velocity]
        number = self.viscosity / self.density * dt / self.grid.spacing**2
        filled = [self._filled_fraction(axis) for axis in range(3)]
        self.viscous_solver = Viscosity(cut_cells, self.domain.sides, number, slip=self.slip, filled=filled)
        for axis in self.grid.axes:
            walls = cut_cells.face_fractions[axis] == 0
            # cut faces in air with their centre inside a wall, which fall freely
            walls.reshape(-1)[self.viscous_solver.wall_samples(axis)] = True
            moving = len(wall_velocity) and wall_velocity[axis].size
            u[axis][walls] = wall_velocity[axis][walls] if moving else 0
        reports = self.viscous_solver.solve(u)
        for axis in self.grid.axes:
            before[axis] += u[axis] - balanced[axis]
        fields.velocity = before
        return reports

    def _filled_fraction(self, axis: int) -> NDArray:
        """Return the filled fraction of the control volumes around the faces across an array axis."""
        padding = [(int(a == axis), int(a == axis)) for a in range(3)]
        phi = np.moveaxis(np.pad(self.level_set.phi, padding, mode="edge"), axis, 0)
        wet = (phi[:-1] < 0.0) | (phi[1:] < 0.0)
        filled = np.minimum(0.5 - 0.5 * (phi[:-1] + phi[1:]), 1.0)
        filled = np.where(filled > _MIN_FILLED, filled, np.where(wet, _MIN_FILLED, 0.0))
        return np.ascontiguousarray(np.moveaxis(filled, 0, axis))

    @timed("extrapolation")
    def extrapolate(self) -> None:
        """Extrapolate the velocity from the liquid into air and obstacles, layer by layer."""
        fractions = self.domain.cut_cells.face_fractions
        for axis in self.grid.axes:
            u = self.fields.velocity[axis]
            state = np.empty(u.shape, np.uint8)
            extrapolation_kernels.mark_liquid_faces.variant(u.size >= _PARALLEL_FROM)(
                u, self.level_set.phi, fractions[axis], axis, MIN_OPEN_FRACTION, state
            )
            extrapolation_kernels.extrapolate(u, state, self.band_width + 2)
        self.domain.apply_boundary_conditions(self.fields.velocity)

    def step(
        self, dt: float, time: float = 0.0, forces: Callable[[float], None] | None = None
    ) -> SubstepReport:
        """Advance by `dt` [s] in one step; `forces(dt)` may change the velocity before the pressure solve."""
        domain, fields = self.domain, self.fields
        bodies = self._begin_bodies(dt)
        if not domain.is_placed(time):
            self.place_obstacles(time)
        self._predict_bodies(bodies, dt)
        wall_velocity = domain.wall_velocity(time, dt)
        self.particles.to_grid(fields.velocity, fields.previous_velocity)
        for axis in self.grid.axes:
            fields.velocity[axis] += fields.dtype.type(self.gravity[axis] * dt)
        self._apply_inflow(time)
        if forces is not None:
            forces(dt)
        domain.apply_boundary_conditions(fields.velocity)
        viscous = self.diffuse(dt, wall_velocity, balance=not bodies)
        for body in bodies:
            apply_viscous_drag(self, body, dt)
        growth = self._volume_growth()
        pressure = self.projection.project(fields, dt, wall_velocity, growth=growth, bodies=bodies)
        if self.floating_bodies is not None:
            self.floating_bodies.correct()
        self._account_outflow(dt)
        self.extrapolate()
        s = dt / self.grid.spacing
        fall = [g * dt for g in self.gravity]
        self.particles.move(
            fields.velocity, fields.previous_velocity, self.flip, s, fall, self._solid_distances
        )
        self.level_set.advect(fields.velocity, s)
        if domain.has_moving_obstacles:
            self.place_obstacles(time + dt)
        self._resample(time + dt)
        self._correct_volume()
        return SubstepReport(dt, pressure, viscous)

    def _begin_bodies(self, dt: float) -> Sequence[FloatingBody]:
        return () if self.floating_bodies is None else self.floating_bodies.begin_substep(dt)

    def _predict_bodies(self, bodies: Sequence[FloatingBody], dt: float) -> None:
        """Predict the velocities of floating bodies, with the hydrostatic correction."""
        if self.floating_bodies is not None:
            gravity = np.roll(self.gravity, -self.grid.x_axis)
            for body in bodies:
                hydrostatic_correction(self, body, gravity, dt)
            self.floating_bodies.predict()

    def _apply_inflow(self, time: float) -> None:
        """Set the velocity of faces in inflow sources."""
        for source in self.inflow_sources:
            if source.start <= time < source.stop:
                for axis, inside in zip(self.grid.axes, source.faces, strict=True):
                    self.fields.velocity[axis][inside] = source.velocity[axis]

    def _account_outflow(self, dt: float) -> None:
        """Subtract the outflow at open sides from the target volume."""
        for side in self.domain.sides:
            if side.kind == "open":
                at = side.layer()
                fractions = self.domain.cut_cells.face_fractions[side.axis][at]
                flux = np.where(self.level_set.phi[at] < 0.0, fractions, 0.0)
                flux = flux * self.fields.velocity[side.axis][at].astype(np.float64)
                self.target_volume += side.inward * float(flux.sum()) * dt / self.grid.spacing
        self.target_volume = max(self.target_volume, 0.0)

    @timed("liquid surface")
    def _resample(self, time: float) -> None:
        """Remove, cull and reseed particles after advection, and apply sources and drains to the level set."""
        level_set, particles = self.level_set, self.particles
        self._resolve_penetration()
        for cells in self.drains:
            before = self.volume()
            particles.remove(cells)
            level_set.phi[cells] = np.maximum(level_set.phi[cells], 0.5)
            self.target_volume = max(self.target_volume + self.volume() - before, 0.0)
        counts = particles.cull(2 * particles.per_cell)
        least = particles.per_cell // 2 - 1
        corners, velocity = self._solid_distances, self.fields.velocity
        for source in self.inflow_sources:
            if source.start <= time < source.stop:
                before = level_set.volume()
                level_set.phi = np.minimum(level_set.phi, source.phi)
                self.target_volume += level_set.volume() - before
                flow = [np.full_like(u, source.velocity[a]) for a, u in enumerate(velocity)]
                particles.reseed(source.phi, counts, corners, flow, below=0.0, least=least)
        particles.reseed(level_set.phi, counts, corners, velocity, below=_RESEED_LEVEL, least=least)
        self._rebuild_level_set()

    def _resolve_penetration(self) -> None:
        """Push particles out of obstacles, and subtract those that left from the target volume."""
        left = self.particles.resolve_penetration(self._solid_distances, self._open_ends)
        self.target_volume = max(self.target_volume - left / self.particles.per_cell, 0.0)

    def _rebuild_level_set(self) -> None:
        """Sort the particles, merge them into the level set, and reinitialise it."""
        level_set, particles = self.level_set, self.particles
        particles.sort()
        level_set.merge_particles(
            particles.density(level_set.phi),
            _MAX_MERGE_DEPTH,
            particles.per_cell,
            _DRY_FRACTION,
            _WET_FRACTION,
        )
        level_set.extrapolate_into_solid()
        level_set.reinitialise()
        particles.classify(level_set.phi)

    # volume

    def volume(self) -> float:
        """Return the volume below the surface and of detached particles, in cells."""
        return self.level_set.volume() + self.particles.detached_volume

    @property
    def volume_loss(self) -> float:
        """Relative loss of volume."""
        return 1.0 - self.volume() / self.target_volume if self.target_volume > 0.0 else 0.0

    def _volume_growth(self) -> float:
        """Return the relative volume growth of a step that corrects the volume error."""
        have = self.volume()
        if have == 0.0:
            return 0.0
        error = self.target_volume / have - 1.0
        return float(np.clip(error / _CORRECTION_SUBSTEPS, -_MAX_GROWTH, _MAX_GROWTH))

    def _correct_volume(self) -> None:
        """Expand or contract the liquid at once if its volume error is large.

        Within a sub-step liquid may move farther than the gap to a wall or to other liquid; the overlap is lost.
        """
        have = self.volume()
        missing = self.target_volume / have - 1.0 if have > 0.0 else 0.0
        if abs(missing) <= _LARGE_VOLUME_ERROR:
            return
        fields = self.fields
        velocity, potential, unit = fields.velocity, fields.potential, fields.pressure_unit
        fields.velocity = [np.zeros_like(u) for u in velocity]
        fields.potential = np.zeros_like(potential)
        growth = float(np.clip(missing, -_MAX_CORRECTION, _MAX_CORRECTION))
        self.projection.project(fields, self.grid.spacing, growth=growth, with_tension=False)
        self.extrapolate()  # the velocity is a displacement in cells here
        for side in self.domain.sides:
            if side.kind != "open":
                fields.velocity[side.axis][side.layer()] = 0
        self.particles.displace(fields.velocity)
        self.level_set.advect(fields.velocity, 1.0)
        fields.velocity, fields.potential, fields.pressure_unit = velocity, potential, unit
        self._resolve_penetration()
        self.particles.cull(2 * self.particles.per_cell)
        self._rebuild_level_set()

    # sub-steps and warnings

    def substep_count(self, dt: float, cfl: float) -> int:
        """Return the number of sub-steps that the CFL condition and the capillary time step limit require."""
        fall = float(np.abs(self.gravity).max())
        speed = max(
            self.fields.max_speed(), (fall * self.grid.spacing) ** 0.5
        )  # or of free fall through a cell
        count = cfl_substeps(speed, dt, cfl, self.grid.spacing)
        if self.surface_tension > 0.0:
            limit = _CAPILLARY_CFL * (self.density * self.grid.spacing**3 / self.surface_tension) ** 0.5
            count = max(count, ceil(dt / limit - 1e-9))
        return count

    def warnings(self) -> list[str]:
        """Return warnings about the last step: none."""
        return []

    def summary(self) -> dict[str, int | str]:
        """Return the number of particles."""
        return {"particles": len(self.particles.rows)}

    # state

    def state_shapes(self) -> dict[str, tuple[int | None, ...]]:
        """Return the shapes of the arrays that a state must have, by key."""
        rows = (None, self.particles.rows.shape[1])
        return {
            **self.fields.state_shapes(),
            "level_set": self.level_set.phi.shape,
            "particles": rows,
            "counts": (2,),
        }

    def state(self) -> dict[str, NDArray]:
        """Return everything that a bitwise identical restart needs."""
        return self.fields.state() | {
            "level_set": self.level_set.phi.copy(),
            "particles": self.particles.rows.copy(),
            "counts": np.array([self.target_volume, self.particles.seeded], dtype=np.float64),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`."""
        self.fields.restore(state)
        self.domain.invalidate_obstacles()
        counts = np.asarray(state["counts"]).reshape(-1)
        self.level_set.phi = np.array(state["level_set"], dtype=self.fields.dtype)
        self.particles.set_rows(state["particles"])
        self.particles.seeded = int(counts[1])
        self.particles.classify(self.level_set.phi)
        self.target_volume = float(counts[0])

    def reset(self) -> None:
        """Set velocity and pressure to zero, and apply the boundary conditions; `fill` sets the liquid."""
        self.fields.clear()
        self.domain.invalidate_obstacles()
        self.domain.apply_boundary_conditions(self.fields.velocity)
