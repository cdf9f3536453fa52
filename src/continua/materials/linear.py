"""Linear elasticity: small strain, valid for small displacements and rotations."""

from __future__ import annotations

from dataclasses import dataclass

from continua.materials.law import Law
from continua.materials.registry import law_function, register
from continua.materials.volume_measures import stretch_trace

__all__ = ["Linear"]


@law_function
def _point(F, p, definite, T):
    """Write dP/dF, which is constant and positive semidefinite, and return energy density and P."""
    lam, mu = p[0], p[1]
    for r in range(9):
        for c in range(9):
            T[r, c] = 0.0
    for i in range(3):
        for j in range(3):
            T[3 * i + j, 3 * i + j] += mu
            T[3 * i + j, 3 * j + i] += mu
            T[4 * i, 4 * j] += lam
    e0, e1, e2 = F[0] - 1.0, F[4] - 1.0, F[8] - 1.0
    s01, s02, s12 = F[1] + F[3], F[2] + F[6], F[5] + F[7]
    t = lam * (e0 + e1 + e2)
    energy = mu * (e0 * e0 + e1 * e1 + e2 * e2 + 0.5 * (s01 * s01 + s02 * s02 + s12 * s12))
    energy += 0.5 * t * (e0 + e1 + e2)
    return energy, (
        2.0 * mu * e0 + t, mu * s01, mu * s02,
        mu * s01, 2.0 * mu * e1 + t, mu * s12,
        mu * s02, mu * s12, 2.0 * mu * e2 + t,
    )  # fmt: skip


@register(
    "linear",
    title="Linear elasticity",
    summary="Linear elasticity, for small rotations only; the fastest.",
)
@dataclass(frozen=True)
class Linear(Law):
    """Linear (Cauchy) strain with Hooke's law: energy mu |e|^2 + lambda/2 tr(e)^2, e = sym(F) - I.

    Use it for small deformations, for validation and for speed; a body that rotates by more than a few degrees
    swells and has spurious forces. Use `Corotated` for everything that moves.
    """

    point = _point
    volume = stretch_trace
    is_small_strain = True
    is_rotation_invariant = False
    constant_stiffness = True
