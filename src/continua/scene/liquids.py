"""Liquids on grids of a scene."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from continua.scene.fluids import Block
from continua.scene.grid_fluids import CellCounts, Lengths, Location, Obstacle, Sides
from continua.scene.types import Color, Count, Model, Moment, Name, Number, Vector, option

__all__ = ["Liquid", "LiquidInflow"]


class LiquidInflow(Model):
    """A place where liquid comes into being."""

    shape: Obstacle = option("Where: the inside of a shape.")
    velocity: Vector = option("Velocity there.", unit="m/s")
    start: Moment = option("When it begins.", 0.0, unit="s")
    stop: Moment | None = option("When it ends; never by default.", None, unit="s")


class Liquid(Model):
    """A liquid in a box, on a grid: it flows around obstacles, splashes and comes to rest."""

    type: Literal["liquid"] = option("A liquid on a grid.")
    name: Name = option("Name of the body, different from all others.")
    size: Lengths = option("Lengths along x, y and, in space, z.", unit="m")
    cells: CellCounts = option("Cells along x, y and, in space, z; they must be squares or cubes.")
    origin: Location | None = option(
        "Corner with the smallest coordinates; zeros by default.", None, unit="m"
    )
    blocks: list[Block] = option("Blocks that are filled at the start.", [], max_length=1000)
    shapes: list[Obstacle] = option("Shapes that are filled at the start.", [], max_length=1000)
    velocity: Vector = option("Velocity at time 0.", (0.0, 0.0, 0.0), unit="m/s")
    inflow: list[LiquidInflow] = option("Where liquid comes from.", [], max_length=1000)
    drains: list[Obstacle] = option("Shapes in which liquid vanishes.", [], max_length=1000)
    obstacles: list[Obstacle] = option("What stands, or moves, in the liquid.", [], max_length=1000)
    sides: Sides = option("What the sides do; liquid leaves at open ones.", Sides())
    density: Number = option("Mass per volume.", 1000.0, unit="kg/m³", gt=0, le=1e6)
    viscosity: Number = option(
        "Dynamic viscosity: 0.001 for water, about 10 for honey. It sticks to obstacles and to no-slip sides.",
        0.0, unit="Pa·s", ge=0, le=1e9,
    )  # fmt: skip
    surface_tension: Number = option(
        "Surface tension: 0.072 for water. It matters for drops of millimetres; steps get short.",
        0.0, unit="N/m", ge=0, le=1e6,
    )  # fmt: skip
    flip: Number = option(
        "Part of its own velocity that a particle keeps: 0 is calm, 0.97 lively and noisy.", 0.0, ge=0, le=1
    )
    seed: Count = option("Of the places of particles in their cells.", 0, ge=0, lt=2**40)
    detail: Count = option("Samples a cell along each axis from which the surface is drawn.", 2, ge=1, le=4)
    rtol: Number = option("Residual of the pressure.", 1e-4, gt=0, lt=1)
    cfl: Number = option("Cells that the fastest liquid may cross in a sub-step.", 3.0, gt=0, le=10)
    precision: Literal["single", "double"] = option("Precision of the numbers.", "single")
    color: Color | None = option("Colour in plain pictures, as '#rrggbb'.", None)

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if not (self.blocks or self.shapes or self.inflow):
            raise PydanticCustomError("no_place", "needs 'blocks', 'shapes' or 'inflow'")
        return self
