"""A fluid as a body of a world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.environment import Environment
from continua.errors import InputError
from continua.frames import CHANGES_EVERY_FRAME, BodyFields, BodyFrame, Field, readonly_copy
from continua.mesh import SurfaceMesh, VolumeMesh
from continua.pickling import KeepsReadOnlyArrays
from continua.sdf import exact
from continua.sph.boundary.methods import BOUNDARY_METHODS, BoundaryMethod
from continua.sph.emitters import Drain, Emitter
from continua.sph.forces import Force
from continua.sph.pressure.dfsph import DFSPH
from continua.sph.pressure.solver import PressureSolver
from continua.sph.sampling import block_points, fill_points
from continua.validation import (
    array,
    instance_of,
    instances_of,
    mapping,
    memory_limit,
    number,
    numbers,
    sequence,
    shortened,
    state_arrays,
    vector3,
    whole_number,
)
from continua.validation import color as check_color
from continua.validation import name as check_name

__all__ = ["BYTES_PER_PARTICLE", "DEFAULT_MAX_DT", "Fluid"]

DEFAULT_MAX_DT = 0.005  # s
BYTES_PER_PARTICLE = 1200  # state, scratch, neighbour lists, and frames that are written


class Fluid(KeepsReadOnlyArrays):
    """A liquid made of particles.

    Its initial particles are given by one of `block`, `mesh` and `points`, or come from emitters. All fluids of a world
    are one system of particles: they interact, and must agree in `particle_radius`, `solver`, `boundary`,
    `max_dt`, `cfl`, `xsph`, `forces`, `wall_friction`, `wall_drag`, `wall_slip` and `contact_angle`.

    Args:
        block: Two opposite corners of a block to fill [m].
        mesh: A closed surface, or a volume mesh, to fill.
        points: Positions of the particles [m], shape [n, 3], one particle diameter apart.
        particle_radius: Half the spacing of particles [m]; each represents a cube of the full spacing.
        density: Mass per volume at rest [kg/m3].
        viscosity: Dynamic viscosity [Pa s]; 0.001 is water, 10 honey. Where explicit steps would overshoot, it
            is implicit.
        surface_tension: Surface tension against air [N/m]; 0.072 for water. It matters for drops of millimetres.
        contact_angle: Angle between free surface and wall within the fluid [deg]: 90 is neutral, less wets. With
            surface tension only; a shape's own `contact_angle` comes first.
        velocity: Initial velocity [m/s], one vector or one per particle.
        emitters: Where fluid enters.
        drains: Where fluid is removed.
        forces: Further forces with the contract `continua.sph.Force`; they act on all fluids of the world.
        solver: Pressure solver: `DFSPH`, `IISPH`, `PCISPH` or `PBF`.
        boundary: Boundary handling method: "density_map", "volume_map" or "particles", or a `DensityMap`, a `VolumeMap`
            or `BoundaryParticles` with options.
        wall_friction: Coulomb's friction coefficient of walls and bodies; 0 means free slip.
        wall_drag: Friction coefficient per slip speed [s/m]: the coefficient is wall_drag times the speed.
        wall_slip: Slip length of walls without a `slip` of their own, and of bodies [m]: how far behind the surface the
            velocity would be that of the wall. 0 is no slip, infinity free slip.
        max_dt: Longest sub-step [s]. Gravity may move a particle by at most its diameter in it.
        cfl: Fraction of a particle diameter that the fastest particle moves in a sub-step, at most 1.
        xsph: XSPH coefficient from 0 to 1: how much velocities are smoothed in each sub-step.
        max_particles: Largest number of particles, at which emitters stop. By default what memory allows.
        color: RGB in 0..1 for plain pictures.
        name: Name of the body.
    """

    def __init__(
        self,
        block: ArrayLike | None = None,
        *,
        mesh: SurfaceMesh | VolumeMesh | None = None,
        points: ArrayLike | None = None,
        particle_radius: float = 0.0125,
        density: float = 1000.0,
        viscosity: float = 0.001,
        surface_tension: float = 0.0,
        contact_angle: float = 90.0,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        emitters: Sequence[Emitter] = (),
        drains: Sequence[Drain] = (),
        forces: Sequence[Force] = (),
        solver: PressureSolver | None = None,
        boundary: str | BoundaryMethod = "particles",
        wall_friction: float = 0.0,
        wall_drag: float = 0.0,
        wall_slip: float = 0.0,
        max_dt: float = DEFAULT_MAX_DT,
        cfl: float = 0.4,
        xsph: float = 0.0,
        max_particles: int | None = None,
        color: tuple[float, float, float] | None = None,
        name: str = "",
    ) -> None:
        self.name = check_name(name, "a fluid's name")
        self.color = check_color(color, "a fluid's color")
        self.particle_radius = _positive(particle_radius, "particle_radius")
        self.density = _positive(density, "density")
        self.viscosity = _non_negative(viscosity, "viscosity")
        self.surface_tension = _non_negative(surface_tension, "surface_tension")
        self.contact_angle = number(
            contact_angle, "a fluid's contact_angle", low=0.0, high=180.0, unit="degrees"
        )
        self.max_dt, self.cfl = _positive(max_dt, "max_dt"), _positive(cfl, "cfl")
        if self.cfl > 1.0:
            raise InputError(
                f"a fluid's cfl must be at most 1, not {self.cfl:g}: particles would pass each other in a sub-step"
            )
        self.xsph = _non_negative(xsph, "xsph")
        self.wall_friction = _non_negative(wall_friction, "wall_friction")
        self.wall_drag = _non_negative(wall_drag, "wall_drag")
        self.wall_slip = number(wall_slip, "a fluid's wall_slip", low=0.0, unit="m", infinite=True)
        if solver is not None and not hasattr(solver, "solve_divergence"):
            raise InputError(
                f"a fluid's solver must be a DFSPH, IISPH, PCISPH or PBF, not {shortened(solver)}"
            )
        self.forces = _checked_forces(forces)
        self.solver = DFSPH() if solver is None else solver
        self.boundary = _boundary_method(boundary)
        self.emitters = instances_of(emitters, Emitter, "a fluid's emitters")
        for emitter in self.emitters:
            emitter.check_particles(self.diameter)
        self.drains = instances_of(drains, Drain, "a fluid's drains")
        self.max_particles = _particle_limit(max_particles)
        self._start = self._initial_positions(block, mesh, points)
        self._start_velocity = self._initial_velocities(velocity)
        self.notes: tuple[str, ...] = ()
        self._vertices = np.zeros((0, 1), np.int32)
        self._environment = Environment()
        self._set_particles(self._start, self._start_velocity)

    # initial state

    def _initial_positions(self, block: Any, mesh: Any, points: Any) -> NDArray[np.float64]:
        """Return the initial positions [m], shape [n, 3]."""
        given = [value is not None for value in (block, mesh, points)]
        if sum(given) > 1 or (not any(given) and not self.emitters):
            raise InputError("a fluid needs one of 'block', 'mesh' and 'points', or emitters")
        if not any(given):
            return np.zeros((0, 3))
        filled = points is None
        positions = self._fill(block, mesh) if filled else array(points, "a fluid's points", (None, 3))
        if len(positions) == 0:
            raise InputError(
                "the fluid has no particles: its shape is too small for particles of radius "
                f"{self.particle_radius:g} m; use a smaller particle_radius"
            )
        self._check_count(len(positions))
        return positions

    def _fill(self, block: Any, mesh: Any) -> NDArray[np.float64]:
        d = self.diameter
        if block is not None:
            corners = array(block, "a fluid's block, two opposite corners,", (2, 3))
            low, high = corners.min(axis=0), corners.max(axis=0)
            if (high - low < 0.5 * d).any():
                raise InputError(
                    f"the block is thinner than a particle of radius {self.particle_radius:g} m; "
                    "use a larger block or a smaller particle_radius"
                )
            self._check_count(float(np.prod(np.round((high - low) / d))))
            return block_points(low, high, d)
        instance_of(mesh, (SurfaceMesh, VolumeMesh), "a fluid's mesh")
        surface = mesh.surface if isinstance(mesh, VolumeMesh) else mesh
        low, high = surface.bounds
        self._check_count(float(np.prod(np.round((high - low) / d))), bounding_box=True)
        return fill_points(low, high, d, exact(surface))

    def _check_count(self, count: float, bounding_box: bool = False) -> None:
        if count > self.max_particles * (8.0 if bounding_box else 1.0):
            gib = count * BYTES_PER_PARTICLE / 2**30
            raise InputError(
                f"the fluid would have {count:.4g} particles and need about {gib:.3g} GiB, but at most "
                f"{self.max_particles} fit; use a larger particle_radius (now {self.particle_radius:g} m) or less fluid"
            )

    def _initial_velocities(self, velocity: ArrayLike) -> NDArray[np.float64]:
        given = numbers(velocity)
        one = given is not None and given.shape == (3,)
        if one:
            return np.broadcast_to(vector3(velocity, "a fluid's velocity"), self._start.shape)
        return array(velocity, "a fluid's velocity, one vector or one for each particle,", self._start.shape)

    def _set_particles(self, points: NDArray[np.float64], velocities: NDArray[np.float64]) -> None:
        """Set the particles, in the order of their ids; the system adopts them at its next step."""
        n = len(points)
        self._first_positions = np.array(points, dtype=np.float64)
        self.arrays: dict[str, NDArray] = {
            "positions": np.array(points, dtype=np.float64),
            "velocities": np.array(velocities, dtype=np.float32),
            "ids": np.arange(n, dtype=np.int32),
            "order": np.arange(n, dtype=np.int64),
            "layers": np.zeros(len(self.emitters), dtype=np.int64),
            "pressure": np.zeros(n, np.float32),
            "density_error": np.zeros(n, np.float32),
        }
        self.changed = True

    # the body's interface to the world

    @property
    def diameter(self) -> float:
        """Diameter of a particle, the spacing at rest [m]."""
        return 2.0 * self.particle_radius

    @property
    def particle_mass(self) -> float:
        """Mass of a particle [kg]."""
        return self.density * self.diameter**3

    @property
    def node_count(self) -> int:
        """Number of particles."""
        return len(self.arrays["ids"])

    @property
    def mass_total(self) -> float:
        """Mass [kg]."""
        return self.node_count * self.particle_mass

    @property
    def positions(self) -> NDArray[np.float64]:
        """Positions of particles [m], shape [n, 3], in the order of their ids; a read-only copy."""
        return readonly_copy(self.arrays["positions"])

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Velocities of particles [m/s], shape [n, 3]; a read-only copy."""
        return readonly_copy(self.arrays["velocities"].astype(np.float64))

    @property
    def pressure(self) -> NDArray[np.float64]:
        """Pressure at the particles [Pa], shape [n]; a read-only copy.

        It is the mean normal stress of the pressure forces of the last sub-step, averaged over neighbours.
        """
        return readonly_copy(self.arrays["pressure"].astype(np.float64))

    @property
    def density_error(self) -> NDArray[np.float64]:
        """Density at the particles relative to the rest density, minus 1, shape [n]; negative at the surface.

        A read-only copy.
        """
        return readonly_copy(self.arrays["density_error"].astype(np.float64))

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """Initial positions of the particles [m], shape [n, 3]; a read-only copy."""
        return readonly_copy(self._first_positions[self.arrays["ids"]])

    @property
    def triangles(self) -> NDArray[np.int32]:
        """A fluid has no triangles of its own; see `surface`."""
        return np.zeros((0, 3), np.int32)

    def prepare(self, environment: Environment) -> None:
        """Adopt the environment of a world."""
        self._environment = instance_of(environment, Environment, "the environment of a body")

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot with the fields velocity, pressure and density_error."""
        a = self.arrays
        if len(self._vertices) != self.node_count:
            self._vertices = np.arange(self.node_count, dtype=np.int32)[:, None]
        return BodyFrame(
            name=self.name,
            kind="fluid",
            positions=readonly_copy(a["positions"]),
            rest_positions=self.rest_positions,
            cells={"vertex": self._vertices},
            triangles=self.triangles,
            fields=BodyFields(
                {
                    "velocity": Field(readonly_copy(a["velocities"]), "m/s"),
                    "pressure": Field(readonly_copy(a["pressure"]), "Pa"),
                    "density_error": Field(readonly_copy(a["density_error"]), ""),
                }
            ),
            color=self.color,
            energy=self.energy(),
            point_radius=self.particle_radius,
            topology_version=CHANGES_EVERY_FRAME,
        )

    def energy(self) -> dict[str, float]:
        """Return kinetic and gravity energy [J]."""
        v = self.arrays["velocities"].astype(np.float64)
        g = self._environment.gravity
        mass = self.particle_mass
        return {
            "kinetic": float(0.5 * mass * np.einsum("ij,ij->", v, v)),
            "gravity": float(-mass * (self.arrays["positions"] @ g).sum()),
        }

    def state(self) -> dict[str, NDArray]:
        """Return everything that a bitwise identical restart needs."""
        return {name: value.copy() for name, value in self.arrays.items()} | {
            "first_positions": self._first_positions.copy()
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`."""
        shapes: dict[str, tuple[int | None, ...] | None] = dict.fromkeys(
            mapping(state, "the state of a fluid")
        )
        shapes |= {"positions": (None, 3), "velocities": (None, 3), "ids": (None,), "order": (None,)}
        shapes |= {"layers": (len(self.emitters),), "first_positions": (None, 3)}
        given = state_arrays(state, shapes, f"body '{self.name}'")
        ids, first = given["ids"], given.pop("first_positions")
        if not len(given["positions"]) == len(given["velocities"]) == len(ids):
            raise InputError(
                f"the state of body '{self.name}' has positions and velocities of different particles"
            )
        if len(ids) and not 0 <= ids.min() <= ids.max() < len(first):
            raise InputError(f"the state of body '{self.name}' has ids of particles that never were")
        self._first_positions = np.array(first, dtype=np.float64)
        self.arrays = {name: np.array(value) for name, value in given.items()}
        self.changed = True

    def reset(self) -> None:
        """Return to the initial state."""
        self._set_particles(self._start, self._start_velocity)

    def summary(self) -> dict[str, int | str]:
        """Return the number of particles and the solver."""
        return {"particles": self.node_count, "solver": self.solver.name}

    def geometry_bytes(self) -> bytes:
        """Return the initial positions as bytes."""
        return self._start.tobytes()

    def add_particles(self, points: NDArray[np.float64]) -> NDArray[np.int32]:
        """Register new particles at `points` [m], shape [k, 3]; return their ids."""
        first, points = len(self._first_positions), array(points, "the points of new particles", (None, 3))
        self._first_positions = np.concatenate([self._first_positions, points])
        return np.arange(first, first + len(points), dtype=np.int32)

    @property
    def particles_ever(self) -> int:
        """Number of particles registered so far, those that were drained included."""
        return len(self._first_positions)

    def discard_particles(self, count: int) -> None:
        """Forget all particles registered after the first `count`, in a step that failed."""
        count = whole_number(count, "the number of particles that stay", low=0)
        self._first_positions = self._first_positions[:count]

    def surface(self, **options: Any) -> SurfaceMesh:
        """Return the surface of the fluid as triangles (see `continua.sph.reconstruct_surface`)."""
        from continua.sph.surface_reconstruction import reconstruct_surface

        return reconstruct_surface(self.positions, self.particle_radius, **options)

    def __repr__(self) -> str:
        return f"Fluid({self.name!r}, {self.node_count} particles)"


def _boundary_method(given: str | BoundaryMethod) -> BoundaryMethod:
    if isinstance(given, str) and given in BOUNDARY_METHODS:
        return BOUNDARY_METHODS[given]()
    if not isinstance(given, BoundaryMethod):
        raise InputError(
            f"a fluid's boundary must be one of {', '.join(BOUNDARY_METHODS)}, not {shortened(given)}"
        )
    return given


def _checked_forces(given: Sequence[Force]) -> tuple[Force, ...]:
    forces = sequence(given, "a fluid's forces")
    for force in forces:
        for method in ("explicit_step", "implicit_step", "boundary_drag"):
            if not callable(getattr(force, method, None)):
                raise InputError(
                    f"a fluid's forces must have the methods of continua.sph.Force, but {shortened(force)} has no "
                    f"{method}"
                )
    return forces


def _positive(value: float, name: str) -> float:
    return number(value, f"a fluid's {name}", above=0.0)


def _non_negative(value: float, name: str) -> float:
    return number(value, f"a fluid's {name}", low=0.0)


def _particle_limit(given: int | None) -> int:
    """Return the largest number of particles: as given, or what the machine's memory holds."""
    if given is not None:
        return whole_number(given, "a fluid's max_particles", low=1)
    return int(memory_limit() / BYTES_PER_PARTICLE)
