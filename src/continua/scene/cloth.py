"""Cloth of a scene: its sheet, fabric and bending."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from continua.materials.fabric import FABRICS
from continua.scene.integrators import Integrator
from continua.scene.laws import MODELS, Material
from continua.scene.loads import LoadFaces, LoadVolume, Press, Push
from continua.scene.motions import Drive, Lock, Pin, Pull
from continua.scene.rigid import RigidTorus
from continua.scene.shapes import FormulaText, Rotation, Transform
from continua.scene.soft_bodies import Damping, Initial, Paint, Part
from continua.scene.solvers import Solver
from continua.scene.types import (
    Color,
    Count,
    Counts2,
    Flag,
    Model,
    Name,
    Number,
    Path,
    Text,
    Vector,
    Vector2,
    by_type,
    option,
)

__all__ = [
    "Bending",
    "Cloth",
    "ClothSprings",
    "Fabric",
    "Inflation",
    "Sheet",
    "SheetFile",
    "SheetParametric",
    "SheetPattern",
    "SheetPatterns",
    "SheetPillow",
    "SheetRectangle",
    "SheetSphere",
    "SheetTube",
]


class SheetRectangle(Model):
    """A flat rectangle in the plane y = 0, centred at the origin."""

    type: Literal["sheet"] = option("A flat rectangle.")
    size: Vector2 = option("Lengths along x and z.", (1.0, 1.0), unit="m")
    cells: Counts2 = option("Number of cells along x and of rows along z.", (30, 34))
    pattern: Literal["staggered", "crossed"] = option(
        "`staggered` moves every other row by half a cell, so that it bends alike in all directions; `crossed` cuts "
        "the cells of a grid in two, along diagonals that turn from cell to cell.",
        "staggered",
    )


class SheetTube(Model):
    """An open tube around the y axis, centred at the origin."""

    type: Literal["tube"] = option("An open tube.")
    radius: Number = option("Radius.", 0.5, unit="m", gt=0, le=1e6)
    height: Number = option("Length along y.", 1.0, unit="m", gt=0, le=1e6)
    cells: Counts2 = option("Segments around the axis, at least 3, and rows along it.", (32, 18))


class SheetSphere(Model):
    """A closed sphere around the origin."""

    type: Literal["sphere"] = option("A closed sphere.")
    radius: Number = option("Radius.", 0.5, unit="m", gt=0, le=1e6)
    cells: Count = option("Cells along an edge of the icosahedron that it is made from.", 8, ge=1, le=500)


class SheetPillow(Model):
    """A closed pillow: two rectangles in the x-z plane, joined at their rims and arched apart."""

    type: Literal["pillow"] = option("A closed pillow.")
    size: Vector2 = option("Lengths along x and z.", (0.5, 0.5), unit="m")
    cells: Counts2 = option("Number of cells along x and z.", (12, 12))
    height: Number = option("Distance of the two in the middle.", 0.1, unit="m", gt=0, le=1e6)


class SheetParametric(Model):
    """The surface x(u, v), y(u, v), z(u, v), open or closed; for the formulas see `ParametricMesh`."""

    type: Literal["parametric"] = option("A surface from formulas.")
    x: FormulaText = option("Coordinate along x as a formula of u and v.", "u", unit="m")
    y: FormulaText = option("Coordinate along y.", "0.05*sin(6*pi*u)", unit="m")
    z: FormulaText = option("Coordinate along z.", "v", unit="m")
    u: Vector2 = option("Range of u.", (0.0, 1.0))
    v: Vector2 = option("Range of v.", (0.0, 1.0))
    cells: Counts2 = option("Number of intervals along u and v.", (32, 24))


class SheetFile(Model):
    """A surface from a file (OBJ, STL, PLY, OFF, GLB), open or closed."""

    type: Literal["file"] = option("A surface from a file.")
    path: Path = option("The file, relative to the folder of the scene.")
    texture: Path | None = option(
        "An image (PNG, JPEG) instead of the one that the file names, or none for no image; the surface needs texture "
        "coordinates.",
        None,
    )


_Outline = Annotated[tuple[Vector2, ...], Field(min_length=3, max_length=5000)]
_SideNumber = Annotated[int, Field(strict=True, ge=0, le=5000)]


class SheetPattern(Model):
    """A flat piece to be sewn."""

    name: Name = option("Name of the pattern, and of the region of its triangles.")
    outline: _Outline = option("Corners in order, in the plane of the pattern.", unit="m")
    holes: list[_Outline] = option("Outlines of holes.", [], unit="m")
    lines: list[tuple[Vector2, ...]] = option("Polylines that become edges of triangles.", [], unit="m")
    sides: dict[str, _SideNumber | list[_SideNumber]] = option(
        "Names of sides for `seams`: the number of a side (0 goes from the first corner to the second), or several "
        "that follow each other.",
        {},
    )
    wrap: Number | None = option(
        "Radius of a cylinder around the y axis that the pattern is wrapped around; flat by default.",
        None,
        unit="m",
        gt=0,
        le=1e6,
    )
    rotate: Rotation | None = option("Rotation after that.", None)
    translate: Vector = option("Displacement after that.", (0.0, 0.0, 0.0), unit="m")
    grain: Number = option("Angle of the warp from the x axis.", 90.0, unit="deg", ge=-360, le=360)


class SheetPatterns(Model):
    """Flat patterns, meshed, placed in space and sewn along their sides; they are at rest where they are flat."""

    type: Literal["patterns"] = option("Patterns sewn to each other.")
    patterns: list[SheetPattern] = option("The pieces.", min_length=1, max_length=1000)
    seams: list[tuple[Text, Text]] = option("Pairs of sides that are sewn, each `pattern.side`.", [])
    size: Number = option("Longest edge of triangles.", unit="m", gt=0, le=1e6)
    gather: Flag = option(
        "Whether sides of different lengths may be sewn; the longer one is gathered.", False
    )
    min_angle: Number = option("Smallest angle of triangles.", 25.0, unit="deg", ge=0, le=33)

    @model_validator(mode="after")
    def _different_names(self) -> Self:
        names = [pattern.name for pattern in self.patterns]
        for name in names:
            if names.count(name) > 1:
                raise PydanticCustomError(
                    "two_patterns", "has two patterns '{name}'; rename one", {"name": name}
                )
        return self


Sheet = Annotated[
    Annotated[SheetRectangle, Tag("sheet")]
    | Annotated[SheetTube, Tag("tube")]
    | Annotated[SheetSphere, Tag("sphere")]
    | Annotated[SheetPillow, Tag("pillow")]
    | Annotated[RigidTorus, Tag("torus")]
    | Annotated[SheetParametric, Tag("parametric")]
    | Annotated[SheetPatterns, Tag("patterns")]
    | Annotated[SheetFile, Tag("file")],
    by_type("sheet", "tube", "sphere", "pillow", "torus", "parametric", "patterns", "file"),
]


class Fabric(Model):
    """A woven fabric, with its own stiffness along warp and weft; what is left out is that of `like`."""

    like: Literal[tuple(FABRICS)] | None = option(  # type: ignore[valid-type]
        "A measured fabric (Wang, O'Brien and Ramamoorthi 2011); by default 1000 N/m along both, and 0.2 kg/m².",
        None,
    )
    warp: Number | None = option("Stiffness along the warp.", None, unit="N/m", gt=0, le=1e9)
    weft: Number | None = option("Stiffness along the weft.", None, unit="N/m", gt=0, le=1e9)
    coupling: Number | None = option(
        "Stress along one for a strain along the other.", None, unit="N/m", ge=-1e9, le=1e9
    )
    shear: Number | None = option("Shear stiffness.", None, unit="N/m", gt=0, le=1e9)
    area_density: Number | None = option("Mass per area.", None, unit="kg/m²", gt=0, le=1e3)
    bending: Number | None = option("Flexural stiffness.", None, unit="N m", ge=0, le=1e6)
    limit: Number | None = option(
        "Strain along warp or weft beyond which it is far stiffer; none by default.", None, gt=0, le=10
    )
    stiffening: Number | None = option(
        "How many times as stiff it is there: 100 by default.", None, ge=1, le=1e4
    )


class Bending(Model):
    """How a sheet bends."""

    stiffness: Number | None = option(
        "Flexural stiffness; by default that of the fabric, or of the material and the thickness.",
        None,
        unit="N m",
        ge=0,
        le=1e6,
    )
    model: Literal["hinge", "quadratic"] = option(
        "`hinge`: moments grow with the angle between triangles. `quadratic`: forces linear in the positions, faster, "
        "for sheets that are flat at rest.",
        "hinge",
    )
    rest: Literal["mesh", "flat"] = option(
        "Whether the sheet keeps the angles of its mesh or is flat at rest.", "mesh"
    )
    yield_curvature: Number | None = option(
        "Curvature beyond which folds stay; none by default.", None, unit="1/m", ge=0, le=1e6
    )
    hardening: Number = option("Increase of the yield curvature per plastic curvature.", 0.0, ge=0, le=1e6)


class ClothSprings(Model):
    """Springs between the nodes instead of triangles with a material law."""

    stencil: Literal["hinges", "sixteen"] = option(
        "`hinges`: along edges, and across hinges. `sixteen`: from each node of a `sheet` of the pattern `crossed` "
        "to 16 neighbours.",
        "hinges",
    )
    stretch: Number | None = option(
        "Stiffness of the short springs; by default that of the material.", None, unit="N/m", gt=0, le=1e12
    )
    bend: Number = option(
        "Stiffness of the long springs, relative to the mean of the short ones.", 0.05, ge=0, le=1e3
    )


class Inflation(Model):
    """Pressure inside a closed sheet."""

    pressure: Number = option(
        "Pressure over that outside, at the rest volume.", 100.0, unit="Pa", ge=-1e9, le=1e9
    )
    gas: Flag = option(
        "Whether the pressure times the volume stays the same, so that the sheet resists being squeezed.",
        False,
    )


class Cloth(Model):
    """A sheet that stretches and bends, and touches others from both sides."""

    type: Literal["cloth"] = option("A sheet of cloth.")
    name: Name = option("Name of the body, different from all others.")
    mesh: Sheet = option("The sheet at rest.", SheetRectangle(type="sheet"))
    transform: Transform | None = option("Scale, rotation and position of the mesh.", None)
    material: Material = option(
        "An isotropic law in the plane of the sheet.",
        MODELS["st_venant_kirchhoff"].model_validate(
            {"type": "st_venant_kirchhoff", "young": 1e6, "density": 300.0}
        ),
    )
    fabric: Fabric | None = option("A woven fabric instead of `material`.", None)
    warp: Vector | None = option(
        "Direction of the warp of a fabric; by default the first texture coordinate, or the x axis.", None
    )
    thickness: Number | None = option(
        "Thickness, the distance that layers keep; by default that of the fabric, or 1 mm.",
        None,
        unit="m",
        gt=0,
        le=10,
    )
    model: Literal["membrane", "springs"] = option(
        "Triangles with the material law and `bending`, or springs between the nodes, of Young's modulus.",
        "membrane",
    )
    springs: ClothSprings = option("Options of the model `springs`.", ClothSprings())
    inextensible: Literal["area"] | None = option(
        "`area` keeps the area around every node; the sheet then still shears. By default it stretches.", None
    )
    bending: Bending = option("Bending.", Bending())
    inflate: Inflation | None = option("Pressure inside a closed sheet.", None)
    parts: list[Part] = option(
        "Parts with other constants of `material`; later ones override earlier ones where they overlap.", []
    )
    mass: Literal["consistent", "lumped"] = option("Consistent or lumped mass matrix.", "lumped")
    damping: Damping = option("Damping.", Damping())
    friction: Number | None = option(
        "Coulomb friction coefficient; by default that of `contact`.", None, ge=0, le=100
    )
    restitution: Number | None = option(
        "Coefficient of restitution; by default that of `contact`.", None, ge=0, le=1
    )
    integrator: Integrator = option(
        "Time integrator: its name, or a mapping with its constants.", "implicit_euler"
    )
    newton: Count | None = option(
        "Maximum number of Newton iterations per step of an integrator given by name.", None, ge=1, le=1000
    )
    solver: Solver = option(
        "Linear solver: its name, or a mapping with its options. 'auto' selects one by size.", "auto"
    )
    color: Color | None = option("Colour in plain pictures, as '#rrggbb'.", None)
    paint: Paint | None = option("A pattern on the sheet; `color: paint` shows it.", None)
    initial: Initial | None = option("Motion at time 0; at rest by default.", None)
    pin: list[Pin] = option("Fixed nodes.", [])
    drive: list[Drive] = option("Nodes with a prescribed motion.", [])
    lock: list[Lock] = option("Nodes fixed or driven along one direction.", [])
    push: list[Push] = option("Forces on nodes.", [])
    press: list[Press] = option("Pressure on faces.", [])
    load_faces: list[LoadFaces] = option("Traction on faces.", [])
    load_volume: list[LoadVolume] = option("Body forces.", [])
    pull: list[Pull] = option("Springs to fixed targets.", [])

    @model_validator(mode="after")
    def _parts_of_a_material(self) -> Self:
        if self.fabric is not None and self.parts:
            raise PydanticCustomError("fabric_parts", "a fabric has no parts; give the cloth a 'material'")
        return self
