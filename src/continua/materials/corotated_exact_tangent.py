"""The corotated energy with its exact tangent."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from numba import prange

from continua.materials.corotated import principal
from continua.materials.law import Hyperelastic
from continua.materials.point_kernels import fill_points
from continua.materials.principal_stretch import principal_point
from continua.materials.tet_kernels import fill_records
from continua.numerics import inline, kernel_pair

__all__ = ["CorotatedExactTangent"]


@inline
def _point(F, p, definite, T):
    return principal_point(principal, -inf, F, p, definite, T)


@kernel_pair
def _evaluate_points(
    coefficients, elements, gradients, plane, constants, plastic, definite, records, inverted
):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_points(
            _point, coefficients, elements, gradients, plane, constants, plastic, definite, records, chunk
        )


@kernel_pair
def _evaluate_tets(positions, tets, rest_inverse, volumes, constants, records, inverted):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_records(
            principal, positions, tets, rest_inverse, volumes, constants, -inf, records, chunk
        )


@dataclass(frozen=True)
class CorotatedExactTangent(Hyperelastic):
    """Corotated with exact tangent, the "rotated linear" law of Irving (2007).

    Energy mu sum (f - 1)^2 + lambda/2 (sum (f - 1))^2 of the signed stretches f.

    The energy of `Corotated`, whose tangent leaves out the derivative of the rotation. With the exact tangent Newton's
    iteration converges faster at large strains; a step costs as much as with the other laws of principal stretches.
    """

    name = "corotated_exact_tangent"
    evaluate_points = _evaluate_points
    evaluate_tets = _evaluate_tets
