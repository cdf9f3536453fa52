"""St. Venant-Kirchhoff: Hooke's law on Green's strain."""

from __future__ import annotations

from dataclasses import dataclass

from continua.materials.law import Hyperelastic
from continua.materials.registry import law_function, register
from continua.materials.volume_measures import green_trace

__all__ = ["LEAST_STRETCH", "StVenantKirchhoff", "principal"]

LEAST_STRETCH = 0.7  # above 1/sqrt(3), where the law itself begins to soften


@law_function
def principal(f0, f1, f2, p):
    """Return energy, gradient and Hessian (00, 11, 22, 01, 02, 12) in the principal stretches."""
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


@register(
    "st_venant_kirchhoff",
    title="St. Venant-Kirchhoff",
    summary="Hooke's law on Green's strain, for large rotations and moderate strains.",
)
@dataclass(frozen=True)
class StVenantKirchhoff(Hyperelastic):
    """St. Venant-Kirchhoff: energy mu |E|^2 + lambda/2 tr(E)^2 with Green's strain E = (F^T F - I)/2.

    The textbook law of large rotations and small strains. It softens under compression; below a stretch of 0.7
    the stress is extrapolated linearly instead.
    """

    principal = principal
    volume = green_trace
    least_stretch = LEAST_STRETCH
