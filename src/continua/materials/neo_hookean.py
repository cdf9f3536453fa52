"""Neo-Hookean with the logarithm of the volume ratio, which resists collapse without bound."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from continua.materials.law import Hyperelastic
from continua.materials.registry import law_function, register
from continua.materials.volume_measures import log_ratio

__all__ = ["NeoHookean"]


@law_function
def _principal(f0, f1, f2, p):
    """Return energy, gradient and Hessian (00, 11, 22, 01, 02, 12) in the principal stretches."""
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


@register(
    "neo_hookean",
    title="Neo-Hookean",
    summary="Rubber and tissue at large strains; resists compression to zero volume without bound.",
)
@dataclass(frozen=True)
class NeoHookean(Hyperelastic):
    """Neo-Hookean: energy mu/2 (|F|^2 - 3) - mu log J + lambda/2 (log J)^2, J = det F.

    The usual law of rubber and tissue at large strains. Below a stretch of 0.25 the stress is extrapolated
    linearly, so collapsed and inverted elements push back with a finite force.
    """

    principal = _principal
    volume = log_ratio
    least_stretch = 0.25
