"""What loads a body: forces on nodes, pressure and traction on faces, forces on its matter, and how they change."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Tag, model_validator
from pydantic_core import PydanticCustomError

from continua.scene.selectors import Where
from continua.scene.types import Direction, Model, Moment, Number, Vector, by_kind, by_type, option

__all__ = ["LoadFaces", "LoadVolume", "Press", "Push", "Radial", "TimeFunction", "Wave"]


class TimeFunction(Model):
    """How a load changes with time: factors at given times, straight between them, even before and after."""

    times: list[Moment] = option("Increasing times.", unit="s", min_length=1, max_length=100_000)
    factors: list[Number] = option("What the load is multiplied by at each time.", min_length=1)

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
    course: TimeFunction | None = option(
        "How the load changes with time; it stays the same by default.", None
    )
    until: Moment | None = option("When the load ends; never by default.", None, unit="s")


class Push(_Load):
    """Load nodes with a force."""

    where: Where = option("Which nodes.")
    force: Vector = option("Total force, spread over the nodes.", unit="N")


class Press(_Load):
    """Press on faces with a pressure that follows them as they move and turn."""

    where: Where = option("Faces whose centres are chosen; node numbers cannot choose faces.")
    pressure: Number = option("Pressure; positive pushes into the body.", unit="Pa")


_NumberOrVector = Annotated[Annotated[Number, Tag("number")] | Annotated[Vector, Tag("list")], by_kind()]


class LoadFaces(_Load):
    """Load faces with a traction: a force for each area at rest that keeps its direction."""

    where: Where = option("Faces whose centres are chosen; node numbers cannot choose faces.")
    traction: _NumberOrVector = option(
        "Traction; a single number acts along the outward normal: positive pulls, negative pushes.", unit="Pa"
    )


class Wave(Model):
    """A wave of force that runs through space."""

    type: Literal["wave"] = option("A travelling wave.")
    force: Vector = option("Amplitude.", unit="N/m³")
    direction: Direction = option("Where it runs to.")
    length: Number = option("Wavelength.", unit="m", gt=0)
    period: Number = option("Time from crest to crest.", unit="s", gt=0)


class Radial(Model):
    """A source that pushes away from a point, or a sink that draws in."""

    type: Literal["radial"] = option("Away from a point, or towards it.")
    center: Vector = option("The point.", unit="m")
    force: Number = option("Largest force; negative draws in.", unit="N/m³")
    radius: Number = option("Distance at which it is reached.", unit="m", gt=0)


_FieldOfForce = Annotated[
    Annotated[Wave, Tag("wave")] | Annotated[Radial, Tag("radial")], by_type("wave", "radial")
]


class LoadVolume(_Load):
    """Load the matter of elements with a force for each volume at rest."""

    where: Where = option("Elements whose centres are chosen; node numbers cannot choose elements.", "all")
    force: Vector | None = option("An even force.", None, unit="N/m³")
    field: _FieldOfForce | None = option("A force that depends on place and time.", None)

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.force is None) == (self.field is None):
            raise PydanticCustomError("force_or_field", "takes either 'force' or 'field'")
        return self
