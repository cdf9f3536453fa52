"""Compiled operations on staggered velocities: cell averages, vorticity, cell forces, maxima."""

from __future__ import annotations

from math import sqrt

from numba import prange

from continua.grid_fluids.pressure.projection_kernels import before_face
from continua.numerics import inline, kernel_pair

__all__ = ["add_cell_forces", "cell_velocities", "confinement_forces", "max_abs_rows", "vorticity"]


@kernel_pair
def add_cell_forces(u, axis, a, fa, b, fb):
    """Add fa a + fb b, both at cell centres, to the inner faces across `axis`."""
    n0, n1, n2 = a.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        if (axis == 0 and i == 0) or (axis == 1 and j == 0):
            continue
        for k in range(1 if axis == 2 else 0, n2):
            p, q, s = before_face(axis, i, j, k)
            u[i, j, k] += fa * (a[i, j, k] + a[p, q, s]) + fb * (b[i, j, k] + b[p, q, s])


@kernel_pair
def cell_velocities(u0, u1, u2, v):
    """Set v [..., 3] to the velocity at the cell centres, along the array axes."""
    n0, n1, n2, _ = v.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            v[i, j, k, 0] = 0.5 * (u0[i, j, k] + u0[i + 1, j, k])
            v[i, j, k, 1] = 0.5 * (u1[i, j, k] + u1[i, j + 1, k])
            v[i, j, k, 2] = 0.5 * (u2[i, j, k] + u2[i, j, k + 1])


@kernel_pair
def vorticity(v, scale, w):
    """Set w [..., 3] to the curl of v times `scale` (0.5 / spacing), one-sided at the domain boundary."""
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
def confinement_forces(w, strength, f0, f1, f2):
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
def max_abs_rows(u, maxima):
    """Set `maxima` to the largest absolute value of each row of `u` along the last axis; NaN if the row has one."""
    n1 = u.shape[1]
    for r in prange(maxima.shape[0]):
        row = u[r // n1, r % n1]
        maximum, bad = row[0] * 0, row[0] * 0
        for k in range(row.shape[0]):
            size = abs(row[k])
            maximum = size if size > maximum else maximum
        for k in range(row.shape[0]):
            bad += row[k] * 0
        maxima[r] = maximum + bad
