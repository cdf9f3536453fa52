"""A fluid as a body of a world."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.frames import BodyFields, BodyFrame, Field, frozen
from continua.mesh import SurfaceMesh, VolumeMesh
from continua.sdf import exact
from continua.sph.boundary.model import BOUNDARIES, BoundaryModel
from continua.sph.emitters import Drain, Emitter
from continua.sph.pressure.dfsph import DFSPH
from continua.sph.pressure.solver import PressureSolver
from continua.sph.sampling import block_points, fill_points
from continua.surroundings import Surroundings
from continua.values import isfinite, numbers

__all__ = ["BYTES_PER_PARTICLE", "Fluid"]

BYTES_PER_PARTICLE = 800  # state, scratch and neighbour lists, with room to spare
_MEMORY_SHARE = 0.8  # of the machine's memory that particles may take


class Fluid:
    """A liquid made of particles.

    Give it a place with one of `block`, `mesh` and `points`, or let it come from emitters. All fluids of a
    world are one system of particles: they push each other, and must agree in `particle_radius`, `solver`, `boundary`,
    `max_dt`, `cfl`, `xsph`, `wall_friction` and `wall_drag`.

    Args:
        block: Two opposite corners of a block to fill [m].
        mesh: A closed surface, or a volume mesh, to fill.
        points: Positions of the particles [m], shape [n, 3], one particle diameter apart.
        particle_radius: Half the distance of particles [m]; each stands for a cube of the full distance.
        density: Mass per volume at rest [kg/m3].
        viscosity: Dynamic viscosity [Pa s]; 0.001 is water, 10 honey. Where explicit steps would overshoot, an
            implicit solve is done, and the fluid sticks to walls.
        surface_tension: Coefficient of cohesion and curvature after Akinci; about 1 for water.
        velocity: Velocity at the start [m/s], one vector or one a particle.
        emitters: Where fluid comes from.
        drains: Where fluid goes.
        solver: How incompressibility is kept: `DFSPH`, `IISPH`, `PCISPH` or `PBF`.
        boundary: How walls are modelled: "density_map", "volume_map" or "particles", or a `DensityMap`, a `VolumeMap`
            or `WallParticles` with options.
        wall_friction: Coulomb's coefficient of walls and bodies against the fluid; 0 lets it slip freely.
        wall_drag: Friction that grows with the speed of slip [s/m]: the coefficient is wall_drag times the speed.
        max_dt: Longest sub-step [s].
        cfl: Part of a particle diameter that the fastest particle moves in a sub-step.
        xsph: Part by which velocities are smoothed each sub-step, from 0 to 1.
        max_particles: How many particles there may be; emitters stop there. By default what memory allows.
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
        solver: PressureSolver | None = None,
        boundary: str | BoundaryModel = "particles",
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
        self.particle_radius = _above_zero(particle_radius, "particle_radius")
        self.density = _above_zero(density, "density")
        self.viscosity = _from_zero(viscosity, "viscosity")
        self.surface_tension = _from_zero(surface_tension, "surface_tension")
        self.max_dt, self.cfl = _above_zero(max_dt, "max_dt"), _above_zero(cfl, "cfl")
        self.xsph = _from_zero(xsph, "xsph")
        self.wall_friction = _from_zero(wall_friction, "wall_friction")
        self.wall_drag = _from_zero(wall_drag, "wall_drag")
        if solver is not None and not hasattr(solver, "free_of_divergence"):
            raise InputError(f"a fluid's solver must be a DFSPH, IISPH, PCISPH or PBF, not {solver!r}")
        self.solver = DFSPH() if solver is None else solver
        self.boundary = _boundary(boundary)
        self.emitters, self.drains = tuple(emitters), tuple(drains)
        self.max_particles = _most_particles(max_particles)
        self._start = self._place(block, mesh, points)
        self._start_velocity = self._moving(velocity)
        self.notes: tuple[str, ...] = ()
        self._vertices = np.zeros((0, 1), np.int32)
        self._surroundings = Surroundings()
        self._put(self._start, self._start_velocity)

    # what a fluid starts with

    def _place(self, block: Any, mesh: Any, points: Any) -> NDArray[np.float64]:
        """Return the particles at the start [m], shape [n, 3]."""
        given = [value is not None for value in (block, mesh, points)]
        if sum(given) > 1 or (not any(given) and not self.emitters):
            raise InputError("a fluid needs one of 'block', 'mesh' and 'points', or emitters")
        if not any(given):
            return np.zeros((0, 3))
        if points is not None:
            placed = np.array(points, dtype=np.float64)
            if placed.ndim != 2 or placed.shape[1] != 3 or not np.isfinite(placed).all():
                raise InputError("a fluid's points must be finite positions of shape [n, 3]")
        else:
            placed = self._filled(block, mesh)
        if len(placed) == 0:
            raise InputError(
                "the fluid has no particles: its shape is too small for particles of radius "
                f"{self.particle_radius:g} m; use a smaller particle_radius"
            )
        self._refuse_too_many(len(placed))
        return placed

    def _filled(self, block: Any, mesh: Any) -> NDArray[np.float64]:
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
            self._refuse_too_many(float(np.prod(np.round((high - low) / d))))
            return block_points(low, high, d)
        surface = mesh.surface if isinstance(mesh, VolumeMesh) else mesh
        if not isinstance(surface, SurfaceMesh):
            raise InputError(f"a fluid's mesh must be a surface or a volume mesh, not {type(mesh).__name__}")
        low, high = surface.bounds
        self._refuse_too_many(float(np.prod(np.round((high - low) / d))), most_of=True)
        return fill_points(low, high, d, exact(surface))

    def _refuse_too_many(self, count: float, most_of: bool = False) -> None:
        if count > self.max_particles * (8.0 if most_of else 1.0):
            need = count * BYTES_PER_PARTICLE / 2**30
            raise InputError(
                f"the fluid would have {count:.4g} particles and need about {need:.3g} GiB, but at most "
                f"{self.max_particles} fit; use a larger particle_radius (now {self.particle_radius:g} m) or less fluid"
            )

    def _moving(self, velocity: ArrayLike) -> NDArray[np.float64]:
        try:
            given = np.array(velocity, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.shape not in ((3,), self._start.shape) or not np.isfinite(given).all():
            raise InputError("a fluid's velocity must be three finite numbers, or three for each particle")
        return np.broadcast_to(given, self._start.shape)

    def _put(self, points: NDArray[np.float64], velocities: NDArray[np.float64]) -> None:
        """Set the particles, in the order of their numbers; the system takes them over."""
        n = len(points)
        self._born = np.array(points, dtype=np.float64)
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

    # what a world asks of a body

    @property
    def diameter(self) -> float:
        """Distance of particles at rest [m]."""
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
        """Positions of particles [m], shape [n, 3], in the order of their numbers."""
        return self.arrays["positions"].copy()

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Velocities of particles [m/s], shape [n, 3]."""
        return self.arrays["velocities"].astype(np.float64)

    @property
    def pressure(self) -> NDArray[np.float64]:
        """Pressure at the particles [Pa], shape [n]: of both solves of the last sub-step together."""
        return self.arrays["pressure"].astype(np.float64)

    @property
    def density_error(self) -> NDArray[np.float64]:
        """Density at the particles over the rest density, minus 1, shape [n]; below 0 at the surface."""
        return self.arrays["density_error"].astype(np.float64)

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """Where the particles were at first [m], shape [n, 3]."""
        return self._born[self.arrays["ids"]]

    @property
    def triangles(self) -> NDArray[np.int32]:
        """A fluid has no triangles of its own; see `surface`."""
        return np.zeros((0, 3), np.int32)

    def prepare(self, surroundings: Surroundings) -> None:
        """Enter a world."""
        self._surroundings = surroundings

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot with the fields velocity, pressure and density_error."""
        a = self.arrays
        if len(self._vertices) != self.node_count:
            self._vertices = np.arange(self.node_count, dtype=np.int32)[:, None]
        return BodyFrame(
            name=self.name,
            kind="fluid",
            positions=frozen(a["positions"]),
            rest_positions=frozen(self.rest_positions),
            cells={"vertex": self._vertices},
            triangles=self.triangles,
            fields=BodyFields(
                {
                    "velocity": Field(frozen(a["velocities"]), "m/s"),
                    "pressure": Field(frozen(a["pressure"]), "Pa"),
                    "density_error": Field(frozen(a["density_error"]), "1"),
                }
            ),
            color=self.color,
            energy=self.energy(),
            point_radius=self.particle_radius,
        )

    def energy(self) -> dict[str, float]:
        """Return kinetic and gravity energy [J]."""
        v = self.arrays["velocities"].astype(np.float64)
        g = self._surroundings.gravity
        mass = self.particle_mass
        return {
            "kinetic": float(0.5 * mass * np.einsum("ij,ij->", v, v)),
            "gravity": float(-mass * (self.arrays["positions"] @ g).sum()),
        }

    def state(self) -> dict[str, NDArray]:
        """Return everything that a bit-equal restart needs."""
        return {name: value.copy() for name, value in self.arrays.items()} | {"born": self._born.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state from `state()`."""
        for key in ("positions", "velocities", "ids", "order", "born", "layers"):
            if key not in state:
                raise InputError(f"the state of '{self.name}' lacks '{key}'")
        self._born = np.array(state["born"], dtype=np.float64)
        self.arrays = {name: np.array(value) for name, value in state.items() if name != "born"}
        self.changed = True

    def reset(self) -> None:
        """Go back to the start."""
        self._put(self._start, self._start_velocity)

    def facts(self) -> dict[str, int | str]:
        """Return how many particles it has, and the solver."""
        return {"particles": self.node_count, "solver": self.solver.name}

    def shape_bytes(self) -> bytes:
        """Return the particles at the start as bytes."""
        return self._start.tobytes()

    def added(self, points: NDArray[np.float64]) -> NDArray[np.int32]:
        """Give numbers to new particles at `points` [m], shape [k, 3]."""
        first = len(self._born)
        self._born = np.concatenate([self._born, points])
        return np.arange(first, first + len(points), dtype=np.int32)

    def surface(self, **options: Any) -> SurfaceMesh:
        """Return the surface of the fluid as triangles (see `continua.sph.reconstruct`)."""
        from continua.sph.surface_reconstruction import reconstruct

        return reconstruct(self.positions, self.particle_radius, **options)

    def __repr__(self) -> str:
        return f"Fluid({self.name!r}, {self.node_count} particles)"


def _boundary(given: str | BoundaryModel) -> BoundaryModel:
    if isinstance(given, str) and given in BOUNDARIES:
        return BOUNDARIES[given]()
    if not isinstance(given, BoundaryModel):
        raise InputError(f"a fluid's boundary must be one of {', '.join(BOUNDARIES)}, not '{given}'")
    return given


def _above_zero(value: float, what: str) -> float:
    if not (isfinite(value) and value > 0.0):
        raise InputError(f"a fluid's {what} must be a finite number greater than 0, not {value}")
    return float(value)


def _from_zero(value: float, what: str) -> float:
    if not (isfinite(value) and value >= 0.0):
        raise InputError(f"a fluid's {what} must be a finite number of at least 0, not {value}")
    return float(value)


def _most_particles(given: int | None) -> int:
    """Return how many particles may be made: what was asked for, or what the machine's memory holds."""
    if given is not None:
        if not (isfinite(given) and given >= 1):
            raise InputError(f"max_particles must be at least 1, not {given}")
        return int(given)
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 8 * 2**30
    return int(_MEMORY_SHARE * memory / BYTES_PER_PARTICLE)
