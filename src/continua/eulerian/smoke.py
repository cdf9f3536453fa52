"""Smoke: a flow that carries soot and heat, and is driven by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.eulerian import flow_kernels
from continua.eulerian.body import GridFluid, from_zero
from continua.eulerian.grid import make_grid
from continua.eulerian.sides import SideWish
from continua.geometry import Shape
from continua.surroundings import as_vector
from continua.values import isfinite

__all__ = ["Inflow", "Smoke"]

_ROOM_TEMPERATURE = 293.0  # K


@dataclass(frozen=True)
class Inflow:
    """A place where smoke comes into being.

    Attributes:
        shape: Where: the inside of a shape.
        smoke: Amount of smoke there, 1 is thick.
        temperature: How much warmer than around it is there [K].
        velocity: Velocity there [m/s]; None leaves it to the flow.
        start: When it begins [s].
        stop: When it ends [s].
    """

    shape: Shape
    smoke: float = 1.0
    temperature: float = 0.0
    velocity: tuple[float, float, float] | None = None
    start: float = 0.0
    stop: float = float("inf")

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise InputError(f"an inflow's shape must be a shape, not {type(self.shape).__name__}")
        if not (isfinite(self.smoke) and self.smoke >= 0.0 and isfinite(self.temperature)):
            raise InputError(
                "an inflow's smoke must be a finite number of at least 0, its temperature finite"
            )
        if self.velocity is not None:
            as_vector(self.velocity, "an inflow's velocity")
        if not self.start <= self.stop:
            raise InputError(f"an inflow must not stop ({self.stop} s) before it starts ({self.start} s)")


class Smoke(GridFluid):
    """Smoke in a box of air: it is carried along, rises where it is warm, and flows around obstacles.

    Args:
        size: Lengths of the box along x, y (and z) [m].
        cells: Number of cells along x, y (and z); they must be cubes, or squares in a plane.
        inflow: Where smoke comes from.
        obstacles: Shapes or closed meshes in the box; shapes may move.
        sides: What the sides of the box do, by name ("left", "right", "bottom", "top", "back", "front"): "slip",
            "no-slip", "open", or a velocity [m/s]. By default the top is open and the others are slip walls.
        origin: Corner with the smallest coordinates [m]; (0, 0, 0) by default.
        density: Density of the air [kg/m3].
        viscosity: Dynamic viscosity of the air [Pa s]; 0 leaves it to the numerical one.
        slip: Whether the air glides along obstacles; by default it does if it has no viscosity.
        expansion: How much lighter a warmer kelvin makes it [1/K].
        weight: How much heavier smoke of amount 1 is than air, in parts of the air.
        confinement: Strength of vorticity confinement, from 0 (none) to about 1: it keeps small vortices alive.
        fade: Rate at which smoke thins out [1/s].
        cooling: Rate at which heat is lost [1/s].
        scheme: "maccormack", "bfecc" or "semi-lagrangian".
        rtol: Residual of the pressure.
        cfl: How many cells the fastest air may move in a sub-step.
        precision: "single" or "double".
        color: RGB in 0..1 of the smoke in pictures.
        name: Name of the body.
    """

    def __init__(
        self,
        size: Sequence[float] = (1.0, 2.0, 1.0),
        cells: Sequence[int] = (32, 64, 32),
        *,
        inflow: Inflow | Iterable[Inflow] = (),
        obstacles: Iterable[Any] = (),
        sides: Mapping[str, SideWish] | None = None,
        origin: Sequence[float] | None = None,
        density: float = 1.2,
        viscosity: float = 0.0,
        slip: bool | None = None,
        expansion: float = 1.0 / _ROOM_TEMPERATURE,
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
        super().__init__(
            make_grid(size, cells, origin, what="smoke"),
            sides={"top": "open"} if sides is None else sides,
            obstacles=obstacles,
            density=density,
            viscosity=viscosity,
            slip=slip,
            scheme=scheme,
            rtol=rtol,
            cfl=cfl,
            precision=precision,
            color=color,
            name=name,
        )
        self.inflow = (inflow,) if isinstance(inflow, Inflow) else tuple(inflow)
        self.expansion, self.weight = from_zero(expansion, "expansion"), float(weight)
        self.confinement = from_zero(confinement, "confinement")
        self.fade, self.cooling = from_zero(fade, "fade"), from_zero(cooling, "cooling")
        self._places = [self._inside(source) for source in self.inflow]
        self.flow.cells["smoke"] = np.zeros(self.grid.shape, self.flow.dtype)
        self._warm = any(source.temperature != 0.0 for source in self.inflow)
        if self._warm:
            self.flow.cells["temperature"] = np.zeros(self.grid.shape, self.flow.dtype)
        self.begin()

    def _inside(self, source: Inflow) -> tuple[NDArray[np.bool_], list[NDArray[np.bool_]]]:
        """Return the cells and the faces inside of an inflow."""
        grid = self.grid
        cells = (source.shape.distances(grid.centers())[0] < 0.0).reshape(grid.shape) & ~self.flow.closed
        if not cells.any():
            raise InputError("an inflow holds no cell of the grid; make it larger, move it or use more cells")
        if source.velocity is None:
            return cells, []
        faces = [
            (source.shape.distances(grid.face_points(a))[0] < 0.0).reshape(grid.faces_shape(a))
            for a in grid.axes
        ]
        return cells, faces

    def begin(self) -> None:
        """Let inflows that are there from the start fill their places."""
        self._emit(0.0)

    def set_smoke(self, values: ArrayLike) -> None:
        """Set the amount of smoke in the cells; an array of their shape, or a number."""
        self.flow.cells["smoke"][:] = np.broadcast_to(np.asarray(values), self.grid.cells).reshape(
            self.grid.shape
        )

    def _emit(self, time: float) -> None:
        flow = self.flow
        for source, (cells, faces) in zip(self.inflow, self._places, strict=True):
            if not source.start <= time < source.stop:
                continue
            flow.cells["smoke"][cells] = source.smoke
            if self._warm:
                flow.cells["temperature"][cells] = source.temperature
            for axis, inside in zip(self.grid.axes, faces, strict=False):
                assert source.velocity is not None
                flow.velocity[axis][inside] = source.velocity[axis - self.grid.first]

    def push(self, dt: float) -> None:
        """Lift warm air, weigh down smoke, keep vortices alive, thin out and fill in smoke."""
        flow = self.flow
        smoke = flow.cells["smoke"]
        warm = flow.cells.get("temperature", smoke)
        if self._warm or self.weight != 0.0:
            gravity = self._surroundings.gravity
            for axis in self.grid.axes:
                g = float(gravity[axis - self.grid.first]) * 0.5 * dt
                lift = -g * self.expansion if self._warm else 0.0
                if g != 0.0:
                    real = flow.dtype.type
                    flow_kernels.push_faces.pick(smoke.size >= 16384)(
                        flow.velocity[axis], axis, warm, real(lift), smoke, real(g * self.weight)
                    )
        if self.confinement > 0.0:
            flow.confine(self.confinement, dt)
        if self.fade > 0.0:
            smoke *= exp(-self.fade * dt)
        if self._warm and self.cooling > 0.0:
            warm *= exp(-self.cooling * dt)
        flow.hold_sides()
        self._emit(self._surroundings.time)
