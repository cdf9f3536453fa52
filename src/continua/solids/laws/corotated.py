"""Corotated elasticity: small strain in the frame that turns with the material, safe through inversion."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from numba import prange

from continua.errors import InputError
from continua.numerics import inline, kernel_pair
from continua.solids.laws.law import Law
from continua.solids.laws.principal import principal_point
from continua.solids.point_kernels import fill_points

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
def _points(coefficients, elements, gradients, plane, constants, plastic, definite, records, inverted):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_points(
            _point, coefficients, elements, gradients, plane, constants, plastic, definite, records, chunk
        )


@dataclass(frozen=True)
class Corotated(Law):
    """Corotated strain with Hooke's law: energy mu |S - I|^2 + lambda/2 tr(S - I)^2, F = R S.

    R is the proper rotation nearest to F, also for an inverted element (then the smallest stretch is
    negative, and the stress pushes the element back through its nearest face). Real constants, large
    rotations, moderate strains: the default law of a soft body.

    Attributes:
        rotation: What a tetrahedron of order 2 or 3 takes its one rotation from: "mean", the volume mean of its
            deformation gradient, or "corner", the gradient of its corners alone (Weber 2015). The mean leaves less
            spurious torque. Other elements do not ask.
    """

    rotation: str = "mean"

    name = "corotated"
    small_strain = True
    follows_rotation = True
    points = _points

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rotation not in ("mean", "corner"):
            raise InputError(f"rotation must be 'mean' or 'corner', not {self.rotation!r}")
