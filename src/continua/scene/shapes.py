"""Meshes of bodies, and their transforms."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from continua.errors import InputError
from continua.formula import Formula
from continua.scene.types import (
    Count,
    Counts2,
    Counts3,
    Direction,
    Flag,
    Model,
    Moment,
    Name,
    Number,
    Path,
    Text,
    Vector,
    Vector2,
    by_kind,
    by_type,
    option,
)

__all__ = [
    "AnimationSource",
    "BlobMesh",
    "BowlMesh",
    "BoxMesh",
    "BridgeMesh",
    "CylinderMesh",
    "DistanceFieldSpec",
    "FileMesh",
    "FormulaText",
    "Mesh",
    "ParametricMesh",
    "PolygonMesh",
    "RectangleMesh",
    "Rotation",
    "RoundCone",
    "SphereMesh",
    "Tetrahedralize",
    "TorusMesh",
    "Transform",
]

MAX_ELEMENTS = 20_000_000
MIN_LENGTH = 1e-9


def _check_cells(cells: int, tets_per_cell: float, key: str) -> None:
    """Reject a generated mesh that is too large for an ordinary machine, before anything is allocated."""
    tets = cells * tets_per_cell
    if tets > MAX_ELEMENTS:
        raise PydanticCustomError(
            "too_many_elements",
            "'{key}' asks for about {tets} million tetrahedra; use at most {limit} million",
            {"key": key, "tets": round(tets / 1e6), "limit": MAX_ELEMENTS // 1_000_000},
        )


_Extent = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=MIN_LENGTH, le=1e6)]
_Cells = Annotated[int, Field(strict=True, ge=1, le=1000)]


def _positive(value: tuple[float, float, float], key: str) -> None:
    if min(value) < MIN_LENGTH:
        raise PydanticCustomError(
            "not_positive",
            "'{key}' must have three lengths of at least 1e-9 m (got {got})",
            {"key": key, "got": list(value)},
        )


class BoxMesh(Model):
    """A box of `cells` equal cells, split into tetrahedra or kept as hexahedra; its lower corner is `origin`."""

    type: Literal["box"] = option("A box.")
    size: Vector = option("Lengths along x, y and z.", (1.0, 1.0, 1.0), unit="m")
    cells: Counts3 = option("Number of cells along x, y and z.", (4, 4, 4))
    split: Literal[5, 6, 24] = option(
        "Tetrahedra per cell: 6 (the same in every cell), 5 (alternating) or 24 (around its centre, isotropic).",
        6,
    )
    elements: Literal["tets", "hexes"] = option(
        "Whether cells are split into tetrahedra or kept as hexahedra.", "tets"
    )
    origin: Vector = option("Corner with the smallest coordinates.", (0.0, 0.0, 0.0), unit="m")

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        _positive(self.size, "size")
        _check_cells(self.cells[0] * self.cells[1] * self.cells[2], self.split, "cells")
        return self


class RectangleMesh(Model):
    """A rectangle of `cells` equal cells in the x-y plane, for a plane body."""

    type: Literal["rectangle"] = option("A rectangle.")
    size: Vector2 = option("Lengths along x and y.", (1.0, 1.0), unit="m")
    cells: Counts2 = option("Number of cells along x and y.", (8, 8))
    elements: Literal["quads", "triangles"] = option(
        "Whether cells are quads or split into two triangles.", "quads"
    )
    origin: Vector2 = option("Corner with the smallest coordinates.", (0.0, 0.0), unit="m")
    thickness: _Extent = option("Thickness along z to which masses and forces refer.", 1.0, unit="m")

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        _positive((*self.size, 1.0), "size")
        return self


class PolygonMesh(Model):
    """Triangles in an outline in the x-y plane, for a plane body."""

    type: Literal["polygon"] = option("An outline with holes, meshed by Delaunay refinement.")
    outline: tuple[Vector2, ...] = option("Corners in order.", unit="m", min_length=3, max_length=5000)
    holes: tuple[tuple[Vector2, ...], ...] = option("Outlines of holes.", (), unit="m", max_length=1000)
    lines: tuple[tuple[Vector2, ...], ...] = option(
        "Polylines inside that become edges of triangles.", (), unit="m", max_length=1000
    )
    size: _Extent | None = option(
        "Longest edge; without one triangles are as large as `min_angle` allows.", None, unit="m"
    )
    min_angle: Number = option("Smallest angle of triangles.", 25.0, unit="deg", ge=0.0, le=33.0)
    thickness: _Extent = option("Thickness along z to which masses and forces refer.", 1.0, unit="m")

    @model_validator(mode="after")
    def _few_triangles(self) -> Self:
        if self.size is not None:
            x, y = zip(*self.outline, strict=True)
            box = (max(x) - min(x)) * (max(y) - min(y))
            _check_cells(int(min(box / self.size**2, 1e12)), 2.3, "size")
        return self


class BridgeMesh(Model):
    """A beam of 8n x n x n cells with six tetrahedra each: the standard test of soft-body solvers."""

    type: Literal["bridge"] = option("The standard beam.")
    n: _Cells = option("Number of cells across the width and the height; the length has 8n.", 4)
    size: Vector = option("Lengths along x, y and z.", (8.0, 1.0, 1.0), unit="m")

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        _positive(self.size, "size")
        _check_cells(8 * self.n**3, 6, "n")
        return self


class SphereMesh(Model):
    """A ball centred at the origin."""

    type: Literal["sphere"] = option("A ball.")
    radius: _Extent = option("Radius.", 0.5, unit="m")
    cells: _Cells = option("Layers from the centre to the surface.", 4)

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        _check_cells(self.cells**3, 20, "cells")
        return self


class CylinderMesh(Model):
    """A cylinder around the y axis, centred at the origin."""

    type: Literal["cylinder"] = option("A cylinder.")
    radius: _Extent = option("Radius.", 0.5, unit="m")
    height: _Extent = option("Length along y.", 1.0, unit="m")
    cells: Counts2 = option("Rings across the radius and layers along the height.", (4, 8))

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        _check_cells(self.cells[0] ** 2 * self.cells[1], 18, "cells")
        return self


class TorusMesh(Model):
    """A torus around the y axis, centred at the origin."""

    type: Literal["torus"] = option("A torus.")
    radius: _Extent = option("Major radius: from the centre of the torus to that of the tube.", 0.5, unit="m")
    tube: _Extent = option("Minor radius, smaller than the major radius.", 0.2, unit="m")
    cells: Counts2 = option("Rings across the tube and segments around the axis (at least 3).", (3, 24))

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        if self.tube >= self.radius:
            raise PydanticCustomError(
                "fat_torus",
                "'tube' must be smaller than 'radius' ({radius}) (got {tube})",
                {"tube": self.tube, "radius": self.radius},
            )
        _check_cells(self.cells[0] ** 2 * self.cells[1], 18, "cells")
        return self


class BowlMesh(Model):
    """A bowl: the lower part of a spherical shell around the origin."""

    type: Literal["bowl"] = option("A bowl.")
    radius: _Extent = option("Outer radius.", 0.5, unit="m")
    thickness: _Extent = option("Thickness of the wall, smaller than the radius.", 0.05, unit="m")
    opening: Number = option(
        "Angle from the lowest point to the rim, at the origin.", 90.0, unit="deg", gt=0, le=170
    )
    cells: Counts2 = option("Rings from the lowest point to the rim and layers across the wall.", (8, 1))

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        if self.thickness >= self.radius:
            raise PydanticCustomError(
                "thick_bowl",
                "'thickness' must be smaller than 'radius' ({radius}) (got {thickness})",
                {"thickness": self.thickness, "radius": self.radius},
            )
        _check_cells(self.cells[0] ** 2 * self.cells[1], 18, "cells")
        return self


class RoundCone(Model):
    """A round cone: the convex hull of two balls."""

    start: Vector = option("Centre of one end.", unit="m")
    end: Vector = option("Centre of the other end.", unit="m")
    radius: _Extent = option("Radius at the start.", unit="m")
    end_radius: _Extent | None = option("Radius at the other end; the same by default.", None, unit="m")
    name: Name | None = option("Name of its region of the mesh; cones may share one.", None)


class BlobMesh(Model):
    """A union of round cones."""

    type: Literal["blob"] = option("A union of round cones.")
    limbs: list[RoundCone] = option("The round cones.", min_length=1, max_length=1000)
    size: _Extent = option("Edge length of the elements.", 0.1, unit="m")
    blend: Number = option("Radius of the smooth blend between cones.", 0.0, unit="m", ge=0, le=1e6)


class Tetrahedralize(Model):
    """Options of filling a closed surface with tetrahedra."""

    size: _Extent | None = option("Target edge length.", None, unit="m", examples=[0.1])
    max_volume: Number | None = option(
        "Maximum volume of a tetrahedron.", None, unit="m³", gt=0, le=1e18, examples=[0.001]
    )
    min_dihedral: Number | None = option(
        "Target for the minimum dihedral angle.",
        None,
        unit="deg",
        ge=0,
        le=40,
        examples=[12.0],
    )
    max_radius_edge: Number | None = option(
        "Target for the maximum ratio of circumradius to shortest edge; 0.61 is regular.",
        None,
        ge=0.65,
        le=1e6,
        examples=[2.0],
    )
    repair: Flag = option(
        "Whether a surface that is open, not a manifold, not oriented or goes through itself is accepted and repaired: "
        "holes are closed, and the boundary follows the rest.",
        False,
    )
    time_limit: Number = option("Time after which the mesher is stopped.", 900.0, unit="s", gt=0, le=1e6)


def _formula(text: str) -> str:
    try:
        Formula(text, ("u", "v"))
    except InputError as error:
        raise PydanticCustomError("formula", "{reason}", {"reason": str(error)}) from None
    return text


def _text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


FormulaText = Annotated[
    str,
    Field(strict=True, min_length=1, max_length=500, json_schema_extra={"format": "formula"}),
    BeforeValidator(_text, json_schema_input_type=str),
    AfterValidator(_formula),
]


class ParametricMesh(Model):
    """The interior of the closed surface x(u, v), y(u, v), z(u, v); formulas have + - * / **, brackets, pi, sin, cos,
    tan, asin, acos, atan, atan2, sinh, cosh, tanh, exp, log, sqrt, abs, sign, floor, min and max.
    """

    type: Literal["parametric"] = option("A surface from formulas.")
    x: FormulaText = option(
        "Coordinate along x as a formula of u and v.", "0.5*sin(pi*u)*cos(2*pi*v)", unit="m"
    )
    y: FormulaText = option("Coordinate along y.", "0.5*cos(pi*u)", unit="m")
    z: FormulaText = option("Coordinate along z.", "0.5*sin(pi*u)*sin(2*pi*v)", unit="m")
    u: Vector2 = option("Range of u.", (0.0, 1.0))
    v: Vector2 = option("Range of v.", (0.0, 1.0))
    cells: Counts2 = option("Number of intervals along u and v.", (16, 32))
    tetrahedralize: Tetrahedralize | None = option("Options of filling it with tetrahedra.", None)


class FileMesh(Model):
    """A mesh file: tetrahedra or hexahedra (MSH, VTU, VTK, MESH, TetGen), or a closed surface (STL, OBJ, PLY, OFF),
    which is filled with tetrahedra.
    """

    type: Literal["file"] = option("A mesh from a file.")
    path: Path = option("The file, relative to the folder of the scene.")
    hexes: Literal["cut", "keep"] = option(
        "Whether hexahedra are split into 24 tetrahedra each or kept.", "cut"
    )
    tetrahedralize: Tetrahedralize | None = option("Options of filling a surface with tetrahedra.", None)
    texture: Path | None = option(
        "Of a collider: an image (PNG, JPEG) instead of the one that the file names, or none for no image; the surface "
        "needs texture coordinates.",
        None,
    )


Mesh = Annotated[
    Annotated[BoxMesh, Tag("box")]
    | Annotated[RectangleMesh, Tag("rectangle")]
    | Annotated[PolygonMesh, Tag("polygon")]
    | Annotated[BridgeMesh, Tag("bridge")]
    | Annotated[SphereMesh, Tag("sphere")]
    | Annotated[CylinderMesh, Tag("cylinder")]
    | Annotated[TorusMesh, Tag("torus")]
    | Annotated[BowlMesh, Tag("bowl")]
    | Annotated[BlobMesh, Tag("blob")]
    | Annotated[ParametricMesh, Tag("parametric")]
    | Annotated[FileMesh, Tag("file")],
    by_type(
        "box",
        "rectangle",
        "polygon",
        "bridge",
        "sphere",
        "cylinder",
        "torus",
        "bowl",
        "blob",
        "parametric",
        "file",
    ),
]


class DistanceFieldSpec(Model):
    """Distance field of a rigid shape; without one the exact distance is computed."""

    field: Path | None = option("A distance field of the untransformed mesh, from `continua sdf`.", None)
    fit: Number | None = option(
        "Tolerance for fitting a distance field, see `sdf.fit`; contact detection is then faster.",
        None,
        ge=1e-12,
        le=1.0,
    )

    @model_validator(mode="after")
    def _one_field(self) -> Self:
        if self.field is not None and self.fit is not None:
            raise PydanticCustomError("two_fields", "takes either 'field' or 'fit', not both")
        return self


class Rotation(Model):
    """A rotation about an axis through the origin."""

    axis: Direction = option("Direction of the axis.", (0.0, 1.0, 0.0))
    degrees: Number = option("Angle, by the right-hand rule.", unit="deg", ge=-36000, le=36000)


class Transform(Model):
    """A transform of the mesh: scaled first, then rotated, then placed, then translated."""

    scale: _Extent = option("Scale factor.", 1.0)
    size: _Extent | None = option(
        "Longest side of the bounding box after scaling, instead of a scale factor.", None, unit="m"
    )
    rotate: Rotation | None = option("Rotation about the origin.", None)
    place: Literal["as_is", "on_floor"] = option(
        "`on_floor` puts the lowest point on the floor: the first plane that faces up, against gravity, or height 0.",
        "as_is",
    )
    translate: Vector = option("Translation.", (0.0, 0.0, 0.0), unit="m")

    @model_validator(mode="after")
    def _one_scale(self) -> Self:
        if self.size is not None and self.scale != 1.0:
            raise PydanticCustomError("two_scales", "takes either 'scale' or 'size', not both")
        return self


class AnimationSource(Model):
    """A surface on a prescribed path: an animated GLB file, or a sequence of mesh files with the same triangles."""

    path: Path = option(
        "A GLB file with skins, morph targets or moving nodes, or the pattern of a sequence such as `walk_*.obj`; "
        "relative to the folder of the scene."
    )
    animation: (
        Annotated[
            Annotated[Text, Tag("word")]
            | Annotated[Annotated[Count, Field(ge=0, le=100_000)], Tag("number")],
            by_kind(),
        ]
        | None
    ) = option("Name or number (from 0) of the animation in a GLB file; the first by default.", None)
    fps: Number = option("Frames per second of a sequence.", 24.0, unit="1/s", gt=0, le=1e6)
    interpolation: Literal["linear", "cubic"] = option(
        "Interpolation between the frames of a sequence.", "linear"
    )
    loop: Flag = option("Whether it begins again at its end; otherwise it stays there.", False)
    speed: Number = option("How much faster than recorded it runs.", 1.0, gt=0, le=1e6)
    start: Moment = option("Simulated time at which it begins.", 0.0, unit="s")
    transform: Transform | None = option("Its scale, rotation and position.", None)
