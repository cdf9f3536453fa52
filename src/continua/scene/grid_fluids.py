"""Smoke and wind tunnels of a scene."""

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
    """The interior of a closed polygon or B-spline in the x-y plane; the same for all z."""

    type: Literal["polygon"] = option("A closed polygon.")
    points: list[Vector2] = option("Vertices in order.", unit="m", min_length=3, max_length=10_000)
    smooth: Flag = option("Whether the vertices are control points of a B-spline.", False)
    depth: Number = option("Length along z in pictures.", 0.02, unit="m", gt=0, le=1e6)


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
    """Boundary conditions of the sides of a grid: free slip (`slip`), no slip (`no-slip`), open (`open`), or a
    prescribed velocity, as at an inlet.
    """

    left: Side = option("Side of smallest x.", "slip")
    right: Side = option("Side of largest x.", "slip")
    bottom: Side = option("Side of smallest y.", "slip")
    top: Side = option("Side of largest y.", "slip")
    back: Side = option("Side of smallest z.", "slip")
    front: Side = option("Side of largest z.", "slip")


class Inflow(Model):
    """A source of smoke."""

    shape: Obstacle = option("Its region: the interior of a shape.")
    smoke: Number = option("Smoke density; 1 is dense.", 1.0, ge=0, le=1e6)
    temperature: Number = option("Temperature above that of the air.", 0.0, unit="K", ge=-300, le=1e5)
    velocity: Vector | None = option("Velocity; by default that of the flow.", None, unit="m/s")
    start: Moment = option("Start time.", 0.0, unit="s")
    stop: Moment | None = option("End time; never by default.", None, unit="s")


class _GridFluid(Model):
    name: Name = option("Name of the body, different from all others.")
    size: Lengths = option("Lengths along x, y and, in 3D, z.", unit="m")
    cells: CellCounts = option("Cells along x, y and, in 3D, z; they must be squares or cubes.")
    origin: Location | None = option(
        "Corner with the smallest coordinates; zeros by default.", None, unit="m"
    )
    obstacles: list[Obstacle] = option("Obstacles, fixed or moving.", [], max_length=1000)
    density: Number = option("Density.", 1.2, unit="kg/m³", gt=0, le=1e6)
    viscosity: Number = option(
        "Dynamic viscosity; with 0 obstacles are free-slip, otherwise no-slip.",
        0.0,
        unit="Pa·s",
        ge=0,
        le=1e9,
    )
    slip: Flag | None = option(
        "Whether obstacles are free-slip; by default they are if the fluid has no viscosity.", None
    )
    scheme: Literal["maccormack", "bfecc", "semi-lagrangian"] = option(
        "Advection scheme of the velocity.", "maccormack"
    )
    precision: Literal["single", "double"] = option("Floating-point precision.", "single")
    color: Color | None = option("Colour of smoke in pictures, as '#rrggbb'.", None)


class Smoke(_GridFluid):
    """Smoke in a box of air, with buoyancy and obstacles."""

    type: Literal["smoke"] = option("Smoke on a grid.")
    inflow: list[Inflow] = option("Sources of smoke.", [], max_length=1000)
    sides: Sides = option("Boundary conditions of the sides.", Sides(top="open"))
    expansion: Number = option(
        "Thermal expansion: relative decrease of density per kelvin.", 1 / 293, unit="1/K", ge=0, le=1
    )
    weight: Number = option("Relative increase of density by smoke of density 1.", 0.0, ge=-1, le=1000)
    confinement: Number = option("Vorticity confinement; about 0 to 1.", 0.0, ge=0, le=100)
    fade: Number = option("Decay rate of smoke.", 0.0, unit="1/s", ge=0, le=1e6)
    cooling: Number = option("Decay rate of the temperature.", 0.0, unit="1/s", ge=0, le=1e6)
    rtol: Number = option("Relative residual of the pressure solve.", 1e-3, gt=0, lt=1)
    cfl: Number = option(
        "CFL number: cells that the fastest fluid may cross per sub-step.", 3.0, gt=0, le=100
    )


class WindTunnel(_GridFluid):
    """Uniform wind along x around obstacles: inlet at the left, outlet at the right."""

    type: Literal["wind_tunnel"] = option("Wind on a grid.")
    speed: Number = option("Speed of the wind.", 1.0, unit="m/s", gt=0, le=1e4)
    walls: Literal["slip", "no-slip"] = option("Boundary conditions of the sides along the wind.", "slip")
    streaks: Count = option("Number of smoke streaks across the inlet.", 0, ge=0, le=1000)
    rtol: Number = option("Relative residual of the pressure solve.", 2e-4, gt=0, lt=1)
    cfl: Number = option(
        "CFL number: cells that the fastest fluid may cross per sub-step.", 1.0, gt=0, le=100
    )
