"""St. Venant-Kirchhoff: Hooke's law on Green's strain."""

from __future__ import annotations

from dataclasses import dataclass

from numba import prange

from continua.materials.law import Hyperelastic
from continua.materials.point_kernels import fill_points
from continua.materials.principal_stretch import principal_point
from continua.materials.tet_kernels import fill_records
from continua.numerics import inline, kernel_pair

__all__ = ["StVenantKirchhoff"]

LIMIT = 0.7  # above 1/sqrt(3), where the law itself begins to soften


@inline
def principal(f0, f1, f2, p):
    lam, mu = p[0], p[1]
    e0, e1, e2 = 0.5 * (f0 * f0 - 1.0), 0.5 * (f1 * f1 - 1.0), 0.5 * (f2 * f2 - 1.0)
    t = lam * (e0 + e1 + e2)
    s0, s1, s2 = 2.0 * mu * e0 + t, 2.0 * mu * e1 + t, 2.0 * mu * e2 + t
    k = 2.0 * mu + lam
    energy = mu * (e0 * e0 + e1 * e1 + e2 * e2) + 0.5 * t * (e0 + e1 + e2)
    gradient = (s0 * f0, s1 * f1, s2 * f2)
    hessian = (
        s0 + k * f0 * f0, s1 + k * f1 * f1, s2 + k * f2 * f2,
        lam * f0 * f1, lam * f0 * f2, lam * f1 * f2,
    )  # fmt: skip
    return energy, gradient, hessian


@inline
def _point(F, p, definite, T):
    return principal_point(principal, LIMIT, F, p, definite, T)


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
            principal, positions, tets, rest_inverse, volumes, constants, LIMIT, records, chunk
        )


@dataclass(frozen=True)
class StVenantKirchhoff(Hyperelastic):
    """St. Venant-Kirchhoff: energy mu |E|^2 + lambda/2 tr(E)^2 with Green's strain E = (F^T F - I)/2.

    The textbook law of large rotations and small strains. It softens under compression; below a stretch of 0.7
    the stress is extrapolated linearly instead.
    """

    name = "st_venant_kirchhoff"
    evaluate_points = _evaluate_points
    evaluate_tets = _evaluate_tets
