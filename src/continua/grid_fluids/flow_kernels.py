"""Compiled parts of a step of a flow: divergence, pressure gradient, and turning of the flow."""

from __future__ import annotations

from math import sqrt

from numba import prange

from continua.numerics import inline, kernel_pair

__all__ = [
    "at_centers",
    "before_face",
    "confine",
    "largest",
    "push_faces",
    "sources_of_pressure",
    "subtract_gradient",
    "vorticity",
]


@inline
def before_face(axis, i, j, k):
    """Return the cell before the face (i, j, k) across `axis`; the one after it has the same numbers as the face."""
    return (i - 1 if axis == 0 else i), (j - 1 if axis == 1 else j), (k - 1 if axis == 2 else k)


@kernel_pair
def sources_of_pressure(u0, u1, u2, a0, a1, a2, s0, s1, s2, b):
    """Set b to what flows into each cell, in faces times velocity; walls move with s0, s1, s2, if not empty."""
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
def subtract_gradient(u, p, part, axis):
    """Take the gradient of p off the inner open faces across `axis`; p in spacings times velocity."""
    n0, n1, n2 = p.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        if (axis == 0 and i == 0) or (axis == 1 and j == 0):
            continue
        for k in range(1 if axis == 2 else 0, n2):
            if part[i, j, k] > 0:
                if axis == 0:
                    before = p[i - 1, j, k]
                elif axis == 1:
                    before = p[i, j - 1, k]
                else:
                    before = p[i, j, k - 1]
                u[i, j, k] -= p[i, j, k] - before


@kernel_pair
def push_faces(u, axis, a, fa, b, fb):
    """Add fa times a plus fb times b, quantities of cells, to the inner faces across `axis`."""
    n0, n1, n2 = a.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        if (axis == 0 and i == 0) or (axis == 1 and j == 0):
            continue
        for k in range(1 if axis == 2 else 0, n2):
            p, q, s = before_face(axis, i, j, k)
            u[i, j, k] += fa * (a[i, j, k] + a[p, q, s]) + fb * (b[i, j, k] + b[p, q, s])


@kernel_pair
def at_centers(u0, u1, u2, v):
    """Set v [..., 3] to the velocity in the middle of each cell, along the array axes."""
    n0, n1, n2, _ = v.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            v[i, j, k, 0] = 0.5 * (u0[i, j, k] + u0[i + 1, j, k])
            v[i, j, k, 1] = 0.5 * (u1[i, j, k] + u1[i, j + 1, k])
            v[i, j, k, 2] = 0.5 * (u2[i, j, k] + u2[i, j, k + 1])


@kernel_pair
def vorticity(v, scale, w):
    """Set w [..., 3] to the curl of v times `scale` (half of one over the spacing), one-sided at the sides."""
    n0, n1, n2, _ = v.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        im, ip = max(i - 1, 0), min(i + 1, n0 - 1)
        jm, jp = max(j - 1, 0), min(j + 1, n1 - 1)
        fi, fj = 2.0 / max(ip - im, 1), 2.0 / (jp - jm)
        for k in range(n2):
            km, kp = max(k - 1, 0), min(k + 1, n2 - 1)
            fk = 2.0 / (kp - km)
            d01 = fi * (v[ip, j, k, 1] - v[im, j, k, 1])
            d02 = fi * (v[ip, j, k, 2] - v[im, j, k, 2])
            d10 = fj * (v[i, jp, k, 0] - v[i, jm, k, 0])
            d12 = fj * (v[i, jp, k, 2] - v[i, jm, k, 2])
            d20 = fk * (v[i, j, kp, 0] - v[i, j, km, 0])
            d21 = fk * (v[i, j, kp, 1] - v[i, j, km, 1])
            w[i, j, k, 0] = scale * (d12 - d21)
            w[i, j, k, 1] = scale * (d20 - d02)
            w[i, j, k, 2] = scale * (d01 - d10)


@inline
def _length(w, i, j, k):
    return sqrt(w[i, j, k, 0] ** 2 + w[i, j, k, 1] ** 2 + w[i, j, k, 2] ** 2)


@kernel_pair
def confine(w, strength, f0, f1, f2):
    """Vorticity confinement (Fedkiw, Stam and Jensen 2001): strength times N x w, N towards stronger vortices."""
    n0, n1, n2, _ = w.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        im, ip = max(i - 1, 0), min(i + 1, n0 - 1)
        jm, jp = max(j - 1, 0), min(j + 1, n1 - 1)
        for k in range(n2):
            km, kp = max(k - 1, 0), min(k + 1, n2 - 1)
            a = _length(w, ip, j, k) - _length(w, im, j, k)
            b = _length(w, i, jp, k) - _length(w, i, jm, k)
            c = _length(w, i, j, kp) - _length(w, i, j, km)
            size = sqrt(a * a + b * b + c * c) + 1e-12
            a, b, c = a / size, b / size, c / size
            f0[i, j, k] = strength * (b * w[i, j, k, 2] - c * w[i, j, k, 1])
            f1[i, j, k] = strength * (c * w[i, j, k, 0] - a * w[i, j, k, 2])
            f2[i, j, k] = strength * (a * w[i, j, k, 1] - b * w[i, j, k, 0])


@kernel_pair
def largest(u, tops):
    """Put the largest absolute value of each layer of `u` along its first two axes into `tops`; NaN if any value is."""
    n1 = u.shape[1]
    for r in prange(tops.shape[0]):
        row = u[r // n1, r % n1]
        top, bad = row[0] * 0, row[0] * 0
        for k in range(row.shape[0]):
            size = abs(row[k])
            top = size if size > top else top
        for k in range(row.shape[0]):
            bad += row[k] * 0
        tops[r] = top + bad
