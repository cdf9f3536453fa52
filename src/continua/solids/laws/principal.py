"""Isotropic laws in principal stretches: what all of them share.

An isotropic law is an energy of the signed singular values f of F = U diag(f) V^T. A law's own file says how
that energy, its gradient and its Hessian depend on f; the rest is the same for all and stands here: the
extension below a least stretch, so that the law goes on through collapse and inversion (Irving et al. 2004),
and the derivative of P = U diag(g) V^T, which splits into the 3x3 Hessian and three 2x2 blocks.

The functions take the law's `principal` function as an argument; each law compiles its own copies.
"""

from __future__ import annotations

import numba
import numpy as np

from continua.numerics.mat3 import eigen_symmetric, load3, signed_svd

__all__ = ["diagonal_tangent", "extended", "law_energy", "law_stress", "law_tangent", "specialised"]

# Specialised for the law that is passed in; the law's own kernels are what is kept in the cache.
specialised = numba.njit(
    fastmath={"nsz", "arcp", "contract", "afn"}, error_model="numpy", nogil=True, forceinline=True
)

_STEP = 1e-5  # relative step of the central difference for the one third derivative that is needed


@specialised
def extended(principal, f0, f1, f2, lam, mu, limit):
    """Return energy, gradient (3) and Hessian (00, 11, 22, 01, 02, 12) of a law, continued below `limit`.

    A stretch below the limit is held there, and the energy goes on as psi(c) + g(c) d + slope/2 d^2 in the
    missing part d: the stress of that stretch is extrapolated linearly, and the whole stays the gradient of
    an energy. The slope is the law's own where one stretch is at the limit and the others are 1. A constant
    extrapolation would let tangled elements grow without bound.
    """
    c0, c1, c2 = max(f0, limit), max(f1, limit), max(f2, limit)
    e, (g0, g1, g2), (h00, h11, h22, h01, h02, h12) = principal(c0, c1, c2, lam, mu)
    if f2 >= limit:  # the smallest
        return e, (g0, g1, g2), (h00, h11, h22, h01, h02, h12)
    slope = principal(1.0, 1.0, limit, lam, mu)[2][2]
    d0, d1, d2 = f0 - c0, f1 - c1, f2 - c2
    e += g0 * d0 + g1 * d1 + g2 * d2 + 0.5 * slope * (d0 * d0 + d1 * d1 + d2 * d2)
    k0, k1, k2 = g0, g1, g2
    if d0 == 0.0:
        k0 += h01 * d1 + h02 * d2
        # how the couplings to the held stretches change with f0
        s = _STEP * c0
        _, _, up = principal(c0 + s, c1, c2, lam, mu)
        _, _, down = principal(c0 - s, c1, c2, lam, mu)
        h00 += ((up[3] - down[3]) * d1 + (up[4] - down[4]) * d2) / (2.0 * s)
        if d1 == 0.0:
            h01 += (up[5] - down[5]) / (2.0 * s) * d2
            k1 += h12 * d2
            s = _STEP * c1
            _, _, up = principal(c0, c1 + s, c2, lam, mu)
            _, _, down = principal(c0, c1 - s, c2, lam, mu)
            h11 += (up[5] - down[5]) / (2.0 * s) * d2
    if d0 != 0.0:
        k0 += slope * d0
        h00, h01, h02 = slope, 0.0, 0.0
    if d1 != 0.0:
        k1 += slope * d1
        h11, h12 = slope, 0.0
    k2 += slope * d2
    return e, (k0, k1, k2), (h00, h11, slope, h01, h02, h12)


@specialised
def _pair(fi, fj, gi, gj, hi, hj, hij, definite):
    """Return (a, b) of the block [[a, b], [b, a]] that couples dF_ij and dF_ji."""
    scale = abs(fi) + abs(fj)
    difference = fi - fj
    s = (gi - gj) / difference if abs(difference) > 1e-6 * scale else 0.5 * (hi + hj) - hij
    total = fi + fj
    t = (gi + gj) / (total if abs(total) > 1e-9 * scale else 1e-9 * scale + 1e-300)
    if definite:
        s = max(s, 0.0)
        t = max(t, 0.0)
    return 0.5 * (s + t), 0.5 * (s - t)


@specialised
def diagonal_tangent(f, g, h, definite):
    """Return the derivative of the stress in the diagonal frame: Hessian (6), a (01, 02, 12) and b (01, 02, 12).

    With `definite` negative eigenvalues of all parts are raised to zero.
    """
    a01, b01 = _pair(f[0], f[1], g[0], g[1], h[0], h[1], h[3], definite)
    a02, b02 = _pair(f[0], f[2], g[0], g[2], h[0], h[2], h[4], definite)
    a12, b12 = _pair(f[1], f[2], g[1], g[2], h[1], h[2], h[5], definite)
    if definite:
        w, Q = eigen_symmetric(h[0], h[3], h[4], h[1], h[5], h[2])
        if w[2] < 0.0:
            p, q, r = max(w[0], 0.0), max(w[1], 0.0), max(w[2], 0.0)
            h = (
                p * Q[0] * Q[0] + q * Q[1] * Q[1] + r * Q[2] * Q[2],
                p * Q[3] * Q[3] + q * Q[4] * Q[4] + r * Q[5] * Q[5],
                p * Q[6] * Q[6] + q * Q[7] * Q[7] + r * Q[8] * Q[8],
                p * Q[0] * Q[3] + q * Q[1] * Q[4] + r * Q[2] * Q[5],
                p * Q[0] * Q[6] + q * Q[1] * Q[7] + r * Q[2] * Q[8],
                p * Q[3] * Q[6] + q * Q[4] * Q[7] + r * Q[5] * Q[8],
            )
    return h, (a01, a02, a12), (b01, b02, b12)


@specialised
def law_energy(principal, F, p, limit):
    """Return the energy density of a law at F, with p = (lambda, mu)."""
    _, f, _ = signed_svd(load3(F.reshape(1, 3, 3), 0))
    return extended(principal, f[0], f[1], f[2], p[0], p[1], limit)[0]


@specialised
def law_stress(principal, F, p, limit):
    """Return the first Piola-Kirchhoff stress of a law at F."""
    U, f, V = signed_svd(load3(F.reshape(1, 3, 3), 0))
    _, g, _ = extended(principal, f[0], f[1], f[2], p[0], p[1], limit)
    P = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            P[i, j] = sum3(U[3 * i] * g[0] * V[3 * j], U[3 * i + 1] * g[1] * V[3 * j + 1],
                           U[3 * i + 2] * g[2] * V[3 * j + 2])  # fmt: skip
    return P


@specialised
def sum3(a, b, c):
    """Return a + b + c."""
    return a + b + c


@specialised
def law_tangent(principal, F, p, limit, definite):
    """Return dP/dF of a law at F as a 9x9 matrix, F row by row."""
    U, f, V = signed_svd(load3(F.reshape(1, 3, 3), 0))
    _, g, h = extended(principal, f[0], f[1], f[2], p[0], p[1], limit)
    h, a, b = diagonal_tangent(f, g, h, definite)
    H = np.array([[h[0], h[3], h[4]], [h[3], h[1], h[5]], [h[4], h[5], h[2]]])
    T = np.zeros((9, 9))
    Q = np.empty((9, 9))  # column (i, j): the matrix U e_i e_j^T V^T, row by row
    for i in range(3):
        for j in range(3):
            for r in range(3):
                for s in range(3):
                    Q[3 * r + s, 3 * i + j] = U[3 * r + i] * V[3 * s + j]
            T[4 * i, 4 * j] += H[i, j]
    for k in range(3):
        i, j = (0, 1) if k == 0 else ((0, 2) if k == 1 else (1, 2))
        T[3 * i + j, 3 * i + j] = a[k]
        T[3 * j + i, 3 * j + i] = a[k]
        T[3 * i + j, 3 * j + i] = b[k]
        T[3 * j + i, 3 * i + j] = b[k]
    return Q @ T @ Q.T
