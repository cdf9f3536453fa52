"""Corotated elasticity: small strain in the rotated frame, robust through inversion."""

from __future__ import annotations

from dataclasses import dataclass

from continua.materials.law import Law
from continua.materials.registry import constant, law_function, register
from continua.materials.volume_measures import stretch_trace

__all__ = ["Corotated", "principal"]


@law_function
def principal(f0, f1, f2, p):
    """Return energy, gradient and Hessian (00, 11, 22, 01, 02, 12) in the principal stretches."""
    lam, mu = p[0], p[1]
    d0, d1, d2 = f0 - 1.0, f1 - 1.0, f2 - 1.0
    t = lam * (d0 + d1 + d2)
    k = 2.0 * mu + lam
    energy = mu * (d0 * d0 + d1 * d1 + d2 * d2) + 0.5 * t * (d0 + d1 + d2)
    return energy, (2.0 * mu * d0 + t, 2.0 * mu * d1 + t, 2.0 * mu * d2 + t), (k, k, k, lam, lam, lam)


@register(
    "corotated",
    title="Corotated linear elasticity",
    summary="Linear elasticity in the rotated frame of each element, for large rotations and bending.",
)
@dataclass(frozen=True)
class Corotated(Law):
    """Corotated strain with Hooke's law: energy mu |S - I|^2 + lambda/2 tr(S - I)^2, F = R S.

    R is the proper rotation closest to F, also for an inverted element (then the smallest stretch is
    negative, and the stress pushes the element back through its nearest face). For large rotations and moderate
    strains: the default law of a soft body.

    Attributes:
        rotation: "exact": at every quadrature point, with its derivative in force and tangent. "mean" and "corner" are
            faster (a step takes 0.7 to 0.95 of the time), without the derivative: a tetrahedron has one rotation, of
            its volume mean or its corners (Weber 2015). At order 2 and 3 it then bends too far: a slender cantilever
            bent by 56 degrees by 4.4 % at order 2 with 20 cells along it, and by 9.1 % at order 3 with 10. "auto", the
            default, is exact at order 2 and 3. At order 1 all choices have the same force, the gradient of the energy;
            there "auto" has the tangent with frozen rotations of the fast choices. With it stretched strings may become
            unstable at long time steps; with the exact one stiff bodies that spin in contact are braked at long time
            steps. Hexahedra and plane elements are always exact.
    """

    rotation: str = constant(
        "auto",
        "Rotations in tetrahedra: exact, or the faster and softer one of a whole element, of its mean or its corners; "
        "`auto` is exact at order 2 and 3, and at order 1 in the force, with frozen rotations in the tangent.",
        choices=("auto", "exact", "mean", "corner"),
    )

    principal = principal
    volume = stretch_trace
    is_small_strain = True
    is_rotation_invariant = True
