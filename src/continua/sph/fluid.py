"""A fluid as a body of a world."""

from __future__ import annotations

import os
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
from continua.validation import isfinite, numbers

__all__ = ["BYTES_PER_PARTICLE", "Fluid"]

BYTES_PER_PARTICLE = 800  # state, scratch and neighbour lists, with a margin
_MEMORY_FRACTION = 0.8  # of the machine's memory available to particles


class Fluid(KeepsReadOnlyArrays):
    """A liquid made of particles.

    Its initial particles are given by one of `block`, `mesh` and `points`, or come from emitters. All fluids of a world
    are one system of particles: they interact, and must agree in `particle_radius`, `solver`, `boundary`,
    `max_dt`, `cfl`, `xsph`, `forces`, `wall_friction` and `wall_drag`.

    Args:
        block: Two opposite corners of a block to fill [m].
        mesh: A closed surface, or a volume mesh, to fill.
        points: Positions of the particles [m], shape [n, 3], one particle diameter apart.
        particle_radius: Half the spacing of particles [m]; each represents a cube of the full spacing.
        density: Mass per volume at rest [kg/m3].
        viscosity: Dynamic viscosity [Pa s]; 0.001 is water, 10 honey. Where explicit steps would overshoot, it
            is implicit, and the fluid sticks to walls.
        surface_tension: Coefficient of cohesion and curvature after Akinci; about 1 for water.
        velocity: Initial velocity [m/s], one vector or one per particle.
        emitters: Where fluid enters.
        drains: Where fluid is removed.
        forces: Further forces with the contract `continua.sph.Force`; they act on all fluids of the world.
        solver: Pressure solver: `DFSPH`, `IISPH`, `PCISPH` or `PBF`.
        boundary: Boundary handling method: "density_map", "volume_map" or "particles", or a `DensityMap`, a `VolumeMap`
            or `BoundaryParticles` with options.
        wall_friction: Coulomb's friction coefficient of walls and bodies; 0 means free slip.
        wall_drag: Friction coefficient per slip speed [s/m]: the coefficient is wall_drag times the speed.
        max_dt: Longest sub-step [s].
        cfl: Fraction of a particle diameter that the fastest particle moves in a sub-step.
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
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        emitters: Sequence[Emitter] = (),
        drains: Sequence[Drain] = (),
        forces: Sequence[Force] = (),
        solver: PressureSolver | None = None,
        boundary: str | BoundaryMethod = "particles",
        wall_friction: float = 0.0,
        wall_drag: float = 0.0,
        max_dt: float = 0.005,
        cfl: float = 0.4,
        xsph: float = 0.0,
        max_particles: int | None = None,
        color: tuple[float, float, float] | None = None,
        name: str = "",
    ) -> None:
        self.name, self.color = name, color
        self.particle_radius = _positive(particle_radius, "particle_radius")
        self.density = _positive(density, "density")
        self.viscosity = _non_negative(viscosity, "viscosity")
        self.surface_tension = _non_negative(surface_tension, "surface_tension")
        self.max_dt, self.cfl = _positive(max_dt, "max_dt"), _positive(cfl, "cfl")
        self.xsph = _non_negative(xsph, "xsph")
        self.wall_friction = _non_negative(wall_friction, "wall_friction")
        self.wall_drag = _non_negative(wall_drag, "wall_drag")
        if solver is not None and not hasattr(solver, "solve_divergence"):
            raise InputError(f"a fluid's solver must be a DFSPH, IISPH, PCISPH or PBF, not {solver!r}")
        self.forces = _checked_forces(forces)
        self.solver = DFSPH() if solver is None else solver
        self.boundary = _boundary_method(boundary)
        self.emitters, self.drains = tuple(emitters), tuple(drains)
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
        if points is not None:
            positions = np.array(points, dtype=np.float64)
            if positions.ndim != 2 or positions.shape[1] != 3 or not np.isfinite(positions).all():
                raise InputError("a fluid's points must be finite positions of shape [n, 3]")
        else:
            positions = self._fill(block, mesh)
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
            corners = numbers(block)
            if corners.shape != (2, 3) or not np.isfinite(corners).all():
                raise InputError("a fluid's block must be two opposite corners of three finite numbers each")
            low, high = corners.min(axis=0), corners.max(axis=0)
            if (high - low < 0.5 * d).any():
                raise InputError(
                    f"the block is thinner than a particle of radius {self.particle_radius:g} m; "
                    "use a larger block or a smaller particle_radius"
                )
            self._check_count(float(np.prod(np.round((high - low) / d))))
            return block_points(low, high, d)
        surface = mesh.surface if isinstance(mesh, VolumeMesh) else mesh
        if not isinstance(surface, SurfaceMesh):
            raise InputError(f"a fluid's mesh must be a surface or a volume mesh, not {type(mesh).__name__}")
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
        try:
            given = np.array(velocity, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.shape not in ((3,), self._start.shape) or not np.isfinite(given).all():
            raise InputError("a fluid's velocity must be three finite numbers, or three for each particle")
        return np.broadcast_to(given, self._start.shape)

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
        """Positions of particles [m], shape [n, 3], in the order of their ids."""
        return self.arrays["positions"].copy()

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Velocities of particles [m/s], shape [n, 3]."""
        return self.arrays["velocities"].astype(np.float64)

    @property
    def pressure(self) -> NDArray[np.float64]:
        """Pressure at the particles [Pa], shape [n]: the sum of both solves of the last sub-step."""
        return self.arrays["pressure"].astype(np.float64)

    @property
    def density_error(self) -> NDArray[np.float64]:
        """Density at the particles relative to the rest density, minus 1, shape [n]; negative at the surface."""
        return self.arrays["density_error"].astype(np.float64)

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """Initial positions of the particles [m], shape [n, 3]."""
        return self._first_positions[self.arrays["ids"]]

    @property
    def triangles(self) -> NDArray[np.int32]:
        """A fluid has no triangles of its own; see `surface`."""
        return np.zeros((0, 3), np.int32)

    def prepare(self, environment: Environment) -> None:
        """Adopt the environment of a world."""
        self._environment = environment

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot with the fields velocity, pressure and density_error."""
        a = self.arrays
        if len(self._vertices) != self.node_count:
            self._vertices = np.arange(self.node_count, dtype=np.int32)[:, None]
        return BodyFrame(
            name=self.name,
            kind="fluid",
            positions=readonly_copy(a["positions"]),
            rest_positions=readonly_copy(self.rest_positions),
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
        for key in ("positions", "velocities", "ids", "order", "first_positions", "layers"):
            if key not in state:
                raise InputError(f"the state of '{self.name}' lacks '{key}'")
        self._first_positions = np.array(state["first_positions"], dtype=np.float64)
        self.arrays = {name: np.array(value) for name, value in state.items() if name != "first_positions"}
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
        first = len(self._first_positions)
        self._first_positions = np.concatenate([self._first_positions, points])
        return np.arange(first, first + len(points), dtype=np.int32)

    @property
    def particles_ever(self) -> int:
        """Number of particles registered so far, those that were drained included."""
        return len(self._first_positions)

    def discard_particles(self, count: int) -> None:
        """Forget all particles registered after the first `count`, in a step that failed."""
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
        raise InputError(f"a fluid's boundary must be one of {', '.join(BOUNDARY_METHODS)}, not '{given}'")
    return given


def _checked_forces(given: Sequence[Force]) -> tuple[Force, ...]:
    for force in given:
        for method in ("explicit_step", "implicit_step", "boundary_drag"):
            if not callable(getattr(force, method, None)):
                raise InputError(
                    f"a fluid's forces must have the methods of continua.sph.Force, but {force!r} has no {method}"
                )
    return tuple(given)


def _positive(value: float, name: str) -> float:
    if not (isfinite(value) and value > 0.0):
        raise InputError(f"a fluid's {name} must be a finite number greater than 0, not {value}")
    return float(value)


def _non_negative(value: float, name: str) -> float:
    if not (isfinite(value) and value >= 0.0):
        raise InputError(f"a fluid's {name} must be a finite number of at least 0, not {value}")
    return float(value)


def _particle_limit(given: int | None) -> int:
    """Return the largest number of particles: as given, or what the machine's memory holds."""
    if given is not None:
        if not (isfinite(given) and given >= 1):
            raise InputError(f"max_particles must be at least 1, not {given}")
        return int(given)
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 8 * 2**30
    return int(_MEMORY_FRACTION * memory / BYTES_PER_PARTICLE)
