"""Smoke: a flow that advects smoke and heat, with buoyancy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from math import exp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.geometry import Shape
from continua.grid_fluids import field_kernels
from continua.grid_fluids.advection.advection import Advection
from continua.grid_fluids.bodies.grid_fluid import GridFluid, check_nonnegative, check_slip, flow_options
from continua.grid_fluids.flow import Flow
from continua.grid_fluids.geometry.domain_boundary import SideSpec
from continua.grid_fluids.geometry.grid import make_grid
from continua.validation import array, instance_of, instances_of, number, numbers, vector3

__all__ = ["Inflow", "Smoke"]

_AMBIENT_TEMPERATURE = 293.0  # K
_LARGEST_VALUE = 1e30  # of a quantity in single precision


@dataclass(frozen=True)
class Inflow:
    """A source of smoke or liquid.

    Attributes:
        shape: The source region: the interior of a shape.
        smoke: Smoke density in the source, 1 is thick.
        temperature: Temperature above ambient [K].
        velocity: Velocity in the source [m/s]; None to leave it to the flow.
        start: Start time [s].
        stop: End time [s].
    """

    shape: Shape
    _: KW_ONLY
    smoke: float = 1.0
    temperature: float = 0.0
    velocity: tuple[float, float, float] | None = None
    start: float = 0.0
    stop: float = float("inf")

    def __post_init__(self) -> None:
        instance_of(self.shape, Shape, "an inflow's shape")
        number(self.smoke, "an inflow's smoke", low=0.0, high=_LARGEST_VALUE)
        number(
            self.temperature, "an inflow's temperature", low=-_LARGEST_VALUE, high=_LARGEST_VALUE, unit="K"
        )
        if self.velocity is not None:
            vector3(self.velocity, "an inflow's velocity")
        start = number(self.start, "the start of an inflow", infinite=True, unit="s")
        number(self.stop, "the end of an inflow", low=start, infinite=True, unit="s")


class Smoke(GridFluid):
    """Smoke in a box of air: it is advected, rises where it is warm, and flows around obstacles.

    Args:
        size: Lengths of the box along x, y (and z) [m].
        cells: Number of cells along x, y (and z); they must be cubes, or squares in a plane.
        inflow: Sources of smoke.
        obstacles: Shapes or closed meshes in the box; shapes may move.
        sides: Boundary conditions by side ("left", "right", "bottom", "top", "back", "front"): "slip", "no-slip",
            "open", or a velocity [m/s]. By default the top is open and the others are slip walls.
        origin: Corner with the smallest coordinates [m]; (0, 0, 0) by default.
        density: Density of the air [kg/m3].
        viscosity: Dynamic viscosity of the air [Pa s]; with 0 only numerical viscosity acts.
        slip: Whether obstacles are free-slip; by default they are if the air has no viscosity.
        expansion: Thermal expansion coefficient [1/K].
        weight: Excess density of smoke of density 1, relative to air.
        confinement: Strength of vorticity confinement, from 0 (none) to about 1: it preserves small vortices.
        fade: Decay rate of smoke [1/s].
        cooling: Decay rate of temperature [1/s].
        scheme: Advection of the velocity: "maccormack", "bfecc" or "semi-lagrangian".
        rtol: Relative tolerance of the pressure solve.
        cfl: Largest number of cells the fastest air moves in a sub-step.
        precision: "single" or "double".
        color: RGB in 0..1 of the smoke in pictures.
        name: Name of the body.
    """

    flow: Flow

    def __init__(
        self,
        size: Sequence[float] = (1.0, 2.0, 1.0),
        cells: Sequence[int] = (32, 64, 32),
        *,
        inflow: Inflow | Iterable[Inflow] = (),
        obstacles: Iterable[Any] = (),
        sides: Mapping[str, SideSpec] | None = None,
        origin: Sequence[float] | None = None,
        density: float = 1.2,
        viscosity: float = 0.0,
        slip: bool | None = None,
        expansion: float = 1.0 / _AMBIENT_TEMPERATURE,
        weight: float = 0.0,
        confinement: float = 0.0,
        fade: float = 0.0,
        cooling: float = 0.0,
        scheme: str = "maccormack",
        rtol: float = 1e-3,
        cfl: float = 3.0,
        precision: str = "single",
        color: tuple[float, float, float] | None = None,
        name: str = "",
    ) -> None:
        flow = Flow(
            make_grid(size, cells, origin, what="smoke"),
            {"top": "open"} if sides is None else sides,
            obstacles,
            advection=Advection(scheme),
            slip=check_slip(slip),
            **flow_options(density=density, viscosity=viscosity, rtol=rtol, precision=precision),
        )
        super().__init__(flow, cfl=cfl, color=color, name=name)
        self.inflow = (
            (inflow,) if isinstance(inflow, Inflow) else instances_of(inflow, Inflow, "the inflow of smoke")
        )
        self.expansion, self.weight = (
            check_nonnegative(expansion, "expansion"),
            number(weight, "smoke's weight"),
        )
        self.confinement = check_nonnegative(confinement, "confinement")
        self.fade, self.cooling = check_nonnegative(fade, "fade"), check_nonnegative(cooling, "cooling")
        self._source_masks = [self._masks(source) for source in self.inflow]
        self.flow.fields.scalars["smoke"] = np.zeros(self.grid.shape, self.flow.fields.dtype)
        self._warm = any(source.temperature != 0.0 for source in self.inflow)
        if self._warm:
            self.flow.fields.scalars["temperature"] = np.zeros(self.grid.shape, self.flow.fields.dtype)
        self.initialise()

    def _masks(self, source: Inflow) -> tuple[NDArray[np.bool_], list[NDArray[np.bool_]]]:
        """Return masks of the cells and the faces inside an inflow."""
        grid = self.grid
        cells = (source.shape.distances(grid.centers())[0] < 0.0).reshape(
            grid.shape
        ) & ~self.flow.domain.cut_cells.solid_cells
        if not cells.any():
            raise InputError(
                "an inflow contains no cell of the grid; make it larger, move it or use more cells"
            )
        if source.velocity is None:
            return cells, []
        faces = [
            (source.shape.distances(grid.face_centers(a))[0] < 0.0).reshape(grid.faces_shape(a))
            for a in grid.axes
        ]
        return cells, faces

    def initialise(self) -> None:
        """Fill the inflows that start at time 0."""
        self._emit(0.0)

    def set_smoke(self, values: ArrayLike) -> None:
        """Set the smoke density in the cells; an array of their shape, or a number."""
        given = numbers(values)
        if given is not None and given.shape == ():
            values = np.full(self.grid.cells, given)
        smoke = array(values, "the density of smoke, a number or one for each cell,", self.grid.cells)
        self.flow.fields.scalars["smoke"][:] = np.clip(smoke, -_LARGEST_VALUE, _LARGEST_VALUE).reshape(
            self.grid.shape
        )

    def _emit(self, time: float) -> None:
        fields = self.flow.fields
        for source, (cells, faces) in zip(self.inflow, self._source_masks, strict=True):
            if not source.start <= time < source.stop:
                continue
            fields.scalars["smoke"][cells] = source.smoke
            if self._warm:
                fields.scalars["temperature"][cells] = source.temperature
            for axis, inside in zip(self.grid.axes, faces, strict=False):
                assert source.velocity is not None
                fields.velocity[axis][inside] = source.velocity[axis - self.grid.x_axis]

    def apply_sources(self, dt: float) -> None:
        """Apply buoyancy, vorticity confinement, decay and inflows."""
        dt = number(dt, "dt", low=0.0)
        fields, domain = self.flow.fields, self.flow.domain
        smoke = fields.scalars["smoke"]
        warm = fields.scalars.get("temperature", smoke)
        if self._warm or self.weight != 0.0:
            gravity = self._environment.gravity
            for axis in self.grid.axes:
                g = float(gravity[axis - self.grid.x_axis]) * 0.5 * dt
                buoyancy = -g * self.expansion if self._warm else 0.0
                if g != 0.0:
                    real = fields.dtype.type
                    field_kernels.add_cell_forces.variant(smoke.size >= 16384)(
                        fields.velocity[axis], axis, warm, real(buoyancy), smoke, real(g * self.weight)
                    )
        if self.confinement > 0.0:
            fields.add_vorticity_confinement(self.confinement, dt, domain.cut_cells.solid_cells)
        if self.fade > 0.0:
            smoke *= exp(-self.fade * dt)
        if self._warm and self.cooling > 0.0:
            warm *= exp(-self.cooling * dt)
        domain.apply_boundary_conditions(fields.velocity)
        self._emit(self._environment.time)
