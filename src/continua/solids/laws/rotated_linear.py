"""The rotated-linear law: the corotated energy with its exact tangent."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from numba import prange

from continua.numerics import inline, kernel_pair
from continua.solids.hyper_kernels import fill_records
from continua.solids.laws.corotated import principal
from continua.solids.laws.law import Hyperelastic
from continua.solids.laws.principal import principal_point
from continua.solids.point_kernels import fill_points

__all__ = ["RotatedLinear"]


@inline
def _point(F, p, definite, T):
    return principal_point(principal, -inf, F, p, definite, T)


@kernel_pair
def _points(coefficients, elements, gradients, plane, constants, plastic, definite, records, inverted):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_points(
            _point, coefficients, elements, gradients, plane, constants, plastic, definite, records, chunk
        )


@kernel_pair
def _records(positions, tets, rest_inverse, volumes, constants, records, inverted):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_records(
            principal, positions, tets, rest_inverse, volumes, constants, -inf, records, chunk
        )


@dataclass(frozen=True)
class RotatedLinear(Hyperelastic):
    """Rotated linear (Irving 2007): energy mu sum (f - 1)^2 + lambda/2 (sum (f - 1))^2 of the signed stretches f.

    The energy of `Corotated`, whose tangent leaves out how the rotations change. With the exact one Newton's
    iteration converges faster where strains are large; a step costs as much as one of the other laws of stretches.
    """

    name = "rotated_linear"
    points = _points
    records = _records
