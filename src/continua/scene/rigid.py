"""Rigid bodies and joints in a scene."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Tag, model_validator
from pydantic_core import PydanticCustomError

from continua.scene.motions import Motion
from continua.scene.shapes import DistanceFieldSpec, Mesh, Transform
from continua.scene.types import (
    Color,
    Count,
    Counts2,
    Counts3,
    Direction,
    Flag,
    Model,
    Name,
    Number,
    Path,
    Vector,
    by_type,
    option,
)

__all__ = [
    "BallJoint",
    "FixedJoint",
    "HingeJoint",
    "InstanceGrid",
    "Joint",
    "Motor",
    "RigidBody",
    "RigidBox",
    "RigidCapsule",
    "RigidCylinder",
    "RigidFile",
    "RigidMesh",
    "RigidSphere",
    "RigidTorus",
    "RigidWheel",
    "SliderJoint",
    "Start",
]


class RigidSphere(Model):
    """A ball around the origin."""

    type: Literal["sphere"] = option("A ball.")
    radius: Number = option("Radius.", 0.5, unit="m", gt=0, le=1e6)


class RigidBox(Model):
    """A block around the origin."""

    type: Literal["box"] = option("A block.")
    size: Vector = option("Lengths along x, y and z.", (1.0, 1.0, 1.0), unit="m")


class RigidCapsule(Model):
    """A rod with round ends along the y axis, its middle in the origin."""

    type: Literal["capsule"] = option("A rod with round ends.")
    radius: Number = option("Radius.", 0.1, unit="m", gt=0, le=1e6)
    length: Number = option("Distance between the middles of its ends.", 0.5, unit="m", gt=0, le=1e6)


class RigidCylinder(Model):
    """A cylinder along the y axis, its middle in the origin."""

    type: Literal["cylinder"] = option("A cylinder.")
    radius: Number = option("Radius.", 0.5, unit="m", gt=0, le=1e6)
    height: Number = option("Length along y.", 1.0, unit="m", gt=0, le=1e6)


class RigidTorus(DistanceFieldSpec):
    """A ring around the y axis, its centre in the origin."""

    type: Literal["torus"] = option("A ring.")
    radius: Number = option(
        "From the centre of the ring to the middle of the tube.", 0.5, unit="m", gt=0, le=1e6
    )
    tube: Number = option("Radius of the tube, smaller than that of the ring.", 0.2, unit="m", gt=0, le=1e6)
    cells: Counts2 = option("Segments around the tube and around the ring.", (12, 32))


class RigidWheel(DistanceFieldSpec):
    """A wheel with straight paddles that turns about the z axis, its middle in the origin."""

    type: Literal["wheel"] = option("A paddle wheel.")
    radius: Number = option("From the axis to the tips of the paddles.", 0.5, unit="m", gt=0, le=1e6)
    width: Number = option("Length along the axis.", 0.4, unit="m", gt=0, le=1e6)
    paddles: Count = option("Number of paddles.", 8, ge=3, le=1000)
    hub: Number = option("Radius of the middle part.", 0.15, unit="m", gt=0, le=1e6)
    thickness: Number = option("Of the paddles.", 0.05, unit="m", gt=0, le=1e6)


class RigidFile(DistanceFieldSpec):
    """A closed surface from a file (STL, OBJ, PLY, OFF), or the outside of a volume mesh."""

    type: Literal["file"] = option("A mesh from a file.")
    path: Path = option("The file, relative to the folder of the scene.")


class RigidMesh(DistanceFieldSpec):
    """The outside of any mesh that can be made."""

    type: Literal["mesh"] = option("A mesh.")
    mesh: Mesh = option("The mesh.")


Solid = Annotated[
    Annotated[RigidSphere, Tag("sphere")]
    | Annotated[RigidBox, Tag("box")]
    | Annotated[RigidCapsule, Tag("capsule")]
    | Annotated[RigidCylinder, Tag("cylinder")]
    | Annotated[RigidTorus, Tag("torus")]
    | Annotated[RigidWheel, Tag("wheel")]
    | Annotated[RigidMesh, Tag("mesh")]
    | Annotated[RigidFile, Tag("file")],
    by_type("sphere", "box", "capsule", "cylinder", "torus", "wheel", "mesh", "file"),
]


class InstanceGrid(Model):
    """Copies at the points of a regular grid, shaken a little if wanted."""

    counts: Counts3 = option("Number of copies along x, y and z.", (1, 1, 1))
    spacing: Vector = option("Distances between them.", (1.0, 1.0, 1.0), unit="m")
    jitter: Number = option("Largest random shift along each axis.", 0.0, unit="m", ge=0, le=1e6)
    turn: Flag = option("Whether each copy is turned at random.", False)
    seed: Count = option("Number that the random shifts and turns come from.", 0, ge=0, le=2**31)


class Start(Model):
    """Motion at time 0."""

    velocity: Vector = option("Velocity of the centre of mass.", (0.0, 0.0, 0.0), unit="m/s")
    angular_velocity: Vector = option("Angular velocity about it.", (0.0, 0.0, 0.0), unit="rad/s")


class RigidBody(Model):
    """A rigid solid, or many copies of it."""

    type: Literal["rigid"] = option("A rigid solid.")
    name: Name = option("Name of the body, different from all others.")
    shape: Solid = option("The shape.")
    transform: Transform | None = option("Where the shape is put.", None)
    places: list[Vector] = option(
        "Shifts of the copies from there; one copy without a shift by default.",
        [],
        unit="m",
        max_length=100_000,
    )
    grid: InstanceGrid | None = option(
        "Copies on a grid instead; its first point is where the shape is put.", None
    )
    density: Number | None = option("Density; 1000 unless a mass is given.", None, unit="kg/m³", gt=0, le=1e9)
    mass: Number | None = option("Mass of each copy, instead of a density.", None, unit="kg", gt=0, le=1e15)
    friction: Number | None = option("Coulomb's coefficient of its own.", None, ge=0, le=100)
    restitution: Number | None = option("Part of the normal speed that a hit gives back.", None, ge=0, le=1)
    initial: Start | None = option("Motion at time 0; at rest by default.", None)
    motion: Motion | None = option("A prescribed motion: it pushes others and nothing moves it.", None)
    color: Color | None = option("Colour in plain pictures, as '#rrggbb'.", None)

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if self.density is not None and self.mass is not None:
            raise PydanticCustomError("two_masses", "takes either 'density' or 'mass', not both")
        if self.places and self.grid is not None:
            raise PydanticCustomError("two_places", "takes either 'places' or 'grid', not both")
        return self


class _Joint(Model):
    a: Name = option("Name of a rigid body.")
    copy_a: Count = option("Which of its copies.", 0, ge=0, le=1_000_000)
    b: Name | None = option("Name of the other rigid body; the world by default.", None)
    copy_b: Count = option("Which of its copies.", 0, ge=0, le=1_000_000)
    collide: Flag = option("Whether the two can touch each other.", False)


class Motor(Model):
    """Drives a joint with a speed, as far as its strength goes."""

    speed: Number = option("Speed of `a` against `b`.", unit="rad/s or m/s")
    strength: Number = option("Largest torque or force.", unit="N m or N", gt=0)


class BallJoint(_Joint):
    """Holds a point of one body at a point of the other."""

    type: Literal["ball"] = option("All turns are free.")
    point: Vector = option("Where it is at the start.", unit="m")


class HingeJoint(_Joint):
    """Lets a body turn about one axis of the other."""

    type: Literal["hinge"] = option("Turns about an axis.")
    point: Vector = option("A point of the axis at the start.", unit="m")
    axis: Direction = option("Direction of the axis at the start.", (0.0, 0.0, 1.0))
    limits: tuple[Number, Number] | None = option("Least and largest angle from the start.", None, unit="deg")
    motor: Motor | None = option("What drives it; nothing by default.", None)


class SliderJoint(_Joint):
    """Lets a body slide along one axis of the other, without turning."""

    type: Literal["slider"] = option("Slides along an axis.")
    axis: Direction = option("Direction of the axis at the start.", (1.0, 0.0, 0.0))
    point: Vector | None = option("A point of the axis; by default the centre of `a`.", None, unit="m")
    limits: tuple[Number, Number] | None = option("Least and largest way from the start.", None, unit="m")
    motor: Motor | None = option("What drives it; nothing by default.", None)


class FixedJoint(_Joint):
    """Holds one body to the other as if they were one."""

    type: Literal["fixed"] = option("Nothing is free.")
    point: Vector | None = option("Where they are held; by default the centre of `a`.", None, unit="m")


Joint = Annotated[
    Annotated[BallJoint, Tag("ball")]
    | Annotated[HingeJoint, Tag("hinge")]
    | Annotated[SliderJoint, Tag("slider")]
    | Annotated[FixedJoint, Tag("fixed")],
    by_type("ball", "hinge", "slider", "fixed"),
]
