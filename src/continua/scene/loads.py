"""Loads: forces on nodes, pressure and traction on faces, body forces, and functions of time."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Tag, model_validator
from pydantic_core import PydanticCustomError

from continua.scene.selectors import Where
from continua.scene.types import Direction, Model, Moment, Number, Vector, by_kind, by_type, option

__all__ = ["LoadFaces", "LoadVolume", "Press", "Push", "Radial", "TimeFunction", "Wave"]


class TimeFunction(Model):
    """Factor of a load as a function of time: piecewise linear between given times, constant before and after."""

    times: list[Moment] = option("Increasing times.", unit="s", min_length=1, max_length=100_000)
    factors: list[Number] = option("Factor of the load at each time.", min_length=1)

    @model_validator(mode="after")
    def _match(self) -> Self:
        if len(self.times) != len(self.factors):
            raise PydanticCustomError(
                "lengths_differ",
                "'times' and 'factors' must be equally long (got {times} and {factors})",
                {"times": len(self.times), "factors": len(self.factors)},
            )
        if any(b <= a for a, b in zip(self.times, self.times[1:], strict=False)):
            raise PydanticCustomError("not_increasing", "'times' must increase")
        return self


class _Load(Model):
    course: TimeFunction | None = option("Factor as a function of time; constant by default.", None)
    until: Moment | None = option("End time; never by default.", None, unit="s")


class Push(_Load):
    """A force on nodes."""

    where: Where = option("The nodes.")
    force: Vector = option("Total force, distributed over the nodes.", unit="N")


class Press(_Load):
    """A follower pressure on faces."""

    where: Where = option("The faces, selected by their centres; node indices do not select faces.")
    pressure: Number = option("Pressure; positive pushes into the body.", unit="Pa")


_NumberOrVector = Annotated[Annotated[Number, Tag("number")] | Annotated[Vector, Tag("list")], by_kind()]


class LoadFaces(_Load):
    """A traction on faces: a force per area at rest with a fixed direction."""

    where: Where = option("The faces, selected by their centres; node indices do not select faces.")
    traction: _NumberOrVector = option(
        "Traction; a single number acts along the outward normal: positive pulls, negative pushes.", unit="Pa"
    )


class Wave(Model):
    """A travelling wave of force."""

    type: Literal["wave"] = option("A travelling wave.")
    force: Vector = option("Amplitude.", unit="N/m³")
    direction: Direction = option("Direction of travel.")
    length: Number = option("Wavelength.", unit="m", gt=0)
    period: Number = option("Period.", unit="s", gt=0)


class Radial(Model):
    """A radial force away from a point (source) or towards it (sink)."""

    type: Literal["radial"] = option("A radial force.")
    center: Vector = option("The point.", unit="m")
    force: Number = option("Maximum force; negative is towards the point.", unit="N/m³")
    radius: Number = option("Distance from the point at which the force is largest.", unit="m", gt=0)


_FieldOfForce = Annotated[
    Annotated[Wave, Tag("wave")] | Annotated[Radial, Tag("radial")], by_type("wave", "radial")
]


class LoadVolume(_Load):
    """A body force on elements, per volume at rest."""

    where: Where = option(
        "The elements, selected by their centres; node indices do not select elements.", "all"
    )
    force: Vector | None = option("A uniform force.", None, unit="N/m³")
    field: _FieldOfForce | None = option("A force field in space and time.", None)

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.force is None) == (self.field is None):
            raise PydanticCustomError("force_or_field", "takes either 'force' or 'field'")
        return self
