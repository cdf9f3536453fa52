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
    """A ball centred at the origin."""

    type: Literal["sphere"] = option("A ball.")
    radius: Number = option("Radius.", 0.5, unit="m", gt=0, le=1e6)


class RigidBox(Model):
    """A box centred at the origin."""

    type: Literal["box"] = option("A box.")
    size: Vector = option("Lengths along x, y and z.", (1.0, 1.0, 1.0), unit="m")


class RigidCapsule(Model):
    """A capsule along the y axis, centred at the origin."""

    type: Literal["capsule"] = option("A capsule.")
    radius: Number = option("Radius.", 0.1, unit="m", gt=0, le=1e6)
    length: Number = option("Distance between the centres of its ends.", 0.5, unit="m", gt=0, le=1e6)


class RigidCylinder(Model):
    """A cylinder along the y axis, centred at the origin."""

    type: Literal["cylinder"] = option("A cylinder.")
    radius: Number = option("Radius.", 0.5, unit="m", gt=0, le=1e6)
    height: Number = option("Length along y.", 1.0, unit="m", gt=0, le=1e6)


class RigidTorus(DistanceFieldSpec):
    """A torus around the y axis, centred at the origin."""

    type: Literal["torus"] = option("A torus.")
    radius: Number = option(
        "Major radius: from the centre of the torus to that of the tube.", 0.5, unit="m", gt=0, le=1e6
    )
    tube: Number = option("Minor radius, smaller than the major radius.", 0.2, unit="m", gt=0, le=1e6)
    cells: Counts2 = option("Segments around the tube and around the axis.", (12, 32))


class RigidWheel(DistanceFieldSpec):
    """A wheel with straight paddles around the z axis, centred at the origin."""

    type: Literal["wheel"] = option("A paddle wheel.")
    radius: Number = option("From the axis to the tips of the paddles.", 0.5, unit="m", gt=0, le=1e6)
    width: Number = option("Length along the axis.", 0.4, unit="m", gt=0, le=1e6)
    paddles: Count = option("Number of paddles.", 8, ge=3, le=1000)
    hub: Number = option("Radius of the hub.", 0.15, unit="m", gt=0, le=1e6)
    thickness: Number = option("Thickness of the paddles.", 0.05, unit="m", gt=0, le=1e6)


class RigidFile(DistanceFieldSpec):
    """A closed surface from a file (STL, OBJ, GLB, PLY, OFF), or the boundary of a volume mesh."""

    type: Literal["file"] = option("A mesh from a file.")
    path: Path = option("The file, relative to the folder of the scene.")
    texture: Path | None = option(
        "An image (PNG, JPEG) instead of the one that the file names, or none for no image; the surface needs texture "
        "coordinates.",
        None,
    )


class RigidMesh(DistanceFieldSpec):
    """The boundary of any generated mesh."""

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
    """Instances at the points of a regular grid, with optional random offsets."""

    counts: Counts3 = option("Number of instances along x, y and z.", (1, 1, 1))
    spacing: Vector = option("Spacing.", (1.0, 1.0, 1.0), unit="m")
    jitter: Number = option("Maximum random offset along each axis.", 0.0, unit="m", ge=0, le=1e6)
    turn: Flag = option("Whether each instance is rotated randomly.", False)
    seed: Count = option("Seed of the random numbers.", 0, ge=0, le=2**31)


class Start(Model):
    """Motion at time 0."""

    velocity: Vector = option("Velocity of the centre of mass.", (0.0, 0.0, 0.0), unit="m/s")
    angular_velocity: Vector = option("Angular velocity.", (0.0, 0.0, 0.0), unit="rad/s")


class RigidBody(Model):
    """A rigid body, or many instances of it."""

    type: Literal["rigid"] = option("A rigid body.")
    name: Name = option("Name of the body, different from all others.")
    shape: Solid = option("The shape.")
    transform: Transform | None = option("Scale, rotation and position of the shape.", None)
    places: list[Vector] = option(
        "Offsets of the instances from there; one instance without an offset by default.",
        [],
        unit="m",
        max_length=100_000,
    )
    grid: InstanceGrid | None = option(
        "Instances on a grid instead; its first point is the position of the shape.", None
    )
    density: Number | None = option(
        "Density; by default 1000, unless a mass is given.", None, unit="kg/m³", gt=0, le=1e9
    )
    mass: Number | None = option(
        "Mass of each instance, instead of a density.", None, unit="kg", gt=0, le=1e15
    )
    friction: Number | None = option(
        "Coulomb friction coefficient; by default that of `contact`.", None, ge=0, le=100
    )
    restitution: Number | None = option(
        "Coefficient of restitution; by default that of `contact`.", None, ge=0, le=1
    )
    initial: Start | None = option("Motion at time 0; at rest by default.", None)
    motion: Motion | None = option(
        "Prescribed motion: the body is kinematic, it pushes others and is not pushed.", None
    )
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
    copy_a: Count = option("Index of its instance.", 0, ge=0, le=1_000_000)
    b: Name | None = option("Name of the other rigid body; fixed to the world by default.", None)
    copy_b: Count = option("Index of its instance.", 0, ge=0, le=1_000_000)
    collide: Flag = option("Whether the two bodies collide with each other.", False)


class Motor(Model):
    """Drives a joint at a speed, with a limited force or torque."""

    speed: Number = option("Speed of `a` relative to `b`.", unit="rad/s or m/s")
    strength: Number = option("Maximum torque or force.", unit="N m or N", gt=0)


class BallJoint(_Joint):
    """Connects a point of one body to a point of the other; all rotations are free."""

    type: Literal["ball"] = option("A ball joint.")
    point: Vector = option("Its position at time 0.", unit="m")


class HingeJoint(_Joint):
    """Allows rotation about one axis."""

    type: Literal["hinge"] = option("A hinge.")
    point: Vector = option("A point of the axis at time 0.", unit="m")
    axis: Direction = option("Direction of the axis at time 0.", (0.0, 0.0, 1.0))
    limits: tuple[Number, Number] | None = option(
        "Minimum and maximum angle, relative to time 0.", None, unit="deg"
    )
    motor: Motor | None = option("Motor; none by default.", None)


class SliderJoint(_Joint):
    """Allows translation along one axis, without rotation."""

    type: Literal["slider"] = option("A slider.")
    axis: Direction = option("Direction of the axis at time 0.", (1.0, 0.0, 0.0))
    point: Vector | None = option("A point of the axis; by default the centre of `a`.", None, unit="m")
    limits: tuple[Number, Number] | None = option(
        "Minimum and maximum displacement, relative to time 0.", None, unit="m"
    )
    motor: Motor | None = option("Motor; none by default.", None)


class FixedJoint(_Joint):
    """Connects two bodies rigidly."""

    type: Literal["fixed"] = option("A fixed joint.")
    point: Vector | None = option("Position of the joint; by default the centre of `a`.", None, unit="m")


Joint = Annotated[
    Annotated[BallJoint, Tag("ball")]
    | Annotated[HingeJoint, Tag("hinge")]
    | Annotated[SliderJoint, Tag("slider")]
    | Annotated[FixedJoint, Tag("fixed")],
    by_type("ball", "hinge", "slider", "fixed"),
]
