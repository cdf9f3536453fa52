"""The corotated energy with its exact tangent."""

from __future__ import annotations

from dataclasses import dataclass

from continua.materials.corotated import principal
from continua.materials.law import Hyperelastic
from continua.materials.registry import register
from continua.materials.volume_measures import stretch_trace

__all__ = ["CorotatedExactTangent"]


@register(
    "corotated_exact_tangent",
    title="Corotated elasticity with exact tangent",
    summary="The corotated energy with its exact tangent, for Newton at large strains and for collapse.",
)
@dataclass(frozen=True)
class CorotatedExactTangent(Hyperelastic):
    """Corotated with exact tangent, the "rotated linear" law of Irving (2007).

    Energy mu sum (f - 1)^2 + lambda/2 (sum (f - 1))^2 of the signed stretches f.

    The energy of `Corotated`, whose tangent leaves out the derivative of the rotation. With the exact tangent Newton's
    iteration converges faster at large strains; a step costs as much as with the other laws of principal stretches.
    """

    principal = principal
    volume = stretch_trace
