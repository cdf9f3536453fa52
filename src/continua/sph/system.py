"""All fluids of a world as one system of particles, advanced by sub-steps."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite

import numpy as np
from numpy.typing import NDArray

from continua.errors import DivergedError, InputError
from continua.frames import StepReport
from continua.geometry import Shape
from continua.numerics import all_finite
from continua.numerics.stages import timed
from continua.sph import motion_kernels
from continua.sph.boundary import WallSums
from continua.sph.emitters import Emitter
from continua.sph.fluid import Fluid
from continua.sph.grid import CellGrid, NeighbourLists
from continua.sph.particles import Particles
from continua.sph.solvers import SolveFacts
from continua.sph.tension import add_tension
from continua.sph.viscosity import accelerate, needs_implicit, smooth, solve_viscosity, stickiness
from continua.sph.walls import Pressing, ShapeWall, Wall, check_room, check_start, wall_model
from continua.surroundings import Surroundings
from continua.values import counted

__all__ = ["FluidSystem", "SubStep"]

_SHORTEST = 1e-4  # of the longest sub-step; speeds that need shorter ones are those of an explosion
_SHAKING = 0.75  # of sqrt(2 p / rho), p the mean pressure: as fast as particles are taken to be at least
_ENTERED = 0.05  # of the diameter: particles deeper in a wall did not just rest on it
_OVERLAPS = (
    (0.6, 1),
    (0.88, 4),
)  # parts of the diameter, and how many others a particle may not have so near


@dataclass
class SubStep:
    """What one sub-step did: its length [s], the two solves, viscosity iterations, and particles put back.

    Of these, those in `entered` were far inside of a wall; the others are those of thin films, which rest on it.
    """

    dt: float
    density: SolveFacts
    divergence: SolveFacts
    viscous: int = 0
    returned: int = 0
    entered: int = 0


@dataclass
class FluidSystem:
    """The particles of several fluids, the walls around them, and how they are stepped.

    Attributes:
        fluids: The fluids.
        colliders: Shapes that act as walls.
        surroundings: Gravity and time.
        walls: The walls: first the colliders, then bodies.
        particles: The particles, sorted.
        history: The sub-steps of the last step.
    """

    fluids: Sequence[Fluid]
    colliders: Sequence[Shape]
    surroundings: Surroundings
    walls: list[Wall] = field(init=False)
    particles: Particles = field(init=False)
    history: list[SubStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        first = self.fluids[0]
        for other in self.fluids[1:]:
            for key in (
                "particle_radius",
                "solver",
                "boundary",
                "max_dt",
                "cfl",
                "xsph",
                "wall_friction",
                "wall_drag",
            ):
                if getattr(other, key) != getattr(first, key):
                    raise InputError(
                        f"fluids of one world must have the same {key}: '{first.name}' has {getattr(first, key)}, "
                        f"'{other.name}' has {getattr(other, key)}"
                    )
        self.diameter = first.diameter
        self.radius = 2.0 * self.diameter
        starts = np.concatenate([fluid.positions for fluid in self.fluids])
        for shape in self.colliders:
            check_room(shape, self.diameter)
        self.walls = [
            ShapeWall(shape, wall_model(shape, self.radius, first.boundary)) for shape in self.colliders
        ]
        self._check_start(starts)
        middle = 0.5 * (starts.min(axis=0) + starts.max(axis=0)) if len(starts) else self._nozzle()
        self.origin = self.radius * np.round(middle / self.radius)
        self._scratch = WallSums()
        self._take_over()

    def _nozzle(self) -> NDArray[np.float64]:
        return np.array(next(e for fluid in self.fluids for e in fluid.emitters).center, dtype=np.float64)

    def meet(self, wall: Wall) -> None:
        """Let a body be a wall, too."""
        for fluid in self.fluids:
            check_start([wall], fluid.name, fluid.positions, self.diameter, self.surroundings.time)
        self.walls.append(wall)

    # the start

    def _check_start(self, points: NDArray[np.float64]) -> None:
        """Refuse fluid inside walls and fluid that overlaps fluid."""
        for fluid in self.fluids:
            check_start(self.walls, fluid.name, fluid.positions, self.diameter, self.surroundings.time)
        if len(points) > 1:
            self._check_overlap(points)

    def _check_overlap(self, points: NDArray[np.float64]) -> None:
        """Refuse points [n, 3] that lie in each other, as two lattices in one place do whatever their offset."""
        rows = np.zeros((len(points), 4), np.float32)
        rows[:, :3] = points - points.mean(axis=0)
        for part, most in _OVERLAPS:
            grid, lists = CellGrid(part * self.diameter), NeighbourLists()
            order = grid.sort(rows.ravel())
            lists.update(grid, np.ascontiguousarray(rows[order]).ravel())
            close = int((lists.counts >= most).sum())
            if close:
                names = " and ".join(f"'{fluid.name}'" for fluid in self.fluids)
                others = "another" if most == 1 else f"{most} others"
                raise InputError(
                    f"{counted(close, 'particle')} of {names} overlap: they start nearer than {part:g} particle "
                    f"diameters to {others}; move the fluids apart or space the points by a diameter"
                )

    def _take_over(self) -> None:
        """Make the sorted particles from the arrays of the fluids."""
        solver = self.fluids[0].solver
        order = np.argsort(np.concatenate([fluid.arrays["order"] for fluid in self.fluids]), kind="stable")
        n = len(order)
        rows, velocities = np.zeros((n, 4), np.float32), np.zeros((n, 4), np.float32)
        parts = [fluid.arrays.get("local", fluid.arrays["positions"] - self.origin) for fluid in self.fluids]
        rows[:, :3] = np.concatenate(parts)[order]
        velocities[:, :3] = np.concatenate([fluid.arrays["velocities"] for fluid in self.fluids])[order]
        number = np.repeat(np.arange(len(self.fluids), dtype=np.uint8), [f.node_count for f in self.fluids])
        self.particles = Particles(
            self.radius,
            self.diameter**3,
            np.array([fluid.density for fluid in self.fluids]),
            np.array([fluid.viscosity for fluid in self.fluids]),
            rows.ravel(),
            velocities.ravel(),
            number[order],
            np.concatenate([fluid.arrays["ids"] for fluid in self.fluids])[order],
            longest=self.fluids[0].max_dt,
        )
        nothing = np.zeros(0, np.float32)
        for name in solver.carries:
            parts = [
                fluid.arrays.get(f"carried_{name}", np.zeros(fluid.node_count, np.float32))
                for fluid in self.fluids
            ]
            self.particles.carried[name] = np.concatenate([nothing, *parts])[order].astype(np.float32)
        self._dt = float(self.fluids[0].arrays.get("dt", np.array(self.fluids[0].max_dt)))
        self._layers = [fluid.arrays["layers"].copy() for fluid in self.fluids]
        for fluid in self.fluids:
            fluid.changed = False

    def _hand_back(self) -> None:
        """Give every fluid its particles, in the order of their numbers."""
        p, solver = self.particles, self.fluids[0].solver
        pressure = np.asarray(solver.pressure(p, self._dt))
        rows, velocities = p.rows.reshape(-1, 4), p.velocities.reshape(-1, 4)
        for number, fluid in enumerate(self.fluids):
            mine = _in_order_of(p.ids, None if len(self.fluids) == 1 else p.fluid == number)
            local = rows[mine][:, :3].copy()
            fluid.arrays = {
                "positions": self.origin + local,
                "local": local,
                "velocities": velocities[mine][:, :3].copy(),
                "ids": p.ids[mine],
                "order": mine,
                "layers": self._layers[number].copy(),
                "dt": np.array(self._dt),
                "pressure": pressure[mine].astype(np.float32),
                "density_error": p.density[mine] - np.float32(1.0),
            }
            for name, values in p.carried.items():
                fluid.arrays[f"carried_{name}"] = values[mine]
            fluid.changed = False

    # stepping

    def step(self, dt: float, follow: Callable[[float, float], None] | None = None) -> list[StepReport]:
        """Advance by `dt` [s] in as many sub-steps as the speeds ask for; return a report for each fluid.

        `follow(done, sub)` is called after each sub-step, `done` [s] after the start and `sub` [s] long, so that
        bodies can keep pace.

        If the fluid explodes, DivergedError is raised and the fluids are as they were before.
        """
        started = clock.perf_counter()
        if any(fluid.changed for fluid in self.fluids):
            self._take_over()
        self.history = []
        done = 0.0
        try:
            while done < dt * (1.0 - 1e-9):
                sub = self._sub_step(self.surroundings.time + done, dt - done)
                self.history.append(sub)
                if follow is not None:
                    follow(done, sub.dt)
                done += sub.dt
        except Exception:
            for fluid in self.fluids:
                fluid.changed = True
            raise
        self._hand_back()
        seconds = (clock.perf_counter() - started) / len(self.fluids)
        return [self._report(fluid, dt, seconds) for fluid in self.fluids]

    def _report(self, fluid: Fluid, dt: float, seconds: float) -> StepReport:
        steps, most = self.history, fluid.solver.max_iterations
        capped = sum(max(s.density.iterations, s.divergence.iterations) >= most for s in steps)
        warnings = []
        if capped:
            warnings.append(f"{capped} of {len(steps)} sub-steps reached {most} pressure iterations")
        entered = sum(s.entered for s in steps)
        if entered:
            warnings.append(
                "a particle that had entered a wall was put back"
                if entered == 1
                else f"particles that had entered a wall were put back {entered} times"
            )
        return StepReport(
            body=fluid.name,
            step=self.surroundings.step,
            time=self.surroundings.time + dt,
            dt=dt,
            substeps=len(steps),
            iterations=sum(s.density.iterations + s.divergence.iterations for s in steps),
            residual=max((s.density.error for s in steps), default=0.0),
            converged=not capped,
            contacts=int((self.particles.walls.density > 0.0).sum()),
            seconds=seconds,
            warnings=tuple(warnings),
        )

    @timed("pressure and motion")
    def _sub_step(self, time: float, left: float) -> SubStep:
        p, fluid = self.particles, self.fluids[0]
        self._renew(time)
        if p.count == 0:
            return SubStep(min(left, fluid.max_dt), SolveFacts(0, 0.0), SolveFacts(0, 0.0))
        self.measure(time)
        felt = [wall for wall in self.walls if wall.wants_pressing(self._rough)]
        pressures = np.zeros(p.count if felt else 0, np.float32)
        divergence = fluid.solver.free_of_divergence(p, self._dt)
        if divergence.iterations:
            if felt:
                pressures += p.rows[3::4]
            motion_kernels.add_scaled.pick(p.parallel)(p.velocities, p.pushes, 1.0)
        implicit = self._forces()
        dt = self._choose(time, left)
        motion_kernels.add_scaled.pick(p.parallel)(p.velocities, p.accelerations, dt)
        held = self._hold(time)
        viscous = solve_viscosity(p, dt, held).iterations if implicit else 0
        sticky = (stickiness(p, dt), p.velocities.copy()) if implicit and felt else None
        density = fluid.solver.keep_density(p, dt)
        if len(held):
            p.pushes.reshape(-1, 4)[held] = 0.0
            self._hold(time)
        if felt:
            pressures += p.rows[3::4]
            self._press(felt, pressures, sticky, time)
        motion_kernels.push_and_move.pick(p.parallel)(p.rows, p.velocities, p.pushes, dt)
        self._dt = dt
        depths = self._put_back(time + dt)
        entered = int((depths > _ENTERED * self.diameter).sum())
        return SubStep(dt, density, divergence, viscous, len(depths), entered)

    @timed("neighbours and densities")
    def measure(self, time: float) -> None:
        """Sort the particles, find their neighbours, and measure walls and densities as they are at `time` [s]."""
        p = self.particles
        p.sort()
        p.find()
        p.walls.clear(p.count)
        for wall in self.walls:
            wall.add_to(p.walls, p.rows, self.origin, time, self._dt)
        p.weigh()

    @timed("fluid forces")
    def _forces(self) -> bool:
        """Set the accelerations of all but pressure; return whether viscosity is left to an implicit solve."""
        p, first = self.particles, self.fluids[0]
        implicit = any(needs_implicit(f.viscosity, f.density, self.diameter, f.max_dt) for f in self.fluids)
        viscous = any(fluid.viscosity > 0.0 for fluid in self.fluids)
        if first.xsph > 0.0:
            smooth(p, first.xsph)
        accelerate(p, self.surroundings.gravity, viscous and not implicit)
        tension = np.array([fluid.surface_tension for fluid in self.fluids])
        if tension.any():
            add_tension(p, tension)
        return implicit

    def _choose(self, time: float, left: float) -> float:
        """Return the length of the sub-step [s]: by speed, at most `max_dt`, and evenly into what is left."""
        p, fluid = self.particles, self.fluids[0]
        speed = float(motion_kernels.fastest.pick(p.parallel)(p.velocities, p.accelerations, self._dt))
        if not isfinite(speed):
            raise self._exploded("it has speeds that are not numbers")
        speed = p.speed = max(speed, self._wall_speed(time))
        # under pressure particles shake at speeds of sqrt(p / rho): longer steps let resting columns boil
        shaking = _SHAKING * np.sqrt(2.0 * float(np.mean(fluid.solver.pressure(p, self._dt) * p.light)))
        dt = min(fluid.max_dt, fluid.cfl * self.diameter / max(speed, shaking, 1e-30))
        if dt < _SHORTEST * fluid.max_dt:
            raise self._exploded(f"it reaches {speed:.3g} m/s")
        return left / ceil(left / dt - 1e-9) if left < 2.0 * dt else dt

    def _exploded(self, why: str) -> DivergedError:
        names = ", ".join(f"'{fluid.name}'" for fluid in self.fluids)
        return DivergedError(
            f"the fluid {names} exploded: {why}; use a smaller max_dt or look at how it starts",
            body=self.fluids[0].name,
            step=self.surroundings.step,
        )

    @property
    def _rough(self) -> bool:
        return self.fluids[0].wall_friction > 0.0 or self.fluids[0].wall_drag > 0.0

    def _pressing(self, pressures: NDArray, sticky: tuple[NDArray, NDArray] | None = None) -> Pressing:
        p, first = self.particles, self.fluids[0]
        masses = p.volume / p.light.astype(np.float64)
        return Pressing(
            p.rows,
            p.velocities,
            pressures,
            masses,
            p.volume,
            first.wall_friction,
            first.wall_drag,
            p.grid,
            sticky,
        )

    @timed("forces on walls")
    def _press(
        self, felt: list[Wall], pressures: NDArray, sticky: tuple[NDArray, NDArray] | None, time: float
    ) -> None:
        """Let walls feel the pressures, and rub the fluid; the pushes become part of the velocities."""
        p = self.particles
        motion_kernels.add_scaled.pick(p.parallel)(p.velocities, p.pushes, 1.0)
        p.pushes[:] = 0.0
        for wall in felt:
            wall.press(self._pressing(pressures, sticky), self._scratch, self.origin, time, self._dt)

    def _wall_speed(self, time: float) -> float:
        """Return the largest speed of moving walls at the corners of the fluid [m/s]."""
        corners = np.zeros((0, 3))
        if any(shape.motion is not None for shape in self.colliders):
            rows = self.particles.rows.reshape(-1, 4)[:, :3]
            ends = np.stack([rows.min(axis=0), rows.max(axis=0)]).astype(np.float64) + self.origin
            corners = np.stack(np.meshgrid(*ends.T, indexing="ij"), axis=-1).reshape(-1, 3)
        return max((wall.speed(corners, time, self._dt) for wall in self.walls), default=0.0)

    def _put_back(self, time: float) -> NDArray[np.float64]:
        """Move particles that have entered a wall back to its surface; return how deep each was [m]."""
        p = self.particles
        if not all_finite(p.rows):
            raise self._exploded("it has positions that are not numbers")
        fluid = self._pressing(p.source)
        return np.concatenate(
            [np.zeros(0)]
            + [
                wall.put_back(fluid, p.walls, self.origin, time, self._dt, self.diameter)
                for wall in self.walls
            ]
        )

    # emitters and drains

    def _renew(self, time: float) -> None:
        """Let fluid out of emitters and into drains."""
        p = self.particles
        points: list[NDArray] = []
        speeds: list[NDArray] = []
        fluids: list[NDArray] = []
        ids: list[NDArray] = []
        for number, fluid in enumerate(self.fluids):
            for which, emitter in enumerate(fluid.emitters):
                new = self._let_out(emitter, int(self._layers[number][which]), time)
                room = fluid.max_particles - p.count - sum(len(part) for part in points)
                if new is None or len(new) > room:
                    continue
                self._layers[number][which] = emitter.due(time, self.diameter)
                points.append(new)
                speeds.append(np.broadcast_to(emitter.velocity(), new.shape))
                fluids.append(np.full(len(new), number, np.uint8))
                ids.append(fluid.added(new))
        gone = np.zeros(p.count, bool)
        for number, fluid in enumerate(self.fluids):
            for drain in fluid.drains:
                here = self.origin + p.rows.reshape(-1, 4)[:, :3].astype(np.float64)
                gone |= (p.fluid == number) & drain.takes(here)
        if points or gone.any():
            keep = np.flatnonzero(~gone)
            new_rows = np.concatenate([*points, np.zeros((0, 3))]) - self.origin
            new_speeds = np.concatenate([*speeds, np.zeros((0, 3))])
            p.rows = _joined(p.rows, keep, new_rows)
            p.velocities = _joined(p.velocities, keep, new_speeds)
            p.fluid = np.concatenate([p.fluid[keep], *fluids])
            p.ids = np.concatenate([p.ids[keep], *ids])
            blank = np.zeros(len(new_rows), np.float32)
            p.carried = {name: np.concatenate([value[keep], blank]) for name, value in p.carried.items()}
            p.fit()

    def _hold(self, time: float) -> NDArray[np.intp]:
        """Give particles that are still in a nozzle its speed; return their numbers."""
        p = self.particles
        held: list[NDArray[np.intp]] = [np.zeros(0, np.intp)]
        for number, fluid in enumerate(self.fluids):
            for emitter in fluid.emitters:
                points = p.rows.reshape(-1, 4)[:, :3] + self.origin
                mine = (p.fluid == number) & emitter.holds(points, time, self.diameter)
                held.append(np.flatnonzero(mine))
                p.velocities.reshape(-1, 4)[held[-1], :3] = emitter.velocity()
        return np.concatenate(held)

    def _let_out(self, emitter: Emitter, layers: int, time: float) -> NDArray[np.float64] | None:
        """Return the particles of the layers that are due [m], moved on since they left the opening."""
        due = emitter.due(time, self.diameter)
        if due <= layers:
            return None
        base = emitter.layer(self.diameter)
        gone = [time - (emitter.start + k * self.diameter / emitter.speed) for k in range(layers, due)]
        return np.concatenate([base + max(t, 0.0) * emitter.velocity() for t in gone])

    def nbytes(self) -> int:
        """Return the memory of particles and lists, walls left out [bytes]."""
        return self.particles.nbytes()


def _in_order_of(ids: NDArray[np.int32], which: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Return the places of those `which` (of all) in the order of their numbers, which are all different."""
    places = np.arange(len(ids)) if which is None else np.flatnonzero(which)
    found = np.full(int(ids[places].max(initial=-1)) + 1, -1, np.int64)
    found[ids[places]] = places
    return found[found >= 0]


def _joined(
    rows: NDArray[np.float32], keep: NDArray[np.intp], new: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return the kept rows of four, and after them new vectors."""
    fresh = np.zeros((len(new), 4), np.float32)
    fresh[:, :3] = new
    return np.concatenate([rows.reshape(-1, 4)[keep], fresh]).ravel()
