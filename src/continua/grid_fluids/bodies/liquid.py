"""A liquid with a free surface on a grid, as a body of a world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.environment import Environment
from continua.errors import InputError
from continua.frames import CHANGES_EVERY_FRAME, BodyFields, BodyFrame, Field, Volume, readonly_copy
from continua.geometry import MeshShape, Shape
from continua.grid_fluids.bodies.grid_fluid import GridFluid, check_nonnegative, flow_options
from continua.grid_fluids.bodies.smoke import Inflow
from continua.grid_fluids.free_surface.liquid_flow import InflowSource, LiquidFlow
from continua.grid_fluids.free_surface.surface_mesh import extract_surface
from continua.grid_fluids.geometry.domain_boundary import SideSpec
from continua.grid_fluids.geometry.grid import make_grid
from continua.mesh import SurfaceMesh, VolumeMesh
from continua.validation import (
    array,
    check_memory,
    instances_of,
    number,
    numbers,
    pluralize,
    vector3,
    whole_number,
)

__all__ = ["Liquid"]

_LARGEST_OVERLAP = 0.5  # cells, of the liquid with obstacles that are added while it moves
_BYTES_PER_PARTICLE = 150  # in float32: the particle, its sorted copy and its index


class Liquid(GridFluid):
    """A liquid with a free surface in a box.

    A level set on the grid represents the surface; particles carry the velocity (APIC) and preserve drops and thin
    sheets. The pressure is zero on the surface (ghost fluid, second order). Air is not simulated.

    Args:
        size: Lengths of the box along x, y (and z) [m].
        cells: Number of cells along x, y (and z); they must be cubes, or squares in a plane.
        block: Two opposite corners of a block that is filled initially [m], or a list of such pairs.
        shapes: Shapes or closed meshes that are filled initially.
        points: Initial positions of particles [m], shape [n, 3]; a full cell has eight, in a plane nine.
        velocity: Initial velocity [m/s].
        inflow: Sources of liquid: shapes with a velocity.
        drains: Shapes in which liquid is removed.
        obstacles: Shapes or closed meshes in the box; shapes may move.
        sides: Boundary conditions by side ("left", "right", "bottom", "top", "back", "front"): "slip" or "no-slip"
            for a wall, "open" where liquid leaves, or a velocity [m/s]. Slip walls by default.
        origin: Corner with the smallest coordinates [m]; zeros by default.
        density: Density [kg/m3].
        viscosity: Dynamic viscosity [Pa s]; water has 0.001, honey about 10. With viscosity obstacles are no-slip.
        surface_tension: Surface tension [N/m]; water has 0.072. It matters for drops of millimetres, and makes
            sub-steps short.
        contact_angle: Angle in the liquid at which its surface meets walls [degrees], with surface tension.
        flip: Fraction of its own velocity that a particle keeps in a sub-step: 0 (APIC) is calm, 0.97 lively and noisy.
        seed: Random seed of the positions of particles in their cells.
        detail: Samples per cell along each axis of the surface mesh.
        rtol: Relative tolerance of the pressure solve.
        cfl: Largest number of cells the fastest liquid moves in a sub-step.
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
        sides: Mapping[str, SideSpec] | None = None,
        origin: Sequence[float] | None = None,
        density: float = 1000.0,
        viscosity: float = 0.0,
        surface_tension: float = 0.0,
        contact_angle: float = 90.0,
        flip: float = 0.0,
        seed: int = 0,
        detail: int = 2,
        rtol: float = 1e-4,
        cfl: float = 3.0,
        precision: str = "single",
        color: tuple[float, float, float] | None = None,
        name: str = "",
    ) -> None:
        cfl = number(cfl, "a liquid's cfl", above=0.0, high=10.0)
        flow = LiquidFlow(
            make_grid(size, cells, origin, what="liquid"),
            sides,
            obstacles,
            surface_tension=check_nonnegative(surface_tension, "surface_tension"),
            contact_angle=number(
                contact_angle, "a liquid's contact_angle", low=0.0, high=180.0, unit="degrees"
            ),
            band_width=ceil(cfl) + 1,
            flip=number(flip, "a liquid's flip", low=0.0, high=1.0),
            seed=whole_number(seed, "a liquid's seed", low=0, high=2**40 - 1),
            **flow_options(density=density, viscosity=viscosity, rtol=rtol, precision=precision),
        )
        super().__init__(flow, cfl=cfl, color=color, name=name)
        self.detail = whole_number(detail, "a liquid's detail", low=1, high=4)
        self._velocity = self._along_axes(velocity, "a liquid's velocity")
        sources = (
            (inflow,)
            if isinstance(inflow, Inflow)
            else instances_of(inflow, Inflow, "the inflow of a liquid")
        )
        self.flow.inflow_sources = [self._inflow_source(source) for source in sources]
        self.flow.drains = [
            self._distances(shape) < 0.0 for shape in _as_shapes(drains, "the drains of a liquid")
        ]
        self._points = None if points is None else array(points, "a liquid's points", (None, 3), empty=False)
        self._initial_phi = self._initial_level_set(block, _as_shapes(shapes, "the shapes of a liquid"))
        if self._initial_phi is None and self._points is None and not sources:
            raise InputError("a liquid needs a 'block', 'shapes', 'points' or an inflow")
        self.initialise()

    # initial state

    def _along_axes(self, given: Sequence[float], what: str) -> tuple[float, float, float]:
        """Return a vector along x, y and z as components along the array axes."""
        plane = numbers(given) if self.grid.dim == 2 else None
        if plane is not None and plane.shape == (2,):
            given = np.append(plane, 0.0).tolist()
        v = np.roll(vector3(given, what), self.grid.x_axis)
        if self.grid.dim == 2:
            v[0] = 0.0
        return float(v[0]), float(v[1]), float(v[2])

    def _distances(self, shape: Shape) -> NDArray:
        """Return the signed distances to a shape at cell centres, in cells."""
        gaps = shape.distances(self.grid.centers())[0] / self.grid.spacing
        return np.asarray(gaps, self.flow.fields.dtype).reshape(self.grid.shape)

    def _block_distances(self, ends: NDArray[np.float64]) -> NDArray:
        """Return signed distances to a block at cell centres, in cells; sides of the box are not its surface."""
        grid = self.grid
        outside = np.zeros(grid.shape)
        inside = np.full(grid.shape, -1e6)
        for axis in grid.axes:
            d = axis - grid.x_axis
            low, high = (float(v) for v in (ends[:, d] - grid.origin[d]) / grid.spacing)
            low = -1e6 if low < 1e-3 else low
            high = 1e6 if high > grid.shape[axis] - 1e-3 else high
            centers = np.arange(grid.shape[axis]) + 0.5
            gap = np.maximum(low - centers, centers - high).reshape(
                [-1 if a == axis else 1 for a in range(3)]
            )
            outside += np.maximum(gap, 0.0) ** 2
            inside = np.maximum(inside, gap)
        return np.where(inside > 0.0, np.sqrt(outside), inside)

    def _initial_level_set(self, block: Any, shapes: Sequence[Shape]) -> NDArray | None:
        """Return the initial level set in cells, or None."""
        shapes_phi = []
        if block is not None:
            given = array(block, "a liquid's block")
            blocks = given[None] if given.ndim == 2 else given
            if blocks.ndim != 3 or blocks.shape[1] != 2 or blocks.shape[2] not in (self.grid.dim, 3):
                raise InputError(
                    f"a liquid's block must be two opposite corners of {self.grid.dim} numbers each, or a list of such"
                )
            if (blocks[:, 0] >= blocks[:, 1])[:, : self.grid.dim].any():
                raise InputError("a liquid's block must have its smallest coordinates first")
            shapes_phi += [self._block_distances(ends) for ends in blocks]
        shapes_phi += [self._distances(shape) for shape in shapes]
        if not shapes_phi:
            return None
        for phi in shapes_phi:
            self._check_filled(phi < 0.0)
        return np.asarray(np.minimum.reduce(shapes_phi), self.flow.fields.dtype)

    def _check_filled(self, wet: NDArray[np.bool_]) -> None:
        grid = self.grid
        if not (wet & ~self.flow.domain.cut_cells.solid_cells).any():
            raise InputError(
                "a part of the liquid fills no cell: it is too small, inside an obstacle, or outside of the grid, "
                f"which starts at {list(grid.origin)} m and has the size {list(grid.size)} m"
            )
        per_cell = self.flow.particles.per_cell * _BYTES_PER_PARTICLE * self.flow.fields.dtype.itemsize // 4
        check_memory(int(wet.sum()), per_cell, "a liquid", "cells with particles", "use fewer cells")

    def _inflow_source(self, source: Inflow) -> InflowSource:
        """Return the source of an inflow on the grid."""
        if source.velocity is None:
            raise InputError("an inflow of a liquid needs a velocity")
        grid = self.grid
        phi = self._distances(source.shape)
        if not (phi < 0.0).any():
            raise InputError(
                "an inflow contains no cell of the grid; make it larger, move it or use more cells"
            )
        faces = [
            (source.shape.distances(grid.face_centers(a))[0] < 0.0).reshape(grid.faces_shape(a))
            for a in grid.axes
        ]
        velocity = self._along_axes(source.velocity, "an inflow's velocity")
        return InflowSource(phi, faces, velocity, source.start, source.stop)

    def initialise(self) -> None:
        """Fill the box with the initial liquid."""
        flow = self.flow
        flow.target_volume = 0.0
        for axis in self.grid.axes:
            flow.fields.velocity[axis][:] = self._velocity[axis]
        flow.fill(self._initial_phi, self._points)
        flow.domain.apply_boundary_conditions(flow.fields.velocity)

    def prepare(self, environment: Environment) -> None:
        """Attach the liquid to the environment of a world."""
        super().prepare(environment)
        self._update_gravity()

    def _update_gravity(self) -> None:
        self.flow.gravity = self._along_axes(tuple(self._environment.gravity), "gravity")

    def apply_sources(self, dt: float) -> None:
        """Do nothing: the flow itself applies gravity and inflows."""

    def step(self, dt: float) -> Any:
        """Advance by `dt` [s], in as many sub-steps as the speed of the liquid requires; see `GridFluid.step`."""
        dt = number(dt, "dt", above=0.0, unit="s")
        self._update_gravity()
        return super().step(dt)

    def _check_added_obstacle(self, shape: Shape) -> None:
        """Raise InputError if the running liquid has particles inside an obstacle that is added."""
        gaps = shape.distances_at(self.particles, self._environment.time, 0.0)[0]
        inside = int((gaps < -_LARGEST_OVERLAP * self.grid.spacing).sum())
        if inside:
            name = f"'{shape.name}'" if shape.name else f"a {shape.kind}"
            raise InputError(
                f"{name} cannot be added where the liquid '{self.name}' is: {pluralize(inside, 'particle')} would be "
                "inside; put it beside the liquid or above it"
            )

    # queries

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
        """Positions of the particles [m], shape [n, 3]; a read-only copy."""
        grid = self.grid
        result = np.zeros((len(self.flow.particles.rows), 3))
        for axis in grid.axes:
            d = axis - grid.x_axis
            result[:, d] = grid.origin[d] + grid.spacing * self.flow.particles.rows[:, axis]
        return readonly_copy(result)

    def surface(self) -> SurfaceMesh:
        """Return the surface as triangles (marching cubes); that of a plane liquid is a slab one cell deep."""
        points, triangles, _ = extract_surface(self.flow, self.detail)
        return SurfaceMesh(points, triangles)

    @property
    def positions(self) -> NDArray[np.float64]:
        """Points of the surface [m], shape [n, 3]; a read-only copy."""
        return readonly_copy(extract_surface(self.flow, self.detail)[0])

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """The same points: a liquid has no rest shape."""
        return self.positions

    @property
    def triangles(self) -> NDArray[np.int32]:
        """Triangles of the surface, shape [k, 3]; a read-only copy."""
        return readonly_copy(extract_surface(self.flow, self.detail)[1])

    def field(self, name: str) -> NDArray:
        """Return a quantity at cell centres: "velocity", "pressure", "vorticity" or "level_set" [m]."""
        if isinstance(name, str) and name == "level_set":
            return self.flow.level_set.phi * self.flow.fields.dtype.type(self.grid.spacing)
        return super().field(name)

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot: the surface, and level set, velocity and pressure on the grid."""
        grid = self.grid
        points, triangles, velocity = extract_surface(self.flow, self.detail)
        dry = self.flow.level_set.phi >= 0.0
        volume_fields = {}
        for name, unit in (("level_set", "m"), ("velocity", "m/s"), ("pressure", "Pa")):
            values = np.asarray(self.field(name), np.float32)
            if name != "level_set":
                values = np.where(dry if values.ndim == 3 else dry[..., None], np.float32(0), values)
            volume_fields[name] = Field(
                readonly_copy(np.moveaxis(values, 0, 2) if grid.dim == 2 else values), unit
            )
        low = (*grid.origin, -0.5 * grid.spacing)[:3]
        positions = readonly_copy(points)
        return BodyFrame(
            name=self.name,
            kind="liquid",
            positions=positions,
            rest_positions=positions,
            cells={},
            triangles=readonly_copy(triangles),
            fields=BodyFields({"velocity": Field(readonly_copy(velocity), "m/s")}),
            color=self.color,
            energy=self.energy(),
            volume=Volume((low[0], low[1], low[2]), grid.spacing, volume_fields),
            topology_version=CHANGES_EVERY_FRAME,
        )

    def energy(self) -> dict[str, float]:
        """Return the kinetic energy, and the potential energy relative to the origin of the box [J]."""
        square, *positions = self.flow.particles.sums()
        mass = self.mass_total / max(len(self.flow.particles.rows), 1)
        axes = self.grid.axes
        height = -sum(positions[a] * self.flow.gravity[a] for a in axes) * self.grid.spacing
        return {"kinetic": float(0.5 * mass * square), "gravity": float(mass * height)}

    def reset(self) -> None:
        """Return to the initial state, with obstacles placed for the current time."""
        self.flow.place_obstacles(self._environment.time)
        super().reset()


def _as_shapes(given: Any, what: str) -> list[Shape]:
    """Return shapes from shapes and closed meshes."""
    kinds = (Shape, SurfaceMesh, VolumeMesh)
    found: tuple[Any, ...] = instances_of(given, kinds, what, "a shape or a closed mesh")
    return [one if isinstance(one, Shape) else MeshShape(one) for one in found]
