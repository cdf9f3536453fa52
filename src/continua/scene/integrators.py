"""Time integrators: the `integrator` of a body."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Tag, model_validator
from pydantic_core import PydanticCustomError

from continua.scene.types import Count, Flag, Model, Number, by_type, option

__all__ = ["EnergyMomentum", "Explicit", "ImplicitEuler", "Integrator", "Newmark", "SemiImplicit"]

_NEWTON = "Most Newton iterations a step; 1 takes the forces as linear over the step."
_SUBSTEPS = "Cut steps above the stability limit into parts below it."


class ImplicitEuler(Model):
    """Unconditionally stable, first order, damps fast oscillations."""

    type: Literal["implicit_euler"] = option("Implicit Euler.")
    newton: Count = option(_NEWTON, 1, ge=1, le=1000)


class Newmark(Model):
    """Unconditionally stable for linear bodies, second order, conserves energy."""

    type: Literal["newmark"] = option("Newmark's method, by default with average acceleration.")
    newton: Count = option(_NEWTON, 4, ge=1, le=1000)
    beta: Number = option("Weight of the new acceleration in the positions.", 0.25, ge=0.25, le=10)
    gamma: Number = option(
        "Weight of the new acceleration in the velocities; above 0.5 it damps fast oscillations.",
        0.5,
        ge=0.5,
        le=10,
    )

    @model_validator(mode="after")
    def _stable(self) -> Self:
        if 2.0 * self.beta < self.gamma:
            raise PydanticCustomError("unstable", "needs a 'beta' of at least half of 'gamma'")
        return self


class EnergyMomentum(Model):
    """Second order, conserves energy, momentum and angular momentum at any amplitude."""

    type: Literal["energy_momentum"] = option("The energy-momentum method of Simo and Tarnow.")
    newton: Count = option(
        "Most Newton iterations a step; one that needs more is done in parts.", 30, ge=1, le=1000
    )


class Explicit(Model):
    """Central differences with lumped mass: the cheapest step, for short steps only."""

    type: Literal["explicit"] = option("Explicit central differences.")
    substeps: Flag = option(_SUBSTEPS, True)


class SemiImplicit(Model):
    """Elastic forces explicit, damping implicit, exact friction on obstacles (Irving 2007)."""

    type: Literal["semi_implicit"] = option("The semi-implicit integrator of Irving.")
    substeps: Flag = option(_SUBSTEPS, True)


Word = Literal["implicit_euler", "newmark", "energy_momentum", "explicit", "semi_implicit"]
Integrator = Annotated[
    Annotated[Word, Tag("word")]
    | Annotated[ImplicitEuler, Tag("implicit_euler")]
    | Annotated[Newmark, Tag("newmark")]
    | Annotated[EnergyMomentum, Tag("energy_momentum")]
    | Annotated[Explicit, Tag("explicit")]
    | Annotated[SemiImplicit, Tag("semi_implicit")],
    by_type("word", "implicit_euler", "newmark", "energy_momentum", "explicit", "semi_implicit"),
]
