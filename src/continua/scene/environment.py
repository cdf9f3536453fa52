"""The environment of the bodies and what happens to them: obstacles, contact, wind, and scheduled changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Len
from pydantic import Tag, create_model

from continua.scene.laws import event_constants
from continua.scene.motions import Motion
from continua.scene.selectors import Where
from continua.scene.shapes import AnimationSource, DistanceFieldSpec, Mesh, Rotation, Transform
from continua.scene.types import (
    Count,
    Direction,
    Flag,
    Model,
    Moment,
    Name,
    Number,
    Path,
    Vector,
    by_type,
    option,
)

__all__ = [
    "AnimatedMesh",
    "Box",
    "Capsule",
    "Change",
    "Collider",
    "Contact",
    "ContactPair",
    "Cut",
    "CutMesh",
    "CutPlane",
    "CutSurface",
    "CutSweep",
    "Cylinder",
    "Gear",
    "MaterialChange",
    "MeshShape",
    "Plane",
    "Refinement",
    "Sphere",
    "Split",
    "Wind",
]


class _Obstacle(Model):
    name: Name | None = option("Name, for pairs of `contact`.", None)
    friction: Number | None = option(
        "Coulomb friction coefficient; by default that of `contact`.", None, ge=0, le=100
    )
    restitution: Number | None = option(
        "Coefficient of restitution; by default that of `contact`.", None, ge=0, le=1
    )
    slip: Number | None = option(
        "Slip length of particle fluids; by default the fluid's `wall_slip`.", None, unit="m", ge=0
    )
    contact_angle: Number | None = option(
        "Contact angle of particle fluids with surface tension; by default the fluid's.",
        None,
        unit="degrees",
        ge=0,
        le=180,
    )
    motion: Motion | None = option("Prescribed motion; at rest by default.", None)


class Plane(_Obstacle):
    """An infinite plane; bodies stay on the side of its normal."""

    type: Literal["plane"] = option("An infinite plane.")
    point: Vector = option("A point of the plane.", (0.0, 0.0, 0.0), unit="m")
    normal: Direction = option("Normal, towards the free side.", (0.0, 1.0, 0.0))


class Sphere(_Obstacle):
    """A ball, or a spherical container if `inside`."""

    type: Literal["sphere"] = option("A ball.")
    center: Vector = option("Centre.", unit="m")
    radius: Number = option("Radius.", unit="m", gt=0, le=1e6)
    inside: Flag = option("Keep bodies inside instead of outside.", False)


class Gear(_Obstacle):
    """A gear with rounded teeth."""

    type: Literal["gear"] = option("A gear.")
    center: Vector = option("Centre.", (0.0, 0.0, 0.0), unit="m")
    axis: Direction = option("Direction of the axis.", (0.0, 0.0, 1.0))
    radius: Number = option("Mean radius.", 1.0, unit="m", gt=0, le=1e6)
    width: Number = option("Length along the axis.", 1.0, unit="m", gt=0, le=1e6)
    teeth: Count = option("Number of teeth.", 12, ge=3, le=1000)
    depth: Number = option("Height of a tooth, from root to tip.", 0.2, unit="m", gt=0, le=1e6)


class Box(_Obstacle):
    """A box, or a box-shaped container if `inside`."""

    type: Literal["box"] = option("A box.")
    center: Vector = option("Centre.", (0.0, 0.0, 0.0), unit="m")
    size: Vector = option("Lengths along its local x, y and z.", (1.0, 1.0, 1.0), unit="m")
    rotate: Rotation | None = option("Rotation about its centre.", None)
    rounding: Number = option("Radius of edges and corners.", 0.0, unit="m", ge=0, le=1e6)
    inside: Flag = option("Keep bodies inside instead of outside.", False)


class Cylinder(_Obstacle):
    """A cylinder, or a drum if `inside`."""

    type: Literal["cylinder"] = option("A cylinder.")
    center: Vector = option("Centre.", (0.0, 0.0, 0.0), unit="m")
    axis: Direction = option("Direction of the axis.", (0.0, 1.0, 0.0))
    radius: Number = option("Radius.", 0.5, unit="m", gt=0, le=1e6)
    height: Number = option("Length along the axis.", 1.0, unit="m", gt=0, le=1e6)
    rounding: Number = option("Radius of the edges at its ends.", 0.0, unit="m", ge=0, le=1e6)
    inside: Flag = option("Keep bodies inside instead of outside.", False)


class Capsule(_Obstacle):
    """A capsule: all points within a radius of a segment."""

    type: Literal["capsule"] = option("A capsule.")
    start: Vector = option("One end of the segment.", unit="m")
    end: Vector = option("The other end.", unit="m")
    radius: Number = option("Distance of the surface from the segment.", unit="m", gt=0, le=1e6)
    inside: Flag = option("Keep bodies inside instead of outside.", False)


class MeshShape(_Obstacle, DistanceFieldSpec):
    """Any closed surface, generated or from a file."""

    type: Literal["mesh"] = option("A closed surface.")
    mesh: Mesh = option("The surface, or a volume mesh whose boundary it is.")
    transform: Transform | None = option("Its scale, rotation and position.", None)
    rounding: Number = option("Outward offset of the surface.", 0.0, unit="m", ge=0, le=1e6)
    inside: Flag = option("Keep bodies inside instead of outside.", False)


class AnimatedMesh(_Obstacle, AnimationSource):
    """A surface that deforms on a prescribed path, such as a character; soft bodies touch it, rigid bodies and fluids
    do not.
    """

    type: Literal["animated_mesh"] = option("A surface on a prescribed path.")
    rounding: Number = option("Thickness around the surface.", 0.0, unit="m", ge=0, le=1e6)
    two_sided: Flag | None = option("Whether it is touched from both sides; if it is open, by default.", None)


Collider = Annotated[
    Annotated[Plane, Tag("plane")]
    | Annotated[Sphere, Tag("sphere")]
    | Annotated[Box, Tag("box")]
    | Annotated[Cylinder, Tag("cylinder")]
    | Annotated[Capsule, Tag("capsule")]
    | Annotated[MeshShape, Tag("mesh")]
    | Annotated[AnimatedMesh, Tag("animated_mesh")]
    | Annotated[Gear, Tag("gear")],
    by_type("plane", "sphere", "box", "cylinder", "capsule", "mesh", "animated_mesh", "gear"),
]


class ContactPair(Model):
    """Contact options of a pair, named by `between`; those that are not given follow from the two."""

    between: Annotated[list[Name], Len(2, 2)] = option(
        "Names of two bodies or colliders; the same twice is self-contact."
    )
    friction: Number | None = option("Coulomb friction coefficient.", None, ge=0, le=100)
    restitution: Number | None = option("Coefficient of restitution.", None, ge=0, le=1)
    collide: Flag | None = option("Whether they collide.", None)


class Contact(Model):
    """Contact options. Values of a body or collider override these, those of a pair override both."""

    friction: Number = option("Coulomb friction coefficient.", 0.5, ge=0, le=100)
    restitution: Number = option("Coefficient of restitution.", 0.0, ge=0, le=1)
    thickness: Number | None = option(
        "Minimum distance between surfaces of meshes; by default a small fraction of their edge length.",
        None,
        unit="m",
        gt=0,
        le=1e6,
    )
    self_contact: Flag = option("Whether soft bodies collide with themselves.", False)
    budget_ms: Number | None = option(
        "Time after which the contact solve of a step stops; the report of the step then has a warning with its error.",
        None,
        unit="ms",
        gt=0,
        le=1e6,
    )
    pairs: list[ContactPair] = option("Options of single pairs.", [], max_length=1000)


class Wind(Model):
    """Moving air, whose pressure acts on the surfaces of all bodies."""

    velocity: Vector = option("Mean velocity of the air.", unit="m/s")
    gust: Number = option("Amplitude of the gusts, as a fraction of the mean speed.", 0.0, ge=0, le=10)
    period: Number = option("Mean period of the gusts.", 1.0, unit="s", gt=0, le=1e6)
    density: Number = option("Density of the air.", 1.2, unit="kg/m³", gt=0, le=1e6)


class _Change(Model):
    time: Moment = option("Time of the change.", unit="s")
    body: Name = option("Name of the body.")


class _MaterialChange(_Change):
    type: Literal["material"] = option("Other constants of the material; the default.", "material")
    part: Count | None = option(
        "Index of the part, from 0; by default all elements that belong to no part.", None, ge=0
    )


if TYPE_CHECKING:
    MaterialChange = _MaterialChange
else:
    MaterialChange = create_model(
        "MaterialChange",
        __base__=_MaterialChange,
        __module__=__name__,
        __doc__="Give a body other constants while it runs; what is not given stays as it is.",
        **event_constants(),
    )


class Refinement(_Change):
    """Cut tetrahedra of a soft body into eight each, and their neighbours so that all faces fit."""

    type: Literal["refine"] = option("A finer mesh.")
    where: Where = option("Which elements, by their centres in the undeformed body.", "all")


class Split(_Change):
    """Cut a soft body open along all faces between the chosen elements and the others."""

    type: Literal["split"] = option("A cut along faces of elements.")
    where: Where = option("The elements on one side of the cut, by their centres in the undeformed body.")


class CutPlane(Model):
    """An infinite plane."""

    type: Literal["plane"] = option("An infinite plane.")
    point: Vector = option("A point of the plane.", unit="m")
    normal: Direction = option("Its normal, of any length.")


class CutSweep(Model):
    """The surface that a polyline sweeps along a straight line."""

    type: Literal["sweep"] = option("A polyline swept along a straight line.")
    curve: list[Vector] = option("Points of the polyline.", unit="m", min_length=2, max_length=10_000)
    direction: Vector = option("The displacement by which it is swept.", unit="m")
    closed: Flag = option("Whether the last point is joined to the first.", False)


class CutMesh(Model):
    """A surface of triangles from a file; it may be open."""

    type: Literal["file"] = option("A surface from a file.")
    path: Path = option("A surface (STL, OBJ, PLY, OFF), relative to the folder of the scene.")


CutSurface = Annotated[
    Annotated[CutPlane, Tag("plane")] | Annotated[CutSweep, Tag("sweep")] | Annotated[CutMesh, Tag("file")],
    by_type("plane", "sweep", "file"),
]


class Cut(_Change):
    """Cut a soft body of tetrahedra of order 1 along a surface through its elements."""

    type: Literal["cut"] = option("A cut through elements.")
    surface: CutSurface = option("The surface, in the undeformed body where its transform has put it.")
    integration: Literal["exact", "whole"] = option(
        "'exact' integrates over the matter of each part; 'whole' gives every part of a divided element the mass and "
        "the stiffness of the whole, as the virtual node algorithm does.",
        "exact",
    )


Change = Annotated[
    Annotated[MaterialChange, Tag("material")]
    | Annotated[Refinement, Tag("refine")]
    | Annotated[Split, Tag("split")]
    | Annotated[Cut, Tag("cut")],
    by_type("material", "refine", "split", "cut", default="material"),
]
