"""Compiled pressure projection on cut cells: divergence and gradient."""

from __future__ import annotations

from numba import prange

from continua.numerics import inline, kernel_pair

__all__ = ["before_face", "divergence_rhs", "subtract_and_keep_gradient", "subtract_gradient"]


@inline
def before_face(axis, i, j, k):
    """Return the cell before the face (i, j, k) across `axis`; the cell after it has the indices of the face."""
    return (i - 1 if axis == 0 else i), (j - 1 if axis == 1 else j), (k - 1 if axis == 2 else k)


@kernel_pair
def divergence_rhs(u0, u1, u2, a0, a1, a2, s0, s1, s2, b):
    """Set b to minus the divergence: the inflow of each cell, in faces times velocity.

    The open fractions of faces are a0, a1, a2. Walls move with the velocities s0, s1, s2, unless these are empty.
    """
    n0, n1, n2 = b.shape
    moving = s1.size > 0
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            total = a1[i, j, k] * u1[i, j, k] - a1[i, j + 1, k] * u1[i, j + 1, k]
            total += a2[i, j, k] * u2[i, j, k] - a2[i, j, k + 1] * u2[i, j, k + 1]
            if n0 > 1:
                total += a0[i, j, k] * u0[i, j, k] - a0[i + 1, j, k] * u0[i + 1, j, k]
            if moving:
                total += (1 - a1[i, j, k]) * s1[i, j, k] - (1 - a1[i, j + 1, k]) * s1[i, j + 1, k]
                total += (1 - a2[i, j, k]) * s2[i, j, k] - (1 - a2[i, j, k + 1]) * s2[i, j, k + 1]
                if n0 > 1:
                    total += (1 - a0[i, j, k]) * s0[i, j, k] - (1 - a0[i + 1, j, k]) * s0[i + 1, j, k]
            around = a1[i, j, k] + a1[i, j + 1, k] + a2[i, j, k] + a2[i, j, k + 1]
            if n0 > 1:
                around += a0[i, j, k] + a0[i + 1, j, k]
            b[i, j, k] = total if around > 0 else 0 * total


@kernel_pair
def subtract_gradient(u, p, fraction, axis):
    """Subtract the gradient of p from the inner open faces across `axis`; p is in spacings times velocity."""
    n0, n1, n2 = p.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        if (axis == 0 and i == 0) or (axis == 1 and j == 0):
            continue
        for k in range(1 if axis == 2 else 0, n2):
            if fraction[i, j, k] > 0:
                if axis == 0:
                    before = p[i - 1, j, k]
                elif axis == 1:
                    before = p[i, j - 1, k]
                else:
                    before = p[i, j, k - 1]
                u[i, j, k] -= p[i, j, k] - before


@kernel_pair
def subtract_and_keep_gradient(u, p, fraction, axis, least, acceleration, kept, scale):
    """The same, and set `acceleration` to `kept` times itself minus `scale` times the gradient on the inner faces.

    It is set to 0 on faces open by less than `least`.
    """
    n0, n1, n2 = p.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        if (axis == 0 and i == 0) or (axis == 1 and j == 0):
            continue
        for k in range(1 if axis == 2 else 0, n2):
            gradient = 0.0
            if fraction[i, j, k] > 0:
                if axis == 0:
                    before = p[i - 1, j, k]
                elif axis == 1:
                    before = p[i, j - 1, k]
                else:
                    before = p[i, j, k - 1]
                gradient = p[i, j, k] - before
                u[i, j, k] -= gradient
            last = kept * acceleration[i, j, k] - scale * gradient
            acceleration[i, j, k] = last if fraction[i, j, k] >= least else 0.0
