"""The neo-Hookean law, which resists collapse ever more, with the logarithm of the volume."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from numba import prange

from continua.numerics import inline, kernel, kernel_pair
from continua.solids.hyper_kernels import fill_records
from continua.solids.laws.law import Hyperelastic
from continua.solids.laws.principal import law_energy, law_stress, law_tangent

__all__ = ["NeoHookean"]

LIMIT = 0.25  # least stretch of the formula itself; below, the stress goes on linearly


@inline
def _principal(f0, f1, f2, lam, mu):
    l = log(f0 * f1 * f2)
    i0, i1, i2 = 1.0 / f0, 1.0 / f1, 1.0 / f2
    p = lam * l - mu
    q = lam + mu - lam * l
    energy = 0.5 * mu * (f0 * f0 + f1 * f1 + f2 * f2 - 3.0) - mu * l + 0.5 * lam * l * l
    gradient = (mu * f0 + p * i0, mu * f1 + p * i1, mu * f2 + p * i2)
    hessian = (
        mu + q * i0 * i0, mu + q * i1 * i1, mu + q * i2 * i2,
        lam * i0 * i1, lam * i0 * i2, lam * i1 * i2,
    )  # fmt: skip
    return energy, gradient, hessian


@kernel
def _energy(F, p):
    return law_energy(_principal, F, p, LIMIT)


@kernel
def _stress(F, p):
    return law_stress(_principal, F, p, LIMIT)


@kernel
def _tangent(F, p, definite):
    return law_tangent(_principal, F, p, LIMIT, definite)


@kernel_pair
def _records(positions, tets, rest_inverse, volumes, lam, mu, records, inverted):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_records(
            _principal, positions, tets, rest_inverse, volumes, lam, mu, LIMIT, records, chunk
        )


@dataclass(frozen=True)
class NeoHookean(Hyperelastic):
    """Neo-Hookean: energy mu/2 (|F|^2 - 3) - mu log J + lambda/2 (log J)^2, J = det F.

    The usual law of rubber and tissue at large strains. Below a stretch of 0.25 the stress is extrapolated
    linearly, so collapsed and inverted elements push back with a finite force.
    """

    name = "neo_hookean"
    energy = staticmethod(_energy)
    stress = staticmethod(_stress)
    tangent = staticmethod(_tangent)
    records = _records
