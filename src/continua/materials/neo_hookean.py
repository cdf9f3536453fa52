"""Neo-Hookean with the logarithm of the volume ratio, which resists collapse without bound."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from numba import prange

from continua.materials.law import Hyperelastic
from continua.materials.point_kernels import fill_points
from continua.materials.principal_stretch import principal_point
from continua.materials.tet_kernels import fill_records
from continua.numerics import inline, kernel_pair

__all__ = ["NeoHookean"]

LIMIT = 0.25  # least stretch of the formula; below, the stress is extrapolated linearly


@inline
def _principal(f0, f1, f2, p):
    lam, mu = p[0], p[1]
    l = log(f0 * f1 * f2)
    i0, i1, i2 = 1.0 / f0, 1.0 / f1, 1.0 / f2
    t = lam * l - mu
    q = lam + mu - lam * l
    energy = 0.5 * mu * (f0 * f0 + f1 * f1 + f2 * f2 - 3.0) - mu * l + 0.5 * lam * l * l
    gradient = (mu * f0 + t * i0, mu * f1 + t * i1, mu * f2 + t * i2)
    hessian = (
        mu + q * i0 * i0, mu + q * i1 * i1, mu + q * i2 * i2,
        lam * i0 * i1, lam * i0 * i2, lam * i1 * i2,
    )  # fmt: skip
    return energy, gradient, hessian


@inline
def _point(F, p, definite, T):
    return principal_point(_principal, LIMIT, F, p, definite, T)


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
            _principal, positions, tets, rest_inverse, volumes, constants, LIMIT, records, chunk
        )


@dataclass(frozen=True)
class NeoHookean(Hyperelastic):
    """Neo-Hookean: energy mu/2 (|F|^2 - 3) - mu log J + lambda/2 (log J)^2, J = det F.

    The usual law of rubber and tissue at large strains. Below a stretch of 0.25 the stress is extrapolated
    linearly, so collapsed and inverted elements push back with a finite force.
    """

    name = "neo_hookean"
    evaluate_points = _evaluate_points
    evaluate_tets = _evaluate_tets
