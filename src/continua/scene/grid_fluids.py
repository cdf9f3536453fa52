"""Fluids on grids of a scene."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field, Tag

from continua.scene.environment import Box, Capsule, Cylinder, Gear, MeshShape, Plane, Sphere, _Obstacle
from continua.scene.types import (
    Color,
    Count,
    Flag,
    Model,
    Moment,
    Name,
    Number,
    Vector,
    Vector2,
    by_kind,
    by_type,
    option,
)

__all__ = ["Inflow", "Polygon", "Sides", "Smoke", "WindTunnel"]

_Length = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=1e6)]
_CellCount = Annotated[int, Field(strict=True, ge=4, le=20_000)]
Lengths = Annotated[list[_Length], Len(2, 3)]
CellCounts = Annotated[list[_CellCount], Len(2, 3)]
Location = Annotated[list[Annotated[float, Field(strict=True, allow_inf_nan=False)]], Len(2, 3)]


class Polygon(_Obstacle):
    """The inside of a closed polygon in the x-y plane, or of a smooth curve near its corners; the same for all z."""

    type: Literal["polygon"] = option("A closed polygon.")
    points: list[Vector2] = option("Corners in turn.", unit="m", min_length=3, max_length=10_000)
    smooth: Flag = option("Whether the corners are control points of a B-spline.", False)
    depth: Number = option("Length along z of its picture.", 0.02, unit="m", gt=0, le=1e6)


Obstacle = Annotated[
    Annotated[Plane, Tag("plane")]
    | Annotated[Sphere, Tag("sphere")]
    | Annotated[Box, Tag("box")]
    | Annotated[Cylinder, Tag("cylinder")]
    | Annotated[Capsule, Tag("capsule")]
    | Annotated[MeshShape, Tag("mesh")]
    | Annotated[Gear, Tag("gear")]
    | Annotated[Polygon, Tag("polygon")],
    by_type("plane", "sphere", "box", "cylinder", "capsule", "mesh", "gear", "polygon"),
]

Side = Annotated[
    Annotated[Literal["slip", "no-slip", "open"], Tag("word")] | Annotated[Vector, Tag("list")], by_kind()
]


class Sides(Model):
    """What the sides of a grid do: the fluid glides along (`slip`), sticks (`no-slip`), comes and goes (`open`), or has
    a given velocity there, as at an inlet.
    """

    left: Side = option("Where x is smallest.", "slip")
    right: Side = option("Where x is largest.", "slip")
    bottom: Side = option("Where y is smallest.", "slip")
    top: Side = option("Where y is largest.", "slip")
    back: Side = option("Where z is smallest.", "slip")
    front: Side = option("Where z is largest.", "slip")


class Inflow(Model):
    """A place where smoke comes into being."""

    shape: Obstacle = option("Where: the inside of a shape.")
    smoke: Number = option("Amount of smoke there; 1 is thick.", 1.0, ge=0, le=1e6)
    temperature: Number = option("How much warmer than around it is there.", 0.0, unit="K", ge=-300, le=1e5)
    velocity: Vector | None = option("Velocity there; by default that of the flow.", None, unit="m/s")
    start: Moment = option("When it begins.", 0.0, unit="s")
    stop: Moment | None = option("When it ends; never by default.", None, unit="s")


class _GridFluid(Model):
    name: Name = option("Name of the body, different from all others.")
    size: Lengths = option("Lengths along x, y and, in space, z.", unit="m")
    cells: CellCounts = option("Cells along x, y and, in space, z; they must be squares or cubes.")
    origin: Location | None = option(
        "Corner with the smallest coordinates; zeros by default.", None, unit="m"
    )
    obstacles: list[Obstacle] = option("What stands, or moves, in the fluid.", [], max_length=1000)
    density: Number = option("Mass per volume.", 1.2, unit="kg/m³", gt=0, le=1e6)
    viscosity: Number = option(
        "Dynamic viscosity; with 0 the fluid glides along obstacles, else it sticks to them.",
        0.0,
        unit="Pa·s",
        ge=0,
        le=1e9,
    )
    slip: Flag | None = option(
        "Whether the fluid glides along obstacles; by default it does if it has no viscosity.", None
    )
    scheme: Literal["maccormack", "bfecc", "semi-lagrangian"] = option(
        "How quantities are carried along.", "maccormack"
    )
    precision: Literal["single", "double"] = option("Precision of the numbers.", "single")
    color: Color | None = option("Colour of smoke in pictures, as '#rrggbb'.", None)


class Smoke(_GridFluid):
    """Smoke in a box of air: it is carried along, rises where it is warm, and flows around obstacles."""

    type: Literal["smoke"] = option("Smoke on a grid.")
    inflow: list[Inflow] = option("Where smoke comes from.", [], max_length=1000)
    sides: Sides = option("What the sides do.", Sides(top="open"))
    expansion: Number = option("How much lighter a kelvin makes it.", 1 / 293, unit="1/K", ge=0, le=1)
    weight: Number = option(
        "How much heavier than air smoke of amount 1 is, in parts of the air.", 0.0, ge=-1, le=1000
    )
    confinement: Number = option("Strength that keeps small vortices alive; about 0 to 1.", 0.0, ge=0, le=100)
    fade: Number = option("Rate at which smoke thins out.", 0.0, unit="1/s", ge=0, le=1e6)
    cooling: Number = option("Rate at which heat is lost.", 0.0, unit="1/s", ge=0, le=1e6)
    rtol: Number = option("Residual of the pressure.", 1e-3, gt=0, lt=1)
    cfl: Number = option("Cells that the fastest fluid may cross in a sub-step.", 3.0, gt=0, le=100)


class WindTunnel(_GridFluid):
    """An even wind along x around obstacles: in at the left, out at the right."""

    type: Literal["wind_tunnel"] = option("Wind on a grid.")
    speed: Number = option("Speed of the wind.", 1.0, unit="m/s", gt=0, le=1e4)
    walls: Literal["slip", "no-slip"] = option("What the sides along the wind do.", "slip")
    streaks: Count = option("Streaks of smoke across the inlet.", 0, ge=0, le=1000)
    rtol: Number = option("Residual of the pressure.", 2e-4, gt=0, lt=1)
    cfl: Number = option("Cells that the fastest fluid may cross in a sub-step.", 1.0, gt=0, le=100)
