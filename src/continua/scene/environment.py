"""What surrounds the bodies and what happens to them: obstacles, wind, and changes of material in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Len
from pydantic import Tag, create_model

from continua.scene.laws import event_constants
from continua.scene.motions import Motion
from continua.scene.shapes import DistanceFieldSpec, Mesh, Rotation, Transform
from continua.scene.types import Count, Direction, Flag, Model, Moment, Name, Number, Vector, by_type, option

__all__ = [
    "Box",
    "Capsule",
    "Change",
    "Collider",
    "Contact",
    "ContactPair",
    "Cylinder",
    "Gear",
    "MeshShape",
    "Plane",
    "Sphere",
    "Wind",
]


class _Obstacle(Model):
    name: Name | None = option("Name, for pairs of `contact`.", None)
    friction: Number | None = option(
        "Coulomb's coefficient of friction; by default that of `contact`.", None, ge=0, le=100
    )
    restitution: Number | None = option(
        "Part of the normal speed that a hit gives back; by default that of `contact`.", None, ge=0, le=1
    )
    motion: Motion | None = option("How it moves; at rest by default.", None)


class Plane(_Obstacle):
    """An endless plane; bodies stay on the side its normal points to."""

    type: Literal["plane"] = option("An endless plane.")
    point: Vector = option("A point of the plane.", (0.0, 0.0, 0.0), unit="m")
    normal: Direction = option("Direction to the free side.", (0.0, 1.0, 0.0))


class Sphere(_Obstacle):
    """A ball, or a hollow one that holds the bodies inside."""

    type: Literal["sphere"] = option("A ball.")
    center: Vector = option("Centre.", unit="m")
    radius: Number = option("Radius.", unit="m", gt=0, le=1e6)
    inside: Flag = option("Keep bodies inside instead of outside.", False)


class Gear(_Obstacle):
    """A toothed wheel with rounded teeth."""

    type: Literal["gear"] = option("A toothed wheel.")
    center: Vector = option("Centre.", (0.0, 0.0, 0.0), unit="m")
    axis: Direction = option("Direction of the axle.", (0.0, 0.0, 1.0))
    radius: Number = option("Mean radius.", 1.0, unit="m", gt=0, le=1e6)
    width: Number = option("Length along the axle.", 1.0, unit="m", gt=0, le=1e6)
    teeth: Count = option("Number of teeth.", 12, ge=3, le=1000)
    depth: Number = option("Height of a tooth from foot to tip.", 0.2, unit="m", gt=0, le=1e6)


class Box(_Obstacle):
    """A block, or a room that holds the bodies inside."""

    type: Literal["box"] = option("A block.")
    center: Vector = option("Middle.", (0.0, 0.0, 0.0), unit="m")
    size: Vector = option("Lengths along its own x, y and z.", (1.0, 1.0, 1.0), unit="m")
    rotate: Rotation | None = option("Turn about its middle.", None)
    rounding: Number = option("Radius of edges and corners.", 0.0, unit="m", ge=0, le=1e6)
    inside: Flag = option("Keep bodies inside instead of outside.", False)


class Cylinder(_Obstacle):
    """A round rod with flat ends, or a drum that holds the bodies inside."""

    type: Literal["cylinder"] = option("A round rod with flat ends.")
    center: Vector = option("Middle.", (0.0, 0.0, 0.0), unit="m")
    axis: Direction = option("Direction of the axis.", (0.0, 1.0, 0.0))
    radius: Number = option("Radius.", 0.5, unit="m", gt=0, le=1e6)
    height: Number = option("Length along the axis.", 1.0, unit="m", gt=0, le=1e6)
    rounding: Number = option("Radius of the edges at its ends.", 0.0, unit="m", ge=0, le=1e6)
    inside: Flag = option("Keep bodies inside instead of outside.", False)


class Capsule(_Obstacle):
    """A rod with round ends: all points near a segment."""

    type: Literal["capsule"] = option("A rod with round ends.")
    start: Vector = option("One end of the segment.", unit="m")
    end: Vector = option("The other end.", unit="m")
    radius: Number = option("Distance of the surface from the segment.", unit="m", gt=0, le=1e6)
    inside: Flag = option("Keep bodies inside instead of outside.", False)


class MeshShape(_Obstacle, DistanceFieldSpec):
    """Any closed surface, generated or from a file."""

    type: Literal["mesh"] = option("A closed surface.")
    mesh: Mesh = option("The surface, or a body whose outside it is.")
    transform: Transform | None = option("Where it is put.", None)
    rounding: Number = option("By how much the surface is moved outwards.", 0.0, unit="m", ge=0, le=1e6)
    inside: Flag = option("Keep bodies inside instead of outside.", False)


Collider = Annotated[
    Annotated[Plane, Tag("plane")]
    | Annotated[Sphere, Tag("sphere")]
    | Annotated[Box, Tag("box")]
    | Annotated[Cylinder, Tag("cylinder")]
    | Annotated[Capsule, Tag("capsule")]
    | Annotated[MeshShape, Tag("mesh")]
    | Annotated[Gear, Tag("gear")],
    by_type("plane", "sphere", "box", "cylinder", "capsule", "mesh", "gear"),
]


class ContactPair(Model):
    """What holds where two things touch, named by `between`; what is not given follows from the two."""

    between: Annotated[list[Name], Len(2, 2)] = option(
        "Names of two bodies or colliders; the same twice is self-contact."
    )
    friction: Number | None = option("Coulomb's coefficient of friction.", None, ge=0, le=100)
    restitution: Number | None = option("Part of the normal speed that a hit gives back.", None, ge=0, le=1)
    collide: Flag | None = option("Whether they touch at all.", None)


class Contact(Model):
    """How things touch. A body's or collider's own values win over these, those of a pair over both."""

    friction: Number = option("Coulomb's coefficient of friction.", 0.5, ge=0, le=100)
    restitution: Number = option("Part of the normal speed that a hit gives back.", 0.0, ge=0, le=1)
    thickness: Number | None = option(
        "Distance that surfaces of meshes keep from each other; by default a small part of their edges' length.",
        None,
        unit="m",
        gt=0,
        le=1e6,
    )
    self_contact: Flag = option("Whether soft bodies touch themselves.", False)
    pairs: list[ContactPair] = option("What holds for single pairs.", [], max_length=1000)


class Wind(Model):
    """Air that moves past all bodies and presses on their surfaces."""

    velocity: Vector = option("Mean velocity of the air.", unit="m/s")
    gust: Number = option("How far the speed swings about its mean, as a fraction of it.", 0.0, ge=0, le=10)
    period: Number = option("Time from gust to gust.", 1.0, unit="s", gt=0, le=1e6)
    density: Number = option("Density of the air.", 1.2, unit="kg/m³", gt=0, le=1e6)


class _ChangeTime(Model):
    time: Moment = option("When.", unit="s")
    body: Name = option("Name of the body.")
    part: Count | None = option("Number of the part, from 0; by default all that is no part.", None, ge=0)


if TYPE_CHECKING:
    Change = _ChangeTime
else:
    Change = create_model(
        "Change",
        __base__=_ChangeTime,
        __module__=__name__,
        __doc__="Give a body other constants while it runs; what is not given stays as it is.",
        **event_constants(),
    )
