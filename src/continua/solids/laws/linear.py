"""Linear elasticity: small strain in the rest frame. Exact for small rotations, wrong for large ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from continua.numerics import kernel
from continua.solids.laws.law import Law

__all__ = ["Linear"]


@kernel
def _energy(F, p):
    lam, mu = p[0], p[1]
    trace = F[0, 0] + F[1, 1] + F[2, 2] - 3.0
    square = 0.0
    for i in range(3):
        for j in range(3):
            e = 0.5 * (F[i, j] + F[j, i]) - (1.0 if i == j else 0.0)
            square += e * e
    return mu * square + 0.5 * lam * trace * trace


@kernel
def _stress(F, p):
    lam, mu = p[0], p[1]
    trace = F[0, 0] + F[1, 1] + F[2, 2] - 3.0
    P = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            P[i, j] = mu * (F[i, j] + F[j, i])
        P[i, i] += lam * trace - 2.0 * mu
    return P


@kernel
def _tangent(F, p, definite):
    lam, mu = p[0], p[1]
    T = np.zeros((9, 9))
    for i in range(3):
        for j in range(3):
            T[3 * i + j, 3 * i + j] += mu
            T[3 * i + j, 3 * j + i] += mu
            T[4 * i, 4 * j] += lam
    return T  # definite for every admissible Poisson's ratio


@dataclass(frozen=True)
class Linear(Law):
    """Linear (Cauchy) strain with Hooke's law: energy mu |e|^2 + lambda/2 tr(e)^2, e = sym(F) - I.

    Use it for small deformations, for validation and for speed; a body that turns by more than a few degrees
    swells and feels ghost forces. `Corotated` is the law for everything that moves.
    """

    name = "linear"
    follows_rotation = False
    energy = staticmethod(_energy)
    stress = staticmethod(_stress)
    tangent = staticmethod(_tangent)
