"""A liquid with a free surface on a grid, as a body of a world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.eulerian.body import GridFluid, from_zero
from continua.eulerian.grid import free_memory, make_grid
from continua.eulerian.liquid_flow import LiquidFlow, Spring
from continua.eulerian.liquid_surface import drawn_surface
from continua.eulerian.sides import SideWish
from continua.eulerian.smoke import Inflow
from continua.frames import BodyFields, BodyFrame, Field, Volume, frozen
from continua.geometry import MeshShape, Shape
from continua.mesh import SurfaceMesh, VolumeMesh
from continua.surroundings import Surroundings, as_vector

__all__ = ["Liquid"]

_BYTES_PER_PARTICLE = 150  # in float32: the particle, its sorted copy and its place in the order


class Liquid(GridFluid):
    """A liquid in a box: it flows around obstacles, splashes and comes to rest.

    A level set on the grid is its surface, and particles carry its velocity (APIC) and keep drops and thin sheets. The
    pressure is zero on the surface (ghost fluid, second order). Air is not simulated.

    Args:
        size: Lengths of the box along x, y (and z) [m].
        cells: Number of cells along x, y (and z); they must be cubes, or squares in a plane.
        block: Two opposite corners of a block that is filled at the start [m], or a list of such pairs. A block that
            reaches a side of the box touches it.
        shapes: Shapes or closed meshes that are filled at the start.
        points: Places of particles at the start [m], shape [n, 3]; a full cell has eight, in a plane nine.
        velocity: Velocity at the start [m/s].
        inflow: Where liquid comes from: shapes with a velocity.
        drains: Shapes in which liquid vanishes.
        obstacles: Shapes or closed meshes in the box; shapes may move.
        sides: What the sides of the box do, by name ("left", "right", "bottom", "top", "back", "front"): "slip" or
            "no-slip" for a wall, "open" where liquid leaves, or a velocity [m/s]. Walls by default.
        origin: Corner with the smallest coordinates [m]; zeros by default.
        density: Density [kg/m3].
        viscosity: Dynamic viscosity [Pa s]; water has 0.001, honey about 10. With it the liquid sticks to obstacles,
            and to sides that are "no-slip".
        surface_tension: Surface tension [N/m]; water has 0.072. It matters for drops of millimetres; steps get short.
        flip: Part of its own velocity that a particle keeps in a sub-step: 0 (APIC) is calm, 0.97 lively and noisy.
        seed: Of the places of particles in their cells.
        detail: Samples a cell along each axis from which the surface is drawn.
        rtol: Residual of the pressure.
        cfl: How many cells the fastest liquid may move in a sub-step.
        precision: "single" or "double".
        color: RGB in 0..1 for plain pictures.
        name: Name of the body.
    """

    flow: LiquidFlow

    def __init__(
        self,
        size: Sequence[float] = (1.0, 1.0, 1.0),
        cells: Sequence[int] = (32, 32, 32),
        *,
        block: ArrayLike | None = None,
        shapes: Iterable[Any] = (),
        points: ArrayLike | None = None,
        velocity: Sequence[float] = (0.0, 0.0, 0.0),
        inflow: Inflow | Iterable[Inflow] = (),
        drains: Iterable[Any] = (),
        obstacles: Iterable[Any] = (),
        sides: Mapping[str, SideWish] | None = None,
        origin: Sequence[float] | None = None,
        density: float = 1000.0,
        viscosity: float = 0.0,
        surface_tension: float = 0.0,
        flip: float = 0.0,
        seed: int = 0,
        detail: int = 2,
        rtol: float = 1e-4,
        cfl: float = 3.0,
        precision: str = "single",
        color: tuple[float, float, float] | None = None,
        name: str = "",
    ) -> None:
        if not 0.0 <= flip <= 1.0:
            raise InputError(f"a liquid's flip must be from 0 to 1, not {flip}")
        if isinstance(seed, bool) or int(seed) != seed or not 0 <= seed < 2**40:
            raise InputError(f"a liquid's seed must be a whole number from 0 on, not {seed!r}")
        if detail not in (1, 2, 3, 4):
            raise InputError(f"a liquid's detail must be 1, 2, 3 or 4, not {detail!r}")
        reach = ceil(cfl) + 1 if 0.0 < cfl <= 10.0 else 0
        if not reach:
            raise InputError(f"a liquid's cfl must be above 0 and at most 10, not {cfl}")
        super().__init__(
            make_grid(size, cells, origin, what="liquid"),
            sides={} if sides is None else sides,
            obstacles=obstacles,
            density=density,
            viscosity=viscosity,
            scheme="maccormack",
            rtol=rtol,
            cfl=cfl,
            precision=precision,
            color=color,
            name=name,
            make_flow=partial(
                LiquidFlow,
                reach=reach,
                flip=float(flip),
                seed=int(seed),
                tension=from_zero(surface_tension, "surface_tension"),
            ),
        )
        self.detail = int(detail)
        self._velocity = self._along_axes(velocity, "a liquid's velocity")
        sources = (inflow,) if isinstance(inflow, Inflow) else tuple(inflow)
        self.flow.springs = [self._spring(source) for source in sources]
        self.flow.drains = [self._distances(_as_shape(shape, "drain")) < 0.0 for shape in drains]
        self._points = _places(points)
        self._start = self._filled(block, [_as_shape(shape, "shape of a liquid") for shape in shapes])
        if self._start is None and self._points is None and not sources:
            raise InputError("a liquid needs a 'block', 'shapes', 'points' or an inflow")
        self.begin()

    # what it starts with

    def _along_axes(self, given: Sequence[float], what: str) -> tuple[float, float, float]:
        """Return a vector along x, y and z as numbers along the array axes."""
        flat = self.grid.dim == 2 and len(given) == 2
        v = np.roll(as_vector((*given, 0.0) if flat else given, what), self.grid.first)
        if self.grid.dim == 2:
            v[0] = 0.0
        return float(v[0]), float(v[1]), float(v[2])

    def _distances(self, shape: Shape) -> NDArray:
        """Return the distances to a shape in the middles of cells, in cells."""
        gaps = shape.distances(self.grid.centers())[0] / self.grid.spacing
        return np.asarray(gaps, self.flow.dtype).reshape(self.grid.shape)

    def _block(self, ends: NDArray[np.float64]) -> NDArray:
        """Return the distances to a block in the middles of cells, in cells; sides of the box are no surface."""
        grid = self.grid
        outside = np.zeros(grid.shape)
        inside = np.full(grid.shape, -1e6)
        for axis in grid.axes:
            d = axis - grid.first
            low, high = (float(v) for v in (ends[:, d] - grid.origin[d]) / grid.spacing)
            low = -1e6 if low < 1e-3 else low
            high = 1e6 if high > grid.shape[axis] - 1e-3 else high
            middles = np.arange(grid.shape[axis]) + 0.5
            gap = np.maximum(low - middles, middles - high).reshape(
                [-1 if a == axis else 1 for a in range(3)]
            )
            outside += np.maximum(gap, 0.0) ** 2
            inside = np.maximum(inside, gap)
        return np.where(inside > 0.0, np.sqrt(outside), inside)

    def _filled(self, block: Any, shapes: Sequence[Shape]) -> NDArray | None:
        """Return the level set at the start, in cells, or None."""
        parts = []
        if block is not None:
            given = np.array(block, dtype=np.float64)
            blocks = given[None] if given.ndim == 2 else given
            if blocks.ndim != 3 or blocks.shape[1] != 2 or blocks.shape[2] < self.grid.dim:
                raise InputError(
                    f"a liquid's block must be two opposite corners of {self.grid.dim} numbers each, or a list of such"
                )
            if not np.isfinite(blocks).all() or (blocks[:, 0] >= blocks[:, 1])[:, : self.grid.dim].any():
                raise InputError("a liquid's block must have its smallest coordinates first, all finite")
            parts += [self._block(ends) for ends in blocks]
        parts += [self._distances(shape) for shape in shapes]
        if not parts:
            return None
        for part in parts:
            self._refuse_outside(part < 0.0)
        return np.asarray(np.minimum.reduce(parts), self.flow.dtype)

    def _refuse_outside(self, wet: NDArray[np.bool_]) -> None:
        grid = self.grid
        if not (wet & ~self.flow.closed).any():
            raise InputError(
                "a part of the liquid fills no cell: it is too small, inside of an obstacle, or outside of the grid, "
                f"which reaches from {list(grid.origin)} m by {list(grid.size)} m"
            )
        per_cell = self.flow.particles.per_cell * _BYTES_PER_PARTICLE * self.flow.dtype.itemsize // 4
        need, have = int(wet.sum()) * per_cell, free_memory()
        if need > have:
            raise InputError(
                f"the particles of this liquid need about {need / 2**30:.3g} GiB, but {have / 2**30:.3g} GiB are free "
                "for them; use fewer cells"
            )

    def _spring(self, source: Inflow) -> Spring:
        """Return the place of an inflow."""
        if source.velocity is None:
            raise InputError("an inflow of a liquid needs a velocity")
        grid = self.grid
        phi = self._distances(source.shape)
        if not (phi < 0.0).any():
            raise InputError("an inflow holds no cell of the grid; make it larger, move it or use more cells")
        faces = [
            (source.shape.distances(grid.face_points(a))[0] < 0.0).reshape(grid.faces_shape(a))
            for a in grid.axes
        ]
        velocity = self._along_axes(source.velocity, "an inflow's velocity")
        return Spring(phi, faces, velocity, source.start, source.stop)

    def begin(self) -> None:
        """Fill the box as at the start."""
        flow = self.flow
        flow.target = 0.0
        for axis in self.grid.axes:
            flow.velocity[axis][:] = self._velocity[axis]
        flow.fill(self._start, self._points)
        flow.hold_sides()

    def prepare(self, surroundings: Surroundings) -> None:
        """Enter a world."""
        super().prepare(surroundings)
        self._feel_gravity()

    def _feel_gravity(self) -> None:
        self.flow.gravity = self._along_axes(tuple(self._surroundings.gravity), "gravity")

    def push(self, dt: float) -> None:
        """Add no more forces than gravity, which the flow knows."""

    def step(self, dt: float) -> Any:
        """Advance by `dt` [s], in as many parts as the speed of the liquid asks for; see `GridFluid.step`."""
        self._feel_gravity()
        return super().step(dt)

    # what it tells

    @property
    def volume(self) -> float:
        """Volume of the liquid [m3]; area of a plane one [m2]."""
        return self.flow.volume() * self.grid.spacing**self.grid.dim

    @property
    def mass_total(self) -> float:
        """Mass of the liquid [kg]; a plane one is taken one metre deep."""
        return self.flow.density * self.volume

    @property
    def node_count(self) -> int:
        """Number of cells."""
        return self.grid.cell_count

    @property
    def particles(self) -> NDArray[np.float64]:
        """Places of the particles [m], shape [n, 3]."""
        grid = self.grid
        result = np.zeros((len(self.flow.particles.rows), 3))
        for axis in grid.axes:
            d = axis - grid.first
            result[:, d] = grid.origin[d] + grid.spacing * self.flow.particles.rows[:, axis]
        return result

    def surface(self) -> SurfaceMesh:
        """Return the surface as triangles (marching cubes); that of a plane liquid is a slab one cell deep."""
        points, triangles, _ = drawn_surface(self.flow, self.detail)
        return SurfaceMesh(points, triangles)

    @property
    def positions(self) -> NDArray[np.float64]:
        """Points of the surface [m], shape [n, 3]."""
        return drawn_surface(self.flow, self.detail)[0]

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """The same points: a surface of a liquid has no rest."""
        return self.positions

    @property
    def triangles(self) -> NDArray[np.int32]:
        """Triangles of the surface, shape [k, 3]."""
        return drawn_surface(self.flow, self.detail)[1]

    def field(self, name: str) -> NDArray:
        """Return a quantity in the middles of the cells: "velocity", "pressure", "vorticity" or "level_set" [m]."""
        if name == "level_set":
            return self.flow.level.phi * self.flow.dtype.type(self.grid.spacing)
        return super().field(name)

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot: the surface, and level set, velocity and pressure on the grid."""
        grid = self.grid
        points, triangles, velocity = drawn_surface(self.flow, self.detail)
        dry = self.flow.level.phi >= 0.0
        whole = {}
        for name, unit in (("level_set", "m"), ("velocity", "m/s"), ("pressure", "Pa")):
            values = np.asarray(self.field(name), np.float32)
            if name != "level_set":
                values = np.where(dry if values.ndim == 3 else dry[..., None], np.float32(0), values)
            whole[name] = Field(frozen(np.moveaxis(values, 0, 2) if grid.dim == 2 else values), unit)
        low = (*grid.origin, -0.5 * grid.spacing)[:3]
        places = frozen(points)
        return BodyFrame(
            name=self.name,
            kind="liquid",
            positions=places,
            rest_positions=places,
            cells={},
            triangles=frozen(triangles),
            fields=BodyFields({"velocity": Field(frozen(velocity), "m/s")}),
            color=self.color,
            energy=self.energy(),
            volume=Volume((low[0], low[1], low[2]), grid.spacing, whole),
        )

    def energy(self) -> dict[str, float]:
        """Return the kinetic energy, and that in the gravity field above the box's lowest corner [J]."""
        square, *places = self.flow.particles.sums()
        mass = self.mass_total / max(len(self.flow.particles.rows), 1)
        axes = self.grid.axes
        height = -sum(places[a] * self.flow.gravity[a] for a in axes) * self.grid.spacing
        return {"kinetic": float(0.5 * mass * square), "gravity": float(mass * height)}

    def state(self) -> dict[str, NDArray]:
        """Return everything that a bit-equal restart needs."""
        flow = self.flow
        return super().state() | {
            "level_set": flow.level.phi.copy(),
            "particles": flow.particles.rows.copy(),
            "counts": np.array([flow.target, flow.particles.seeded], dtype=np.float64),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state from `state()`."""
        for key in ("level_set", "particles", "counts"):
            if key not in state:
                raise InputError(f"the state of '{self.name}' lacks '{key}'")
        super().restore(state)
        counts = np.asarray(state["counts"]).reshape(-1)
        self.flow.take(state["level_set"], state["particles"], float(counts[0]), int(counts[1]))

    def reset(self) -> None:
        """Go back to the start, around obstacles where they are then."""
        self.flow.place(self._surroundings.time)
        super().reset()

    def facts(self) -> dict[str, int | str]:
        """Return how many cells and particles it has."""
        return {"cells": self.node_count, "particles": len(self.flow.particles.rows)}


def _as_shape(given: Any, what: str) -> Shape:
    if isinstance(given, SurfaceMesh | VolumeMesh):
        return MeshShape(given)
    if not isinstance(given, Shape):
        raise InputError(f"a {what} must be a shape or a closed mesh, not {type(given).__name__}")
    return given


def _places(points: Any) -> NDArray[np.float64] | None:
    if points is None:
        return None
    places = np.array(points, dtype=np.float64)
    if places.ndim != 2 or places.shape[1] != 3 or not len(places) or not np.isfinite(places).all():
        raise InputError("a liquid's points must be finite places of shape [n, 3], at least one")
    return places
