"""What holds and moves a body: pins, driven nodes, locks and springs, and the motions they follow."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Tag, model_validator
from pydantic_core import PydanticCustomError

from continua.scene.selectors import Where
from continua.scene.types import Direction, Model, Moment, Number, Vector, by_kind, by_type, option

__all__ = ["Drive", "Keyframes", "Lock", "Motion", "Pin", "Pull", "Rotate", "Translate"]


class Translate(Model):
    """Move along a straight line."""

    type: Literal["translate"] = option("Move along a line.")
    velocity: Vector = option("Velocity.", unit="m/s")
    until: Moment | None = option("When the motion stops; the nodes are held there after.", None, unit="s")


class Rotate(Model):
    """Turn about a fixed axis."""

    type: Literal["rotate"] = option("Turn about an axis.")
    axis: Direction = option("Direction of the axis.")
    point: Vector = option("A point of the axis.", (0.0, 0.0, 0.0), unit="m")
    degrees_per_second: Number = option("Angular speed, by the right-hand rule.", unit="deg/s")
    until: Moment | None = option("When the motion stops; the nodes are held there after.", None, unit="s")


class Keyframes(Model):
    """Move through given offsets at given times, straight between them."""

    type: Literal["keyframes"] = option("Move through given offsets.")
    times: list[Moment] = option("Increasing times.", unit="s", min_length=1, max_length=100_000)
    offsets: list[Vector] = option("Offset from rest at each time.", unit="m", min_length=1)

    @model_validator(mode="after")
    def _match(self) -> Self:
        if len(self.times) != len(self.offsets):
            raise PydanticCustomError(
                "lengths_differ",
                "'times' and 'offsets' must be equally long (got {times} and {offsets})",
                {"times": len(self.times), "offsets": len(self.offsets)},
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


class Pin(Model):
    """Hold nodes where they are."""

    where: Where = option("Which nodes.")
    until: Moment | None = option("When they are let go; never by default.", None, unit="s")


class Drive(Model):
    """Move nodes along a prescribed motion."""

    where: Where = option("Which nodes.")
    motion: Motion = option("How they move.")
    until: Moment | None = option("When they are let go; never by default.", None, unit="s")


_AxisOrVector = Annotated[
    Annotated[Literal["x", "y", "z"], Tag("word")] | Annotated[Direction, Tag("list")], by_kind()
]


class Lock(Model):
    """Hold nodes along one direction, or move them along it, and leave them free across it."""

    where: Where = option("Which nodes.")
    direction: _AxisOrVector = option("The direction: an axis or a vector.")
    motion: Motion | None = option(
        "How they move along the direction; only that part of the motion counts. Held by default.", None
    )
    until: Moment | None = option("When they are let go; never by default.", None, unit="s")


class Pull(Model):
    """Tie the surface to a target by a spring."""

    point: Vector = option("The nearest point of the surface at rest is pulled.", unit="m")
    target: Vector = option("Where it is pulled to.", unit="m")
    stiffness: Number | None = option(
        "Stiffness of the spring; by default it suits the body.", None, unit="N/m", gt=0
    )
