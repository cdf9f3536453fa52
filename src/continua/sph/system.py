"""All fluids of a world as one system of particles, advanced by sub-steps."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from continua.environment import Environment
from continua.errors import DivergedError, InputError
from continua.frames import StepReport
from continua.geometry import Shape
from continua.geometry.shape import refuse_deforming
from continua.numerics import all_finite
from continua.numerics.timers import timed
from continua.registry import register_system
from continua.sph import motion_kernels
from continua.sph.boundary.checks import check_clearance, check_emitters, check_longest_step, check_start
from continua.sph.boundary.interface import Boundary, FluidState
from continua.sph.boundary.model import BoundaryModel, BoundarySums
from continua.sph.boundary.rigid import RigidBoundary, make_boundary_model
from continua.sph.emitters import Emitter
from continua.sph.fluid import Fluid
from continua.sph.forces import XSPH, Force, SurfaceTension, Viscosity
from continua.sph.forces.viscosity import needs_implicit
from continua.sph.neighbour_search import CellGrid, NeighbourLists
from continua.sph.particles import Particles
from continua.sph.pressure import PBF, pressure_kernels, vibration_kernels
from continua.sph.pressure.solver import PressureReport
from continua.system import System, WorldContext
from continua.validation import pluralize

__all__ = ["FluidSystem", "SubStep"]

_MIN_DT_FRACTION = 1e-4  # of max_dt; speeds that need shorter sub-steps mean that the fluid exploded
_PRESSURE_SPEED_FACTOR = (
    0.75  # times sqrt(2 p / rho), p the mean pressure, is the smallest speed for the CFL rule
)
_NO_WALLS = "there are no colliders: the fluid falls for ever; add a plane or a box with inside: true"
_LARGEST_STIFFNESS = (
    0.1  # dt^2 p / (rho d^2) up to which vibrations are damped in full; stable up to about 0.2
)
_DEEP_PENETRATION = 0.05  # of the diameter; shallower particles rest on the boundary
_OVERLAP_LIMITS = (
    (0.6, 1),
    (0.88, 4),
)  # fractions of the diameter, and the number of neighbours within it that means overlap


@dataclass
class SubStep:
    """Report of one sub-step.

    Attributes:
        dt: Its length [s].
        density: The density solve.
        divergence: The divergence solve.
        force_iterations: Iterations of implicit forces, such as viscosity.
        penetrations: Particles that were moved back to the surface of a boundary.
        deep_penetrations: Those of them that were far inside; the others are mostly thin films resting on a boundary.
    """

    dt: float
    density: PressureReport
    divergence: PressureReport
    force_iterations: int = 0
    penetrations: int = 0
    deep_penetrations: int = 0


@register_system
@dataclass(eq=False, repr=False)
class FluidSystem(System):
    """The particles of all fluids, their boundaries, and the time stepping.

    Attributes:
        fluids: The fluids.
        colliders: Shapes that are boundaries.
        environment: Gravity and time.
        boundaries: The boundaries: first the colliders, then bodies.
        particles: The particles, sorted.
        forces: Forces other than pressure and gravity, in the order in which they act; made from the options of the
            fluids at the start of every step.
        before: The systems of the same world before bodies or colliders were added or removed, see `WorldContext`.
        substeps: Reports of the sub-steps of the last step.
    """

    fluids: Sequence[Fluid]
    colliders: Sequence[Shape]
    environment: Environment
    boundaries: list[Boundary] = field(init=False)
    particles: Particles = field(init=False)
    forces: list[Force] = field(init=False)
    before: Mapping[type, Any] = field(default_factory=dict)
    substeps: list[SubStep] = field(default_factory=list)

    kinds: ClassVar = (Fluid,)
    order: ClassVar = 20

    @classmethod
    def make(cls, bodies: Sequence[Fluid], context: WorldContext) -> Self | None:
        """Return the system of the fluids of a world, or None if it has none."""
        if not bodies:
            return None
        return cls(tuple(bodies), context.colliders, context.environment, context.before)

    @property
    def bodies(self) -> tuple[Fluid, ...]:
        """The fluids."""
        return tuple(self.fluids)

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
                "forces",
                "wall_friction",
                "wall_drag",
                "wall_slip",
                "contact_angle",
            ):
                if getattr(other, key) != getattr(first, key):
                    raise InputError(
                        f"fluids of one world must have the same {key}: '{first.name}' has {getattr(first, key)}, "
                        f"'{other.name}' has {getattr(other, key)}"
                    )
        self.diameter = first.diameter
        self.radius = 2.0 * self.diameter
        check_longest_step(
            first.name, first.max_dt, self.diameter, float(np.linalg.norm(self.environment.gravity))
        )
        refuse_deforming(self.colliders, f"the fluid '{first.name}'")
        for shape in self.colliders:
            check_clearance(shape, self.diameter)
        self.boundaries = [
            RigidBoundary(
                shape,
                self.kept_model(shape) or make_boundary_model(shape, self.radius, first.boundary),
                slip=first.wall_slip if shape.slip is None else shape.slip,
            )
            for shape in self.colliders
        ]
        for number, (shape, boundary) in enumerate(zip(self.colliders, self.boundaries, strict=True), 1):
            if shape.name:
                boundary.name += f" (collider '{shape.name}')"
            elif len(self.colliders) > 1:
                boundary.name += f" (collider {number})"
        self._check_start()
        falls = not self.colliders and bool(np.any(self.environment.gravity))
        for fluid in self.fluids:
            fluid.notes = (_NO_WALLS,) if falls else ()
        self._scratch = BoundarySums()
        self._withheld = [0] * len(self.fluids)  # particles that emitters could not add in this step
        self._at_bodies = np.zeros(0, np.bool_)  # particles next to bodies
        self.forces = _make_forces(self.fluids)
        self._pack()

    def _choose_origin(self) -> NDArray[np.float64]:
        """Return the point to which positions are relative: that of a state, or near the centre of the fluids."""
        for fluid in self.fluids:
            if "origin" in fluid.arrays:
                return fluid.arrays["origin"]
        starts = np.concatenate([fluid.positions for fluid in self.fluids])
        if len(starts):
            center = 0.5 * (starts.min(axis=0) + starts.max(axis=0))
        else:
            first = next(e for fluid in self.fluids for e in fluid.emitters)
            center = np.array(first.center, dtype=np.float64)
        return self.radius * np.round(center / self.radius)

    @property
    def _previous(self) -> FluidSystem | None:
        """The fluids before the world changed, while the new systems are made."""
        before = self.before.get(FluidSystem)
        return before if isinstance(before, FluidSystem) else None

    def kept_model(self, owner: object) -> BoundaryModel | None:
        """Return the samples or map that a collider or rigid body had before the world changed, if it fits."""
        before = self._previous
        if (
            before is None
            or before.radius != self.radius
            or before.fluids[0].boundary != self.fluids[0].boundary
        ):
            return None
        own = (b for b in before.boundaries if isinstance(b, RigidBoundary) and b.owner is owner)
        return next((boundary.model for boundary in own), None)

    def _new_to(self, boundary: Boundary) -> list[Fluid]:
        """Return the fluids that have not met this boundary before."""
        before = self._previous
        if before is None or not any(boundary.owner is one.owner for one in before.boundaries):
            return list(self.fluids)
        return [fluid for fluid in self.fluids if not any(fluid is other for other in before.fluids)]

    def add_boundary(self, boundary: Boundary) -> None:
        """Add a body as a boundary."""
        for fluid in self._new_to(boundary):
            check_start([boundary], fluid.name, fluid.positions, self.diameter, self.environment.time)
        boundary.slip = self.fluids[0].wall_slip
        self.boundaries.append(boundary)
        for fluid in self.fluids:
            fluid.notes = ()

    # initial state

    def _check_start(self) -> None:
        """Raise InputError if fluid starts inside a boundary or overlaps fluid."""
        for boundary in self.boundaries:
            for fluid in self._new_to(boundary):
                check_start([boundary], fluid.name, fluid.positions, self.diameter, self.environment.time)
        before = self._previous
        known = () if before is None else before.fluids
        new = [not any(fluid is other for other in known) for fluid in self.fluids]
        for fluid, is_new in zip(self.fluids, new, strict=True):
            if is_new:
                check_emitters(self.boundaries, fluid.name, fluid.emitters, self.diameter)
        if any(new) and sum(fluid.node_count for fluid in self.fluids) > 1:
            self._check_overlap(np.array(new))

    def _check_overlap(self, new: NDArray[np.bool_]) -> None:
        """Raise InputError if particles of `new` fluids are too close to others, as two overlapping lattices are.

        Particles of one fluid may be if it has moved, here or in another world.
        """
        points = np.concatenate([fluid.positions for fluid in self.fluids])
        at_start = new & np.array(["local" not in fluid.arrays for fluid in self.fluids])
        owner = np.repeat(np.arange(len(self.fluids)), [fluid.node_count for fluid in self.fluids])
        xyzw = np.zeros((len(points), 4), np.float32)
        xyzw[:, :3] = points - points.mean(axis=0)
        for fraction, limit in _OVERLAP_LIMITS:
            grid, lists = CellGrid(fraction * self.diameter), NeighbourLists()
            order = grid.sort(xyzw.ravel())
            lists.update(grid, np.ascontiguousarray(xyzw[order]).ravel())
            counts, mine = lists.counts, owner[order]
            entries = np.arange(counts.sum()) + np.repeat(lists.begin - np.cumsum(counts) + counts, counts)
            one, other = np.repeat(mine, counts), mine[lists.neighbours[entries]]
            counted = np.where(one == other, at_start[one], new[one] | new[other])
            near = np.bincount(np.repeat(np.arange(len(mine)), counts)[counted], minlength=len(mine))
            too_close = int((near >= limit).sum())
            if too_close:
                names = " and ".join(f"'{fluid.name}'" for fluid in self.fluids)
                others = "another" if limit == 1 else f"{limit} others"
                raise InputError(
                    f"{pluralize(too_close, 'particle')} of {names} overlap: they start closer than {fraction:g} "
                    f"particle diameters to {others}; move the fluids apart or space the points by a diameter"
                )

    def _pack(self) -> None:
        """Build the sorted particles from the arrays of the fluids."""
        solver = self.fluids[0].solver
        self.origin = self._choose_origin()
        order = np.argsort(np.concatenate([fluid.arrays["order"] for fluid in self.fluids]), kind="stable")
        n = len(order)
        xyzp, velocities = np.zeros((n, 4), np.float32), np.zeros((n, 4), np.float32)
        parts = [self._local(fluid.arrays) for fluid in self.fluids]
        xyzp[:, :3] = np.concatenate(parts)[order]
        velocities[:, :3] = np.concatenate([fluid.arrays["velocities"] for fluid in self.fluids])[order]
        fluid_index = np.repeat(
            np.arange(len(self.fluids), dtype=np.uint8), [f.node_count for f in self.fluids]
        )
        self.particles = Particles(
            self.radius,
            self.diameter**3,
            np.array([fluid.density for fluid in self.fluids]),
            np.array([fluid.viscosity for fluid in self.fluids]),
            xyzp.ravel(),
            velocities.ravel(),
            fluid_index[order],
            np.concatenate([fluid.arrays["ids"] for fluid in self.fluids])[order],
            max_dt=self.fluids[0].max_dt,
        )
        empty = np.zeros(0, np.float32)
        for name in solver.warm_start_fields:
            parts = [
                fluid.arrays.get(f"warm_start_{name}", np.zeros(fluid.node_count, np.float32))
                for fluid in self.fluids
            ]
            self.particles.warm_start[name] = np.concatenate([empty, *parts])[order].astype(np.float32)
        self._dt = float(self.fluids[0].arrays.get("dt", np.array(self.fluids[0].max_dt)))
        self._layers = [fluid.arrays["layers"].copy() for fluid in self.fluids]
        for fluid in self.fluids:
            fluid.changed = False

    def _local(self, arrays: Mapping[str, NDArray]) -> NDArray:
        """Return the positions of a fluid from the origin [m], as they were stored if that was from the same one."""
        if "local" in arrays and np.array_equal(arrays.get("origin", self.origin), self.origin):
            return arrays["local"]
        return arrays["positions"] - self.origin

    def _unpack(self) -> None:
        """Write the particles back to the arrays of the fluids, in the order of their ids."""
        p = self.particles
        pressure = self._pressures(p.warm_start.pop("impulse", None))
        if len(p.neighbour_lists.begin) == p.count:
            for cohesion in self._cohesions():
                pressure = pressure - cohesion
        xyzp, velocities = p.xyzp.reshape(-1, 4), p.velocities.reshape(-1, 4)
        for index, fluid in enumerate(self.fluids):
            rows = _rows_by_id(p.ids, None if len(self.fluids) == 1 else p.fluid_index == index)
            local = xyzp[rows][:, :3].copy()
            fluid.arrays = {
                "positions": self.origin + local,
                "local": local,
                "origin": self.origin.copy(),
                "velocities": velocities[rows][:, :3].copy(),
                "ids": p.ids[rows],
                "order": rows,
                "layers": self._layers[index].copy(),
                "dt": np.array(self._dt),
                "pressure": pressure[rows].astype(np.float32),
                "density_error": p.density[rows] - np.float32(1.0),
            }
            for name, values in p.warm_start.items():
                fluid.arrays[f"warm_start_{name}"] = values[rows]
            fluid.changed = False

    def _pressures(self, impulse: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """Return the pressure at the particles [Pa]: the stress of the pressure forces, averaged over neighbours.

        The unknowns of the solver are not that: between disordered particles they are larger, at walls twice as large.
        `impulse` is their integral over the step [Pa s].
        """
        p = self.particles
        if impulse is None or not self.substeps:
            impulse, duration = self.fluids[0].solver.pressure(p, self._dt), 1.0
        else:
            duration = sum(sub.dt for sub in self.substeps)
        unknowns = np.ascontiguousarray(impulse * np.float32(1.0 / duration), np.float32)
        if len(p.neighbour_lists.begin) != p.count or len(p.boundary.virial) != p.count:
            return unknowns
        begin, end, neighbours, _ = p.neighbour_arrays
        result = np.empty(p.count, np.float32)
        pressure_kernels.virial_pressures.variant(p.parallel)(
            p.xyzp,
            begin,
            end,
            neighbours,
            1.0 / p.radius,
            p.volume,
            unknowns,
            p.boundary.virial,
            p.scratch,
            result,
        )
        return result

    # time stepping

    def step(
        self, dt: float, after_substep: Callable[[float, float], None] | None = None
    ) -> list[StepReport]:
        """Advance by `dt` [s] in as many sub-steps as the CFL rule asks for; return a report for each fluid.

        `after_substep(start, dt)` is called after each sub-step of length `dt` [s] that began `start` [s] after the
        beginning of the step, so that bodies can be stepped along.

        If the fluid explodes, DivergedError is raised and the fluids keep their previous state.
        """
        started = clock.perf_counter()
        if any(fluid.changed for fluid in self.fluids):
            self._pack()
        self.forces = _make_forces(self.fluids)
        self.substeps = []
        self._withheld = [0] * len(self.fluids)
        self.particles.warm_start["impulse"] = np.zeros(self.particles.count, np.float32)
        done = 0.0
        known = [fluid.particles_ever for fluid in self.fluids]
        try:
            while done < dt * (1.0 - 1e-9):
                sub = self._substep(self.environment.time + done, dt - done)
                self.substeps.append(sub)
                if after_substep is not None:
                    after_substep(done, sub.dt)
                done += sub.dt
        except Exception:
            for fluid, count in zip(self.fluids, known, strict=True):
                fluid.discard_particles(count)
                fluid.changed = True
            raise
        self._unpack()
        seconds = (clock.perf_counter() - started) / len(self.fluids)
        return [self._report(fluid, dt, seconds) for fluid in self.fluids]

    def _report(self, fluid: Fluid, dt: float, seconds: float) -> StepReport:
        steps, limit = self.substeps, fluid.solver.max_iterations
        capped = sum(max(s.density.iterations, s.divergence.iterations) >= limit for s in steps)
        warnings = []
        if capped:
            warnings.append(f"{capped} of {len(steps)} sub-steps reached {limit} pressure iterations")
        deep = sum(s.deep_penetrations for s in steps)
        if deep:
            warnings.append(
                "a particle that had penetrated a wall was moved back to its surface"
                if deep == 1
                else f"particles that had penetrated a wall were moved back to its surface {deep} times"
            )
        if withheld := self._withheld[self.fluids.index(fluid)]:
            warnings.append(
                f"max_particles is {fluid.max_particles}: {pluralize(withheld, 'particle')} of emitters left out"
            )
        return StepReport(
            body=fluid.name,
            step=self.environment.step + 1,
            time=self.environment.time + dt,
            dt=dt,
            substeps=len(steps),
            iterations=sum(s.density.iterations + s.divergence.iterations for s in steps),
            residual=max((s.density.error for s in steps), default=0.0),
            converged=not capped,
            contacts=int((self.particles.boundary.density > 0.0).sum()),
            seconds=seconds,
            warnings=tuple(warnings),
        )

    @timed("pressure and motion")
    def _substep(self, time: float, left: float) -> SubStep:
        p, fluid = self.particles, self.fluids[0]
        self._emit_and_drain(time)
        if p.count == 0:
            return SubStep(min(left, fluid.max_dt), PressureReport(0, 0.0), PressureReport(0, 0.0))
        self.update_neighbours_and_density(time)
        active = [boundary for boundary in self.boundaries if boundary.needs_forces(self._has_friction)]
        pressures = np.zeros(p.count if active else 0, np.float32)
        divergence = fluid.solver.solve_divergence(p, self._dt)
        if divergence.iterations:
            if active:
                pressures += p.xyzp[3::4]
            motion_kernels.add_scaled.variant(p.parallel)(p.velocities, p.velocity_changes, 1.0)
        self._damp_vibrations()
        self._explicit_forces()
        dt = self._substep_size(time, left)
        motion_kernels.add_scaled.variant(p.parallel)(p.velocities, p.accelerations, dt)
        prescribed = self._constrain_emitted(time)
        force_iterations = self._implicit_forces(dt, prescribed)
        viscous_coupling = self._boundary_drag(dt) if active else None
        density = fluid.solver.solve_density(p, dt)
        if len(prescribed):
            p.velocity_changes.reshape(-1, 4)[prescribed] = 0.0
            self._constrain_emitted(time)
        if active:
            pressures += p.xyzp[3::4]
            for cohesion in self._cohesions():
                pressures -= np.float32(dt) * cohesion
            self._apply_boundary_forces(active, pressures, viscous_coupling, time)
        if "impulse" in p.warm_start:
            p.warm_start["impulse"] += np.float32(dt) * fluid.solver.pressure(p, dt)
        motion_kernels.advance_particles.variant(p.parallel)(p.xyzp, p.velocities, p.velocity_changes, dt)
        self._dt = dt
        depths = self._resolve_penetration(time + dt)
        deep_penetrations = int((depths > _DEEP_PENETRATION * self.diameter).sum())
        return SubStep(dt, density, divergence, force_iterations, len(depths), deep_penetrations)

    def _cohesions(self) -> list[NDArray[np.float32]]:
        """Return the cohesion of forces that have one [Pa], each of shape [n]."""
        return [f.cohesion(self.particles) for f in self.forces if isinstance(f, SurfaceTension)]

    @timed("neighbours and densities")
    def update_neighbours_and_density(self, time: float) -> None:
        """Sort the particles, find their neighbours, and compute boundary sums and densities at `time` [s]."""
        p = self.particles
        p.sort()
        p.find_neighbours()
        p.boundary.clear(p.count)
        for index, boundary in enumerate(self.boundaries):
            if index == len(self.colliders):  # bodies follow
                of_colliders = p.boundary.density.copy()
            boundary.add_to(p.boundary, p.xyzp, self.origin, time, self._dt)
        if len(self.boundaries) > len(self.colliders):
            self._at_bodies = p.boundary.density > of_colliders
        if any(fluid.surface_tension > 0.0 for fluid in self.fluids):
            self._set_contact_angles(time)
        p.compute_density()

    def _set_contact_angles(self, time: float) -> None:
        """Set the cosine of the contact angle at each particle: the mean over the boundaries near it."""
        p, default = self.particles, self.fluids[0].contact_angle
        own = [getattr(getattr(b, "shape", None), "contact_angle", None) for b in self.boundaries]
        angles = [default if angle is None else float(angle) for angle in own]
        if len(set(angles)) <= 1:
            angle = angles[0] if angles else default
            p.contact_cosine = np.full(p.count, np.cos(np.radians(angle)), np.float32)
            return
        sums, weighted = BoundarySums(), np.zeros(p.count, np.float32)
        for boundary, angle in zip(self.boundaries, angles, strict=True):
            sums.clear(p.count)
            boundary.add_to(sums, p.xyzp, self.origin, time, self._dt)
            weighted += np.float32(np.cos(np.radians(angle))) * sums.density
        p.contact_cosine = (weighted / np.maximum(p.boundary.density, 1e-12)).astype(np.float32)

    @timed("vibrations")
    def _damp_vibrations(self) -> None:
        """Damp the motion of particles against each other under the pressure of the last sub-step.

        A step that were implicit in the directions of the pressure forces would do so; linear flows are not damped.
        """
        p = self.particles
        pressure = self.fluids[0].solver.pressure(p, self._dt)
        limit = _LARGEST_STIFFNESS * self.diameter**2 / p.inverse_density
        stiffness = np.minimum(np.float32(self._dt**2) * pressure, limit).astype(np.float32)
        if len(self._at_bodies) == p.count:
            stiffness[self._at_bodies] = 0.0  # a light body would have to drag its surroundings along
        if not stiffness.any():
            return
        begin, end, neighbours, weights = p.neighbour_arrays
        gradients = np.empty(12 * p.count, np.float32)
        vibration_kernels.velocity_gradients.variant(p.parallel)(
            p.xyzp, p.velocities, begin, end, neighbours, weights, gradients
        )
        vibration_kernels.vibration_damping.variant(p.parallel)(
            p.xyzp, p.velocities, begin, end, neighbours, gradients, stiffness, 1.0 / p.radius, p.volume,
            p.inverse_density, p.velocity_changes,
        )  # fmt: skip
        p.velocities += p.velocity_changes

    @timed("fluid forces")
    def _explicit_forces(self) -> None:
        """Set the accelerations to gravity and the explicit forces."""
        p = self.particles
        for lane, value in enumerate((*self.environment.gravity, 0.0)):  # far faster than by rows of four
            p.accelerations[lane::4] = value
        for force in self.forces:
            force.explicit_step(p)

    def _implicit_forces(self, dt: float, prescribed: NDArray[np.intp]) -> int:
        """Apply the implicit forces over `dt` [s]; return their iterations.

        Viscous forces act under the pressure of the last sub-step, which is then taken away again: it is solved for
        anew (van Kan 1986). Without it walls would carry the weight of a viscous fluid at rest.
        """
        p = self.particles
        implicit = any(isinstance(force, Viscosity) and force.implicit for force in self.forces)
        solver = self.fluids[0].solver  # PBF keeps no pressure
        under_pressure = implicit and "pressure" in p.warm_start and not isinstance(solver, PBF)
        if under_pressure:
            pressure = p.warm_start["pressure"]
            if not pressure.any():  # the first step: the pressure without viscosity
                solver.solve_density(p, dt)
                pressure = p.warm_start["pressure"]
            p.xyzp[3::4] = pressure * np.float32(dt)
            pressure_kernels.pressure_velocity_changes.variant(p.parallel)(
                p.xyzp, *p.neighbour_arrays, p.inverse_density, p.boundary.gradient, p.velocity_changes
            )
            p.velocity_changes.reshape(-1, 4)[prescribed] = 0.0
            changes = p.velocity_changes.copy()  # the solver uses their memory
            motion_kernels.add_scaled.variant(p.parallel)(p.velocities, changes, 1.0)
        iterations = sum(force.implicit_step(p, dt, prescribed) for force in self.forces)
        if under_pressure:
            motion_kernels.add_scaled.variant(p.parallel)(p.velocities, changes, -1.0)
        return iterations

    def _boundary_drag(self, dt: float) -> tuple[NDArray, NDArray] | None:
        """Return the momentum that a force transfers to boundaries, and the velocities that belong to it."""
        total: NDArray | None = None
        for force in self.forces:
            drag = force.boundary_drag(self.particles, dt)
            if drag is None:
                continue
            given = getattr(force, "drag_velocities", None)
            velocities = self.particles.velocities.copy() if given is None else given()
            if total is None:
                total, mean = drag, velocities
            else:  # one pair with the same momentum
                share = np.repeat(drag / np.maximum(total + drag, np.float32(1e-30)), 4)
                total, mean = total + drag, mean + share * (velocities - mean)
        return None if total is None else (total, mean)

    def _substep_size(self, time: float, left: float) -> float:
        """Return the length of the sub-step [s]: by the CFL rule, at most `max_dt`, dividing what is left evenly."""
        p, fluid = self.particles, self.fluids[0]
        speed = float(motion_kernels.max_speed.variant(p.parallel)(p.velocities, p.accelerations, self._dt))
        if not isfinite(speed):
            raise self._diverged("it has speeds that are not numbers")
        speed = p.max_speed = max(speed, self._boundary_speed(time))
        # particles under pressure vibrate at speeds of sqrt(p / rho): longer steps make columns at rest boil
        pressure_speed = _PRESSURE_SPEED_FACTOR * sqrt(
            2.0 * float(np.mean(fluid.solver.pressure(p, self._dt) * p.inverse_density))
        )
        longest = min([fluid.max_dt, *(f.max_step(p) for f in self.forces if isinstance(f, SurfaceTension))])
        p.max_dt = longest  # the time in which density errors are corrected
        dt = min(longest, fluid.cfl * self.diameter / max(speed, pressure_speed, 1e-30))
        if dt < _MIN_DT_FRACTION * longest:
            raise self._diverged(f"it reaches {speed:.3g} m/s")
        return left / ceil(left / dt - 1e-9) if left < 2.0 * dt else dt

    def _diverged(self, why: str) -> DivergedError:
        names = ", ".join(f"'{fluid.name}'" for fluid in self.fluids)
        return DivergedError(
            f"the fluid {names} exploded: {why}; use a smaller max_dt or check its initial state",
            body=self.fluids[0].name,
            step=self.environment.step + 1,
        )

    @property
    def _has_friction(self) -> bool:
        return self.fluids[0].wall_friction > 0.0 or self.fluids[0].wall_drag > 0.0

    def _fluid_state(
        self, pressures: NDArray, viscous_coupling: tuple[NDArray, NDArray] | None = None
    ) -> FluidState:
        p, first = self.particles, self.fluids[0]
        masses = p.volume / p.inverse_density.astype(np.float64)
        return FluidState(
            p.xyzp,
            p.velocities,
            pressures,
            masses,
            p.volume,
            first.wall_friction,
            first.wall_drag,
            p.grid,
            viscous_coupling,
        )

    @timed("forces on walls")
    def _apply_boundary_forces(
        self,
        active: list[Boundary],
        pressures: NDArray,
        viscous_coupling: tuple[NDArray, NDArray] | None,
        time: float,
    ) -> None:
        """Apply the fluid's forces to boundaries and friction to the fluid, whose velocity changes are added first."""
        p = self.particles
        motion_kernels.add_scaled.variant(p.parallel)(p.velocities, p.velocity_changes, 1.0)
        p.velocity_changes[:] = 0.0
        for boundary in active:
            boundary.apply_fluid_forces(
                self._fluid_state(pressures, viscous_coupling), self._scratch, self.origin, time, self._dt
            )

    def _boundary_speed(self, time: float) -> float:
        """Return the largest speed of moving boundaries at the corners of the fluid [m/s]."""
        corners = np.zeros((0, 3))
        if any(shape.motion is not None for shape in self.colliders):
            local = self.particles.xyzp.reshape(-1, 4)[:, :3]
            ends = np.stack([local.min(axis=0), local.max(axis=0)]).astype(np.float64) + self.origin
            corners = np.stack(np.meshgrid(*ends.T, indexing="ij"), axis=-1).reshape(-1, 3)
        return max((boundary.max_speed(corners, time, self._dt) for boundary in self.boundaries), default=0.0)

    def _resolve_penetration(self, time: float) -> NDArray[np.float64]:
        """Move penetrating particles back to the surface of the boundary; return the depth of each [m]."""
        p = self.particles
        if not all_finite(p.xyzp):
            raise self._diverged("it has positions that are not numbers")
        fluid = self._fluid_state(p.source)
        return np.concatenate(
            [np.zeros(0)]
            + [
                boundary.resolve_penetration(fluid, p.boundary, self.origin, time, self._dt, self.diameter)
                for boundary in self.boundaries
            ]
        )

    # emitters and drains

    def _emit_and_drain(self, time: float) -> None:
        """Add the particles of emitters and remove those in drains."""
        p = self.particles
        points: list[NDArray] = []
        velocities: list[NDArray] = []
        indices: list[NDArray] = []
        ids: list[NDArray] = []
        for index, fluid in enumerate(self.fluids):
            for which, emitter in enumerate(fluid.emitters):
                new = self._emitted(emitter, int(self._layers[index][which]), time)
                if new is None:
                    continue
                self._layers[index][which] = emitter.layers_due(time, self.diameter)
                if len(new) > fluid.max_particles - p.count - sum(len(part) for part in points):
                    # lost, as a nozzle that is shut does not catch up later
                    self._withheld[index] += len(new)
                    continue
                points.append(new)
                velocities.append(np.broadcast_to(emitter.velocity(), new.shape))
                indices.append(np.full(len(new), index, np.uint8))
                ids.append(fluid.add_particles(new))
        drained = np.zeros(p.count, bool)
        for index, fluid in enumerate(self.fluids):
            for drain in fluid.drains:
                here = self.origin + p.xyzp.reshape(-1, 4)[:, :3].astype(np.float64)
                drained |= (p.fluid_index == index) & drain.contains(here)
        if points or drained.any():
            keep = np.flatnonzero(~drained)
            new_positions = np.concatenate([*points, np.zeros((0, 3))]) - self.origin
            new_velocities = np.concatenate([*velocities, np.zeros((0, 3))])
            p.xyzp = _append_vectors(p.xyzp, keep, new_positions)
            p.velocities = _append_vectors(p.velocities, keep, new_velocities)
            p.fluid_index = np.concatenate([p.fluid_index[keep], *indices])
            p.ids = np.concatenate([p.ids[keep], *ids])
            blank = np.zeros(len(new_positions), np.float32)
            p.warm_start = {
                name: np.concatenate([value[keep], blank]) for name, value in p.warm_start.items()
            }
            p.resize()

    def _constrain_emitted(self, time: float) -> NDArray[np.intp]:
        """Prescribe the velocity of particles that are still in a nozzle; return their indices."""
        p = self.particles
        prescribed: list[NDArray[np.intp]] = [np.zeros(0, np.intp)]
        for index, fluid in enumerate(self.fluids):
            for emitter in fluid.emitters:
                points = p.xyzp.reshape(-1, 4)[:, :3] + self.origin
                inside = (p.fluid_index == index) & emitter.contains(points, time, self.diameter)
                prescribed.append(np.flatnonzero(inside))
                p.velocities.reshape(-1, 4)[prescribed[-1], :3] = emitter.velocity()
        return np.concatenate(prescribed)

    def _emitted(self, emitter: Emitter, layers: int, time: float) -> NDArray[np.float64] | None:
        """Return the particles of the layers that are due [m], advected since they left the opening."""
        layers_due = emitter.layers_due(time, self.diameter)
        if layers_due <= layers:
            return None
        base = emitter.layer(self.diameter)
        ages = [emitter.layer_age(k, time, self.diameter) for k in range(layers, layers_due)]
        return np.concatenate([base + max(t, 0.0) * emitter.velocity() for t in ages])

    def nbytes(self) -> int:
        """Return the memory of particles and neighbour lists, without boundaries [bytes]."""
        return self.particles.nbytes()


def _make_forces(fluids: Sequence[Fluid]) -> list[Force]:
    """Return the forces that the options of the fluids ask for; viscosity acts on velocities that XSPH has smoothed."""
    first = fluids[0]
    forces: list[Force] = []
    if first.xsph > 0.0:
        forces.append(XSPH(first.xsph))
    if any(fluid.viscosity > 0.0 for fluid in fluids):
        forces.append(
            Viscosity(any(needs_implicit(f.viscosity, f.density, f.diameter, f.max_dt) for f in fluids))
        )
    if any(fluid.surface_tension > 0.0 for fluid in fluids):
        forces.append(SurfaceTension(np.array([fluid.surface_tension for fluid in fluids])))
    return [*forces, *first.forces]


def _rows_by_id(ids: NDArray[np.int32], which: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Return the rows of those `which` (or of all) in the order of their unique ids."""
    rows = np.arange(len(ids)) if which is None else np.flatnonzero(which)
    found = np.full(int(ids[rows].max(initial=-1)) + 1, -1, np.int64)
    found[ids[rows]] = rows
    return found[found >= 0]


def _append_vectors(
    vectors: NDArray[np.float32], keep: NDArray[np.intp], new: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return the kept vectors [4 n], followed by new ones."""
    added = np.zeros((len(new), 4), np.float32)
    added[:, :3] = new
    return np.concatenate([vectors.reshape(-1, 4)[keep], added]).ravel()
