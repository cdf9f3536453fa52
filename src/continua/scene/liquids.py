"""Grid liquids of a scene."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from continua.scene.fluids import Block
from continua.scene.grid_fluids import CellCounts, Lengths, Location, Obstacle, Sides
from continua.scene.types import Color, Count, Model, Moment, Name, Number, Vector, option

__all__ = ["Liquid", "LiquidInflow"]


class LiquidInflow(Model):
    """A source of liquid."""

    shape: Obstacle = option("Its region: the interior of a shape.")
    velocity: Vector = option("Velocity.", unit="m/s")
    start: Moment = option("Start time.", 0.0, unit="s")
    stop: Moment | None = option("End time; never by default.", None, unit="s")


class Liquid(Model):
    """A liquid with a free surface in a box, on a grid, with obstacles."""

    type: Literal["liquid"] = option("A liquid on a grid.")
    name: Name = option("Name of the body, different from all others.")
    size: Lengths = option("Lengths along x, y and, in 3D, z.", unit="m")
    cells: CellCounts = option("Cells along x, y and, in 3D, z; they must be squares or cubes.")
    origin: Location | None = option(
        "Corner with the smallest coordinates; zeros by default.", None, unit="m"
    )
    blocks: list[Block] = option("Blocks of liquid at time 0.", [], max_length=1000)
    shapes: list[Obstacle] = option("Shapes filled with liquid at time 0.", [], max_length=1000)
    velocity: Vector = option("Velocity at time 0.", (0.0, 0.0, 0.0), unit="m/s")
    inflow: list[LiquidInflow] = option("Sources of liquid.", [], max_length=1000)
    drains: list[Obstacle] = option("Shapes in which liquid is removed.", [], max_length=1000)
    obstacles: list[Obstacle] = option("Obstacles, fixed or moving.", [], max_length=1000)
    sides: Sides = option("Boundary conditions of the sides; liquid leaves through open ones.", Sides())
    density: Number = option("Density.", 1000.0, unit="kg/m³", gt=0, le=1e6)
    viscosity: Number = option(
        "Dynamic viscosity: 0.001 for water, about 10 for honey. Obstacles are then no-slip.",
        0.0, unit="Pa·s", ge=0, le=1e9,
    )  # fmt: skip
    surface_tension: Number = option(
        "Surface tension: 0.072 for water. It matters for drops of millimetres, and limits the sub-step.",
        0.0, unit="N/m", ge=0, le=1e6,
    )  # fmt: skip
    contact_angle: Number = option(
        "Angle in the liquid at which its surface meets walls and obstacles, with surface tension.",
        90.0, unit="°", ge=0, le=180,
    )  # fmt: skip
    flip: Number = option("FLIP fraction: 0 is APIC, calm; 0.97 is lively and noisy.", 0.0, ge=0, le=1)
    seed: Count = option("Seed of the random positions of particles in their cells.", 0, ge=0, lt=2**40)
    detail: Count = option("Samples per cell along each axis for the surface mesh.", 2, ge=1, le=4)
    rtol: Number = option("Relative residual of the pressure solve.", 1e-4, gt=0, lt=1)
    cfl: Number = option(
        "CFL number: cells that the fastest liquid may cross per sub-step.", 3.0, gt=0, le=10
    )
    precision: Literal["single", "double"] = option("Floating-point precision.", "single")
    color: Color | None = option("Colour in plain pictures, as '#rrggbb'.", None)

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if not (self.blocks or self.shapes or self.inflow):
            raise PydanticCustomError("no_place", "needs 'blocks', 'shapes' or 'inflow'")
        return self
