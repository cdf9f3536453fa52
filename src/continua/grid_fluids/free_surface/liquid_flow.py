"""The flow of a liquid with a free surface: particles carry its velocity, a level set is its surface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.grid_fluids import flow_kernels
from continua.grid_fluids.flow import Flow, FlowStep
from continua.grid_fluids.free_surface import surface_tension_kernels as tension_kernels
from continua.grid_fluids.free_surface.level_set import LevelSet
from continua.grid_fluids.free_surface.particles import Particles
from continua.grid_fluids.geometry import cut_cell_kernels as cut_kernels
from continua.grid_fluids.geometry.cut_cells import Window
from continua.grid_fluids.geometry.grid import Grid
from continua.grid_fluids.pressure import ghost_fluid_kernels as surface_kernels
from continua.grid_fluids.pressure.ghost_fluid import FreeSurface
from continua.grid_fluids.pressure.multigrid import Solve
from continua.grid_fluids.pressure.rigid_coupling import Added, Rider, Riders, lift, rub
from continua.grid_fluids.viscosity import NARROW, Viscosity
from continua.numerics.stages import timed

__all__ = ["LiquidFlow", "Spring"]

_PARALLEL_FROM = 16384
_TOO_DEEP = -2.5  # cells below the surface: there particles do not overrule the level set
_LEAST, _MOST = 0.2, 0.7  # filled parts of a cell at which particles overrule the level set
_SEED_BELOW = -1.0  # cells: only deeper are particles put into cells that lost theirs
_CATCH_UP = 1.5  # sub-steps in which a wrong volume is made good, but ...
_MOST_GROWTH = 0.01  # ... never by more than this part of it a sub-step
_FAR_OFF = 0.01  # part of the volume that, if it is missing, is made good at once, but ...
_MOST_AT_ONCE = 0.05  # ... never more than this
_CURVED = 1.8  # cells from the surface up to which its curvature is worked out
_RIPPLES = 0.28  # of the time sqrt(rho h^3 / sigma) that a step may last with surface tension: 1 / sqrt(4 pi)
_LEAST_FILLED = 0.1  # part of the box around a wet face that is taken to be filled at least, for viscosity


@dataclass
class Spring:
    """A place where liquid comes into being: level set in cells, faces inside, velocity [m/s], when it runs [s]."""

    phi: NDArray
    faces: list[NDArray[np.bool_]]
    velocity: tuple[float, ...]
    start: float
    stop: float


class LiquidFlow(Flow):
    """Velocity, pressure, level set and particles of a liquid in a box.

    Attributes:
        level: The level set.
        particles: The particles.
        flip: Part of their own velocity that particles keep in a step.
        target: The volume there should be, in cells.
        springs: Where liquid comes into being.
        drains: Cells in which it vanishes.
        riders: The bodies that float in it, or None.
        tension: Surface tension [N/m].
    """

    def __init__(
        self,
        grid: Grid,
        *args: Any,
        reach: int = 4,
        flip: float = 0.0,
        seed: int = 0,
        tension: float = 0.0,
        **options: Any,
    ) -> None:
        dtype = np.dtype(options.get("dtype", np.float32))
        options.setdefault("centred", False)
        self.level = LevelSet(grid, dtype, reach)
        self.particles = Particles(grid, dtype, seed)
        self.reach, self.flip, self.tension = reach, flip, tension
        self.target = 0.0
        self.springs: list[Spring] = []
        self.drains: list[NDArray[np.bool_]] = []
        self.riders: Riders | None = None
        self.gravity: tuple[float, ...] = (0.0, 0.0, 0.0)
        super().__init__(grid, *args, **options)
        self._leave = np.zeros((3, 2), bool)
        for side in self.sides:
            self._leave[side.axis, side.end] = side.kind == "open"

    def recut(self, window: Window | None = None) -> None:
        """Take in where obstacles are."""
        self._weights = [part.copy() for part in self.cut.parts]
        self._fixed = np.zeros(self.grid.shape, self.dtype)
        for side in self.sides:
            if side.kind == "open":
                self._fixed[side.layer()] += 2 * self._weights[side.axis][side.layer()]
            self._weights[side.axis][side.layer()] = 0
        self.closed = np.empty(self.grid.shape, bool)
        cut_kernels.closed_cells.pick(self.closed.size >= _PARALLEL_FROM)(*self.cut.parts, self.closed)
        self.level.see(self.cut)
        self._walls = None
        self._viscosity = None

    def place(self, time: float) -> None:
        """Put obstacles that move where they are at `time` [s]."""
        if self.cut.moves:
            self._move(time)

    def fill(self, phi: NDArray | None, points: NDArray[np.float64] | None) -> None:
        """Fill the box: the level set in cells, or places of particles [m], or both."""
        level, particles = self.level, self.particles
        level.phi = np.full(self.grid.shape, self.reach + 3.0, self.dtype)
        particles.seeded = 0
        rows = np.zeros((0 if points is None else len(points), 15), self.dtype)
        if points is not None:
            rows[:, :3] = self.grid.in_cells(points)
            inside = ((rows[:, :3] >= 0) & (rows[:, :3] <= self.grid.shape)).all(axis=1)
            if not inside.all():
                raise InputError(f"{int((~inside).sum())} points of the liquid lie outside of its grid")
            rows[:, 3:6] = [self.velocity[a].flat[0] for a in range(3)]
        particles.put(rows)
        if points is not None:
            level.phi = (0.5 - particles.density() / particles.per_cell).astype(self.dtype)
        if phi is not None:
            level.phi = np.minimum(level.phi, phi)
        level.continue_into_obstacles()
        level.redistance()
        counts = particles.thin_out(2 * particles.per_cell)
        shut = level.hidden
        if phi is not None:
            particles.seed_into(phi, counts, shut, self.velocity, below=0.0, least=particles.per_cell)
            particles.push_out(self._corners, self._leave)
        particles.sort()
        particles.find_flying(level.phi)
        self.target = self.volume()

    def take(self, phi: NDArray, rows: NDArray, target: float, seeded: int) -> None:
        """Take over level set, sorted particles, volume in cells and count of seedings of a state."""
        self.level.phi = np.array(phi, dtype=self.dtype)
        self.particles.put(rows)
        self.particles.seeded = seeded
        self.particles.find_flying(self.level.phi)
        self.target = target

    # the parts of a step

    @timed("viscosity")
    def diffuse(self, dt: float, walls: Sequence[NDArray] = ()) -> list[Solve]:
        """Spread momentum by viscosity over `dt` [s], within the liquid and to walls, which move with `walls` [m/s]."""
        if self.viscosity == 0.0:
            return []
        for axis in self.grid.axes:
            shut = self.cut.parts[axis] == 0
            self.velocity[axis][shut] = walls[axis][shut] if len(walls) and walls[axis].size else 0
        number = self.viscosity / self.density * dt / self.grid.spacing**2
        filled = [self._filled(axis) for axis in range(3)]
        self._viscosity = (
            number,
            Viscosity(self.cut, self.sides, number, slip=self.slip, filled=filled),
        )
        return self._viscosity[1].solve(self.velocity)

    def _filled(self, axis: int) -> NDArray:
        """Return how far the boxes around the faces across an array axis are filled, from 0 to 1."""
        wide = [(int(a == axis), int(a == axis)) for a in range(3)]
        phi = np.moveaxis(np.pad(self.level.phi, wide, mode="edge"), axis, 0)
        wet = (phi[:-1] < 0.0) | (phi[1:] < 0.0)
        part = np.minimum(0.5 - 0.5 * (phi[:-1] + phi[1:]), 1.0)
        part = np.where(part > _LEAST_FILLED, part, np.where(wet, _LEAST_FILLED, 0.0))
        return np.ascontiguousarray(np.moveaxis(part, 0, axis))

    @timed("pressure")
    def project(
        self, dt: float, walls: Any = None, growth: float | None = None, riders: Sequence[Rider] = ()
    ) -> Solve:
        """Take off the gradient of the pressure below the surface.

        The surface itself is at pressure 0, or at that of surface tension: tension times curvature.

        Args:
            dt: Length of the step [s].
            walls: Velocity of moving obstacles on the faces [m/s], or None.
            growth: By which part of its volume the liquid shall grow in the step, without surface tension; None for
                what it lacks.
            riders: Bodies that are moved by the pressure.
        """
        none = np.zeros((0, 0, 0), self.dtype)
        walls = [none] * 3 if walls is None else walls
        u, parts, phi = self.velocity, self.cut.parts, self.level.phi
        if self.cut.obstacles:
            for axis in self.grid.axes:
                shut = parts[axis] == 0
                u[axis][shut] = walls[axis][shut] if walls[axis].size else 0
        parallel = self._b.size >= _PARALLEL_FROM
        flow_kernels.sources_of_pressure.pick(parallel)(*u, *parts, *walls, self._b)
        tense = self.tension > 0.0 and growth is None
        growth = self._growth() if growth is None else growth
        rate = self.dtype.type(growth * self.grid.spacing / dt)
        surface_kernels.sources.pick(parallel)(self._b, phi, self.level.open_volume, rate)
        unit = self.density * self.grid.spacing / dt
        if tense:
            kappa, jump = self._curvature(), self.dtype.type(self.tension / self.grid.spacing / unit)
            tension_kernels.tension_sources.pick(parallel)(self._b, phi, *self._weights, kappa, jump)
        scale = self.pressure_unit / unit  # the last pressure is the first guess
        self.pressure_unit = unit
        box = _wet_box(phi)
        if box is None:
            self.potential[:] = 0.0
            return Solve((0.0,), True)
        wet = np.ascontiguousarray(phi[box])
        faces = [tuple(slice(s.start, s.stop + (a == b)) for b, s in enumerate(box)) for a in range(3)]
        surface = FreeSurface(
            [np.ascontiguousarray(self._weights[a][faces[a]]) for a in range(3)],
            np.ascontiguousarray(self._fixed[box]),
            wet,
            smoothing=self.smoothing,
        )
        added = Added(self, riders, phi < 0.0, box)
        surface.solver.more = added if added else None
        x = np.where(wet < 0.0, self.potential[box] * scale, 0.0)
        solve = surface.solver.solve(surface.solvable(self._b[box]), x, rtol=self.rtol)
        added.push(x)
        self.potential[:] = 0.0
        self.potential[box] = x
        for axis in self.grid.axes:
            surface_kernels.subtract_gradient.pick(parallel)(u[axis], self.potential, parts[axis], phi, axis)
            if tense:
                tension_kernels.add_tension.pick(parallel)(u[axis], phi, parts[axis], axis, kappa, jump)
        for side in self.sides:
            if side.kind == "open":
                gradient = 2.0 * side.inward * self.potential[side.layer()]
                u[side.axis][side.layer()] -= np.where(parts[side.axis][side.layer()] > 0, gradient, 0.0)
        return solve

    def _curvature(self) -> NDArray:
        """Return the curvature of the surface in the cells around it, one over cells."""
        phi = self.level.phi
        kappa = np.empty_like(phi)
        most = phi.dtype.type(self.grid.dim - 1)
        tension_kernels.curvatures.pick(phi.size >= _PARALLEL_FROM)(phi, _CURVED, most, kappa)
        return kappa

    def parts_of(self, dt: float, cfl: float) -> int:
        """Return in how many sub-steps nothing moves too far: liquid not, and not the shortest ripples either."""
        count = super().parts_of(dt, cfl)
        if self.tension > 0.0:
            longest = _RIPPLES * (self.density * self.grid.spacing**3 / self.tension) ** 0.5
            count = max(count, ceil(dt / longest - 1e-9))
        return count

    @property
    def loss(self) -> float:
        """By which part the volume is less than it should be."""
        return 1.0 - self.volume() / self.target if self.target > 0.0 else 0.0

    def _growth(self) -> float:
        """Return by which part of its volume the liquid shall grow in a step, to have the volume it should have."""
        have = self.volume()
        if have == 0.0:
            return 0.0
        return float(np.clip((self.target / have - 1.0) / _CATCH_UP, -_MOST_GROWTH, _MOST_GROWTH))

    def volume(self) -> float:
        """Return the volume below the surface and of particles above it, in cells."""
        return self.level.volume() + self.particles.outside

    @timed("extrapolation")
    def extrapolate(self, walls: Any = None) -> None:
        """Continue the velocity from the liquid into air and obstacles, layer by layer."""
        for axis in self.grid.axes:
            u = self.velocity[axis]
            parallel = u.size >= _PARALLEL_FROM
            state = np.empty(u.shape, np.uint8)
            surface_kernels.known_faces.pick(parallel)(
                u, self.level.phi, self.cut.parts[axis], axis, NARROW, state
            )
            surface_kernels.spread(u, state, self.reach + 2)
        self.hold_sides()

    def step(self, dt: float, time: float = 0.0, forces: Callable[[float], None] | None = None) -> FlowStep:
        """Advance by `dt` [s] in one piece; `forces(dt)` may change the velocity before the pressure is found."""
        riders: Sequence[Rider] = () if self.riders is None else self.riders.set_out(dt)
        if self.cut.moves and self._placed != time:
            self._move(time)
        if self.riders is not None:
            down = np.roll(self.gravity, -self.grid.first)
            for rider in riders:
                lift(self, rider, down, dt)
            self.riders.depart()
        walls = self.wall_velocities(time, dt)
        self.particles.to_grid(self.velocity, self._spare)
        for axis in self.grid.axes:
            self.velocity[axis] += self.dtype.type(self.gravity[axis] * dt)
        self._pour(time)
        if forces is not None:
            forces(dt)
        self.hold_sides()
        viscous = self.diffuse(dt, walls)
        for rider in riders:
            rub(self, rider, dt)
        solve = self.project(dt, walls, riders=riders)
        if self.riders is not None:
            self.riders.arrive()
        self._let_out(dt)
        self.extrapolate()
        s = dt / self.grid.spacing
        fall = [g * dt for g in self.gravity]
        self.particles.move(self.velocity, self._spare, self.flip, s, fall, self._corners)
        self.level.carry(self.velocity, s)
        if self.cut.moves:
            self._move(time + dt)
        self._tidy(time + dt)
        self._make_up()
        return FlowStep(dt, solve, viscous)

    def _pour(self, time: float) -> None:
        """Give faces in springs their velocity."""
        for spring in self.springs:
            if spring.start <= time < spring.stop:
                for axis, inside in zip(self.grid.axes, spring.faces, strict=True):
                    self.velocity[axis][inside] = spring.velocity[axis]

    def _let_out(self, dt: float) -> None:
        """Count what leaves at open sides."""
        for side in self.sides:
            if side.kind == "open":
                at = side.layer()
                flux = np.where(self.level.phi[at] < 0.0, self.cut.parts[side.axis][at], 0.0)
                flux = flux * self.velocity[side.axis][at].astype(np.float64)
                self.target += side.inward * float(flux.sum()) * dt / self.grid.spacing
        self.target = max(self.target, 0.0)

    @timed("liquid surface")
    def _tidy(self, time: float) -> None:
        """Bring level set and particles in line after they moved."""
        level, particles = self.level, self.particles
        left = particles.push_out(self._corners, self._leave)
        self.target = max(self.target - left / particles.per_cell, 0.0)
        for cells in self.drains:
            before = self.volume()
            particles.drop(cells)
            level.phi[cells] = np.maximum(level.phi[cells], 0.5)
            self.target = max(self.target + self.volume() - before, 0.0)
        counts = particles.thin_out(2 * particles.per_cell)
        least = particles.per_cell // 2 - 1
        shut = level.hidden
        for spring in self.springs:
            if spring.start <= time < spring.stop:
                before = level.volume()
                level.phi = np.minimum(level.phi, spring.phi)
                self.target += level.volume() - before
                flow = [np.full_like(u, spring.velocity[a]) for a, u in enumerate(self.velocity)]
                particles.seed_into(spring.phi, counts, shut, flow, below=0.0, least=least)
        particles.seed_into(level.phi, counts, shut, self.velocity, below=_SEED_BELOW, least=least)
        self._join()

    def _join(self) -> None:
        """Sort the particles, and make the level set a distance that agrees with them."""
        level, particles = self.level, self.particles
        particles.sort()
        level.limit(particles.density(level.phi), _TOO_DEEP, particles.per_cell, _LEAST, _MOST)
        level.continue_into_obstacles()
        level.redistance()
        particles.find_flying(level.phi)

    def _make_up(self) -> None:
        """Move the liquid apart, or together, at once, if its volume is far from what it should be.

        Within a sub-step liquid runs over gaps that are shorter than its way, into walls or into other liquid: where
        it should have been stopped is known only afterwards.
        """
        have = self.volume()
        missing = self.target / have - 1.0 if have > 0.0 else 0.0
        if abs(missing) <= _FAR_OFF:
            return
        velocity, potential, unit = self.velocity, self.potential, self.pressure_unit
        self.velocity = [np.zeros_like(u) for u in velocity]
        self.potential = np.zeros_like(potential)
        self.project(self.grid.spacing, growth=float(np.clip(missing, -_MOST_AT_ONCE, _MOST_AT_ONCE)))
        self.extrapolate()  # the velocity is now a displacement in cells
        for side in self.sides:
            if side.kind != "open":
                self.velocity[side.axis][side.layer()] = 0
        self.particles.drift(self.velocity)
        self.level.carry(self.velocity, 1.0)
        self.velocity, self.potential, self.pressure_unit = velocity, potential, unit
        left = self.particles.push_out(self._corners, self._leave)
        self.target = max(self.target - left / self.particles.per_cell, 0.0)
        self.particles.thin_out(2 * self.particles.per_cell)
        self._join()

    @property
    def _corners(self) -> NDArray[np.float64]:
        """Distances to obstacles at the corners of cells [m], or nothing if there are none."""
        return self.cut.corners if self.cut.obstacles else np.zeros((0, 0, 0))

    def top_speed(self) -> float:
        """Return the largest velocity component on a face, or of free fall through a cell [m/s]."""
        fall = float(np.abs(self.gravity).max())
        return max(super().top_speed(), (fall * self.grid.spacing) ** 0.5)


def _wet_box(phi: NDArray) -> tuple[slice, ...] | None:
    """Return the part of the grid with all wet cells and one more around, in blocks of four; None if all are dry."""
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
