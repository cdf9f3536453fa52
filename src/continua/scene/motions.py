"""Constraints: pins, driven nodes, locks and springs, and prescribed motions."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Tag, model_validator
from pydantic_core import PydanticCustomError

from continua.scene.selectors import Where
from continua.scene.shapes import AnimationSource
from continua.scene.types import Direction, Model, Moment, Number, Vector, by_kind, by_type, option

__all__ = ["Drive", "FollowAnimation", "Keyframes", "Lock", "Motion", "Pin", "Pull", "Rotate", "Translate"]


class Translate(Model):
    """Translation with constant velocity."""

    type: Literal["translate"] = option("A translation.")
    velocity: Vector = option("Velocity.", unit="m/s")
    until: Moment | None = option(
        "Time at which the motion stops; the nodes are fixed from then on.", None, unit="s"
    )


class Rotate(Model):
    """Rotation about a fixed axis."""

    type: Literal["rotate"] = option("A rotation.")
    axis: Direction = option("Direction of the axis.")
    point: Vector = option("A point of the axis.", (0.0, 0.0, 0.0), unit="m")
    degrees_per_second: Number = option("Angular speed, by the right-hand rule.", unit="deg/s")
    until: Moment | None = option(
        "Time at which the motion stops; the nodes are fixed from then on.", None, unit="s"
    )


class Keyframes(Model):
    """Offsets, rotations or both at given times, interpolated linearly."""

    type: Literal["keyframes"] = option("Keyframes.")
    times: list[Moment] = option("Increasing times.", unit="s", min_length=1, max_length=100_000)
    offsets: list[Vector] | None = option("Offset from rest at each time; zero by default.", None, unit="m")
    rotations: list[Vector] | None = option(
        "Rotation vector at each time: the axis times the angle; none by default.", None, unit="deg"
    )
    point: Vector = option("The point at rest about which it rotates.", (0.0, 0.0, 0.0), unit="m")

    @model_validator(mode="after")
    def _match(self) -> Self:
        if self.offsets is None and self.rotations is None:
            raise PydanticCustomError("no_keys", "keyframes need 'offsets', 'rotations' or both")
        for name, keys in (("offsets", self.offsets), ("rotations", self.rotations)):
            if keys is not None and len(self.times) != len(keys):
                raise PydanticCustomError(
                    "lengths_differ",
                    "'times' and '{name}' must be equally long (got {times} and {keys})",
                    {"name": name, "times": len(self.times), "keys": len(keys)},
                )
        if any(b <= a for a, b in zip(self.times, self.times[1:], strict=False)):
            raise PydanticCustomError("not_increasing", "'times' must increase")
        return self


Motion = Annotated[
    Annotated[Translate, Tag("translate")]
    | Annotated[Rotate, Tag("rotate")]
    | Annotated[Keyframes, Tag("keyframes")],
    by_type("translate", "rotate", "keyframes"),
]


class FollowAnimation(AnimationSource):
    """An animated surface that nodes follow: each keeps its place relative to the triangle nearest to it at time 0."""

    type: Literal["animation"] = option("An animated surface.")


_DriveMotion = Annotated[
    Annotated[Translate, Tag("translate")]
    | Annotated[Rotate, Tag("rotate")]
    | Annotated[Keyframes, Tag("keyframes")]
    | Annotated[FollowAnimation, Tag("animation")],
    by_type("translate", "rotate", "keyframes", "animation"),
]


class Pin(Model):
    """Fixed nodes."""

    where: Where = option("The nodes.")
    until: Moment | None = option("Time at which they are released; never by default.", None, unit="s")


class Drive(Model):
    """Nodes with a prescribed motion."""

    where: Where = option("The nodes.")
    motion: _DriveMotion = option("Their motion.")
    until: Moment | None = option("Time at which they are released; never by default.", None, unit="s")


_AxisOrVector = Annotated[
    Annotated[Literal["x", "y", "z"], Tag("word")] | Annotated[Direction, Tag("list")], by_kind()
]


class Lock(Model):
    """Nodes that are fixed or driven along one direction, and free in the others."""

    where: Where = option("The nodes.")
    direction: _AxisOrVector = option("The direction: an axis or a vector.")
    motion: Motion | None = option(
        "Motion along the direction; its other components are ignored. Fixed by default.", None
    )
    until: Moment | None = option("Time at which they are released; never by default.", None, unit="s")


class Pull(Model):
    """A spring between a point of the surface and a target."""

    point: Vector = option("The closest point of the surface at rest is pulled.", unit="m")
    target: Vector = option("Target of the spring.", unit="m")
    stiffness: Number | None = option(
        "Stiffness of the spring; chosen from the stiffness of the body by default.", None, unit="N/m", gt=0
    )
