"""The flow of a liquid with a free surface: APIC particles carry its velocity, a level set is its surface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.grid_fluids.advection import extrapolation_kernels
from continua.grid_fluids.flow import Flow, SubstepReport
from continua.grid_fluids.free_surface import surface_tension_kernels as tension_kernels
from continua.grid_fluids.free_surface.level_set import LevelSet
from continua.grid_fluids.free_surface.particles import ApicParticles
from continua.grid_fluids.geometry import cut_cell_kernels
from continua.grid_fluids.geometry.cut_cells import Window
from continua.grid_fluids.geometry.grid import Grid
from continua.grid_fluids.pressure import ghost_fluid_kernels, projection_kernels
from continua.grid_fluids.pressure.ghost_fluid import GhostFluidPressure
from continua.grid_fluids.pressure.multigrid import MultigridReport
from continua.grid_fluids.pressure.rigid_coupling import (
    FloatingBodies,
    FloatingBody,
    RigidPressureTerm,
    apply_viscous_drag,
    hydrostatic_correction,
)
from continua.grid_fluids.viscosity import MIN_OPEN_FRACTION, Viscosity
from continua.numerics.stages import timed

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
_CURVATURE_BAND = 1.8  # cells: half width of the band in which curvature is computed
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


class LiquidFlow(Flow):
    """Velocity, pressure, level set and particles of a liquid in a box.

    Attributes:
        level_set: The level set.
        particles: The particles.
        flip: Fraction of their own velocity that particles keep in a step (FLIP); 0 is APIC.
        target_volume: The volume to be conserved, in cells.
        inflow_sources: Sources of liquid.
        drains: Masks of cells in which liquid is removed.
        floating_bodies: Rigid bodies coupled to the pressure, or None.
        surface_tension: Surface tension [N/m].
    """

    def __init__(
        self,
        grid: Grid,
        *args: Any,
        band_width: int = 4,
        flip: float = 0.0,
        seed: int = 0,
        surface_tension: float = 0.0,
        **options: Any,
    ) -> None:
        dtype = np.dtype(options.get("dtype", np.float32))
        options.setdefault("trapezoidal", False)
        self.level_set = LevelSet(grid, dtype, band_width)
        self.particles = ApicParticles(grid, dtype, seed)
        self.band_width, self.flip, self.surface_tension = band_width, flip, surface_tension
        self.target_volume = 0.0
        self.inflow_sources: list[InflowSource] = []
        self.drains: list[NDArray[np.bool_]] = []
        self.floating_bodies: FloatingBodies | None = None
        self.gravity: tuple[float, ...] = (0.0, 0.0, 0.0)
        super().__init__(grid, *args, **options)
        self._open_ends = np.zeros((3, 2), bool)
        for side in self.sides:
            self._open_ends[side.axis, side.end] = side.kind == "open"

    def rebuild_operators(self, window: Window | None = None) -> None:
        """Update weights, Dirichlet terms and solid cells after the cut cells changed."""
        self._weights = [part.copy() for part in self.cut_cells.face_fractions]
        self._dirichlet = np.zeros(self.grid.shape, self.dtype)
        for side in self.sides:
            if side.kind == "open":
                self._dirichlet[side.layer()] += 2 * self._weights[side.axis][side.layer()]
            self._weights[side.axis][side.layer()] = 0
        self.solid_cells = np.empty(self.grid.shape, bool)
        cut_cell_kernels.mark_solid_cells.pick(self.solid_cells.size >= _PARALLEL_FROM)(
            *self.cut_cells.face_fractions, self.solid_cells
        )
        self.level_set.set_solid(self.cut_cells)
        self._wall_cells = None
        self._viscosity = None

    def place_obstacles(self, time: float) -> None:
        """Place moving obstacles for `time` [s]."""
        if self.cut_cells.has_moving_obstacles:
            self._move_obstacles(time)

    def fill(self, phi: NDArray | None, points: NDArray[np.float64] | None) -> None:
        """Fill the box from a level set in cells, from positions of particles [m], or both."""
        level_set, particles = self.level_set, self.particles
        level_set.phi = np.full(self.grid.shape, self.band_width + 3.0, self.dtype)
        particles.seeded = 0
        rows = np.zeros((0 if points is None else len(points), 15), self.dtype)
        if points is not None:
            rows[:, :3] = self.grid.to_cell_coordinates(points)
            inside = ((rows[:, :3] >= 0) & (rows[:, :3] <= self.grid.shape)).all(axis=1)
            if not inside.all():
                raise InputError(
                    f"{int((~inside).sum())} points of the liquid lie outside of its grid; move or remove them"
                )
            rows[:, 3:6] = [self.velocity[a].flat[0] for a in range(3)]
        particles.set_rows(rows)
        if points is not None:
            level_set.phi = (0.5 - particles.density() / particles.per_cell).astype(self.dtype)
        if phi is not None:
            level_set.phi = np.minimum(level_set.phi, phi)
        level_set.extrapolate_into_solid()
        level_set.reinitialise()
        counts = particles.cull(2 * particles.per_cell)
        closed = level_set.inside_solid
        if phi is not None:
            particles.reseed(phi, counts, closed, self.velocity, below=0.0, least=particles.per_cell)
            particles.resolve_penetration(self._solid_distances, self._open_ends)
        particles.sort()
        particles.classify(level_set.phi)
        self.target_volume = self.volume()

    def restore_state(self, phi: NDArray, rows: NDArray, target_volume: float, seeded: int) -> None:
        """Restore level set, sorted particles, target volume in cells and number of reseedings."""
        self.level_set.phi = np.array(phi, dtype=self.dtype)
        self.particles.set_rows(rows)
        self.particles.seeded = seeded
        self.particles.classify(self.level_set.phi)
        self.target_volume = target_volume

    # stages of a step

    @timed("viscosity")
    def diffuse(self, dt: float, wall_velocity: Sequence[NDArray] = ()) -> list[MultigridReport]:
        """Diffuse momentum by viscosity over `dt` [s]; walls move with `wall_velocity` [m/s]."""
        if self.viscosity == 0.0:
            return []
        for axis in self.grid.axes:
            closed = self.cut_cells.face_fractions[axis] == 0
            self.velocity[axis][closed] = (
                wall_velocity[axis][closed] if len(wall_velocity) and wall_velocity[axis].size else 0
            )
        number = self.viscosity / self.density * dt / self.grid.spacing**2
        filled = [self._filled_fraction(axis) for axis in range(3)]
        self._viscosity = (
            number,
            Viscosity(self.cut_cells, self.sides, number, slip=self.slip, filled=filled),
        )
        return self._viscosity[1].solve(self.velocity)

    def _filled_fraction(self, axis: int) -> NDArray:
        """Return the filled fraction of the control volumes around the faces across an array axis."""
        wide = [(int(a == axis), int(a == axis)) for a in range(3)]
        phi = np.moveaxis(np.pad(self.level_set.phi, wide, mode="edge"), axis, 0)
        wet = (phi[:-1] < 0.0) | (phi[1:] < 0.0)
        part = np.minimum(0.5 - 0.5 * (phi[:-1] + phi[1:]), 1.0)
        part = np.where(part > _MIN_FILLED, part, np.where(wet, _MIN_FILLED, 0.0))
        return np.ascontiguousarray(np.moveaxis(part, 0, axis))

    @timed("pressure")
    def project(
        self,
        dt: float,
        wall_velocity: Any = None,
        growth: float | None = None,
        floating_bodies: Sequence[FloatingBody] = (),
    ) -> MultigridReport:
        """Subtract the pressure gradient below the surface.

        The pressure on the surface is 0, or surface tension times curvature.

        Args:
            dt: Length of the step [s].
            wall_velocity: Velocity of moving obstacles on the faces [m/s], or None.
            growth: Relative volume growth in the step, without surface tension; None to correct the volume error.
            floating_bodies: Rigid bodies coupled to the pressure.
        """
        none = np.zeros((0, 0, 0), self.dtype)
        wall_velocity = [none] * 3 if wall_velocity is None else wall_velocity
        u, face_fractions, phi = self.velocity, self.cut_cells.face_fractions, self.level_set.phi
        if self.cut_cells.obstacles:
            for axis in self.grid.axes:
                closed = face_fractions[axis] == 0
                u[axis][closed] = wall_velocity[axis][closed] if wall_velocity[axis].size else 0
        parallel = self._rhs.size >= _PARALLEL_FROM
        projection_kernels.divergence_rhs.pick(parallel)(*u, *face_fractions, *wall_velocity, self._rhs)
        with_tension = self.surface_tension > 0.0 and growth is None
        growth = self._volume_growth() if growth is None else growth
        rate = self.dtype.type(growth * self.grid.spacing / dt)
        ghost_fluid_kernels.liquid_rhs.pick(parallel)(self._rhs, phi, self.level_set.open_volume, rate)
        unit = self.density * self.grid.spacing / dt
        if with_tension:
            kappa, jump = self._curvature(), self.dtype.type(self.surface_tension / self.grid.spacing / unit)
            tension_kernels.surface_tension_rhs.pick(parallel)(self._rhs, phi, *self._weights, kappa, jump)
        scale = self.pressure_unit / unit  # the last pressure is the initial guess
        self.pressure_unit = unit
        box = _wet_box(phi)
        if box is None:
            self.potential[:] = 0.0
            return MultigridReport((0.0,), True)
        wet = np.ascontiguousarray(phi[box])
        faces = [tuple(slice(s.start, s.stop + (a == b)) for b, s in enumerate(box)) for a in range(3)]
        surface = GhostFluidPressure(
            [np.ascontiguousarray(self._weights[a][faces[a]]) for a in range(3)],
            np.ascontiguousarray(self._dirichlet[box]),
            wet,
            smoothing=self.smoothing,
        )
        rigid_term = RigidPressureTerm(self, floating_bodies, phi < 0.0, box)
        surface.solver.extra_term = rigid_term if rigid_term else None
        x = np.where(wet < 0.0, self.potential[box] * scale, 0.0)
        solve = surface.solver.solve(surface.solvable_rhs(self._rhs[box]), x, rtol=self.rtol)
        rigid_term.apply_impulses(x)
        self.potential[:] = 0.0
        self.potential[box] = x
        for axis in self.grid.axes:
            ghost_fluid_kernels.subtract_gradient.pick(parallel)(
                u[axis], self.potential, face_fractions[axis], phi, axis
            )
            if with_tension:
                tension_kernels.add_surface_tension.pick(parallel)(
                    u[axis], phi, face_fractions[axis], axis, kappa, jump
                )
        for side in self.sides:
            if side.kind == "open":
                gradient = 2.0 * side.inward * self.potential[side.layer()]
                u[side.axis][side.layer()] -= np.where(
                    face_fractions[side.axis][side.layer()] > 0, gradient, 0.0
                )
        return solve

    def _curvature(self) -> NDArray:
        """Return the curvature of the surface in the cells around it [1/cells]."""
        phi = self.level_set.phi
        kappa = np.empty_like(phi)
        most = phi.dtype.type(self.grid.dim - 1)
        tension_kernels.curvatures.pick(phi.size >= _PARALLEL_FROM)(phi, _CURVATURE_BAND, most, kappa)
        return kappa

    def substep_count(self, dt: float, cfl: float) -> int:
        """Return the number of sub-steps that the CFL condition and the capillary time step limit require."""
        count = super().substep_count(dt, cfl)
        if self.surface_tension > 0.0:
            longest = _CAPILLARY_CFL * (self.density * self.grid.spacing**3 / self.surface_tension) ** 0.5
            count = max(count, ceil(dt / longest - 1e-9))
        return count

    @property
    def volume_loss(self) -> float:
        """Relative loss of volume."""
        return 1.0 - self.volume() / self.target_volume if self.target_volume > 0.0 else 0.0

    def _volume_growth(self) -> float:
        """Return the relative volume growth of a step that corrects the volume error."""
        have = self.volume()
        if have == 0.0:
            return 0.0
        return float(
            np.clip((self.target_volume / have - 1.0) / _CORRECTION_SUBSTEPS, -_MAX_GROWTH, _MAX_GROWTH)
        )

    def volume(self) -> float:
        """Return the volume below the surface and of detached particles, in cells."""
        return self.level_set.volume() + self.particles.detached_volume

    @timed("extrapolation")
    def extrapolate(self, wall_velocity: Any = None) -> None:
        """Extrapolate the velocity from the liquid into air and obstacles, layer by layer."""
        for axis in self.grid.axes:
            u = self.velocity[axis]
            parallel = u.size >= _PARALLEL_FROM
            state = np.empty(u.shape, np.uint8)
            extrapolation_kernels.mark_liquid_faces.pick(parallel)(
                u, self.level_set.phi, self.cut_cells.face_fractions[axis], axis, MIN_OPEN_FRACTION, state
            )
            extrapolation_kernels.extrapolate(u, state, self.band_width + 2)
        self.apply_boundary_conditions()

    def step(
        self, dt: float, time: float = 0.0, forces: Callable[[float], None] | None = None
    ) -> SubstepReport:
        """Advance by `dt` [s] in one step; `forces(dt)` may change the velocity before the pressure solve."""
        floating_bodies: Sequence[FloatingBody] = (
            () if self.floating_bodies is None else self.floating_bodies.begin_substep(dt)
        )
        if self.cut_cells.has_moving_obstacles and self._obstacle_time != time:
            self._move_obstacles(time)
        if self.floating_bodies is not None:
            down = np.roll(self.gravity, -self.grid.x_axis)
            for body in floating_bodies:
                hydrostatic_correction(self, body, down, dt)
            self.floating_bodies.predict()
        wall_velocity = self.wall_velocities(time, dt)
        self.particles.to_grid(self.velocity, self._previous_velocity)
        for axis in self.grid.axes:
            self.velocity[axis] += self.dtype.type(self.gravity[axis] * dt)
        self._apply_inflow(time)
        if forces is not None:
            forces(dt)
        self.apply_boundary_conditions()
        viscous = self.diffuse(dt, wall_velocity)
        for body in floating_bodies:
            apply_viscous_drag(self, body, dt)
        solve = self.project(dt, wall_velocity, floating_bodies=floating_bodies)
        if self.floating_bodies is not None:
            self.floating_bodies.correct()
        self._account_outflow(dt)
        self.extrapolate()
        s = dt / self.grid.spacing
        fall = [g * dt for g in self.gravity]
        self.particles.move(self.velocity, self._previous_velocity, self.flip, s, fall, self._solid_distances)
        self.level_set.advect(self.velocity, s)
        if self.cut_cells.has_moving_obstacles:
            self._move_obstacles(time + dt)
        self._resample(time + dt)
        self._correct_volume()
        return SubstepReport(dt, solve, viscous)

    def _apply_inflow(self, time: float) -> None:
        """Set the velocity of faces in inflow sources."""
        for source in self.inflow_sources:
            if source.start <= time < source.stop:
                for axis, inside in zip(self.grid.axes, source.faces, strict=True):
                    self.velocity[axis][inside] = source.velocity[axis]

    def _account_outflow(self, dt: float) -> None:
        """Subtract the outflow at open sides from the target volume."""
        for side in self.sides:
            if side.kind == "open":
                at = side.layer()
                flux = np.where(
                    self.level_set.phi[at] < 0.0, self.cut_cells.face_fractions[side.axis][at], 0.0
                )
                flux = flux * self.velocity[side.axis][at].astype(np.float64)
                self.target_volume += side.inward * float(flux.sum()) * dt / self.grid.spacing
        self.target_volume = max(self.target_volume, 0.0)

    @timed("liquid surface")
    def _resample(self, time: float) -> None:
        """Remove, cull and reseed particles after advection, and apply sources and drains to the level set."""
        level_set, particles = self.level_set, self.particles
        left = particles.resolve_penetration(self._solid_distances, self._open_ends)
        self.target_volume = max(self.target_volume - left / particles.per_cell, 0.0)
        for cells in self.drains:
            before = self.volume()
            particles.remove(cells)
            level_set.phi[cells] = np.maximum(level_set.phi[cells], 0.5)
            self.target_volume = max(self.target_volume + self.volume() - before, 0.0)
        counts = particles.cull(2 * particles.per_cell)
        least = particles.per_cell // 2 - 1
        closed = level_set.inside_solid
        for source in self.inflow_sources:
            if source.start <= time < source.stop:
                before = level_set.volume()
                level_set.phi = np.minimum(level_set.phi, source.phi)
                self.target_volume += level_set.volume() - before
                flow = [np.full_like(u, source.velocity[a]) for a, u in enumerate(self.velocity)]
                particles.reseed(source.phi, counts, closed, flow, below=0.0, least=least)
        particles.reseed(level_set.phi, counts, closed, self.velocity, below=_RESEED_LEVEL, least=least)
        self._rebuild_level_set()

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

    def _correct_volume(self) -> None:
        """Expand or contract the liquid at once if its volume error is large.

        Within a sub-step liquid may move farther than the gap to a wall or to other liquid; the overlap is lost.
        """
        have = self.volume()
        missing = self.target_volume / have - 1.0 if have > 0.0 else 0.0
        if abs(missing) <= _LARGE_VOLUME_ERROR:
            return
        velocity, potential, unit = self.velocity, self.potential, self.pressure_unit
        self.velocity = [np.zeros_like(u) for u in velocity]
        self.potential = np.zeros_like(potential)
        self.project(self.grid.spacing, growth=float(np.clip(missing, -_MAX_CORRECTION, _MAX_CORRECTION)))
        self.extrapolate()  # the velocity is a displacement in cells here
        for side in self.sides:
            if side.kind != "open":
                self.velocity[side.axis][side.layer()] = 0
        self.particles.displace(self.velocity)
        self.level_set.advect(self.velocity, 1.0)
        self.velocity, self.potential, self.pressure_unit = velocity, potential, unit
        left = self.particles.resolve_penetration(self._solid_distances, self._open_ends)
        self.target_volume = max(self.target_volume - left / self.particles.per_cell, 0.0)
        self.particles.cull(2 * self.particles.per_cell)
        self._rebuild_level_set()

    @property
    def _solid_distances(self) -> NDArray[np.float64]:
        """Signed distances to obstacles at cell corners [m]; empty without obstacles."""
        return self.cut_cells.corner_distances if self.cut_cells.obstacles else np.zeros((0, 0, 0))

    def top_speed(self) -> float:
        """Return the largest velocity component on a face, or that of free fall through a cell [m/s]."""
        fall = float(np.abs(self.gravity).max())
        return max(super().top_speed(), (fall * self.grid.spacing) ** 0.5)


def _wet_box(phi: NDArray) -> tuple[slice, ...] | None:
    """Return the box of all wet cells with one more around, rounded to blocks of four; None if all are dry."""
    wet = phi < 0.0
    box = []
    for axis in range(3):
        others = tuple(a for a in range(3) if a != axis)
        found = np.flatnonzero(wet.any(axis=others))
        if not len(found):
            return None
        low, high = max(int(found[0]) - 1, 0), min(int(found[-1]) + 2, phi.shape[axis])
        box.append(slice(4 * (low // 4), min(4 * ceil(high / 4), phi.shape[axis])))
    return tuple(box)
