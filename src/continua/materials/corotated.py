"""Corotated elasticity: small strain in the rotated frame, robust through inversion."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from numba import prange

from continua.errors import InputError
from continua.materials.law import Law
from continua.materials.point_kernels import fill_points
from continua.materials.principal_stretch import principal_point
from continua.numerics import inline, kernel_pair

__all__ = ["Corotated", "principal"]


@inline
def principal(f0, f1, f2, p):
    """Return energy, gradient and Hessian (00, 11, 22, 01, 02, 12) in the principal stretches; defined for all."""
    lam, mu = p[0], p[1]
    d0, d1, d2 = f0 - 1.0, f1 - 1.0, f2 - 1.0
    t = lam * (d0 + d1 + d2)
    k = 2.0 * mu + lam
    energy = mu * (d0 * d0 + d1 * d1 + d2 * d2) + 0.5 * t * (d0 + d1 + d2)
    return energy, (2.0 * mu * d0 + t, 2.0 * mu * d1 + t, 2.0 * mu * d2 + t), (k, k, k, lam, lam, lam)


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


@dataclass(frozen=True)
class Corotated(Law):
    """Corotated strain with Hooke's law: energy mu |S - I|^2 + lambda/2 tr(S - I)^2, F = R S.

    R is the proper rotation closest to F, also for an inverted element (then the smallest stretch is
    negative, and the stress pushes the element back through its nearest face). For large rotations and moderate
    strains: the default law of a soft body.

    Attributes:
        rotation: Deformation gradient that defines the rotation of a tetrahedron of order 2 or 3: "mean", its volume
            mean, or "corner", that of its corners (Weber 2015). The mean leaves less spurious torque. Other elements
            ignore it.
    """

    rotation: str = "mean"

    name = "corotated"
    is_small_strain = True
    is_rotation_invariant = True
    evaluate_points = _evaluate_points

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rotation not in ("mean", "corner"):
            raise InputError(f"rotation must be 'mean' or 'corner', not {self.rotation!r}")
