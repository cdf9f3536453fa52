"""Isotropic laws in principal stretches: extension through inversion, stress and tangent.

An isotropic law is an energy of the signed singular values f of F = U diag(f) V^T. A law's own file defines that energy
and its gradient and Hessian in f. This file has the part that is common to all: the extension below a least stretch,
which makes the law robust through collapse and inversion (Irving et al. 2004), and the derivative of
P = U diag(g) V^T, which splits into the 3x3 Hessian and three 2x2 blocks.

The functions take the law's `principal` function as an argument; each law compiles its own copies.
"""

from __future__ import annotations

from continua.materials.point_kernels import specialised
from continua.numerics.mat3 import eigen_symmetric, signed_svd

__all__ = [
    "diagonal_tangent",
    "extended",
    "extended_volume",
    "principal_point",
    "principal_pressure_point",
    "specialised",
]

_MIN_STRETCH_SUM = 1e-2  # sum of two stretches below which the definite tangent is bounded
_STEP = 1e-5  # relative step of the central difference for the one third derivative that is needed


@specialised
def extended(principal, f0, f1, f2, p, limit):
    """Return energy, gradient (3) and Hessian (00, 11, 22, 01, 02, 12) of a law, continued below `limit`.

    A stretch below the limit is clamped there, and the energy continues as psi(c) + g(c) d + slope/2 d^2 in the
    difference d: the stress of that stretch is extrapolated linearly, and the whole remains the gradient of
    an energy. The slope is the law's own where one stretch is at the limit and the others are 1. A constant
    extrapolation would let tangled elements grow without bound.
    """
    c0, c1, c2 = max(f0, limit), max(f1, limit), max(f2, limit)
    e, (g0, g1, g2), (h00, h11, h22, h01, h02, h12) = principal(c0, c1, c2, p)
    if f2 >= limit:  # the smallest
        return e, (g0, g1, g2), (h00, h11, h22, h01, h02, h12)
    slope = principal(1.0, 1.0, limit, p)[2][2]
    d0, d1, d2 = f0 - c0, f1 - c1, f2 - c2
    e += g0 * d0 + g1 * d1 + g2 * d2 + 0.5 * slope * (d0 * d0 + d1 * d1 + d2 * d2)
    k0, k1, k2 = g0, g1, g2
    if d0 == 0.0:
        k0 += h01 * d1 + h02 * d2
        # derivative of the couplings to the clamped stretches by f0
        s = _STEP * c0
        _, _, up = principal(c0 + s, c1, c2, p)
        _, _, down = principal(c0 - s, c1, c2, p)
        h00 += ((up[3] - down[3]) * d1 + (up[4] - down[4]) * d2) / (2.0 * s)
        if d1 == 0.0:
            h01 += (up[5] - down[5]) / (2.0 * s) * d2
            k1 += h12 * d2
            s = _STEP * c1
            _, _, up = principal(c0, c1 + s, c2, p)
            _, _, down = principal(c0, c1 - s, c2, p)
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
def extended_volume(volume, f0, f1, f2, limit):
    """Return a measure of volume with gradient (3) and Hessian (6), continued linearly in each stretch below `limit`.

    Measures of laws with a limit are sums of functions of one stretch.
    """
    c0, c1, c2 = max(f0, limit), max(f1, limit), max(f2, limit)
    v, g, (h00, h11, h22, h01, h02, h12) = volume(c0, c1, c2)
    if f2 < limit:  # the smallest
        v += g[0] * (f0 - c0) + g[1] * (f1 - c1) + g[2] * (f2 - c2)
        h00 = h00 if f0 >= limit else 0.0
        h11 = h11 if f1 >= limit else 0.0
        h22 = 0.0
    return v, g, (h00, h11, h22, h01, h02, h12)


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
        # under transverse tension an element collapsed to a line would be infinitely stiff against rotation
        t = max((gi + gj) / max(total, _MIN_STRETCH_SUM), 0.0)
    return 0.5 * (s + t), 0.5 * (s - t)


@specialised
def _all_minors_positive(h):
    """Return whether a symmetric matrix (00, 11, 22, 01, 02, 12) is positive definite, by Sylvester's criterion."""
    minor = h[0] * h[1] - h[3] * h[3]
    det = h[2] * minor - h[4] * (h[4] * h[1] - h[3] * h[5]) - h[5] * (h[0] * h[5] - h[3] * h[4])
    return h[0] > 0.0 and minor > 0.0 and det > 0.0


@specialised
def diagonal_tangent(f, g, h, definite):
    """Return the derivative of the stress in the diagonal frame: Hessian (6), a (01, 02, 12) and b (01, 02, 12).

    With `definite` negative eigenvalues of all parts are clamped to zero.
    """
    a01, b01 = _pair(f[0], f[1], g[0], g[1], h[0], h[1], h[3], definite)
    a02, b02 = _pair(f[0], f[2], g[0], g[2], h[0], h[2], h[4], definite)
    a12, b12 = _pair(f[1], f[2], g[1], g[2], h[1], h[2], h[5], definite)
    if definite and not _all_minors_positive(h):
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
def principal_point(principal, limit, F, p, definite, T):
    """Evaluate a law at F: write dP/dF into the first nine rows of T [27, 9], return energy density and P.

    The other rows of T hold the modes u_i v_j^T as vectors of nine numbers, and what the derivative of the stress
    in the diagonal frame maps them to.
    """
    U, f, V = signed_svd(F)
    energy, g, h = extended(principal, f[0], f[1], f[2], p, limit)
    fill_tangent(U, f, V, g, h, definite, T)
    return energy, combined_modes(g, T)


@specialised
def principal_pressure_point(principal, volume, limit, F, p, definite, T):
    """Evaluate a law plus s v at F, where s is the last constant [Pa] and v the law's measure of volume.

    Writes the tangent for constant s into the first nine rows of T [27, 9]; returns the energy density with s v / 2,
    P, and dv/dF.
    """
    U, f, V = signed_svd(F)
    energy, g, h = extended(principal, f[0], f[1], f[2], p, limit)
    v, k, m = extended_volume(volume, f[0], f[1], f[2], limit)
    s = p[p.shape[0] - 1]
    g = (g[0] + s * k[0], g[1] + s * k[1], g[2] + s * k[2])
    h = (
        h[0] + s * m[0], h[1] + s * m[1], h[2] + s * m[2],
        h[3] + s * m[3], h[4] + s * m[4], h[5] + s * m[5],
    )  # fmt: skip
    fill_tangent(U, f, V, g, h, definite, T)
    return energy + 0.5 * s * v, combined_modes(g, T), combined_modes(k, T)


@specialised
def fill_tangent(U, f, V, g, h, definite, T):
    """Write dP/dF into the first nine rows of T, given gradient and Hessian of the energy; see `principal_point`."""
    h, a, b = diagonal_tangent(f, g, h, definite)
    for i in range(3):
        for j in range(3):
            m = 9 + 3 * i + j
            for r in range(3):
                for s in range(3):
                    T[m, 3 * r + s] = U[3 * r + i] * V[3 * s + j]
    for c in range(9):
        w0, w1, w2 = T[9, c], T[13, c], T[17, c]
        T[18, c] = h[0] * w0 + h[3] * w1 + h[4] * w2
        T[22, c] = h[3] * w0 + h[1] * w1 + h[5] * w2
        T[26, c] = h[4] * w0 + h[5] * w1 + h[2] * w2
        T[19, c] = a[0] * T[10, c] + b[0] * T[12, c]
        T[21, c] = a[0] * T[12, c] + b[0] * T[10, c]
        T[20, c] = a[1] * T[11, c] + b[1] * T[15, c]
        T[24, c] = a[1] * T[15, c] + b[1] * T[11, c]
        T[23, c] = a[2] * T[14, c] + b[2] * T[16, c]
        T[25, c] = a[2] * T[16, c] + b[2] * T[14, c]
    for r in range(9):
        for c in range(r, 9):
            value = 0.0
            for m in range(9):
                value += T[9 + m, r] * T[18 + m, c]
            T[r, c] = value
            T[c, r] = value


@specialised
def combined_modes(g, T):
    """Return sum_i g_i u_i v_i^T as a tuple of nine, from the modes that `fill_tangent` leaves in T."""
    return (
        g[0] * T[9, 0] + g[1] * T[13, 0] + g[2] * T[17, 0],
        g[0] * T[9, 1] + g[1] * T[13, 1] + g[2] * T[17, 1],
        g[0] * T[9, 2] + g[1] * T[13, 2] + g[2] * T[17, 2],
        g[0] * T[9, 3] + g[1] * T[13, 3] + g[2] * T[17, 3],
        g[0] * T[9, 4] + g[1] * T[13, 4] + g[2] * T[17, 4],
        g[0] * T[9, 5] + g[1] * T[13, 5] + g[2] * T[17, 5],
        g[0] * T[9, 6] + g[1] * T[13, 6] + g[2] * T[17, 6],
        g[0] * T[9, 7] + g[1] * T[13, 7] + g[2] * T[17, 7],
        g[0] * T[9, 8] + g[1] * T[13, 8] + g[2] * T[17, 8],
    )
