"""Corotated elasticity: small strain in the frame that turns with the material, safe through inversion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from continua.numerics import inline, kernel
from continua.numerics.mat3 import load3, signed_svd
from continua.solids.laws.law import Law

__all__ = ["Corotated"]


@inline
def _decompose(F):
    """Return (U, f, V) of the signed singular value decomposition as arrays."""
    u, f, v = signed_svd(load3(F.reshape(1, 3, 3), 0))
    U = np.empty((3, 3))
    V = np.empty((3, 3))
    s = np.empty(3)
    for i in range(3):
        s[i] = f[i]
        for j in range(3):
            U[i, j] = u[3 * i + j]
            V[i, j] = v[3 * i + j]
    return U, s, V


@kernel
def _energy(F, p):
    lam, mu = p[0], p[1]
    _, f, _ = _decompose(F)
    trace = f[0] + f[1] + f[2] - 3.0
    return mu * ((f - 1.0) ** 2).sum() + 0.5 * lam * trace * trace


@kernel
def _stress(F, p):
    lam, mu = p[0], p[1]
    U, f, V = _decompose(F)
    R = U @ V.T
    return 2.0 * mu * (F - R) + lam * (f.sum() - 3.0) * R


@kernel
def _tangent(F, p, definite):
    """dP = 2 mu dF + lambda tr(R^T dF) R + (lambda (tr S - 3) - 2 mu) dR.

    In the diagonal frame dR acts only on the three twist modes: the rotation about axis k changes by
    (dF_ij - dF_ji)/(f_i + f_j). The tangent therefore has the eigenvalue 2 mu on five modes and
    2 mu + (lambda (tr S - 3) - 2 mu) 2/(f_i + f_j) on the twists; only those can be negative.
    """
    lam, mu = p[0], p[1]
    U, f, V = _decompose(F)
    R = (U @ V.T).copy().reshape(9)
    T = 2.0 * mu * np.eye(9) + lam * np.outer(R, R)
    c = lam * (f.sum() - 3.0) - 2.0 * mu
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        twist = np.zeros((3, 3))
        twist[i, j] = np.sqrt(0.5)
        twist[j, i] = -np.sqrt(0.5)
        Q = (U @ twist @ V.T).copy().reshape(9)
        # two equal and opposite values make the rotation undefined; keep the quotient finite there
        gap = max(f[i] + f[j], 1e-12 * abs(f[0]) + 1e-300)
        value = 2.0 * c / gap
        if definite and value < -2.0 * mu:
            value = -2.0 * mu
        T += value * np.outer(Q, Q)
    return T


@dataclass(frozen=True)
class Corotated(Law):
    """Corotated strain with Hooke's law: energy mu |S - I|^2 + lambda/2 tr(S - I)^2, F = R S.

    R is the proper rotation nearest to F, also for an inverted element (then the smallest stretch is
    negative, and the stress pushes the element back through its nearest face). Real constants, large
    rotations, moderate strains: the default law of a soft body.
    """

    name = "corotated"
    follows_rotation = True
    energy = staticmethod(_energy)
    stress = staticmethod(_stress)
    tangent = staticmethod(_tangent)
