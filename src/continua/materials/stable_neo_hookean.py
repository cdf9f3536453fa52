"""Stable neo-Hookean: smooth for every deformation, including flat and inverted ones."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from continua.materials.law import Hyperelastic
from continua.materials.registry import law_function, register
from continua.materials.volume_measures import volume_ratio

__all__ = ["StableNeoHookean", "principal"]


@law_function
def principal(f0, f1, f2, p):
    """Return energy, gradient and Hessian (00, 11, 22, 01, 02, 12) in the principal stretches."""
    lam, mu = p[0], p[1]
    # the constants for which small strains obey Hooke's law with the given ones
    m = 4.0 / 3.0 * mu
    k = lam + 5.0 / 6.0 * mu
    rest = 1.0 + 0.75 * m / k if k > 0.0 else 1.0  # arbitrary where the stiffness is zero
    i = f0 * f0 + f1 * f1 + f2 * f2
    j = f0 * f1 * f2 - rest
    w = 1.0 / (i + 1.0)
    s = m * (1.0 - w)
    t = 2.0 * m * w * w
    j0, j1, j2 = f1 * f2, f0 * f2, f0 * f1
    energy = 0.5 * m * (i - 3.0) + 0.5 * k * j * j - 0.5 * m * log(i + 1.0)
    zero = 0.5 * k * (1.0 - rest) * (1.0 - rest) - 0.5 * m * log(4.0)  # no energy at rest
    gradient = (s * f0 + k * j * j0, s * f1 + k * j * j1, s * f2 + k * j * j2)
    hessian = (
        s + t * f0 * f0 + k * j0 * j0,
        s + t * f1 * f1 + k * j1 * j1,
        s + t * f2 * f2 + k * j2 * j2,
        t * f0 * f1 + k * (j0 * j1 + j * f2),
        t * f0 * f2 + k * (j0 * j2 + j * f1),
        t * f1 * f2 + k * (j1 * j2 + j * f0),
    )
    return energy - zero, gradient, hessian


@register(
    "stable_neo_hookean",
    title="Stable neo-Hookean",
    summary="Soft tissue: nearly volume preserving, and smooth through collapse and inversion.",
)
@dataclass(frozen=True)
class StableNeoHookean(Hyperelastic):
    """Stable neo-Hookean (Smith, de Goes and Kim 2018): m/2 (|F|^2 - 3) + k/2 (J - r)^2 - m/2 log(|F|^2 + 1).

    m = 4/3 mu, k = lambda + 5/6 mu and r = 1 + 3/4 m/k, so that small strains obey Hooke's law with the given
    constants. Nearly volume preserving and without extension: the robust choice for soft tissue.
    """

    principal = principal
    volume = volume_ratio
